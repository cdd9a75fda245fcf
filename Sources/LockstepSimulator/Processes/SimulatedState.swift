import LockstepCore

/// A state as the simulator gives it to a machine: the real one, without the time that its digests take.
///
/// It can be told to reduce one item wrongly, once.
final class SimulatedState: ReplicatedState {
    let base: any ReplicatedState
    /// The next item is left out: what a reducer that is not deterministic comes to.
    var skipsNextItem = false
    /// An item was left out since the state was last replaced.
    private(set) var isTainted = false

    init(_ base: any ReplicatedState) { self.base = base }

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        base.perform(actions, &reader, count: count, context: context, into: &batch)
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        if skipsNextItem {
            skipsNextItem = false
            isTainted = true
            return
        }
        try base.apply(bytes, mutations: mutations, count: count, at: position, time: time)
    }

    var digest: Digest { base.digest }

    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        base.capture(at: sequence, epoch: epoch, time: time)
    }

    var isViewWanted: Bool { base.isViewWanted }
    func publish(through sequence: SequenceNumber) { base.publish(through: sequence) }

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        try base.answer(query, range)
    }

    func image() -> any StateImage { base.image() }
    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState { try base.prepare(bytes) }

    func install(_ prepared: any PreparedState) {
        isTainted = false
        base.install(prepared)
    }

    func reset() {
        isTainted = false
        base.reset()
    }
}
