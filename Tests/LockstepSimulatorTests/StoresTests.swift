import LockstepSimulator
import Testing

/// Nodes with two stores (PROTOCOL R-10).
@Suite struct StoresTests {
    @Test func bothStoresAreServedAndComeToRest() {
        for seed in UInt64(1)...2 {
            var pins = SimulationOptions.Pins()
            pins.stores = 2
            pins.operations = 80
            pins.faultTime = 10_000_000_000
            for fault in FaultClass.ofOperator + [.oldCopy, .bitFlip] { pins.strengths[fault] = 0 }
            pins.isVolatile = false
            let result = SimulationResult.run(.drawn(seed: seed, pins: pins))
            #expect(result.options.stores == 2)
            #expect(result.violation == nil)
            #expect(result.coverage.deeds[.secondStoreReached, default: 0] > 50)
        }
    }

    /// Goal: the operator, who knows one store, never has to decide about another.
    @Test func faultsOfAnOperatorMeanOneStore() {
        for fault in FaultClass.ofOperator + [.oldCopy, .bitFlip] {
            var pins = SimulationOptions.Pins()
            pins.stores = 2
            pins.strengths[fault] = 1
            pins.isVolatile = false
            #expect(SimulationOptions.drawn(seed: 1, pins: pins).stores == 1)
        }
    }

    /// Processes on one host are disturbed together, and nothing is between them.
    @Test func storesOfAHostAreDisturbedTogether() {
        // Processes 0 and 1 are hosts; 2 is another store on host 0.
        var health = Health(hosts: [0, 1, 0])
        health.disturbed(0, until: 7)
        #expect(health.since(2) == 7 && health.since(1) == 0)
        health.cut(0, 1)
        #expect(health.since(2, 1) == .max && health.since(2, 0) == 7)
        health.joined(0, 1, at: 9)
        #expect(health.since(1, 2) == 9)
    }
}
