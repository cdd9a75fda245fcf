import Dispatch
import Foundation
import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

extension SQLiteJournal {
    /// See ``Journal/append(_:completion:)``.
    ///
    /// Cost: one write of the batches and one sync; no copy of their bytes.
    package func append(
        _ batches: [SealedBatch], completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        append(batches, committed: .zero, completion: completion)
    }

    /// See ``ArbitratedJournal/append(_:committed:completion:)``.
    ///
    /// Cost: that of ``append(_:completion:)``; of an arbitrated journal one page of the table of facts more.
    package func append(
        _ batches: [SealedBatch], committed: SequenceNumber,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            let result = write(batches, committed: committed, db)
            completion(result)
            if case .success = result { checkpointIfDue(db) }
        }
    }

    /// Runs `body` on the journal's queue, with the connection, or without it if the journal is closed or has failed.
    ///
    /// What is asked for before ``close()`` still gets the connection: it is queued under the lock, so close waits for it.
    func onDatabase(_ body: @escaping @Sendable (Database?) -> Void) {
        state.withLock { state in
            precondition(state.phase != .opened, "a journal is recovered before it is used")
            guard state.phase != .closed, let database = state.database else { return queue.async { body(nil) } }
            database.asyncWriteWithoutTransaction { [self] db in
                let hasFailed = self.state.withLock { $0.failure != nil }
                body(hasFailed ? nil : db)
            }
        }
    }

    /// Why nothing more is written.
    var refusal: String { state.withLock { $0.failure } ?? "the journal is closed" }

    /// Writes batches that follow the head, in one transaction, then the side mark.
    ///
    /// The transaction of an arbitrated journal also has the commit number, if that has risen (PROTOCOL, R-84).
    func write(
        _ batches: [SealedBatch], committed: SequenceNumber = .zero, _ db: Database
    ) -> Result<Void, JournalFailure> {
        let store = identity.store
        let raised = raised(committed)
        var end = head
        for batch in batches {
            precondition(
                batch.head.store == store && batch.head.first == end.sequence.next
                    && batch.head.previous == end.hash, "batches are appended in the order of the chain")
            end = batch.position
        }
        do {
            try transaction(db) {
                let statement = try db.cachedStatement(
                    sql: "INSERT INTO batches(first, last, epoch, hash, bytes) VALUES (?, ?, ?, ?, ?)")
                for batch in batches { try Self.insert(batch, statement) }
                if let raised { try write(commit: raised, through: end, db) }
            }
            try moved(to: end, batches: batches)
            if let raised { stored(commit: raised) }
            return .success(())
        } catch {
            return .failure(failure(for: error))
        }
    }

    private static func insert(_ batch: SealedBatch, _ statement: Statement) throws {
        try batch.bytes.withUnsafeBytes { buffer in
            // The data lives for the statement's execution only, which binds it without a copy.
            let data = buffer.baseAddress.map { start in
                Data(bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: buffer.count, deallocator: .none)
            }
            let head = batch.head
            try statement.execute(arguments: [
                Int64(head.first.rawValue), Int64(head.last.rawValue), Int64(bitPattern: head.epoch.rawValue),
                blob(batch.hash.rawValue), data,
            ])
        }
    }

    /// One transaction that is durable when this returns.
    ///
    /// A full disk may have ended it already, so whether there is anything to roll back is asked first.
    func transaction(_ db: Database, _ body: () throws -> Void) throws {
        do {
            try db.cachedStatement(sql: "BEGIN IMMEDIATE TRANSACTION").execute()
            try body()
            try db.cachedStatement(sql: "COMMIT TRANSACTION").execute()
        } catch {
            if db.isInsideTransaction { try db.rollback() }
            throw error
        }
    }

    /// Takes note of a commit that returned.
    private func moved(to end: Position, batches: [SealedBatch]) throws {
        let bytes = batches.reduce(0) { $0 + $1.bytes.count }
        let pages = batches.reduce(0) { $0 + $1.bytes.count / JournalSchema.pageBytes + 2 }
        let (file, mark) = state.withLock { state -> (SideMarkFile?, SideMark) in
            state.head = end
            state.batchBytes += bytes
            state.keptBytes += bytes
            state.walBytes += pages * JournalSchema.pageBytes
            return (state.mark, sideMark(state))
        }
        try file?.write(mark)
        scheduleMarkSync()
    }

    /// What an error of a write means; any but a full disk ends the journal (PROTOCOL, R-44, R-45).
    func failure(for error: any Error) -> JournalFailure {
        if let error = error as? DatabaseError, error.resultCode == .SQLITE_FULL { return .diskFull }
        let text = LockstepError.journal(error, path: path).message
        state.withLock { $0.failure = $0.failure ?? text }
        return .failed(text)
    }

    /// Copies the write-ahead log to the main file when it holds enough.
    ///
    /// No room for that is no failure: the log stays.
    func checkpointIfDue(_ db: Database) {
        guard state.withLock({ $0.walBytes }) >= tuning.checkpointBytes else { return }
        do {
            _ = try db.checkpoint(.passive)
            state.withLock { $0.walBytes = 0 }
        } catch {
            _ = failure(for: error)
        }
    }

    /// Syncs the mark a second after the first write since the last sync (PROTOCOL, R-47).
    private func scheduleMarkSync() {
        let isDue = state.withLock { state in
            defer { state.isMarkSyncDue = true }
            return state.isMarkSyncDue
        }
        guard !isDue else { return }
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.syncMark() }
    }

    /// Syncs the mark if it was written since the last sync; runs on the journal's queue.
    func syncMark() {
        let mark = state.withLock { state -> SideMarkFile? in
            defer { state.isMarkSyncDue = false }
            return state.isMarkSyncDue ? state.mark : nil
        }
        do { try mark?.sync() } catch { _ = failure(for: error) }
    }
}
