package import LockstepCore

extension ReplicatedState {
    /// The real state, of which this may be a ``SimulatedState``.
    var unwrapped: any ReplicatedState { (self as? SimulatedState)?.base ?? self }
}

/// A state as the simulator gives it to a machine: the real one, without the time that its digests take.
///
/// It can be told to reduce one item wrongly, once, and to give whole series to the real one at another place.
package final class SimulatedState: ReplicatedState {
    let base: any ReplicatedState
    /// The next item is left out: what a reducer that is not deterministic comes to.
    var skipsNextItem = false
    /// An item was left out since the state was last replaced.
    private(set) var isTainted = false
    /// A replica's performs nothing and runs nothing.
    package var mayRun = true
    package private(set) var hasRun = false

    /// It applies runs item by item: the checkers' second opinion on those that do it in one go.
    private let isItemByItem: Bool
    /// A series is applied as if it stood one place further on; item by item it is right.
    var misplacesSeries = false

    package init(_ base: any ReplicatedState, isItemByItem: Bool = false) {
        self.base = base
        self.isItemByItem = isItemByItem
    }

    package func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        runs()
        return base.perform(actions, &reader, count: count, context: context, into: &batch)
    }

    private func runs() { hasRun = hasRun || !mayRun }

    package func takeRequest() -> RunRequest? { base.takeRequest() }

    package func runAccepted(_ id: RunID) {
        runs()
        base.runAccepted(id)
    }

    package func resume(
        _ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter
    ) -> RunResumption {
        runs()
        return base.resume(run, action: action, context: context, into: &item)
    }

    package func runEnded(_ id: RunID) { base.runEnded(id) }
    package var nextDue: LogTime? { base.nextDue }

    package func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int {
        runs()
        return base.performDue(at: time, context: context, into: &mutations)
    }

    package func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool { base.isLive(cause, ticket: ticket) }

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        if skipsNextItem {
            skipsNextItem = false
            isTainted = true
            return
        }
        try base.apply(bytes, mutations: mutations, count: count, at: position, time: time)
    }

    package func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        guard !isItemByItem, !skipsNextItem else {
            return try applyEach(bytes, items: items, count: count, at: position, time: time, replies: &replies)
        }
        let first = misplacesSeries ? position.1.next : position.1
        try base.apply(bytes, items: items, count: count, at: (position.0, first), time: time, replies: &replies)
    }

    package var digest: Digest { base.digest }

    package func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        base.capture(at: sequence, epoch: epoch, time: time)
    }

    package var isViewWanted: Bool { base.isViewWanted }
    package func publish(through sequence: SequenceNumber) { base.publish(through: sequence) }

    package func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        try base.answer(query, range)
    }

    package func image() -> any StateImage { base.image() }
    package nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState { try base.prepare(bytes) }

    package func install(_ prepared: any PreparedState) {
        isTainted = false
        base.install(prepared)
    }

    package func reset() {
        isTainted = false
        base.reset()
    }
}
