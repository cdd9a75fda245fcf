import GRDB
package import LockstepCore
package import LockstepNode
import Synchronization

// A replica's journal that was made before it knew its cluster (PROTOCOL, R-9).
extension SQLiteJournal {
    /// See ``Journal/adopt(cluster:channel:completion:)``.
    ///
    /// One transaction changes cluster, channel and generation; then the write-ahead log is copied, since no mark would
    /// show that this was lost with its end; then the side mark follows. A crash before the last leaves a mark that is one
    /// generation behind, which recovery knows from replacements.
    package func adopt(
        cluster: ClusterID, channel: Channel, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        onDatabase { [self] db in
            guard let db else { return completion(.failure(.failed(refusal))) }
            completion(adopt(cluster, channel, db))
        }
    }

    private func adopt(_ cluster: ClusterID, _ channel: Channel, _ db: Database) -> Result<Void, JournalFailure> {
        let (identity, end, generation) = state.withLock { state in
            (state.identity.adopted(by: cluster, channel: channel), state.head, state.generation + 1)
        }
        guard end.sequence == .zero else {
            return .failure(.failed("the journal \(path) ends at \(end) and cannot take another cluster"))
        }
        do {
            try transaction(db) {
                try JournalMeta.write(identity.cluster.description, for: .cluster, to: db)
                try JournalMeta.write(String(identity.channel.rawValue), for: .channel, to: db)
                try JournalMeta.write(String(generation), for: .generation, to: db)
            }
            _ = try db.checkpoint(.truncate)
            let (file, mark) = state.withLock { state -> (SideMarkFile?, SideMark) in
                state.identity = identity
                state.generation = generation
                state.head = .start(of: identity.store)
                state.walBytes = 0
                return (state.mark, sideMark(state))
            }
            try file?.reset(mark)
            return .success(())
        } catch {
            return .failure(failure(for: error))
        }
    }
}
