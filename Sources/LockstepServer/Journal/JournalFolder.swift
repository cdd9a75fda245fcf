import Foundation
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// The journals in the folder of a node that does not run, or in a copy of one.
struct JournalFolder {
    let folder: NodeFolder
    /// The one that the user named; nil: all.
    let store: String?

    /// Those that the node's file names, and those that have a file, in the order of their names.
    func stores() throws -> [String] {
        if let store { return [store] }
        if let problem = folder.problem { throw problem }
        // A damaged file is a finding of `verify`; the journals can be read without it.
        let named = (try? folder.identity().stores) ?? []
        let found = Set(named + (try SQLiteJournalReader.stores(in: folder.path)))
        // No node.json and no journal: the error says what the folder is not.
        if found.isEmpty { return try folder.identity().stores.sorted() }
        return found.sorted()
    }

    func reader(_ store: String) throws -> SQLiteJournalReader {
        if let problem = folder.problem { throw problem }
        do {
            return try SQLiteJournalReader(folder: folder.path, storeName: store)
        } catch let error as LockstepError where error.code == .journalMissing {
            // In a folder that is no node's, the store is not what is missing.
            if (try? SQLiteJournalReader.stores(in: folder.path))?.isEmpty ?? true { _ = try folder.identity() }
            // A node that never had the store lacks no file; without its own file nobody knows what it had.
            try (try? folder.identity())?.check(store: store, in: folder.path)
            throw error
        }
    }

    /// Reads one journal after the other; one that cannot be read does not keep the others back.
    ///
    /// - Throws: `ExitCode`, when each failure was printed: 65 if one was damage.
    func forEach(_ body: (SQLiteJournalReader) throws -> Void) throws {
        let status = try forEach(of: stores()) { store in
            let journal = try reader(store)
            defer { try? journal.close() }  // Nothing was written.
            try body(journal)
        }
        if let status { throw ExitCode(status.rawValue) }
    }

    /// Verifies one journal after the other, and node.json before them unless a store was named.
    ///
    /// - Returns: With what to end if journals could not be verified, which was printed; nil if all were.
    func verify(_ body: (VerifyReport) throws -> Void) throws -> ExitStatus? {
        let stores = try stores()
        if store == nil { try body(checkIdentity()) }
        return try forEach(of: stores) { try body(check($0)) }
    }

    /// - Returns: The status of the failures, each of which was printed; nil if there is none.
    private func forEach(of stores: [String], _ body: (String) throws -> Void) throws -> ExitStatus? {
        var failures: [CommandFailure] = []
        for store in stores {
            do {
                try body(store)
            } catch {
                guard let failure = CommandFailure(describing: error), stores.count > 1 else { throw error }
                Output.error("\(store): \(failure.message)")
                failures.append(failure)
            }
        }
        let isDamaged = failures.contains { $0.status == .damaged }
        return isDamaged ? .damaged : failures.first?.status
    }

    private func checkIdentity() throws -> VerifyReport {
        do {
            _ = try folder.identity()
            return VerifyReport(store: "node.json", end: nil, findings: [])
        } catch let error as LockstepError where error.code == .journalDamaged {
            return VerifyReport(store: "node.json", end: nil, findings: [error.message])
        }
    }

    private func check(_ store: String) throws -> VerifyReport {
        let notice = WaitNotice()
        defer { Output.progress("") }
        do {
            let reader = try reader(store)
            defer { try? reader.close() }  // Nothing was written.
            let findings = try reader.verifyAll { bytes in
                Output.progress("\(store): checked \(bytes >> 20) MiB")
                notice.waiting(for: "the check of \(reader.path)")
            }
            // The end of a journal that cannot be read to its end is not known.
            guard findings.isEmpty else {
                return VerifyReport(store: store, end: nil, findings: findings.map(\.description))
            }
            var report = VerifyReport(store: store, end: "\(try reader.end())", findings: [])
            if reader.arbitration != nil { report.tail = try TailSummary(reader) }
            return report
        } catch let error as LockstepError where Self.isDamage(error, isNamed: self.store != nil) {
            return VerifyReport(store: store, end: nil, findings: [error.message])
        }
    }

    /// Whether an error is a finding: a journal that is not there is one where nobody named the store; one of a newer
    /// version is one, since a damaged header looks like that.
    private static func isDamage(_ error: LockstepError, isNamed: Bool) -> Bool {
        switch error.code {
        case .journalDamaged, .journalForeign, .journalNewer: true
        case .journalMissing: !isNamed
        default: false
        }
    }
}

/// What `journal verify` found in one store, or in the node's file.
struct VerifyReport: Encodable {
    var store: String
    /// How far it reaches; nil if it is damaged, and of the node's file.
    var end: String?
    /// What follows that is not known to be committed; nil of a journal that is not arbitrated.
    var tail: TailSummary?
    var findings: [String]

    init(store: String, end: String?, findings: [String]) {
        (self.store, self.end, self.findings) = (store, end, findings)
    }

    var lines: [String] {
        guard findings.isEmpty else { return findings.map { "\(store): \($0)" } }
        return ["\(store): whole" + (end.map { ", through \($0)" } ?? "") + (tail.map { "; \($0)" } ?? "")]
    }
}
