import LockstepCore

/// How one seed ended, as a worker process tells it: one line of JSON.
package struct SeedReport: Codable, Sendable, Hashable {
    package var seed: UInt64
    /// The promise that was broken, and how; nil if the run passed.
    package var promise: String?
    package var text: String?
    package var traceHash: UInt64
    package var steps: Int
    package var virtualSeconds: Double
    package var calls: Int
    package var answered: Int
    package var unknown: Int
    /// How often each fault fired.
    package var fired: [String: Int]
    /// Bits of the unusual ways that were taken.
    package var buggifySites: UInt64
    package var operatorActs: Int
    /// How often each thing happened to effects.
    package var effects: [String: Int]
    /// How often replicas and operators did each thing.
    package var deeds: [String: Int]
    /// The last thousand lines, of a run that failed.
    package var trace: [String]

    package init(_ result: SimulationResult) {
        seed = result.options.seed
        promise = result.violation?.promise.rawValue
        text = result.violation?.text
        traceHash = result.traceHash
        steps = result.steps
        virtualSeconds = Double(result.virtualTime / Span.millisecond) / 1_000
        calls = result.calls
        answered = result.answered
        unknown = result.unknown
        fired = Dictionary(uniqueKeysWithValues: result.coverage.fired.map { ($0.key.rawValue, $0.value) })
        buggifySites = result.coverage.buggifySites
        operatorActs = result.coverage.operatorActs
        effects = Dictionary(uniqueKeysWithValues: result.coverage.effects.map { ($0.key.rawValue, $0.value) })
        deeds = Dictionary(uniqueKeysWithValues: result.coverage.deeds.map { ($0.key.rawValue, $0.value) })
        trace = result.traceText
    }

    /// Of a cluster of data nodes; what its nodes did is among the deeds.
    package init(_ result: ClusterResult) {
        seed = result.options.seed
        promise = result.violation?.promise.rawValue
        text = result.violation.map { "\($0.text); \(result.options.description)" }
        traceHash = result.traceHash
        steps = result.steps
        virtualSeconds = Double(result.virtualTime / Span.millisecond) / 1_000
        (calls, answered) = (result.submitted + result.reads, result.answered + result.reads)
        unknown = result.submitted - result.answered
        fired = Dictionary(uniqueKeysWithValues: result.fired.map { ($0.key.rawValue, $0.value) })
        (buggifySites, operatorActs, effects) = (0, 0, [:])
        deeds = result.counts.named.filter { $0.value > 0 }
        trace = result.traceText
    }

    /// Whether a healed cluster did not come to rest, and nothing worse.
    package var isNotConverged: Bool { promise == Violation.Promise.convergence.rawValue }
}

/// The sum of many seeds.
package struct SeedTotals: Sendable {
    package private(set) var seeds = 0
    package private(set) var failures: [SeedReport] = []
    package private(set) var steps = 0
    package private(set) var virtualSeconds = 0.0
    package private(set) var calls = 0
    package private(set) var answered = 0
    package private(set) var unknown = 0
    /// In how many seeds each fault fired.
    package private(set) var seedsWith: [String: Int] = [:]
    package private(set) var buggifySites: UInt64 = 0
    package private(set) var effects: [String: Int] = [:]
    package private(set) var deeds: [String: Int] = [:]

    package init() {}

    package mutating func add(_ report: SeedReport) {
        seeds += 1
        if report.promise != nil { failures.append(report) }
        steps += report.steps
        virtualSeconds += report.virtualSeconds
        calls += report.calls
        answered += report.answered
        unknown += report.unknown
        for fault in report.fired.keys { seedsWith[fault, default: 0] += 1 }
        buggifySites |= report.buggifySites
        effects.merge(report.effects) { $0 + $1 }
        deeds.merge(report.deeds) { $0 + $1 }
    }

    /// Those of these faults that fired in fewer than one seed of a hundred.
    package func rareFaults(ofClusters: Bool) -> [String] {
        Self.faults(ofClusters).filter { (seedsWith[$0] ?? 0) * 100 < seeds }
    }

    /// What a range of seeds is to show, and no seed did, under what it is of.
    package func missed(ofClusters: Bool) -> [(kind: String, names: [String])] {
        let faults = (kind: "faults", names: Self.faults(ofClusters).filter { seedsWith[$0] == nil })
        guard !ofClusters else {
            return [faults, ("of data nodes", ClusterSimulation.Counts.names.filter { deeds[$0] == nil })]
        }
        return [
            faults, ("unusual ways", Buggify.Site.allCases.filter { buggifySites & $0.bit == 0 }.map { "\($0)" }),
            ("of effects", EffectEvent.allCases.map(\.rawValue).filter { effects[$0] == nil }),
            ("of replicas and operators", NodeDeed.allCases.map(\.rawValue).filter { deeds[$0] == nil }),
        ]
    }

    private static func faults(_ ofClusters: Bool) -> [String] {
        guard ofClusters else { return FaultClass.allCases.map(\.rawValue) }
        // Two hold for a whole run, and never strike.
        return ClusterFault.allCases.filter { $0 != .smallWindow && $0 != .clockRate }.map(\.rawValue)
    }
}
