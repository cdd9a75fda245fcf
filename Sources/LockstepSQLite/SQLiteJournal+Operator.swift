import Dispatch
import Foundation
import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

extension SQLiteJournal {
    /// What an operator noted, or must know.
    package func note(_ note: JournalNote) throws -> String? {
        guard state.withLock({ $0.phase }) != .opened else { return openedMeta[.note(note)] }
        return try onConnection { db in try JournalMeta(from: db)[.note(note)] }
    }

    /// Notes a value durably, or takes the note away.
    ///
    /// It blocks the caller for one commit and the copying of the write-ahead log: no mark would show that a note was
    /// lost with the end of that, as it shows for batches.
    package func setNote(_ note: JournalNote, to value: String?) throws {
        try onConnection { db in
            try transaction(db) { try JournalMeta.write(value, for: .note(note), to: db) }
            _ = try db.checkpoint(.truncate)
            state.withLock { $0.walBytes = 0 }
        }
    }

    /// See ``Journal/noteLater(_:_:completion:)``.
    ///
    /// Cost: a commit, between those of batches. The write-ahead log is not copied, so a note may be lost with its end.
    package func noteLater(
        _ note: JournalNote, _ value: String?,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            do {
                try transaction(db) { try JournalMeta.write(value, for: .note(note), to: db) }
                state.withLock { $0.walBytes += 2 * JournalSchema.pageBytes }
                completion(.success(()))
            } catch {
                completion(.failure(failure(for: error)))
            }
        }
    }

    /// Moves every batch after `position` into the quarantine and makes `position` the journal's end.
    ///
    /// For an operator's recovery, after ``openForRepair()``, and for other commands, after ``openVerified(_:)``; the
    /// journal is opened and verified anew afterwards. `position` must be a batch's or a snapshot's end in this
    /// journal, or the log's start. Returns how many batches were moved; nothing is deleted for good except snapshots
    /// of what was moved.
    package func quarantine(after position: Position, reason: String) throws -> Int {
        try onConnection { db in
            try checkEnd(position, db)
            let generation = state.withLock { $0.generation } + 1
            var count = 0
            try transaction(db) {
                count = try Self.setAside(after: position.sequence, reason: reason, db)
                try db.execute(
                    sql: "DELETE FROM snapshots WHERE sequence > ?",
                    arguments: [Int64(position.sequence.rawValue)])
                try JournalMeta.write(String(generation), for: .generation, to: db)
            }
            let (file, mark) = state.withLock { state -> (SideMarkFile?, SideMark) in
                state.generation = generation
                state.head = position
                return (state.mark, sideMark(state))
            }
            try file?.reset(mark)
            return count
        }
    }

    /// Marks the journal as arbitrated, after ``openVerified(_:)``, and waits until that is durable (PROTOCOL, R-85).
    ///
    /// A journal that has the mark is left as it is.
    package func markArbitrated() throws {
        guard arbitration == nil else { return }
        try setMark(JournalArbitration(adopted: head))
    }

    /// Takes the mark away, after ``openVerified(_:)``, and waits until that is durable (PROTOCOL, R-85).
    ///
    /// A journal without the mark is left as it is.
    package func removeArbitratedMark() throws {
        guard arbitration != nil else { return }
        try setMark(nil)
    }

    private func setMark(_ mark: JournalArbitration?) throws {
        let what = mark == nil ? "another than a data node's" : "a data node's"
        switch try onConnection({ db in set(mark, db) }) {
        case .success: break
        case .failure(.diskFull):
            throw LockstepError(.diskFull, "There is no room to mark \(path) as \(what): free some space.")
        case .failure(.failed(let reason)):
            throw LockstepError(.journalFailed, "\(path) cannot be marked as \(what): \(reason)")
        }
    }

    /// Appends batches that another node still had, checked by the chain, in one transaction.
    ///
    /// It blocks until they are durable, and throws ``LockstepError`` if they do not follow this journal's end.
    package func appendRecovered(_ batches: [SealedBatch]) throws {
        try onConnection { db in
            var end = head
            for batch in batches {
                guard batch.head.store == identity.store, batch.head.first == end.sequence.next,
                    batch.head.previous == end.hash, batch.head.epoch >= end.epoch
                else {
                    throw LockstepError(
                        .diverged,
                        "The fetched batch at \(batch.head.first) does not follow this journal's end \(end). Compare "
                            + "the histories with `lockstep journal dump` on both nodes.")
                }
                end = batch.position
            }
            switch write(batches, db) {
            case .success: checkpointIfDue(db)
            case .failure(.diskFull): throw noRoom()
            case .failure(.failed(let text)): throw LockstepError(.journalFailed, text)
            }
        }
    }

    /// Begins the journal anew with a snapshot that was fetched, or restored; blocks until it is durable.
    ///
    /// - Throws: ``LockstepError``: `diskFull`, `journalFailed`.
    package func replaceRecovered(withSnapshot bytes: [UInt8], at position: Position) throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, JournalFailure>>(.success(()))
        replace(withSnapshot: bytes, at: position) { result in
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        switch outcome.withLock({ $0 }) {
        case .success: break
        case .failure(.diskFull): throw noRoom()
        case .failure(.failed(let text)): throw LockstepError(.journalFailed, text)
        }
    }

    private func noRoom() -> LockstepError {
        LockstepError(.diskFull, "There is no room for the journal \(path). Free some space, then repeat.")
    }

    /// Writes the side mark anew at the journal's end: what it said before is given up by the operator who recovers.
    package func resetMark() throws {
        try onConnection { _ in
            let (file, mark) = state.withLock { ($0.mark, sideMark($0)) }
            try file?.reset(mark)
        }
    }

    /// Lets SQLite's file grow to so many pages only; nil takes the bound away.
    ///
    /// Tests make a full disk with it.
    package func limitPages(_ count: Int?) throws {
        try onConnection { db in try db.execute(sql: "PRAGMA max_page_count = \(count ?? 1_073_741_823)") }
    }

    /// Throws for a place that no journal may be cut at: where no batch ends, or below what is known to be committed.
    private func checkEnd(_ position: Position, _ db: Database) throws {
        let sequence = Int64(position.sequence.rawValue)
        let base = try Int64.fetchOne(
            db, sql: "SELECT max(sequence) FROM snapshots WHERE sequence <= ?", arguments: [sequence])
        let oldest = try Int64.fetchOne(db, sql: "SELECT min(first) FROM batches") ?? 1
        let committed = state.withLock { $0.arbitration }?.committed(snapshot: .zero) ?? .zero
        guard try isEnd(position, db), base != nil || oldest == 1, position.sequence >= committed else {
            throw LockstepError(
                .administration,
                "The journal \(path) cannot be cut at \(position): no batch or snapshot ends there, or nothing before "
                    + "it is kept to begin from. `lockstep journal inspect` shows the ends.")
        }
    }

    /// Whether a batch or a snapshot of this journal ends at a position, or the log begins there.
    func isEnd(_ position: Position, _ db: Database) throws -> Bool {
        let sequence = Int64(position.sequence.rawValue)
        let ends = try Row.fetchAll(
            db,
            sql: """
                SELECT last, hash FROM (SELECT last, hash FROM batches WHERE first <= ? ORDER BY first DESC LIMIT 1)
                UNION ALL SELECT sequence, hash FROM snapshots WHERE sequence = ?
                """, arguments: [sequence, sequence])
        return position == .start(of: identity.store)
            || ends.contains { $0.sequence(0) == position.sequence && $0.number128(1) == position.hash.rawValue }
    }

    /// Runs `body` with the connection, after what was asked for before, on the caller's thread.
    private func onConnection<Value>(_ body: (Database) throws -> Value) throws -> Value {
        let database = state.withLock { state -> DatabaseQueue? in
            precondition(state.phase != .opened, "a journal is recovered, or opened for repair, before it is used")
            return state.failure == nil ? state.database : nil
        }
        guard let database else { throw LockstepError(.stopped, "The journal \(path) is closed: \(refusal).") }
        do {
            return try database.writeWithoutTransaction(body)
        } catch {
            throw LockstepError.journal(error, path: path)
        }
    }
}
