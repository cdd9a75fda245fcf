import Lockstep
import LockstepCore
import LockstepSimulator

// The two kinds of clusters, and how their processes are numbered.

extension TestCluster {
    /// Makes a cluster of one primary and replicas, and runs it until all its nodes are live.
    ///
    /// - Parameters:
    ///   - reactor: Evaluated anew for each life of each node, as a process makes its own, and for the checkers.
    ///   - clock: Given if the reactor's dependencies were made with one; only the cluster moves it from now on.
    ///   - replicas: At least 1.
    ///   - clients: At least 1.
    ///   - seed: What the times of frames and writes, and all random faults, are drawn from.
    ///   - replicasHaveJournals: Whether a replica that is killed starts again from its own disk, or from nothing.
    ///   - sessionTimeToLive: How long the cluster remembers a sender that it does not hear of; 600 s as in a node.
    ///   - faults: Faults that strike at random from the start on, with their strengths; none unless given.
    public convenience init(
        _ reactor: @autoclosure @escaping () -> R, clock: VirtualClock = VirtualClock(), replicas: Int = 2,
        clients: Int = 1, seed: UInt64 = 1,
        replicasHaveJournals: Bool = true, sessionTimeToLive: Duration = .seconds(600),
        faults: [ClusterFault: Double] = [:]
    ) {
        precondition(replicas >= 1 && clients >= 1, "a test cluster has at least one replica and one client")
        var options = SimulationOptions(seed: seed, replicas: replicas, clients: clients, operations: 0)
        options.script = ScriptOptions(
            replicasHaveJournals: replicasHaveJournals, timeToLive: sessionTimeToLive.wholeNanoseconds / 1_000)
        let effects = ClusterEffects(clock: clock, seed: seed)
        let simulation = Simulation(options, workloads: [ReactorWorkload(reactor, effects: effects)])
        let plan = Self.text(of: faults.map { ($0.key.rawValue, $0.value) })
        self.init(
            simulation, effects: effects, seed: seed, replicas: replicas, clients: clients,
            making: "TestCluster(\(R.self)(), replicas: \(replicas), clients: \(clients), seed: \(seed)\(plan))")
        if !faults.isEmpty { simulation.inject(FaultPlan(faults)) }
        look()
    }

    /// Makes a cluster of data nodes and an arbiter, and runs it until one leads and all are in sync.
    ///
    /// Each data node holds every acknowledged action on its disk; any may become the primary (PROTOCOL, R-75 to R-91).
    /// The node that leads runs `mutate`, effects, feedback and sources; who takes over begins again the effects that the
    /// log has. Clients find the primary by themselves. There are no replicas beside the data nodes.
    ///
    /// The machines that decide are those that ship: elections, the in-sync set, sessions, clients. Simulated are the
    /// network, the disks, the clocks, the arbiter, and the way of a snapshot to a node whose log is too old.
    ///
    /// - Parameters:
    ///   - reactor: Evaluated anew for each life and each reign of each node, and for the checkers.
    ///   - clock: Given if the reactor's dependencies were made with one; only the cluster moves it from now on.
    ///   - dataNodes: From 1 to 9.
    ///   - minimum: How many data nodes must have an action before it is acknowledged; 2 as in a node, 1 if there is only
    ///     one.
    ///   - clients: At least 1.
    ///   - seed: What the times of frames and writes, and all random faults, are drawn from.
    ///   - sessionTimeToLive: How long the cluster remembers a sender that it does not hear of; 600 s as in a node.
    ///   - faults: Faults that strike at random from the start on, with their strengths; none unless given.
    public convenience init(
        _ reactor: @autoclosure @escaping () -> R, clock: VirtualClock = VirtualClock(), dataNodes: Int,
        minimum: Int? = nil, clients: Int = 1, seed: UInt64 = 1, sessionTimeToLive: Duration = .seconds(600),
        faults: [DataNodeFault: Double] = [:]
    ) {
        let least = minimum ?? min(2, dataNodes)
        precondition((1...9).contains(dataNodes) && clients >= 1, "a test cluster has 1 to 9 data nodes, and a client")
        precondition((1...dataNodes).contains(least), "the minimum is from 1 to the number of data nodes")
        var options = LockstepSimulator.ClusterOptions(seed: seed)
        (options.nodes, options.minimum, options.clients) = (dataNodes, least, clients)
        options.timeToLive = sessionTimeToLive.wholeNanoseconds / 1_000
        options.plan = DataNodeFault.plan(faults)
        let effects = ClusterEffects(clock: clock, seed: seed)
        let simulation = ClusterSimulation.steered(options, ReactorWorkload(reactor, effects: effects))
        let plan = Self.text(of: faults.map { ($0.key.rawValue, $0.value) })
        let own = minimum.map { ", minimum: \($0)" } ?? ""
        self.init(
            simulation, effects: effects, seed: seed, dataNodes: dataNodes, clients: clients,
            making: "TestCluster(\(R.self)(), dataNodes: \(dataNodes)\(own), clients: \(clients), seed: \(seed)\(plan))"
        )
        if !faults.isEmpty { simulation.inject(options.plan) }
        look()
    }

    private static func text(of faults: [(name: String, strength: Double)]) -> String {
        guard !faults.isEmpty else { return "" }
        let strengths = faults.sorted { $0.name < $1.name }.map { ".\($0.name): \($0.strength)" }
        return ", faults: [\(strengths.joined(separator: ", "))]"
    }

    // MARK: - Numbers

    /// All that can be down: nodes, clients, and the arbiter of data nodes.
    var processCount: Int { clients + (dataNodes > 0 ? dataNodes + 1 : replicas + 1) }

    /// The data nodes, if the cluster has any.
    var failover: ClusterSimulation? { simulation as? ClusterSimulation }

    func index(of process: ClusterProcess) -> Int {
        switch process {
        case .primary: return failover?.primaryIndex ?? 0
        case .replica(let number):
            precondition(number >= 1 && number <= replicas, "there is no \(process) in \(self)")
            return number
        case .dataNode(let number):
            precondition(number >= 1 && number <= dataNodes, "there is no \(process) in \(self)")
            return number - 1
        case .client(let number):
            precondition((1...clients).contains(number), "there is no \(process) in \(self)")
            return dataNodes > 0 ? dataNodes + number - 1 : replicas + number
        case .arbiter:
            guard let failover else { preconditionFailure("there is no arbiter in \(self): it has one primary") }
            return failover.arbiterIndex
        }
    }
}

extension TestCluster: CustomStringConvertible {
    /// What it consists of, for a reader.
    public var description: String {
        let nodes = dataNodes > 0 ? "\(dataNodes) data nodes and an arbiter" : "a primary and \(replicas) replicas"
        return "a cluster of \(R.self) with \(nodes), and \(clients) clients"
    }
}
