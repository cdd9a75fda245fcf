import Dispatch
import Foundation
import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

/// The durable journal of one store: an SQLite file in WAL mode with `synchronous = FULL`, and a side mark beside it.
///
/// One connection writes and checkpoints, on one serial queue; nobody else may open the file while it is open, in this
/// process or another. The order of a write is: transaction, sync (both by COMMIT), side mark, completion, and only
/// then a checkpoint if one is due. The file is opened for writing only after everything in it was verified, so that
/// damage is left as it was found.
///
/// Invariants:
/// - `head` is the end of the last batch whose commit returned, or of the snapshot that replaced the log.
/// - Once `failure` is set nothing more is written (PROTOCOL, R-44).
/// - State changes on the journal's queue only; the lock is for those who read it elsewhere.
package final class SQLiteJournal: ArbitratedJournal {
    package let path: String
    let files: JournalFiles
    let tuning: JournalTuning
    let queue: DispatchQueue
    let state: Mutex<State>
    /// The facts as they were when the journal was opened, for those who ask before it is recovered.
    let openedMeta: JournalMeta

    struct State: Sendable {
        var phase = Phase.opened
        var identity: JournalIdentity
        /// From recovery to close.
        var database: DatabaseQueue?
        var mark: SideMarkFile?
        var lock: FolderLock?
        var generation: UInt64
        var head: Position
        /// Nil unless the journal is arbitrated.
        var arbitration: JournalArbitration?
        var newestSnapshot: SequenceNumber = .zero
        var failure: String?
        /// Of batches after the newest snapshot, of that snapshot, of all batches that are kept.
        var batchBytes = 0
        var snapshotBytes = 0
        var keptBytes = 0
        /// An estimate of what the write-ahead log holds since the last checkpoint.
        var walBytes = 0
        var isSaving = false
        /// Where the snapshot stands that is being saved; zero if none is.
        var savingAt: SequenceNumber = .zero
        var isMarkSyncDue = false
    }

    enum Phase: Hashable, Sendable {
        /// Nothing was read yet; only ``recover(snapshot:batch:)`` or ``openForRepair()`` may follow.
        case opened
        case recovered
        case repairing
        case closed
    }

    /// Opens the journal of a store, or makes it if `create` allows it and there is none.
    ///
    /// It takes the folder's lock and reads what the journal belongs to; it neither verifies nor writes. Throws
    /// ``LockstepError``. A folder that is made gets mode 0700.
    package init(folder: String, request: JournalRequest, create: Bool, tuning: JournalTuning = JournalTuning()) throws
    {
        files = try JournalFiles(folder: folder, storeName: request.storeName)
        path = files.database
        self.tuning = tuning
        if create { try Self.makeFolder(folder) }
        let lock = try FolderLock.exclusive(folder: folder, store: request.storeName, node: request.nodeName)
        guard access(folder, W_OK) == 0 else {
            throw LockstepError(
                .journalUnwritable,
                "The journal folder \(folder) cannot be written (\(systemMessage())). Check its owner and mode.")
        }
        if create { try Self.createIfEmpty(files, request) }
        guard FileManager.default.fileExists(atPath: path) else { throw SQLiteJournalReader.missing(path) }
        let reader = try SQLiteJournalReader(path: path, storeName: request.storeName, lock: nil)
        let identity = reader.identity
        openedMeta = reader.meta
        if let cluster = request.cluster, cluster != identity.cluster, identity.cluster != .none {
            throw LockstepError(
                .journalForeign,
                "The journal \(path) belongs to cluster \(identity.cluster); this node is configured for \(cluster)."
            )
        }
        let arbitration = reader.arbitration
        if arbitration != nil, !request.isForDataNode { throw Self.arbitrated(path, request.storeName) }
        queue = DispatchQueue(label: "lockstep.journal.\(request.storeName)", qos: .journal)
        state = Mutex(
            State(
                identity: identity, lock: lock, generation: reader.meta.generation ?? 0,
                head: .start(of: identity.store), arbitration: arbitration))
    }

    package var identity: JournalIdentity { state.withLock { $0.identity } }

    package var isVolatile: Bool { false }

    package var sizes: (batches: Int, snapshot: Int) { state.withLock { ($0.batchBytes, $0.snapshotBytes) } }

    /// The end of the last batch whose commit returned.
    package var head: Position { state.withLock { $0.head } }

    package func freeBytes() -> Int64? {
        if let freeBytes = tuning.freeBytes { return freeBytes() }
        var information = statvfs()
        guard statvfs(files.folder, &information) == 0 else { return nil }
        return Int64(clamping: UInt64(information.f_bavail) * UInt64(information.f_frsize))
    }

    /// See ``Journal/close()``.
    ///
    /// It must not be called from a completion, which runs on the queue that it waits for.
    package func close() {
        let database = state.withLock { state -> DatabaseQueue? in
            defer { state.phase = .closed }
            return state.phase == .closed ? nil : state.database
        }
        if let database {
            // What is queued before this ends first.
            database.writeWithoutTransaction { _ in syncMark() }
            do { try database.close() } catch {
                // The data is safe in the write-ahead log; the next start copies it.
                state.withLock { $0.failure = "closing failed: \(error)" }
            }
        }
        state.withLock { state in
            state.database = nil
            state.mark = nil
            state.lock = nil
        }
    }

    private static func makeFolder(_ folder: String) throws {
        guard !FileManager.default.fileExists(atPath: folder) else { return }
        var above = folder.hasPrefix("/") ? "" : "."
        let parts = folder.split(separator: "/")
        for (index, part) in parts.enumerated() {
            let path = above + "/" + part
            let isLast = index == parts.count - 1
            if mkdir(path, isLast ? 0o700 : 0o777) == 0 {
                // Each name is in the folder above, and a power cut takes a name that was not synced with all below it.
                try syncFolder(above.isEmpty ? "/" : above)
            } else if errno != EEXIST {
                throw LockstepError(
                    .journalUnwritable,
                    "The journal folder \(folder) cannot be made: \(systemMessage()) at \(path). Check the folder "
                        + "above.")
            }
            above = path
        }
    }

    /// Makes the file, unless it holds anything.
    ///
    /// A crash in between leaves an empty file, or SQLite's rollback journal beside it; it is made anew.
    private static func createIfEmpty(_ files: JournalFiles, _ request: JournalRequest) throws {
        if FileManager.default.fileExists(atPath: files.database) {
            do {
                _ = try SQLiteJournalReader(path: files.database, storeName: request.storeName, lock: nil)
                return
            } catch let error as LockstepError {
                guard error.code == .journalMissing else { throw error }
            }
        }
        if let lost = SQLiteJournalReader.lost(files.database) { throw lost }
        var generator = SystemRandomNumberGenerator()
        let invented = request.isForReplica ? ClusterID.none : ClusterID(using: &generator)
        let identity = JournalIdentity(
            cluster: request.cluster ?? invented, storeName: request.storeName,
            channel: request.channel, incarnation: Incarnation(using: &generator))
        do {
            let configuration = JournalSchema.writerConfiguration(label: "lockstep.journal.create", isCreating: true)
            let database = try DatabaseQueue(path: files.database, configuration: configuration)
            try database.writeWithoutTransaction { try JournalSchema.create(identity, in: $0) }
            try database.close()
            let start = SideMark(
                incarnation: identity.incarnation, generation: 1, position: .start(of: identity.store))
            try SideMarkFile(path: files.mark).reset(start)
            try syncFolder(files.folder)
        } catch { throw LockstepError.journal(error, path: files.database) }
    }
}
