import LockstepCore
import LockstepSimulator
import Testing

/// Whole clusters under faults, from a few seeds; `lockstep-lab simulate` runs many.
@Suite(.timeLimit(.minutes(30))) struct SimulationTests {
    /// A short run: what takes a second in an optimised build must not take a minute in this one.
    static func options(_ seed: UInt64, _ pinned: [FaultClass: Double] = [:]) -> SimulationOptions {
        var pins = SimulationOptions.Pins()
        pins.operations = 120
        pins.faultTime = 15_000_000_000
        pins.strengths = pinned
        return .drawn(seed: seed, pins: pins)
    }

    @Test(arguments: 1...8) func noPromiseIsBroken(seed: Int) {
        let result = SimulationResult.run(Self.options(UInt64(seed)))
        #expect(result.violation == nil, "lockstep-lab simulate --seed \(seed) --operations 120 --fault-time 15")
        #expect(result.calls == 120)
        #expect(result.answered > 60)
    }

    /// Two epochs may have one number: after an accepted loss, and when an opening was never durable.
    ///
    /// Neither is judged by what holds for the other.
    @Test(arguments: zip([0xb44aae49ba722, 0x13c4da1ffed92] as [UInt64], [FaultClass.switchOver, .orderlyStop]))
    func anEpochThatComesTwiceBreaksNoPromise(seed: UInt64, fault: FaultClass) {
        let result = SimulationResult.run(.drawn(seed: seed, pins: Self.ofOneStore))
        #expect(result.violation == nil, "lockstep-lab simulate --seed \(seed) --stores 1")
        #expect(result.coverage.fired[fault, default: 0] > 0)
    }

    private static var ofOneStore: SimulationOptions.Pins {
        var pins = SimulationOptions.Pins()
        pins.stores = 1
        return pins
    }

    /// A RESYNC that a network brings after the WELCOME which ended its cause makes no storm of greetings.
    @Test func aLateResyncMakesNoStorm() {
        let result = SimulationResult.run(.drawn(seed: 0xf_882f_7523_4312, pins: Self.ofOneStore))
        #expect(result.violation == nil, "lockstep-lab simulate --seed 0xf882f75234312 --stores 1")
    }

    /// A wrong state is not made the primary's, and a quarantined replica of a history that was given up is made anew.
    @Test(arguments: zip([0x2d_db78, 0x2d_ea50] as [UInt64], [FaultClass.divergentReducer, .oldCopy]))
    func anOperatorKnowsWhatIsWrong(seed: UInt64, fault: FaultClass) {
        let result = SimulationResult.run(.drawn(seed: seed, pins: Self.ofOneStore))
        #expect(result.violation == nil, "lockstep-lab simulate --seed \(seed) --stores 1")
        #expect(result.coverage.fired[fault, default: 0] > 0)
    }

    /// Without faults every call is answered, and nothing is unknown.
    @Test func aCalmClusterAnswersEverything() {
        let result = SimulationResult.run(SimulationOptions(seed: 1, operations: 100, faultTime: 10_000_000_000))
        #expect(result.violation == nil)
        #expect(result.answered == 100)
        #expect(result.unknown == 0)
        #expect(result.coverage.fired.isEmpty)
    }

    @Test func aSeedDeterminesEveryStep() {
        let results = (0..<2).map { _ in SimulationResult.run(Self.options(17)) }
        #expect(results[0].traceHash == results[1].traceHash)
        #expect(results[0].steps == results[1].steps)
        #expect(SimulationResult.run(Self.options(18)).traceHash != results[0].traceHash)
    }

    /// What is pinned does not change what the seed draws for the rest.
    @Test func pinnedFaultsLeaveTheOthersAlone() {
        let drawn = SimulationOptions.drawn(seed: 5)
        var pins = SimulationOptions.Pins()
        pins.strengths = [.loss: 0, .cut: 1]
        let pinned = SimulationOptions.drawn(seed: 5, pins: pins)
        #expect(!pinned.plan.isOn(.loss))
        #expect(pinned.plan[.cut] == 1)
        for fault in FaultClass.allCases where fault != .loss && fault != .cut {
            #expect(pinned.plan[fault] == drawn.plan[fault])
        }
        #expect(SimulationOptions.description(of: pins) == "--fault cut=1.0 --fault loss=0.0")
    }

    /// Each fault that is pinned to its full strength happens.
    @Test(arguments: FaultClass.allCases) func everyFaultHappensWhenItIsAskedFor(fault: FaultClass) {
        var pins = SimulationOptions.Pins()
        pins.operations = 200
        pins.faultTime = 60_000_000_000
        for other in FaultClass.allCases { pins.strengths[other] = 0 }
        pins.strengths[fault] = 1
        // These change what another fault does.
        if [.lostWrites, .tornWrite, .crashWhileStarting].contains(fault) { pins.strengths[.primaryCrash] = 1 }
        if [.lostWrites, .tornWrite, .commitError].contains(fault) { pins.strengths[.journalLatency] = 1 }
        pins.isVolatile = false
        var fired = 0
        var seed: UInt64 = 1
        while fired == 0, seed <= 12 {
            let result = SimulationResult.run(.drawn(seed: seed, pins: pins))
            #expect(result.violation == nil, "seed \(seed), \(SimulationOptions.description(of: pins))")
            fired = fault == .buggify ? result.coverage.buggifySites.nonzeroBitCount : result.coverage.fired[fault] ?? 0
            seed += 1
        }
        #expect(fired > 0)
    }
}
