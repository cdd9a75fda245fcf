package import LockstepCore

/// What a run met: which faults fired, which unusual ways were taken, which phases were seen.
package struct Coverage: Sendable {
    package internal(set) var fired: [FaultClass: Int] = [:]
    package internal(set) var counters: [ProtocolCounter: Int] = [:]
    /// One bit for each site of ``Buggify``.
    package internal(set) var buggifySites: UInt64 = 0
    package internal(set) var phases: Set<UInt64> = []
    package internal(set) var operatorActs = 0
    /// Answers that somebody who watches was told.
    package internal(set) var watchAnswers = 0
    package internal(set) var effects: [EffectEvent: Int] = [:]
    package internal(set) var deeds: [NodeDeed: Int] = [:]
    private var diverged: Set<Int> = []

    package init() {}

    mutating func fire(_ fault: FaultClass) { fired[fault, default: 0] += 1 }
    mutating func count(_ counter: ProtocolCounter) { counters[counter, default: 0] += 1 }
    mutating func noteFired(_ sites: UInt64) { buggifySites |= sites }
    mutating func note(_ event: EffectEvent) { effects[event, default: 0] += 1 }
    mutating func note(_ deed: NodeDeed) { deeds[deed, default: 0] += 1 }
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
        watchAnswers += other.watchAnswers
        effects.merge(other.effects) { $0 + $1 }
        deeds.merge(other.deeds) { $0 + $1 }
    }
}

/// What replicas and operators do without a primary, which a run of many seeds must have seen.
package enum NodeDeed: String, CaseIterable, Sendable, Hashable, Codable {
    /// A replica answered somebody who joins, or recovers, from it.
    case joinServed
    /// A replica sent parts of a snapshot.
    case chunksServed
    /// An operator asked a replica for a primary's journal, and got it.
    case recoveryBegun
    case recoveryDone
    /// A replica answered a client's local or session read over the network, while no primary ran.
    case localReadAlone
    case sessionReadAlone
    /// A replica refused a primary's folder, a primary a replica's.
    case primarysFolderRefused
    case replicasFolderRefused
    /// `recover --accept-loss` was refused: no alarm since the last start, or another one.
    case lossWithoutAlarmRefused
    case otherLossRefused
    case lossAccepted
    /// A primary's folder became a replica's, and the other way round; an end that told nobody anything was cut.
    case switchedOver
    case emptyEndCut
    /// A replica gave up an end that told nobody anything, to follow a primary that does not have it.
    case emptyEndGivenUp
    /// Folders changed their roles, and something that only the primary's had was given up.
    case switchedOverWithLoss
    /// An old copy of a replica's folder came back to live.
    case oldReplicaCaughtUp
    /// A frame came to the second store of a node.
    case secondStoreReached
    /// The same of the second store of a folder: its journal was made anew, or its roles changed.
    case secondStoreRecovered
    case secondStoreSwitchedOver
    /// A request that was no store's was answered by RESYNC.
    case strangeRequestAnswered
}
