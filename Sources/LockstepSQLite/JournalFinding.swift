import Foundation
import GRDB
package import LockstepCore
import LockstepNode

/// One thing that is wrong with a journal, as `journal verify` lists it.
package struct JournalFinding: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Subject: String, Hashable, Sendable {
        case batch, snapshot
        case mark = "side mark"
        case meta = "table of facts"
        case quarantine = "batch that was kept aside"
        case file
    }

    package var subject: Subject
    /// Where: a batch's first number, a snapshot's, the mark's; 0 if it has no place in the log.
    package var sequence: SequenceNumber
    package var text: String

    package init(_ subject: Subject, _ sequence: SequenceNumber, _ text: String) {
        self.subject = subject
        self.sequence = sequence
        self.text = text
    }

    package var description: String {
        sequence == .zero
            ? "\(subject.rawValue): \(text)" : "\(subject.rawValue) at sequence number \(sequence): \(text)"
    }
}

extension LockstepError {
    /// Damage that makes the journal unusable as it is.
    init(_ finding: JournalFinding, path: String, fileID: String = #fileID, line: Int = #line) {
        self.init(
            .journalDamaged,
            "The journal \(path) is damaged: \(finding). Nothing was changed. Copy the folder away, see all of it with "
                + "`lockstep journal verify`, and fetch what is missing with `lockstep recover --from NODE`.",
            underlying: finding, fileID: fileID, line: line)
    }

    /// What an error of SQLite, or a finding, means for somebody who opens or reads a journal.
    static func journal(_ error: any Error, path: String, fileID: String = #fileID, line: Int = #line) -> LockstepError
    {
        if let error = error as? LockstepError { return error }
        if let finding = error as? JournalFinding {
            return LockstepError(finding, path: path, fileID: fileID, line: line)
        }
        guard let error = error as? DatabaseError else {
            return LockstepError(
                .journalFailed, "The journal \(path) failed: \(error).", underlying: error, fileID: fileID, line: line)
        }
        let text = error.message ?? "\(error.extendedResultCode)"
        let (code, message): (Code, String) =
            switch error.resultCode {
            case .SQLITE_NOTADB:
                (
                    .journalForeign,
                    "\(path) is no journal of Lockstep, or its header is destroyed. Give the node another folder; if it was "
                        + "this node's journal, `lockstep recover --from NODE` makes it anew."
                )
            case .SQLITE_CORRUPT:
                (.journalDamaged, LockstepError(JournalFinding(.file, .zero, text), path: path).message)
            case .SQLITE_FULL:
                (.diskFull, "There is no room for the journal \(path). Free some space and start again.")
            case .SQLITE_BUSY, .SQLITE_LOCKED:
                (.journalInUse, "Another process has the journal \(path) open. Stop it first.")
            case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
                (
                    .journalUnwritable,
                    "The journal \(path) cannot be opened (\(text)). Check owner and mode of the folder and of the file."
                )
            default:
                (.journalFailed, "The journal \(path) failed: \(text). Check the disk, then start again.")
            }
        return LockstepError(code, message, underlying: error, fileID: fileID, line: line)
    }
}

/// Columns whose type is what was written; a damaged row may have any type, which must not trap.
extension Row {
    func integer(_ index: Int) -> Int64? {
        let value: DatabaseValue = self[index]
        guard case .int64(let number) = value.storage else { return nil }
        return number
    }

    func text(_ index: Int) -> String? {
        let value: DatabaseValue = self[index]
        guard case .string(let text) = value.storage else { return nil }
        return text
    }

    func sequence(_ index: Int) -> SequenceNumber? {
        integer(index).flatMap { $0 >= 0 ? SequenceNumber(rawValue: UInt64($0)) : nil }
    }

    func number128(_ index: Int) -> UInt128? {
        let value: DatabaseValue = self[index]
        guard case .blob(let data) = value.storage, data.count == 16 else { return nil }
        return data.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// One copy, from SQLite's page to the array.
    func bytes(_ index: Int) -> [UInt8]? {
        // It throws for a number, which is an answer of this function.
        try? withUnsafeData(atIndex: index) { $0.map { [UInt8]($0) } }
    }
}

/// The 16 bytes of a hash, the highest first.
func blob(_ value: UInt128) -> Data { withUnsafeBytes(of: value.bigEndian) { Data($0) } }
