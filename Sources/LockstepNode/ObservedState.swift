package import LockstepCore
internal import Tracing

/// The user's state with a note of what readers see, so that the node knows when a reader's time has come.
///
/// Everything is passed on; a call costs nothing beside what it calls, since series come whole.
package final class ObservedState: ReplicatedState {
    package let base: any ReplicatedState
    /// What readers see.
    package private(set) var published = ViewPlace(epoch: .zero, sequence: .zero, time: .zero)
    /// Captured and not yet shown, oldest first.
    ///
    /// The machines keep at most a few.
    private var captured: [ViewPlace] = []
    /// Somebody waits in this node for a newer view.
    package var isAwaited = false
    private let traces: ActionTraces?

    package init(_ base: any ReplicatedState, traces: ActionTraces? = nil) {
        self.base = base
        self.traces = traces
    }

    package func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        let span = traces?.mutating(context.session, from: context.firstNumber, count: count)
        defer { span?.end() }
        return base.perform(actions, &reader, count: count, context: context, into: &batch)
    }

    package func takeRequest() -> RunRequest? { base.takeRequest() }
    package func runAccepted(_ id: RunID) { base.runAccepted(id) }
    package func runEnded(_ id: RunID) { base.runEnded(id) }
    package func resume(
        _ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter
    ) -> RunResumption { base.resume(run, action: action, context: context, into: &item) }
    package var nextDue: LogTime? { base.nextDue }
    package func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int {
        base.performDue(at: time, context: context, into: &mutations)
    }
    package func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool { base.isLive(cause, ticket: ticket) }

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        try base.apply(bytes, mutations: mutations, count: count, at: position, time: time)
    }

    package func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        try base.apply(bytes, items: items, count: count, at: position, time: time, replies: &replies)
    }

    package var digest: Digest { base.digest }
    package var digestCost: Int64 { base.digestCost }

    package func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        captured.append(ViewPlace(epoch: epoch, sequence: sequence, time: time))
        base.capture(at: sequence, epoch: epoch, time: time)
    }

    package var isViewWanted: Bool { isAwaited || base.isViewWanted }

    package func publish(through sequence: SequenceNumber) {
        if let view = captured.last(where: { $0.sequence <= sequence }) { published = view }
        captured.removeAll { $0.sequence <= sequence }
        base.publish(through: sequence)
    }

    package func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        try base.answer(query, range)
    }

    package var answerCost: Int64 { base.answerCost }

    package func image() -> any StateImage { base.image() }

    package nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState {
        preconditionFailure("states are prepared by their own object, away from the node's thread")
    }

    package func install(_ prepared: any PreparedState) {
        captured = []
        base.install(prepared)
    }

    package func reset() {
        captured = []
        published = ViewPlace(epoch: .zero, sequence: .zero, time: .zero)
        base.reset()
    }
}
