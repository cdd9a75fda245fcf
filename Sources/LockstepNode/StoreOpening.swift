internal import Dispatch
internal import LockstepCore
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Makes a store ready at the start of its node: opens its journal, recovers, makes its machines.
package struct StoreOpening {
    package var services: NodeServices
    package var index: Int
    package var store: StoreRegistry.Attached

    package init(services: NodeServices, index: Int, store: StoreRegistry.Attached) {
        self.services = services
        self.index = index
        self.store = store
    }

    var name: String { store.port.name }

    /// The store and what starts its machines.
    ///
    /// Before that it writes no entry and tells nobody anything, so all stores of a node can be looked at before the
    /// first begins.
    package func open() throws -> Opened {
        switch services.configuration.given.role {
        case .primary(_, let source): try openPrimary(source)
        case .replica(_, _, let source): try openReplica(source)
        case .data(_, let source, _): try openData(source)
        case .client: openClient()
        }
    }

    package typealias Opened = (host: StoreHost, start: () -> Void)

    private func openPrimary(_ source: JournalSource) throws -> Opened {
        let journal = try openJournal(source)
        let given = services.configuration.given
        try JournalRole.primary.check(journal, from: source, changesRole: given.changesRole)
        services.learned(try cluster(forPrimary: journal))
        let state = try makeState()
        let host = makeHost(role: .client, incarnation: journal.identity.incarnation, state: state)
        var recovered = try recover(journal, into: state)
        if journal.identity.cluster == .none {
            try adopt(services.cluster ?? .none, by: journal)
            recovered.log = LogState(store: journal.identity.store)
        }
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        try checkClock(journal, last: recovered.log.time, wall: wall)
        try JournalRole.primary.note(in: journal)
        // The alarm was of the boot before; this one raises its own.
        if try journal.note(.reportedBehind) != nil { try journal.setNote(.reportedBehind, to: nil) }
        var configuration = PrimaryConfiguration(
            cluster: journal.identity.cluster, node: services.node, incarnation: journal.identity.incarnation,
            boot: services.boot, channel: journal.identity.channel, storeName: name, isVolatile: journal.isVolatile,
            publishEndpoint: services.broadcastEndpoint, bulkEndpoint: services.bulkEndpoint,
            lossAccepted: try journal.note(.lossAccepted).flatMap(KnownPosition.init(noteText:)))
        configuration.audience = (try journal.note(.audience) ?? "").split(separator: ",").map(String.init)
        // Nobody can come to a node that does not listen.
        let hasDoor = services.configuration.listen != nil
        configuration.audienceMilliseconds = hasDoor ? given.audienceTimeout.wholeMicroseconds / 1_000 : 0
        configuration.holdsEffects = given.holdsEffects
        let machine = PrimaryStateMachine(
            configuration: configuration, recovered: recovered.log, window: recovered.window,
            wall: wall, now: now)
        let driver = PrimaryDriver(host: host, state: state, journal: journal, machine: machine)
        return opened(host, as: .primary(driver), with: recovered, from: journal)
    }

    /// Gives the store its role and what its journal held.
    func opened(
        _ host: StoreHost, as role: StoreRole, with recovered: RecoveredStore?, from journal: (any Journal)?
    ) -> Opened {
        host.role = role
        if let recovered { host.feed.begin(recovered.window, at: recovered.log.position) }
        return (
            host,
            {
                let now = MonotonicClock.now
                role.driver?.start(now: now, wall: MonotonicClock.wall)
                host.start(now: now)
                if let journal { verifyOlder(journal, of: host) }
            }
        )
    }

    /// Compares the clock with the log, and takes an operator's acceptance away when it is no longer needed.
    func checkClock(_ journal: any Journal, last: LogTime, wall: LogTime) throws {
        let noted = try journal.note(.clockAccepted).flatMap(Int64.init).map(LogTime.init(rawValue:))
        try ClockRule.check(
            of: name, last: last, wall: wall, accepts: services.configuration.given.acceptsClock, acceptedAt: noted)
        if noted != nil, ClockRule.isUsedUp(last: last, wall: wall) { try journal.setNote(.clockAccepted, to: nil) }
    }

    /// The cluster of a primary; a journal that a replica made and that never met a primary begins one.
    private func cluster(forPrimary journal: any Journal) throws -> ClusterID {
        let cluster = journal.identity.cluster
        guard cluster == .none else { return cluster }
        return services.cluster ?? ClusterID(using: &services.generator)
    }

    /// Waits until a journal belongs to a cluster; nothing runs yet that would have to wait with it.
    private func adopt(_ cluster: ClusterID, by journal: any Journal) throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, JournalFailure>>(.success(()))
        journal.adopt(cluster: cluster, channel: journal.identity.channel) { result in
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        switch outcome.withLock({ $0 }) {
        case .success: break
        case .failure(.diskFull):
            throw LockstepError(.diskFull, "there is no room for the journal of \(name): free some space")
        case .failure(.failed(let reason)):
            throw LockstepError(.journalFailed, "the journal of \(name) cannot be written: \(reason)")
        }
    }

    /// What the start did not verify is verified beside the work.
    private func verifyOlder(_ journal: any Journal, of host: StoreHost) {
        let mailbox = host.mailbox
        journal.verifyOlder { findings in mailbox.put { $0.journalDamaged(findings) } }
    }

    private func openReplica(_ source: JournalSource?) throws -> Opened {
        // A journal in memory would keep for a replica what nobody ever reads.
        let journal = try source.map { try openJournal($0, isForReplica: true) }.flatMap { $0.isVolatile ? nil : $0 }
        if let journal, let source {
            try JournalRole.replica.check(
                journal, from: source, changesRole: services.configuration.given.changesRole)
        }
        let state = try makeState()
        let recovered = try journal.map { try recover($0, into: state) }
        if let journal { try JournalRole.replica.note(in: journal) }
        // An empty journal belongs where this node is told, or where its first WELCOME comes from; its channel is the
        // WELCOME's.
        let isEmpty = (recovered?.log.position.sequence ?? .zero) == .zero
        if let journal, !isEmpty { services.learned(journal.identity.cluster) }
        let incarnation = journal?.identity.incarnation ?? Incarnation(using: &services.generator)
        let host = makeHost(role: .replica, incarnation: incarnation, state: state)
        let configuration = ReplicaConfiguration(
            storeName: name, node: services.node, cluster: services.cluster, boot: services.boot,
            incarnation: incarnation, channel: isEmpty ? nil : journal?.identity.channel,
            hasJournal: journal != nil, bulkEndpoint: services.bulkEndpoint, seed: services.generator.next())
        let machine =
            recovered.flatMap {
                isEmpty
                    ? nil : ReplicaStateMachine(configuration: configuration, recovered: $0.log, window: $0.window)
            } ?? ReplicaStateMachine(configuration: configuration)
        host.client.reached(machine.highestEpoch)
        let driver = ReplicaDriver(host: host, state: state, journal: journal, machine: machine)
        return opened(host, as: .replica(driver), with: recovered, from: journal)
    }

    private func openClient() -> Opened {
        let host = makeHost(role: .client, incarnation: Incarnation(using: &services.generator), state: nil)
        return opened(host, as: .client, with: nil, from: nil)
    }

    func openJournal(
        _ source: JournalSource, isForReplica: Bool = false, isForDataNode: Bool = false
    ) throws -> any Journal {
        var request = JournalRequest(
            cluster: services.cluster, storeName: name, nodeName: services.node,
            channel: Channel(rawValue: UInt16(index)))
        request.isForReplica = isForReplica
        request.isForDataNode = isForDataNode
        return try source.open(request)
    }

    func makeHost(role: PeerRole, incarnation: Incarnation, state: ObservedState?) -> StoreHost {
        let given = services.configuration.given
        let upstreams = services.configuration.upstreams.map(\.description)
        let client = ClientConfiguration(
            store: name, node: services.node, role: role, client: ClientKey(using: &services.generator),
            boot: services.boot, incarnation: incarnation, cluster: services.cluster,
            endpoint: upstreams.first ?? StoreHost.ownEndpoint, others: Array(upstreams.dropFirst()),
            timeToLive: given.sessionTimeToLive.wholeMicroseconds,
            windowBytes: upstreams.isEmpty ? Limits.windowBytes : 1 << 20, seed: services.generator.next(),
            wantsSession: role == .replica)
        return StoreHost(
            port: store.port, index: index, services: services,
            mailbox: Mailbox(signaller: services.loop.signaller), state: state, client: client)
    }

    func makeState() throws -> ObservedState {
        guard let state = store.makeState?() else {
            throw LockstepError(.invalidConfiguration, "store \(name) has no state, which this node needs")
        }
        return ObservedState(state, traces: store.port.traces)
    }

    func recover(_ journal: any Journal, into state: ObservedState) throws -> RecoveredStore {
        try RecoveredStore(journal, named: name, into: state, logger: services.logger)
    }
}
