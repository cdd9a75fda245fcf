import LockstepCore

/// What belongs to one store of the simulated cluster: its calls, its history, and what judges them.
///
/// A process belongs to one store: it is that store on a node, with a journal and machines of its own.
final class SimulatedStore {
    unowned let simulation: Simulation
    let name: String
    let id: StoreID
    let channel: Channel
    let workload: any Workload
    var history = CallHistory()
    private(set) var processes: [SimulatedProcess] = []
    /// Who is the primary now; nothing else knows which process that is.
    private var primaryNow: PrimaryProcess?
    private(set) lazy var oracle = Oracle(store: self)
    private let ofDesk: SplitMix64
    private(set) lazy var operatorDesk = OperatorDesk(store: self, random: ofDesk)
    /// An operator chose a history: from now on nodes may find out that theirs was given up.
    var isForkExpected = false

    init(simulation: Simulation, name: String, channel: Channel, workload: any Workload, ofDesk: SplitMix64) {
        self.ofDesk = ofDesk
        self.simulation = simulation
        self.name = name
        self.channel = channel
        self.workload = workload
        id = StoreID(cluster: simulation.cluster, name: name)
    }

    /// Adds a process of this store.
    func add(_ process: SimulatedProcess) {
        processes.append(process)
        if let primary = process as? PrimaryProcess { primaryNow = primary }
    }

    var primary: PrimaryProcess {
        guard let primaryNow else { preconditionFailure("a store has a primary") }
        return primaryNow
    }

    /// The operator's program, which runs when it is needed.
    var recovery: RecoveryProcess {
        guard let recovery = processes.lazy.compactMap({ $0 as? RecoveryProcess }).first else {
            preconditionFailure("there is an operator")
        }
        return recovery
    }

    /// Whether a fault could have made two histories.
    var mayHaveForked: Bool { isForkExpected || simulation.options.mayFork }

    var replicas: [ReplicaProcess] { processes.compactMap { $0 as? ReplicaProcess } }

    /// The replica of this store that is on the same host as another's.
    func replica(besides other: ReplicaProcess) -> ReplicaProcess {
        guard let replica = process(onHost: other.host) as? ReplicaProcess else {
            preconditionFailure("a node has the same role in all stores")
        }
        return replica
    }

    /// The store on a host; nil if the host has it not.
    func process(onHost host: Int) -> SimulatedProcess? { processes.first { $0.host == host } }

    /// Whether some replica has all that has committed.
    var hasEqualReplica: Bool {
        replicas.contains {
            $0.isUp && !$0.state.isTainted && $0.machine?.log.position.sequence == oracle.committed.sequence
        }
    }
}
