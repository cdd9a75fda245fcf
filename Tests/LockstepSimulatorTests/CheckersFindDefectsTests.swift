import Counters
import Lockstep
import LockstepCore
import LockstepSimulator
import Testing

/// The checkers of a run find what is planted outside of the machines; defects within them have a program of their own.
@Suite(.timeLimit(.minutes(30))) struct CheckersFindDefectsTests {
    private func violation(_ workload: any Workload) -> Violation? {
        let options = SimulationOptions(seed: 3, operations: 150, faultTime: 15_000_000_000)
        return SimulationResult.run(options, workload: workload).violation
    }

    /// A reducer that gives another state on the third node: PROTOCOL R-53.
    @Test func aReducerThatDriftsIsFound() {
        #expect(violation(Sabotage(.drift))?.promise == .digest)
    }

    /// Nodes apply whole runs with the path that ships, and the places that it gives are looked at: PROTOCOL R-50.
    @Test func aRunThatIsAppliedAtAnotherPlaceIsFound() {
        #expect(violation(Sabotage(.misplacedRuns))?.promise == .digest)
    }

    /// An answer that the log does not give at the place that it names: PROTOCOL R-16.
    @Test func aWrongAnswerToAReadIsFound() {
        #expect(violation(Sabotage(.answers))?.promise == .committedOnly)
    }

    /// A history that no order of the calls explains.
    @Test func aLostAdditionIsFound() {
        #expect(violation(Sabotage(.lostAddition))?.promise == .linearizability)
    }

    /// A cluster that was killed until the end and gets no time to come to rest.
    @Test func aClusterThatIsNotAtRestIsFound() {
        var options = SimulationOptions(seed: 3, operations: 150, faultTime: 15_000_000_000, healTime: 1)
        for fault in [FaultClass.cut, .pause, .primaryCrash, .replicaCrash] { options.plan[fault] = 1 }
        var promises: [Violation.Promise?] = []
        for seed in 1...5 {
            options.seed = UInt64(seed)
            promises.append(SimulationResult.run(options).violation?.promise)
        }
        #expect(promises.contains(.convergence))
    }

    @Test func withoutSabotageNothingIsFound() {
        #expect(violation(Sabotage(.nothing)) == nil)
    }
}

/// The counters' workload with one thing wrong.
final class Sabotage: Workload {
    enum Kind { case nothing, drift, misplacedRuns, answers, lostAddition }
    private let kind: Kind
    private let base = CountersWorkload()
    private var made = 0

    init(_ kind: Kind) { self.kind = kind }

    func makeState() -> any ReplicatedState {
        made += 1
        // The first states belong to the nodes' birth; the last of them is a replica's.
        let state = base.makeState()
        guard made > 4 else { return state }
        return switch kind {
        case .drift: DriftingState(state)
        case .misplacedRuns: MisplacingState(state)
        case .nothing, .answers, .lostAddition: state
        }
    }

    func next(caller: Int, random: inout SplitMix64) -> Call? { base.next(caller: caller, random: &random) }
    func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable {
        base.remember((state as? SabotagedState)?.base ?? state, at: head)
    }

    func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool {
        kind != .answers && base.isRight(answer, to: query, at: remembered)
    }

    func findings(in history: [CallRecord], final: any Sendable) -> [Violation] {
        var history = history
        if kind == .lostAddition, let index = history.firstIndex(where: { $0.isAddition }) {
            // Nobody ever made it.
            history.remove(at: index)
        }
        return base.findings(in: history, final: final)
    }
}

extension CallRecord {
    /// A committed addition of something to a counter that is judged.
    fileprivate var isAddition: Bool {
        guard case .action(let bytes) = call, case .answered(.committed, _) = outcome,
            case .add(let name, let amount)? = try? Counters.actionCoding.decoded(bytes)
        else { return false }
        return name.hasPrefix("a") && amount != 0
    }
}

/// A state around another, for what is wrong on purpose.
private class SabotagedState: ReplicatedState {
    let base: any ReplicatedState

    init(_ base: any ReplicatedState) { self.base = base }

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int { base.perform(actions, &reader, count: count, context: context, into: &batch) }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        try base.apply(bytes, mutations: mutations, count: count, at: position, time: time)
    }

    func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        try base.apply(bytes, items: items, count: count, at: position, time: time, replies: &replies)
    }

    var digest: Digest { base.digest }
    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        base.capture(at: sequence, epoch: epoch, time: time)
    }
    var isViewWanted: Bool { base.isViewWanted }
    func publish(through sequence: SequenceNumber) { base.publish(through: sequence) }
    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] { try base.answer(query, range) }
    func image() -> any StateImage { base.image() }
    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState { try base.prepare(bytes) }
    func install(_ prepared: any PreparedState) { base.install(prepared) }
    func reset() { base.reset() }
}

/// A state that leaves out the mutations of every tenth entry.
private final class DriftingState: SabotagedState {
    private var applied = 0

    override func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        applied += 1
        guard applied % 10 != 0 else { return }
        try super.apply(bytes, mutations: mutations, count: count, at: position, time: time)
    }

    override func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        try applyEach(bytes, items: items, count: count, at: position, time: time, replies: &replies)
    }
}

/// A state that applies a whole run as if it stood one place further on; item by item it is right.
private final class MisplacingState: SabotagedState {
    override func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        try super.apply(
            bytes, items: items, count: count, at: (position.0, position.1.next), time: time, replies: &replies)
    }
}
