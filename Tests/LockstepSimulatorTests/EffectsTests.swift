import LockstepCore
import LockstepSimulator
import Testing

/// Whole clusters with effects, from a few seeds; `lockstep-lab simulate` runs many.
@Suite(.timeLimit(.minutes(30))) struct EffectsTests {
    private func options(_ seed: UInt64, share: Double = 0.5) -> SimulationOptions {
        var options = SimulationOptions(seed: seed, operations: 150, faultTime: 15_000_000_000)
        options.effects = share
        return options
    }

    /// Without faults every accepted action is answered twice, and nothing is dropped but what must be.
    @Test func aCalmClusterEndsEveryEffect() {
        let result = SimulationResult.run(options(1))
        #expect(result.violation == nil)
        #expect(result.answered == 150)
        #expect(result.unknown == 0)
        let effects = result.coverage.effects
        let accepted = effects[.accepted] ?? 0
        #expect(accepted > 20)
        #expect(effects[.learnedEnd, default: 0] + effects[.learnedCancel, default: 0] == accepted)
        #expect(effects[.lostEnd] == nil)
        #expect(effects[.busyEmission] == nil)
        for event in [EffectEvent.begun, .committedEmission, .cancelled, .timerFired, .source, .feedback] {
            #expect(effects[event, default: 0] > 0, "\(event)")
        }
    }

    /// Every accepted action has one end, whenever the primary is killed (PROTOCOL ).
    @Test func everyEffectEndsWhenThePrimaryIsKilled() {
        var begunAgain = 0
        for seed in 1...6 as ClosedRange<UInt64> {
            var options = options(seed)
            for fault in [FaultClass.primaryCrash, .crashWhileStarting, .lostWrites, .journalLatency] {
                options.plan[fault] = 1
            }
            let result = SimulationResult.run(options)
            #expect(result.violation == nil, "seed \(seed)")
            begunAgain += result.coverage.effects[.begunAgain, default: 0]
        }
        #expect(begunAgain > 0)
    }

    @Test func aSeedDeterminesEveryStepOfEffects() {
        let results = (0..<2).map { _ in SimulationResult.run(options(5, share: 0.8)) }
        #expect(results[0].traceHash == results[1].traceHash)
        #expect(results[0].coverage.effects == results[1].coverage.effects)
    }

    /// Whether effects are on, and how many, is drawn and can be pinned; it changes nothing else.
    @Test func effectsAreDrawnAndPinned() {
        let drawn = (0..<200 as Range<UInt64>).map { SimulationOptions.drawn(seed: $0) }
        #expect((100...180).contains(drawn.count { $0.effects > 0 }))
        #expect(drawn.allSatisfy { $0.effects <= 0.5 })
        var pins = SimulationOptions.Pins()
        pins.effects = 0.25
        let pinned = SimulationOptions.drawn(seed: 7, pins: pins)
        #expect(pinned.effects == 0.25)
        #expect(pinned.plan == SimulationOptions.drawn(seed: 7).plan)
        #expect(SimulationOptions.description(of: pins) == "--effects 0.25")
    }

    /// The bytes of actions and mutations have one form, and cut ones are refused.
    @Test func theScriptsBytesAreReadAsWritten() {
        var script = EffectScript(emissions: 300, pace: 20)
        script.fails = true
        script.group = 3
        script.cancelledAfter = 200
        let id = RunID(
            session: SessionID(epoch: Epoch(rawValue: 9), sequence: SequenceNumber(rawValue: 300)), number: 4)
        let actions: [EffectAction] = [
            .start(script), .cancelName(1), .cancelRun(id), .setTimer(1, after: 1_000_000), .cancelTimer(1), .ask(2),
            .withdraw(2),
        ]
        for action in actions {
            #expect(EffectAction(action.bytes) == action)
            #expect(EffectAction(Array(action.bytes.dropLast())) == nil)
        }
    }

    /// An effect that does not end keeps the cluster from its rest.
    @Test func anEffectThatDoesNotEndIsFound() {
        let result = SimulationResult.run(options(2), workload: LazyWorkload())
        #expect(result.violation?.promise == .convergence)
        #expect(result.violation?.text.contains("runs go on") == true)
    }

    /// A replica only follows: whatever else is asked of its state is noted.
    @Test func aStateThatRunsOnAReplicaIsFound() {
        for mayRun in [true, false] {
            let state = SimulatedState(EffectState(CountersWorkload().makeState()))
            state.mayRun = mayRun
            var writer = ByteWriter()
            let stamp = ReduceStamp(epoch: .zero, sequence: .zero, time: .zero)
            let count = state.performDue(at: .zero, context: stamp, into: &writer)
            #expect(count == 0)
            #expect(state.hasRun == !mayRun)
        }
    }
}

/// A workload whose effects nobody carries out.
private final class LazyWorkload: Workload {
    private let base = EffectsWorkload(share: 0.5)
    func makeState() -> any ReplicatedState { base.makeState() }
    func next(caller: Int, random: inout SplitMix64) -> Call? { base.next(caller: caller, random: &random) }
    func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable { base.remember(state, at: head) }
    func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool { true }
    func findings(in history: [CallRecord], final: any Sendable) -> [Violation] { [] }
}
