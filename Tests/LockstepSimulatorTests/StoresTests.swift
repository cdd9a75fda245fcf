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

    /// Goal: no seed is spent on what another covers: half have two stores, of these a half an operator too.
    @Test func enoughSeedsHaveTwoStores() {
        let double = (UInt64(0)..<4_000).map { SimulationOptions.drawn(seed: $0) }.filter { $0.stores == 2 }
        #expect((1_900...2_100).contains(double.count), "\(double.count) of 4,000")
        let withOperator = double.count { options in FaultClass.ofOperator.contains(where: options.plan.isOn) }
        #expect((600...900).contains(withOperator), "\(withOperator) of \(double.count)")
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

    /// A few seeds with two stores and this fault alone, at its full strength.
    private func coverage(of fault: FaultClass) -> Coverage {
        var pins = SimulationOptions.Pins()
        pins.stores = 2
        pins.operations = 120
        pins.faultTime = 90_000_000_000
        for other in FaultClass.allCases { pins.strengths[other] = other == fault ? 1 : 0 }
        pins.isVolatile = false
        var coverage = Coverage()
        for seed in UInt64(1)...4 {
            let result = SimulationResult.run(.drawn(seed: seed, pins: pins))
            #expect(result.violation == nil, "seed \(seed), \(SimulationOptions.description(of: pins))")
            coverage.add(result.coverage)
        }
        return coverage
    }

    /// Goal: folders that change their roles do so with all their stores.
    @Test func rolesChangeInBothStores() {
        let coverage = coverage(of: .switchOver)
        let count = coverage.fired[.switchOver, default: 0]
        #expect(count > 0 && coverage.deeds[.secondStoreSwitchedOver] == count)
        #expect(coverage.deeds[.switchedOver, default: 0] == 2 * count)
    }

    /// Goal: an older copy is one of both stores, and each is recovered by itself.
    @Test func anOlderCopyIsOfBothStores() {
        let coverage = coverage(of: .oldCopy)
        let second = coverage.deeds[.secondStoreRecovered, default: 0]
        #expect(second > 0 && coverage.deeds[.recoveryDone, default: 0] > second)
        #expect(self.coverage(of: .oldReplicaCopy).deeds[.oldReplicaCaughtUp, default: 0] > 1)
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
