import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

// What the journal of a data node keeps besides its batches: rows of the table of facts (PROTOCOL, R-84, R-85).
extension SQLiteJournal {
    package var arbitration: JournalArbitration? { state.withLock { $0.arbitration } }

    /// Why a node without an arbiter does not open an arbitrated journal.
    static func arbitrated(_ path: String, _ store: String) -> LockstepError {
        LockstepError(
            .wrongRole,
            "The journal \(path) of \(store) is a data node's: its end may hold what never committed, and its arbiter "
                + "knows who is primary. Only `lockstep serve` opens it, in the folder that `lockstep init --etcd` made."
        )
    }

    // MARK: - The commit number

    /// The commit number, if it is above the one that is stored; nil also of a journal that is not arbitrated.
    func raised(_ committed: SequenceNumber) -> SequenceNumber? {
        guard let known = state.withLock({ $0.arbitration })?.committed, committed > known else { return nil }
        return committed
    }

    /// Writes a commit number that has risen, in the transaction that is under way.
    ///
    /// Cost: one page of the write-ahead log.
    func write(commit number: SequenceNumber, through end: Position, _ db: Database) throws {
        precondition(number <= end.sequence, "the commit number names a place of this log")
        try JournalMeta.write(String(number.rawValue), for: .committed, to: db)
    }

    /// Takes note of a commit number that is durable.
    func stored(commit number: SequenceNumber) {
        state.withLock { state in
            state.arbitration?.committed = number
            state.walBytes += 2 * JournalSchema.pageBytes
        }
    }

    /// See ``ArbitratedJournal/store(commit:completion:)``.
    ///
    /// Cost: a commit, between those of batches. Lost with the end of the write-ahead log, it only makes the tail longer.
    package func store(
        commit number: SequenceNumber, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            guard let number = raised(number) else { return completion(.success(())) }
            do {
                try transaction(db) { try write(commit: number, through: head, db) }
                stored(commit: number)
                completion(.success(()))
                checkpointIfDue(db)
            } catch {
                completion(.failure(failure(for: error)))
            }
        }
    }

    // MARK: - Promise and memory

    /// See ``ArbitratedJournal/promise(_:completion:)``.
    ///
    /// Cost: a commit, and the copying of the write-ahead log, without which no mark would show that it was lost with
    /// the end of that.
    package func promise(_ epoch: Epoch?, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        change(completion) { $0.promise(epoch) }
    }

    /// See ``ArbitratedJournal/remember(_:completion:)``; the cost is that of ``promise(_:completion:)``.
    package func remember(
        _ memory: ArbiterMemory, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        change(completion) { $0.arbiter = memory.stored }
    }

    /// Writes all facts after a change; without a write if nothing is changed.
    private func change(
        _ completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void,
        _ change: @escaping @Sendable (inout JournalArbitration) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            guard let known = arbitration else { preconditionFailure("only an arbitrated journal is asked for this") }
            var changed = known
            change(&changed)
            guard changed != known else { return completion(.success(())) }
            let facts = changed
            do {
                try transaction(db) { try facts.write(to: db) }
                try copyLog(db)
                state.withLock { $0.arbitration = facts }
                completion(.success(()))
            } catch {
                completion(.failure(failure(for: error)))
            }
        }
    }

    /// Copies the write-ahead log; without room for that it stays, and is durable all the same.
    private func copyLog(_ db: Database) throws {
        do {
            _ = try db.checkpoint(.truncate)
            state.withLock { $0.walBytes = 0 }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_FULL {
            state.withLock { $0.walBytes += 2 * JournalSchema.pageBytes }
        }
    }

    // MARK: - The mark

    /// See ``ArbitratedJournal/markArbitrated(completion:)``.
    ///
    /// One transaction changes the header, the facts and the generation; then the write-ahead log is copied, then the
    /// side mark follows. So an older copy without the mark does not go with the side mark.
    package func markArbitrated(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            guard arbitration == nil else { return completion(.success(())) }
            completion(set(JournalArbitration(adopted: head), db))
        }
    }

    /// See ``ArbitratedJournal/removeArbitratedMark(completion:)``; done as ``markArbitrated(completion:)`` is.
    package func removeArbitratedMark(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            guard arbitration != nil else { return completion(.success(())) }
            completion(set(nil, db))
        }
    }

    func set(_ arbitration: JournalArbitration?, _ db: Database) -> Result<Void, JournalFailure> {
        let generation = state.withLock { $0.generation } + 1
        let version = arbitration == nil ? JournalSchema.version : JournalSchema.arbitratedVersion
        do {
            try transaction(db) {
                try db.execute(sql: "PRAGMA user_version = \(version)")
                if let arbitration { try arbitration.write(to: db) } else { try JournalArbitration.remove(from: db) }
                try JournalMeta.write(String(generation), for: .generation, to: db)
            }
            try copyLog(db)
            let (file, mark) = state.withLock { state -> (SideMarkFile?, SideMark) in
                state.arbitration = arbitration
                state.generation = generation
                return (state.mark, sideMark(state))
            }
            try file?.reset(mark)
            return .success(())
        } catch {
            return .failure(failure(for: error))
        }
    }
}
