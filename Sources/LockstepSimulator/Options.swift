import LockstepCore

/// What a run is made of; together with the program's version it determines every step.
package struct SimulationOptions: Sendable, Hashable {
    package var seed: UInt64
    /// Stores of every node, 1 or 2.
    package var stores = 1
    /// Replicas beside the one primary.
    package var replicas: Int
    /// Client processes beside the callers that live in the nodes.
    package var clients: Int
    /// Operations that are issued in all, during the faults.
    package var operations: Int
    /// How long faults last, in virtual nanoseconds; operations are spread over this time.
    package var faultTime: Int64
    /// How long the healed cluster may take until nothing is open and all nodes are equal.
    package var healTime: Int64
    package var isVolatile: Bool
    /// The share of the calls that are about effects, from 0 to 1; 0: none, and no executor.
    package var effects = 0.0
    package var plan: FaultPlan
    /// How many queries each client process watches.
    package var watches = 0
    /// Whether the primary knows whose connection each is, as an access list says; some clients have a quota then.
    package var hasKeys = false
    /// Somebody else says what happens: nobody calls of himself, nobody is a special case, all start at once.
    package var script: ScriptOptions?

    package init(
        seed: UInt64, replicas: Int = 2, clients: Int = 4, operations: Int = 1_000,
        faultTime: Int64 = 120 * Span.second, healTime: Int64 = 60 * Span.second, isVolatile: Bool = false,
        plan: FaultPlan = FaultPlan()
    ) {
        self.seed = seed
        self.replicas = replicas
        self.clients = clients
        self.operations = operations
        self.faultTime = faultTime
        self.healTime = healTime
        self.isVolatile = isVolatile
        self.plan = plan
    }

    /// What somebody pins instead of leaving it to the seed.
    package struct Pins: Sendable, Hashable {
        package var stores: Int?
        package var replicas: Int?
        package var clients: Int?
        package var operations: Int?
        package var faultTime: Int64?
        package var isVolatile: Bool?
        /// 0 is off.
        package var effects: Double?
        /// 0 is off.
        package var watches: Int?
        /// 0 is off.
        package var strengths: [FaultClass: Double] = [:]
        package init() {}
    }

    /// Draws the options of a seed: each fault is on with its likelihood, with a strength between a tenth and all.
    ///
    /// What is pinned does not change what is drawn for the rest.
    package static func drawn(seed: UInt64, pins: Pins = Pins()) -> SimulationOptions {
        var random = SplitMix64(seed: seed ^ 0x5EED_0F0F_7105_0001)
        var options = SimulationOptions(seed: seed)
        let isVolatile = random.chance(0.06)
        options.isVolatile = pins.isVolatile ?? isVolatile
        let replicas = Int(random.between(2, 3))
        options.replicas = pins.replicas ?? replicas
        let clients = Int(random.between(2, 6))
        options.clients = pins.clients ?? clients
        options.operations = pins.operations ?? 1_000
        options.faultTime = pins.faultTime ?? 120 * Span.second
        func draw(_ fault: FaultClass) {
            let isOn = random.chance(fault.likelihood)
            let strength = 0.1 + 0.9 * random.fraction()
            options.plan[fault] = pins.strengths[fault] ?? (isOn ? strength : 0)
        }
        for fault in FaultClass.allCases where !fault.isDrawnLater { draw(fault) }
        let hasEffects = random.chance(0.7)
        let share = 0.1 + 0.4 * random.fraction()
        options.effects = pins.effects ?? (hasEffects ? share : 0)
        for fault in FaultClass.ofOperator { draw(fault) }
        let isDouble = random.chance(0.5)
        // A log that dies with its process keeps no promise that these faults could break.
        if options.isVolatile {
            let ofDisk = [FaultClass.oldCopy, .bitFlip, .commitError, .tornWrite, .lostWrites]
            for fault in ofDisk + FaultClass.ofOperator { options.plan[fault] = 0 }
        }
        options.stores = pins.stores ?? (isDouble ? 2 : 1)
        // So that not all of these are about operators.
        if random.chance(0.5), options.stores > 1 {
            for fault in [FaultClass.oldCopy, .bitFlip] + FaultClass.ofOperator {
                options.plan[fault] = pins.strengths[fault] ?? 0
            }
        }
        draw(.orderlyStop)
        let isWatching = random.chance(0.5)
        let watches = Int(random.between(1, 4))
        options.watches = pins.watches ?? (isWatching ? watches : 0)
        options.hasKeys = random.chance(0.5)
        return options
    }

    /// What is pinned, as the command line takes it.
    package static func description(of pins: Pins) -> String {
        var parts: [String] = []
        if let stores = pins.stores { parts.append("--stores \(stores)") }
        if let replicas = pins.replicas { parts.append("--replicas \(replicas)") }
        if let clients = pins.clients { parts.append("--clients \(clients)") }
        if let operations = pins.operations { parts.append("--operations \(operations)") }
        if let faultTime = pins.faultTime { parts.append("--fault-time \(faultTime / Span.second)") }
        if let isVolatile = pins.isVolatile { parts.append("--volatile \(isVolatile ? "on" : "off")") }
        if let effects = pins.effects { parts.append("--effects \(effects)") }
        if let watches = pins.watches { parts.append("--watches \(watches)") }
        for (fault, strength) in pins.strengths.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            parts.append("--fault \(fault.rawValue)=\(strength)")
        }
        return parts.joined(separator: " ")
    }

    /// Whether this run may end with two histories, one of which an operator gives up.
    var mayFork: Bool { plan.isOn(.oldCopy) || plan.isOn(.bitFlip) || isVolatile }
}
