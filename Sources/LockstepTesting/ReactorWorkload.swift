import Lockstep
import LockstepCore
import LockstepSimulator

/// What the simulator has to know of a user's reactor: how to make its state, what runs its effects, and whether an
/// answer is right.
///
/// It makes no calls of its own.
final class ReactorWorkload<R: Reactor>: Workload {
    private let makeReactor: () -> R
    private let effects: ClusterEffects

    init(_ makeReactor: @escaping () -> R, effects: ClusterEffects) {
        self.makeReactor = makeReactor
        self.effects = effects
    }

    func makeState() -> any ReplicatedState {
        let reactor = makeReactor()
        let snapshot = Snapshot(state: reactor.initialState, place: .start, time: .zero)
        let published = PublishedState(snapshot)
        // Only a primary's is ever run.
        let runtime = EffectRuntime(reactor, published: published, clock: effects.clock, seed: effects.seed)
        return ReactorState(reactor, published: published, runtime: runtime)
    }

    func makeExecutor(
        _ port: any LockstepSimulator.EffectPort, random: SplitMix64
    ) -> (any EffectExecutor)? {
        guard let state = port.effectState as? ReactorState<R>, let runtime = state.runtime else {
            preconditionFailure("a node has this reactor's state")
        }
        let executor = ClusterExecutor(
            runtime, published: state.published, port: port, effects: effects, random: random)
        effects.began(executor, on: port.host)
        return executor
    }

    func next(caller: Int, random: inout SplitMix64) -> Call? { nil }

    func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable {
        guard let state = state as? ReactorState<R> else { preconditionFailure("another reactor's state") }
        return Snapshot(
            state: state.workingState, place: Place(epoch: head.epoch, sequence: head.last), time: head.time)
    }

    /// Equal bytes, or equal values; an answer that cannot be compared, or is another each time, is not judged.
    func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool {
        guard let snapshot = remembered as? Snapshot<R.State>, let query = try? R.queryCoding.decoded(query) else {
            return true
        }
        let context = AnswerContext(snapshot)
        guard let expected = try? R.answerCoding.encoded(R.answer(query, in: snapshot.state, context)),
            let again = try? R.answerCoding.encoded(R.answer(query, in: snapshot.state, context))
        else { return true }
        if answer == expected || expected != again { return true }
        guard let found = try? R.answerCoding.decoded(answer), let wanted = try? R.answerCoding.decoded(expected),
            let found = found as? any Equatable
        else { return true }
        return Self.isEqual(found, wanted)
    }

    private static func isEqual<Value: Equatable>(_ left: Value, _ right: Any) -> Bool { left == right as? Value }

    func findings(in history: [CallRecord], final: any Sendable) -> [Violation] { [] }
}
