internal import Logging
internal import LockstepCore
internal import ServiceLifecycle

/// What a journal held, and a state that has applied it.
struct RecoveredStore {
    var log: LogState
    var window = ResendWindow()
    /// What follows and is not known to be committed; of a data node only (PROTOCOL, R-84).
    var tail: [SealedBatch] = []
    private var batchCount = 0
    private var name = ""

    /// What is in memory, and in the state already.
    init(log: LogState, window: ResendWindow) { (self.log, self.window) = (log, window) }

    /// An empty log of this store.
    init(emptyLogOf store: StoreID, named name: String) {
        log = LogState(store: store)
        self.name = name
    }

    /// Applies what the journal holds; each digest in the log must be the state's at its place.
    ///
    /// `committed` is what this process knows to be committed, if the journal had no room to keep it.
    init(
        _ journal: any Journal, named name: String, into state: ObservedState, committed: SequenceNumber = .zero,
        logger: Logger
    ) throws {
        self.init(emptyLogOf: journal.identity.store, named: name)
        if let arbitrated = journal as? any ArbitratedJournal {
            try arbitrated.recover {
                try install($0, into: state)
            } batch: {
                try apply($0, to: state)
            } tail: {
                if $0.head.last <= committed { try apply($0, to: state) } else { tail.append($0) }
            }
        } else {
            try journal.recover {
                try install($0, into: state)
            } batch: {
                try apply($0, to: state)
            }
        }
        let position = log.position
        logger.info(
            "recovered",
            metadata: [
                LogKey.store: "\(name)", LogKey.epoch: "\(position.epoch)", LogKey.sequence: "\(position.sequence)",
                LogKey.count: "\(batchCount)",
            ])
    }

    private mutating func install(_ snapshot: SnapshotContent, into state: ObservedState) throws {
        let prepared = try state.base.prepare(snapshot.state)
        try compare(prepared.digest + snapshot.log.digest, snapshot.digest, at: snapshot.log.position)
        state.install(prepared)
        log = snapshot.log
    }

    private mutating func apply(_ batch: SealedBatch, to state: ObservedState) throws {
        // A long journal holds up no end.
        guard !Task.isCancelled, !Task.isShuttingDownGracefully else { throw CancellationError() }
        let mark: LogState.Mark?
        do { mark = try log.apply(batch, to: state) } catch {
            throw LockstepError(
                .journalDamaged, "the journal of \(name) cannot be applied after \(log.position.sequence): \(error)")
        }
        if let mark { try compare(state.digest + log.digest, mark.digest, at: batch.position) }
        window.append(batch)
        batchCount += 1
    }

    private func compare(_ own: Digest, _ expected: Digest, at position: Position) throws {
        guard own != expected else { return }
        throw LockstepError(
            .diverged,
            "the state of \(name) recovered to \(position.sequence) has digest \(own), the journal says \(expected): "
                + "is the reactor deterministic, and the version that wrote the journal?")
    }
}
