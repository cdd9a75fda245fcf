import LockstepCore
import LockstepSimulator
import Testing

/// Clusters of data nodes that hold a workload's state, steered from outside: what `TestCluster` runs.
@Suite(.timeLimit(.minutes(30))) struct SteeredClusterTests {
    /// Calls from three clients while nodes are killed and lose their disks; what was broken.
    private func run(_ seed: UInt64, _ defect: ClusterDefect? = nil) throws -> (violation: Violation?, answered: Int) {
        var options = ClusterOptions(seed: seed)
        options.defect = defect
        let workload = CountersWorkload()
        let cluster = ClusterSimulation.steered(options, workload)
        cluster.startAll()
        cluster.pass(10 * Span.second) { cluster.isSettled }
        cluster.inject([.kill: 1, .lostDisk: 1])
        var random = SplitMix64(seed: seed)
        var records: [Int] = []
        for number in 0..<240 {
            guard let call = workload.next(caller: number % 3, random: &random) else { continue }
            records += [cluster.call(call, on: options.nodes + number % 3)].compactMap { $0 }
            cluster.pass(50 * Span.millisecond)
        }
        cluster.healWorld()
        let isSettled = cluster.pass(60 * Span.second) { cluster.isSettled }
        cluster.checkSettled()
        if cluster.violation == nil, !isSettled { Issue.record("seed \(seed): \(cluster.whatIsOpen)") }
        let answered = records.count { number in !cluster.record(number).isOpen }
        return (cluster.violation, answered)
    }

    /// Nothing acknowledged is lost, and everything is answered in the end.
    @Test func nothingAcknowledgedIsLost() throws {
        for seed in 1...12 as ClosedRange<UInt64> {
            let (violation, answered) = try run(seed)
            #expect(violation == nil, "seed \(seed)")
            #expect(answered == 240, "seed \(seed)")
        }
    }

    /// What is broken around the machines is noticed, whatever state the nodes hold.
    @Test(arguments: ClusterDefect.allCases) func aDefectIsFound(defect: ClusterDefect) throws {
        for seed in 1...60 as ClosedRange<UInt64> where try run(seed, defect).violation != nil { return }
        Issue.record("\(defect) was not found")
    }

    /// Calls take nothing from the seed's runs: these are as they were.
    @Test func aSteeredRunIsDeterminedByItsCalls() throws {
        func hash(_ seed: UInt64) -> UInt64 {
            let cluster = ClusterSimulation.steered(ClusterOptions(seed: seed), CountersWorkload())
            cluster.startAll()
            cluster.inject([.kill: 1, .partition: 1])
            cluster.pass(20 * Span.second)
            return cluster.traceHash
        }
        #expect(hash(4) == hash(4) && hash(4) != hash(5))
    }
}
