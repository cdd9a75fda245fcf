import LockstepCore
import LockstepSimulator
import Testing

/// Clusters of data nodes with the shipped machines, from a few seeds (PROTOCOL, R-75 to );
/// `lockstep-lab simulate --cluster` runs many.
@Suite(.timeLimit(.minutes(30))) struct ClusterTests {
    /// A short run, since this build is not optimised.
    private static func options(_ seed: UInt64) -> ClusterOptions {
        var options = ClusterOptions.drawn(seed: seed)
        options.faultTime = 8_000_000_000
        return options
    }

    /// Nothing acknowledged is lost or counted twice, no linearizable read is stale, no two nodes commit different
    /// batches, and after the faults each cluster is at work again.
    @Test func nothingAcknowledgedIsLost() {
        var (elections, answered, reads) = (0, 0, 0)
        for seed in 1...24 as ClosedRange<UInt64> {
            let result = ClusterResult.run(Self.options(seed))
            #expect(result.violation == nil, "seed \(seed), with 8 s of faults")
            elections += result.counts.elections
            answered += result.answered
            reads += result.reads
        }
        // One in each, and some that a fault brought.
        #expect(elections > 30)
        #expect(answered > 4_000)
        #expect(reads > 500)
    }

    /// Without faults there is one election, and everything is answered.
    @Test func aCalmClusterElectsOnce() {
        let result = ClusterResult.run(ClusterOptions(seed: 3))
        #expect(result.violation == nil && result.fired.isEmpty)
        #expect(result.counts.elections == 1 && result.counts.depositions == 0)
        #expect(result.answered == result.submitted && result.answered > 500)
    }

    @Test func aSeedDeterminesEveryStep() {
        let results = (0..<2).map { _ in ClusterResult.run(Self.options(17)) }
        #expect(results[0].traceHash == results[1].traceHash && results[0].steps == results[1].steps)
        #expect(ClusterResult.run(Self.options(18)).traceHash != results[0].traceHash)
    }

    /// What is pinned does not change what the seed draws for the rest.
    @Test func pinnedFaultsLeaveTheOthersAlone() {
        let drawn = ClusterOptions.drawn(seed: 5)
        var pinned = ClusterOptions.drawn(seed: 5, pins: [.kill: 1])
        #expect(pinned.plan[.kill] == 1)
        pinned.plan[.kill] = drawn.plan[.kill]
        #expect(pinned == drawn)
    }

    /// What is written is played, in its first round, and breaks nothing.
    @Test(arguments: ClusterScript.allCases) func aScriptIsPlayed(script: ClusterScript) {
        var options = script.options(seed: 4)
        options.faultTime = 12_000_000_000
        let result = ClusterResult.run(options)
        #expect(result.violation == nil, "\(script)")
        #expect(result.counts.elections > 0 && result.answered > 100)
    }

    /// What an operator gives up is lost, and whoever knew it is told; nothing else is lost.
    @Test func aPromotionLosesWhatIsListed() {
        var (promotions, losses, halts) = (0, 0, 0)
        for seed in 1...12 as ClosedRange<UInt64> {
            var options = ClusterOptions(seed: seed)
            (options.minimum, options.plan[.promotion]) = (1, 1)
            options.faultTime = 20_000_000_000
            let result = ClusterResult.run(options)
            #expect(result.violation == nil, "seed \(seed)")
            promotions += result.counts.promotions
            losses += result.counts.losses
            halts += result.counts.halts
        }
        #expect(promotions >= 6 && losses > 0 && halts > 0)
    }

    /// What is broken around the machines is noticed.
    @Test(arguments: ClusterDefect.allCases) func aDefectIsFound(defect: ClusterDefect) {
        for seed in 1...60 as ClosedRange<UInt64> {
            var options = Self.options(seed)
            options.defect = defect
            (options.plan[.kill], options.plan[.lostDisk]) = (1, 1)
            // Which promise is broken does not matter here.
            if ClusterResult.run(options).violation != nil { return }
        }
        Issue.record("no seed noticed \(defect)")
    }
}
