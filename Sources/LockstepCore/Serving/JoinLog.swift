/// What a node tells joiners of its log: how far it has committed, and which places it still knows.
///
/// It is made for one call and thrown away, since a kept copy would make the next change of the window dear.
package struct JoinLog: Sendable {
    package var stamp: FrameStamp
    package var store: StoreID
    /// The last batch that may leave the node, and the boot that owns its epoch.
    package var committed: KnownPosition
    package var epochEnds: [EpochEnd]
    package var window: ResendWindow

    package init(
        stamp: FrameStamp, store: StoreID, committed: KnownPosition, epochEnds: [EpochEnd], window: ResendWindow
    ) {
        self.stamp = stamp
        self.store = store
        self.committed = committed
        self.epochEnds = epochEnds
        self.window = window
    }

    /// How a position that a peer reports relates to this log (PROTOCOL, R-32, R-41).
    package enum Verdict: Hashable, Sendable {
        /// It is a place of this log, as far as the peer said what it knows.
        case known
        /// At or below the commit number, but this node no longer knows the hash there.
        case tooOld
        /// A higher epoch, or a sequence number above the commit number.
        case ahead
        /// A place of another history.
        case diverged
    }

    /// Compares a reported position with this log; unset fields (zero) are not compared.
    package func verdict(on reported: KnownPosition) -> Verdict {
        let position = reported.position
        guard position.epoch > .zero || position.sequence > .zero else { return .known }
        guard position.epoch <= committed.position.epoch, position.sequence <= committed.position.sequence else {
            return .ahead
        }
        guard position.sequence > .zero else { return .diverged }
        let owner = owner(of: position.sequence)
        guard owner.epoch == position.epoch else { return .diverged }
        if reported.boot != .none, owner.boot != .none, reported.boot != owner.boot { return .diverged }
        guard position.hash != .none else { return .known }
        if let hash = hash(at: position.sequence) { return hash == position.hash ? .known : .diverged }
        // A batch that is held does not end here: batches are cut once, so this is another history.
        return window.batch(containing: position.sequence) == nil ? .tooOld : .diverged
    }

    /// The hash at a batch's end, if this node still knows it.
    package func hash(at sequence: SequenceNumber) -> BatchHash? {
        if sequence == .zero { return BatchHash(rawValue: store.rawValue) }
        guard sequence <= committed.position.sequence else { return nil }
        if sequence == committed.position.sequence { return committed.position.hash }
        return window.hash(at: sequence) ?? epochEnds.last { $0.sequence == sequence }?.hash
    }

    /// Whether every batch after `sequence` is held, so that a joiner needs no snapshot.
    package func holdsTail(after sequence: SequenceNumber) -> Bool {
        guard sequence < committed.position.sequence else { return sequence == committed.position.sequence }
        return window.batch(containing: sequence.next)?.head.first == sequence.next
    }

    /// Who wrote the entry at `sequence`, which is at or below the commit number.
    private func owner(of sequence: SequenceNumber) -> (epoch: Epoch, boot: BootID) {
        // The ends are in order, so the first one at or after the place is the epoch's own.
        if let end = epochEnds.first(where: { $0.sequence >= sequence }) { return (end.epoch, end.boot) }
        return (committed.position.epoch, committed.boot)
    }
}
