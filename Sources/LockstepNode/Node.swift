public import LockstepCore
public import Logging
public import ServiceLifecycle
internal import ZeroMQ

/// A process of a cluster: it hosts stores, as their primary or as a replica, or sends actions as a client.
///
///     let node = try Node(.primary(listen: "tcp://127.0.0.1:7400", journal: .memory))
///     let counters = try node.store(Counters(), named: "counters")
///     try await node.run()
///
/// All of its work happens on one thread of its own, which is this actor's executor. Stores are made before ``run()``
/// and used from anywhere; what they are asked before it runs waits.
public actor Node: Service {
    private nonisolated let loop: NodeEventLoop
    private nonisolated let registry = StoreRegistry()
    nonisolated let configuration: CheckedConfiguration
    let logger: Logger

    var services: NodeServices?
    var hosts: [StoreHost] = []
    /// Of the stores in ``hosts``, in their order.
    var dispatch = FrameDispatch()
    var ingressRing = FairRing(capacity: 64 << 20, share: 16 << 20)
    var bulkRing = FairRing(capacity: 16 << 20, share: 4 << 20)
    var replicationRing = FairRing(capacity: 16 << 20, share: 4 << 20)
    /// Connections of data nodes whose streams this node serves.
    var followers: Set<Connection> = []
    var nextHeartbeat = Tick.zero
    var nextTroubles = Tick.zero
    /// Of a data node, from the opening of its stores on.
    var openedArbiter: (any Arbiter)?
    private var gauges: NodeGauges?
    private var administration: AdministrationServer?
    var remoteStatus = RemoteStatus()
    private var finished: CheckedContinuation<Void, Never>?
    private var isStopping = false
    var reportedDrops: UInt64 = 0
    private var reportedEnds: UInt64 = 0
    private var nextReport = Tick.zero
    /// Messages on the broadcast port that were no subscription, or found no room.
    var subscriptionsRefused: UInt64 = 0

    /// Runs on the node's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Checks a configuration and starts the node's thread, which waits for ``run()``.
    ///
    /// - Parameters:
    ///   - configuration: What the node is.
    ///   - logger: Gets the node's life at level `info`, alarms and their ends at `notice` to `error`, decisions at
    ///     `debug`; by default nothing is logged.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration` or `administration`, with what to change.
    public init(
        _ configuration: NodeConfiguration,
        logger: Logger = Logger(label: "lockstep", factory: { _ in SwiftLogNoOpLogHandler() })
    ) throws {
        self.configuration = try CheckedConfiguration(configuration)
        self.logger = logger.named(configuration.node.name)
        do { loop = try NodeEventLoop(name: "lockstep-node") } catch {
            throw LockstepError(.unavailable, "the node's thread cannot wait: \(error)", underlying: error)
        }
    }

    deinit { registry.end() }

    /// The node's name.
    public nonisolated var id: NodeID { configuration.given.node }

    // MARK: - Stores

    /// Adds a store with its state to a primary or a replica, before ``run()``.
    package nonisolated func attach(
        name: String, executor: (any RunExecutor)? = nil, makeState: @escaping @Sendable () -> any ReplicatedState
    ) throws -> StorePort {
        guard !isClient else {
            throw LockstepError(
                .invalidConfiguration, "a client holds no state: make store \(name) a remote one, or the node a replica"
            )
        }
        return try registry.add(name, signaller: loop.signaller, executor: executor, makeState: makeState)
    }

    /// Adds a store without state to a client, before ``run()``.
    package nonisolated func attachRemote(name: String) throws -> StorePort {
        guard isClient else {
            throw LockstepError(
                .invalidConfiguration, "only a client has remote stores: give store \(name) its reactor")
        }
        return try registry.add(name, signaller: loop.signaller, makeState: nil)
    }

    private nonisolated var isClient: Bool {
        if case .client = configuration.given.role { true } else { false }
    }

    // MARK: - Running

    /// Opens the journals, recovers, listens or connects, and serves until the task is cancelled, graceful shutdown is
    /// asked for, or something fails that the node cannot go on with.
    ///
    /// Runs once. At its end everything sequenced is in the journal, sessions of this node are closed and all sockets
    /// too; it takes at most a few seconds, less when the task was cancelled.
    ///
    /// - Throws: ``LockstepError``; cancellation and graceful shutdown are no errors.
    public func run() async throws {
        guard let attached = registry.take() else {
            throw LockstepError(.stopped, "a node runs once: make a new one")
        }
        do {
            try await openWithAddress(attached)
        } catch is CancellationError {
            // Whoever waits for an address or reads a journal has written nothing that an end could cut off.
            return end()
        } catch {
            end()
            throw error
        }
        loop.setWork(LoopWork(turn: { self.turn($0) }, isWaiting: { self.isWaiting }))
        await whileArbiterIsAsked {
            // Effects run beside the loop, on the tasks of this group, and end with it.
            await withTaskGroup { group in
                for case let (port, executor?) in attached.map({ ($0.port, $0.port.executor) }) {
                    group.addTask { await executor.run(port: port) }
                }
                await runLoop()
                group.cancelAll()
            }
        }
        // The loop holds this actor as long as it has its work.
        loop.setWork(nil)
        let failure = services?.failure
        end()
        if let failure { throw failure }
    }

    private func runLoop() async {
        let (registry, signaller) = (registry, loop.signaller)
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withCheckedContinuation { finished = $0 }
            } onGracefulShutdown: {
                registry.requestStop(.graceful)
                signaller.signal()
            }
        } onCancel: {
            registry.requestStop(.immediate)
            signaller.signal()
        }
        // No turn follows: whoever still waits here is told now, effects among them, which are awaited next. A socket
        // that nobody reads any more would keep the thread awake meanwhile; the operator's keeps its lock.
        for host in hosts { host.end(StoreHost.stopped) }
        closePorts()
        loop.poller.remove(.administration)
    }

    /// Opens; as long as this host lacks the address to listen at, again each second, if the configuration says so.
    private func openWithAddress(_ attached: [StoreRegistry.Attached]) async throws {
        var wait = AddressWait(logger: logger)
        while true {
            do { return try open(attached) } catch let error as LockstepError {
                let isAddressMissing = (error.underlying as? ZMQError)?.code == .addressNotAvailable
                guard isAddressMissing, configuration.given.waitsForAddress else { throw error }
                close()
                try await wait.pause(because: error.message)
            }
        }
    }

    private func open(_ attached: [StoreRegistry.Attached]) throws {
        let services = try NodeServices(configuration: configuration, loop: loop, logger: logger)
        self.services = services
        services.storeCount = attached.count
        gauges = NodeGauges(configuration)
        try services.openAccess()
        if let folder = configuration.given.administrationFolder {
            administration = try AdministrationServer(folder: folder, context: services.context, poller: loop.poller)
        }
        if let listen = configuration.listen {
            let publishes = configuration.given.role.publishes
            let endpoints = try services.server.bind(
                listen, in: services.context, publishes: publishes, poller: loop.poller, access: services.access)
            (services.ingressEndpoint, services.broadcastEndpoint, services.bulkEndpoint) = endpoints
            if case .data = configuration.given.role {
                services.becomeDataNode()
                _ = try services.server.bindReplication(listen, in: services.context, poller: loop.poller)
            }
        }
        var starts: [() -> Void] = []
        for (index, store) in attached.enumerated() {
            let (host, start) = try StoreOpening(services: services, index: index, store: store).open()
            hosts.append(host)
            dispatch.add(host.name, channel: host.channel)
            starts.append(start)
        }
        let channels = hosts.compactMap(\.channel)
        guard Set(channels).count == channels.count else {
            throw LockstepError(
                .journalForeign, "two journals of this node have the same channel: they were made by different nodes")
        }
        try services.book?.check(cluster: services.cluster)
        // Last, since only the end of ``run()`` closes it.
        if case .data(_, _, let source) = configuration.given.role, let cluster = services.cluster, !hosts.isEmpty {
            openedArbiter = try source.open(cluster)
        }
        // Only now: a node that is refused because of one store has written nothing to the others' journals.
        for start in starts { start() }
        // A node without network listens nowhere.
        guard !services.ingressEndpoint.isEmpty else { return }
        logger.info(
            "listening", metadata: [LogKey.endpoint: "\(services.ingressEndpoint)", LogKey.boot: "\(services.boot)"])
    }

    private func end() {
        for host in hosts { host.end(StoreHost.stopped) }
        registry.end()
        close()
    }

    /// Gives up what ``open(_:)`` has taken.
    private func close() {
        closePorts()
        administration?.close()
        administration = nil
        hosts = []
        dispatch = FrameDispatch()
        // The poller's hold on its sockets is the last but one on the context, whose end frees the ports.
        loop.poller.removeClosed()
        services = nil
    }

    /// Closes what other processes reach the node by, or it them; a second time does nothing.
    private func closePorts() {
        services?.server.close()
        services?.peers?.close()
        services?.closeAccess()
    }

    // MARK: - A turn

    /// Whether a turn would find what other threads left; never before the first turn and after the last, when nothing
    /// that comes is taken.
    package var isWaiting: Bool {
        guard finished != nil else { return false }
        return (registry.stop != .none && !isStopping) || hosts.contains { $0.isWaiting }
            || services?.book?.isWaiting == true
    }

    /// One round of everything that is ready.
    ///
    /// All sockets that may be ready are drained first, whatever happens then; then come what the journals finished, up to 64 frames of
    /// peers, the stream, the callers, the ends of the batches, and time.
    private func turn(_ ready: [LoopToken]?) -> LoopRest {
        guard let services, finished != nil else { return .until(.never) }
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        var isBusy = drain(services, ready, now: now)
        for host in hosts where host.takeMail() { isBusy = true }
        if handlePeers(now: now, wall: wall) { isBusy = true }
        if handleDataNodes(services, now: now, wall: wall) { isBusy = true }
        for host in hosts where host.handleLinks(now: now) { isBusy = true }
        for host in hosts where host.handleCallers(now: now) { isBusy = true }
        for host in hosts {
            host.endTurn(now: now, wall: wall)
            host.tick(now: now, wall: wall)
        }
        gauges?.observe(ingress: ingressRing, bulk: bulkRing, now: now)
        stopIfAsked(services, now: now)
        if isBusy { return .again }
        let deadline = min(
            hosts.map { min($0.nextDeadline, $0.nextStopDeadline) }.min() ?? .never,
            min(services.book?.nextLook ?? .never, nextDataNodeDeadline(services)))
        // A node without deadlines looks once a second.
        return .until(min(deadline, now.advanced(byMilliseconds: 1_000)))
    }

    private func drain(_ services: NodeServices, _ ready: [LoopToken]?, now: Tick) -> Bool {
        func mayBeReady(_ token: LoopToken) -> Bool { ready?.contains(token) ?? true }
        let server = services.server
        var count = 0
        // First, so that a list that has changed holds for what comes now.
        if services.book?.look(now: now, cluster: services.cluster) == true { listChanged(services, now: now) }
        if let access = services.access, mayBeReady(.access) {
            count += services.attempt { try access.serve(now: now) } ?? 0
        }
        // A socket that is flooded is drained until then; the others have their turn.
        var end: Tick { MonotonicClock.now.advanced(byMilliseconds: 10) }
        if mayBeReady(.ingress) {
            count += services.attempt { try server.drainIngress(until: end) { ingressRing.append($0, from: $1) } } ?? 0
        }
        if mayBeReady(.bulk) {
            count += services.attempt { try server.drainBulk(until: end) { bulkRing.append($0, from: $1) } } ?? 0
        }
        if mayBeReady(.replication) {
            count +=
                services.attempt {
                    try server.drainReplication(until: end) { replicationRing.append($0, from: $1) }
                } ?? 0
        }
        if let peers = services.peers { count += services.attempt { try peers.drain() } ?? 0 }
        if mayBeReady(.broadcast),
            let (taken, refused) = services.attempt({
                try server.drainSubscriptions(until: end, now: now, store: { storeName(of: $0) })
            })
        {
            count += taken
            subscriptionsRefused += refused
        }
        lookAtPeers(services, now: now)
        // A ring, and time, leave nothing for the sockets of the stores either.
        if ready?.isEmpty != true { for host in hosts { count += services.attempt { try host.links.drain() } ?? 0 } }
        if let administration, mayBeReady(.administration) {
            count += services.attempt { try administration.serve { try answer($0) } } ?? 0
        }
        return count > 0
    }

    /// Ends the connections of peers that cost too much, and says so at most every 10 s.
    private func lookAtPeers(_ services: NodeServices, now: Tick) {
        guard let ended = services.attempt({ try services.server.look(now: now) }), ended > reportedEnds,
            now >= nextReport
        else { return }
        logger.info(
            "connections of peers were ended: they sent too much, or nothing",
            metadata: [LogKey.count: "\(ended - reportedEnds)"])
        reportedEnds = ended
        nextReport = now.advanced(byMilliseconds: 10_000)
    }

    // MARK: - The end

    private func stopIfAsked(_ services: NodeServices, now: Tick) {
        if services.failure != nil {
            finish()
            return
        }
        let request = registry.stop
        guard request != .none else { return }
        if !isStopping { logger.info("stopping") }
        isStopping = true
        for host in hosts {
            host.beginStop(now: now, isGraceful: request == .graceful)
            host.continueStop(now: now)
        }
        if hosts.allSatisfy(\.isStopped) { finish() }
    }

    private func finish() {
        finished.take()?.resume()
    }
}
