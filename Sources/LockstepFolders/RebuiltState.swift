package import Lockstep
package import LockstepCore
package import LockstepSQLite

/// A reactor's state and the log's, rebuilt from a journal by the same code that a node runs.
package struct RebuiltState<R: Reactor> {
    package let state: ReactorState<R>
    package private(set) var log: LogState

    /// Applies snapshot and batches through the last batch that ends at or below `sequence`.
    ///
    /// Throws ``LockstepError`` of code `positionTooOld` for a place that is no longer kept.
    package init(_ reader: SQLiteJournalReader, _ reactor: R, through sequence: SequenceNumber) throws {
        try reader.checkReach(to: sequence)
        let state = ReactorState.detached(reactor)
        var log = LogState(store: reader.identity.store)
        if let snapshot = try reader.snapshot(atOrBelow: sequence) {
            state.install(try state.prepare(snapshot.state))
            log = snapshot.log
        }
        try reader.batches(after: log.position.sequence, through: sequence) { batch in
            guard batch.head.last <= sequence else { return }
            _ = try log.apply(batch, to: state)
        }
        self.state = state
        self.log = log
    }

    /// Applies the next batch.
    package mutating func apply(_ batch: SealedBatch) throws { _ = try log.apply(batch, to: state) }
}

extension ReactorState {
    /// A state that no node owns and nobody observes.
    package static func detached(_ reactor: R) -> ReactorState {
        let start = Snapshot(state: reactor.initialState, place: .start, time: .zero)
        return ReactorState(reactor, published: PublishedState(start))
    }
}
