package import LockstepCore

/// What a run met: which faults fired, which unusual ways were taken, which phases were seen.
package struct Coverage: Sendable {
    package internal(set) var fired: [FaultClass: Int] = [:]
    package internal(set) var counters: [ProtocolCounter: Int] = [:]
    /// One bit for each site of ``Buggify``.
    package internal(set) var buggifySites: UInt64 = 0
    package internal(set) var phases: Set<UInt64> = []
    package internal(set) var operatorActs = 0
    package internal(set) var effects: [EffectEvent: Int] = [:]
    private var diverged: Set<Int> = []

    package init() {}

    mutating func fire(_ fault: FaultClass) { fired[fault, default: 0] += 1 }
    mutating func count(_ counter: ProtocolCounter) { counters[counter, default: 0] += 1 }
    mutating func noteFired(_ sites: UInt64) { buggifySites |= sites }
    mutating func note(_ event: EffectEvent) { effects[event, default: 0] += 1 }
    mutating func note(_ phase: ReplicaPhase) { phases.insert(phase.number) }
    mutating func noteDiverged(_ process: Int) { diverged.insert(process) }
    func wasDiverged(_ process: Int) -> Bool { diverged.contains(process) }

    /// Adds what another run met.
    package mutating func add(_ other: Coverage) {
        fired.merge(other.fired) { $0 + $1 }
        counters.merge(other.counters) { $0 + $1 }
        buggifySites |= other.buggifySites
        phases.formUnion(other.phases)
        operatorActs += other.operatorActs
        effects.merge(other.effects) { $0 + $1 }
    }
}
