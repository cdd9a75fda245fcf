import LockstepCore

/// What a run of a cluster of data nodes is made of; with the program's version it determines every step.
package struct ClusterOptions: Hashable, Sendable {
    package var seed: UInt64
    package var nodes = 3
    /// How many members the set must have before anything commits.
    package var minimum = 2
    package var clients = 3
    /// Of the sessions of a steered run, in microseconds.
    package var timeToLive: Int64 = 60_000_000
    /// How long faults last, in virtual nanoseconds.
    package var faultTime: Int64 = 30 * Span.second
    /// How long the healed cluster may take until it works and all nodes are equal.
    package var healTime: Int64 = 40 * Span.second
    /// From 0, off, to 1.
    package var plan: [ClusterFault: Double] = [:]
    /// What is broken around the machines on purpose.
    package var defect: ClusterDefect?
    /// The first node was the only primary before, and its log is taken over.
    package var adopts = false
    /// A schedule that somebody wrote, instead of a drawn one.
    package var script: ClusterScript?

    package init(seed: UInt64) { self.seed = seed }

    /// Draws the options of a seed; what is pinned does not change what is drawn for the rest.
    package static func drawn(seed: UInt64, pins: [ClusterFault: Double] = [:]) -> ClusterOptions {
        var random = SplitMix64(seed: seed ^ 0xC105_7E2D_A7A0_0001)
        var options = ClusterOptions(seed: seed)
        options.nodes = random.pick([2, 3, 3, 3, 4, 5])
        options.minimum = Int(random.between(1, Int64(options.nodes / 2 + 1)))
        options.clients = Int(random.between(1, 5))
        for fault in ClusterFault.allCases {
            let isOn = random.chance(fault.likelihood)
            let strength = 0.1 + 0.9 * random.fraction()
            options.plan[fault] = pins[fault] ?? (isOn ? strength : 0)
        }
        options.adopts = random.chance(0.2)
        if random.chance(0.1), pins.isEmpty { return random.pick(ClusterScript.allCases).options(seed: seed) }
        return options
    }

    func strength(_ fault: ClusterFault) -> Double { plan[fault] ?? 0 }

    /// What a seed has drawn, in a line.
    package var description: String {
        let faults = ClusterFault.allCases.compactMap { fault in
            let strength = strength(fault)
            return strength > 0 ? "\(fault.rawValue)=\(Double(Int(strength * 100)) / 100)" : nil
        }
        return (adopts ? "adopted, " : "")
            + "\(nodes) data nodes, at least \(minimum) in sync, \(clients) clients; faults: "
            + (script.map { "the script \($0.rawValue)" } ?? (faults.isEmpty ? "none" : faults.joined(separator: " ")))
    }
}

/// What is broken on purpose around the machines; the checks must notice.
package enum ClusterDefect: CaseIterable, Hashable, Sendable {
    /// A disk says that it has what it has not.
    case diskLies
    /// What was not known to be committed is left behind at a takeover.
    case tailIsForgotten
    /// A disk that was lost comes back under the same incarnation.
    case incarnationIsKept
    /// A node applies each series as if it stood one place further on.
    case seriesIsMisplaced
}
