import Foundation
import GRDB
import LockstepCore
import LockstepNode

/// The file of a backup: an SQLite database that is written once and never changed (decision 0027).
///
/// The table `manifest` has one row: JSON and its sum. The table `parts` has the rest, store after store: the chunks of
/// a snapshot if there is one, the batches that follow, and the log's own tables at the end. Each part has a hash; the
/// manifest has a sum over the hashes of each store.
enum BackupFile {
    /// "LKSB": what `PRAGMA application_id` says of a backup.
    static let applicationID: Int64 = 0x4C4B_5342
    /// The format; it is `PRAGMA user_version`.
    static let version: Int64 = 1
    /// A snapshot, and the log's tables, are cut into parts of this size.
    static let chunkBytes = 1 << 20

    static let tables = """
        CREATE TABLE manifest(id INTEGER PRIMARY KEY, json TEXT NOT NULL, sum BLOB NOT NULL);
        CREATE TABLE parts(
            id INTEGER PRIMARY KEY, store TEXT NOT NULL, kind TEXT NOT NULL, hash BLOB NOT NULL, bytes BLOB NOT NULL);
        """

    enum Kind: String, Hashable, Sendable {
        case snapshot, batch, tables
    }

    /// Follows the parts of a store, and has a sum over them.
    struct Sum: Hashable, Sendable {
        private var value: UInt128 = 0

        mutating func add(_ kind: Kind, count: Int, hash: UInt128) {
            var writer = ByteWriter()
            writer.write128(value)
            writer.writeString(kind.rawValue)
            writer.write(UInt64(count))
            writer.write128(hash)
            value = sha256Prefix(writer.bytes)
        }

        var text: String { hexadecimal(value) }
    }

    /// The log's tables as a backup holds them: a snapshot without a state.
    static func encoded(_ log: LogState) -> [UInt8] { SnapshotContent(log: log, digest: .none, state: []).encoded() }

    static func damaged(_ path: String, _ text: String, underlying error: (any Error)? = nil) -> LockstepError {
        LockstepError(
            .journalDamaged, "The backup \(path) is damaged: \(text). Use another backup; nothing was changed.",
            underlying: error)
    }

    /// What an error means for somebody who reads a backup.
    static func readError(_ error: any Error, path: String) -> any Error {
        if let finding = error as? JournalFinding { return damaged(path, "\(finding)", underlying: finding) }
        if error is DecodingError { return damaged(path, "its manifest cannot be decoded", underlying: error) }
        // What else comes is of those that the content was handed to.
        guard let error = error as? DatabaseError else { return error }
        let text = error.message ?? "\(error.extendedResultCode)"
        switch error.resultCode {
        case .SQLITE_NOTADB:
            return LockstepError(.journalForeign, "\(path) is no backup of Lockstep, or its header is destroyed.")
        case .SQLITE_CANTOPEN, .SQLITE_PERM, .SQLITE_READONLY:
            return LockstepError(
                .journalUnwritable, "The backup \(path) cannot be opened (\(text)). Check its path, owner and mode.")
        default: return damaged(path, text, underlying: error)
        }
    }

    /// What an error means for somebody who writes a backup.
    static func writeError(_ error: any Error, path: String) -> LockstepError {
        if let error = error as? LockstepError { return error }
        if let error = error as? DatabaseError, error.resultCode == .SQLITE_FULL {
            return LockstepError(
                .diskFull, "There is no room for the backup \(path). Free some space, or write it elsewhere.",
                underlying: error)
        }
        return LockstepError(
            .journalFailed, "The backup \(path) cannot be written: \(error). Check the disk.", underlying: error)
    }
}
