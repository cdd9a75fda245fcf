/// Names a snapshot for the life of its node.
package typealias SnapshotNumber = UInt64

/// Which snapshot a node gives to its journal next: one at a time, and none of a place that the journal has not reached.
///
/// A replica's state is ahead of its journal while a write is under way, and a save of a large state takes longer than
/// the way to the next snapshot. Of several that wait the newest is saved; the others were only steps towards it.
///
/// The journal's sizes change only when a save has ended, so they call a snapshot due all the while; ``isReady(at:)``
/// says whether taking one makes sense.
package struct SnapshotSaving: Hashable, Sendable {
    private struct Waiting: Hashable, Sendable {
        var number: SnapshotNumber
        var sequence: SequenceNumber
    }

    /// How long no snapshot is taken after one that could not be made or saved: each costs a walk over the state.
    package static let pauseMilliseconds: Int64 = 30_000

    private var waiting: Waiting?
    private var notBefore = Tick.zero
    /// A save is under way: the journal takes no other snapshot, and must not be begun anew.
    package private(set) var isSaving = false

    package init() {}

    /// The machine wants this snapshot saved, which shows the state at `sequence`.
    package mutating func offer(_ number: SnapshotNumber, at sequence: SequenceNumber) {
        waiting = Waiting(number: number, sequence: sequence)
    }

    /// The snapshot to give to the journal now, which holds everything through `written`; it is then under way.
    package mutating func next(written: SequenceNumber) -> SnapshotNumber? {
        guard !isSaving, let next = waiting, next.sequence <= written else { return nil }
        waiting = nil
        isSaving = true
        return next.number
    }

    /// Whether a snapshot that is due may be taken now: none is on its way into the journal, and none has failed lately.
    package func isReady(at now: Tick) -> Bool { !isSaving && waiting == nil && now >= notBefore }

    /// A snapshot could not be encoded or saved.
    package mutating func failed(at now: Tick) {
        notBefore = now.advanced(byMilliseconds: Self.pauseMilliseconds)
    }

    /// The save has ended, one way or the other.
    package mutating func ended() { isSaving = false }

    /// What waits belongs to a state that was replaced.
    package mutating func forget() { waiting = nil }
}
