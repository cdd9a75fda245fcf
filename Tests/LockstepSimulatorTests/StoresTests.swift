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

    /// Goal: no seed is spent on what another covers: three in ten have two stores, and most of the others an operator.
    @Test func enoughSeedsHaveTwoStores() {
        let count = (UInt64(0)..<4_000).count { SimulationOptions.drawn(seed: $0).stores == 2 }
        #expect((1_100...1_300).contains(count), "\(count) of 4,000")
    }

    /// Goal: cuts are between hosts, whose stores they all strike; who waits is judged by what is cut, so a cut of something
    /// else would excuse a wait.
    @Test func cutsAreBetweenHosts() {
        var pins = SimulationOptions.Pins()
        pins.stores = 2
        pins.operations = 80
        pins.faultTime = 30_000_000_000
        for fault in FaultClass.allCases { pins.strengths[fault] = 0 }
        pins.strengths[.cut] = 1
        pins.strengths[.oneWayCut] = 1
        pins.isVolatile = false
        let result = SimulationResult.run(.drawn(seed: 3, pins: pins))
        #expect(result.violation == nil)
        #expect(result.coverage.fired[.cut] != nil && result.coverage.fired[.oneWayCut] != nil)
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
