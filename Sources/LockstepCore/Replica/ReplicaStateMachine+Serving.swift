// What a replica with sockets of its own answers: HELLO, reads, and joins (PROTOCOL, R-10, R-32, R-34).
extension ReplicaStateMachine {
    /// Why the state may not be shown: it is known to be wrong, or is not the cluster's.
    package var readRefusal: ReadRefusal? {
        switch phase {
        case .connecting, .joining, .catchingUp, .live, .ahead: holdsCluster ? nil : .neverLive
        case .quarantined: .quarantined
        case .halted: .halted
        }
    }

    private var isServing: Bool { readRefusal == nil }

    /// A frame came in on the node's own ingress socket.
    package mutating func ingressReceived(
        _ frame: RawSpan, from connection: Connection, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        switch door.enter(frame, from: connection, into: &directives) {
        case nil: return
        case .hello(let hello)?: helloReceived(hello, from: connection, into: &directives)
        case .message(let message)?:
            messageReceived(message, frame, from: connection, now: now, state: state, into: &directives)
        }
    }

    private var door: IngressDoor {
        IngressDoor(
            node: configuration.node, cluster: upstream.cluster, store: configuration.storeName,
            channel: upstream.channel, stamp: stamp)
    }

    private mutating func messageReceived(
        _ message: Message, _ frame: RawSpan, from connection: Connection, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        guard let request = IngressRequest(message) else {
            directives.append(.count(.framesRefused))
            return
        }
        switch request {
        case .read(let read): readReceived(read, frame, from: connection, now: now, state: state, into: &directives)
        case .watch(let request):
            // Also while it cannot be answered: its sender is told so, and is answered when it can.
            let refused = readers.watch(request, frame: frame, from: connection, now: now, stamp)
            if let refused { directives.append(.send(refused, to: connection)) }
        case .unwatch(let id): readers.unwatch(id)
        case .open(let open): refuseAsReplica(nonce: open.nonce, connection, into: &directives)
        case .resume(let resume): refuseAsReplica(nonce: resume.connectionNonce, connection, into: &directives)
        case .submit, .close, .query, .runRequest: refuseAsReplica(nonce: 0, connection, into: &directives)
        case .keepAlive:
            // A client that only reads here has no session, but it may hold one with the primary: nothing to say.
            break
        }
    }

    private func refuseAsReplica(
        nonce: UInt64, _ connection: Connection, into directives: inout [ReplicaDirective]
    ) {
        door.refuse(
            .notPrimary, "this node is a replica", nonce: nonce, endpoint: upstream.primaryEndpoint, connection,
            into: &directives)
    }

    /// Whoever comes as a client is sent on to this primary: a data node knows it from the arbiter.
    package mutating func sendsOn(to endpoint: String) { upstream.sendsOn(to: endpoint) }

    private mutating func helloReceived(
        _ hello: Hello, from connection: Connection, into directives: inout [ReplicaDirective]
    ) {
        // Without a channel there is nothing to be asked, but another replica may hear that this is no primary.
        let isKnown = upstream.channel != nil || hello.role == .replica
        guard let cluster = upstream.cluster, isKnown, phase != .halted, !buggify(.refusesHello) else {
            let text =
                phase == .halted ? "the replica has stopped" : "it has not been live yet: it has not met its primary"
            door.refuse(
                .unavailable, text, nonce: hello.nonce, endpoint: upstream.primaryEndpoint, connection,
                into: &directives)
            return
        }
        let welcome = Welcome(
            nonce: hello.nonce, cluster: cluster, role: .replica, isVolatile: !configuration.hasJournal,
            node: configuration.node, incarnation: configuration.incarnation, boot: configuration.boot,
            channel: upstream.channel ?? .none, store: log.store, commit: log.position, publishEndpoint: "",
            bulkEndpoint: configuration.bulkEndpoint, primaryEndpoint: upstream.primaryEndpoint,
            creditActions: UInt32(Limits.creditActions), creditBytes: UInt32(Limits.creditBytes),
            largestAction: UInt32(Limits.actionBytes))
        directives.append(.send(stamp.frame(.welcome(welcome)), to: connection))
    }

    // MARK: - Reads

    private mutating func readReceived(
        _ read: Read, _ frame: RawSpan, from connection: Connection, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        guard read.level != .linearizable else {
            refuseAsReplica(nonce: read.id, connection, into: &directives)
            return
        }
        let minimum = minimum(of: read)
        guard isServing, !buggify(.refusesRead),
            readers.add(read, frame: frame, minimum: minimum, from: connection, now: now)
        else {
            let frame = stamp.readUnavailable(id: read.id, view: view, because: readRefusal)
            directives.append(.send(frame, to: connection))
            return
        }
        refreshView(now: now, state: state, into: &directives)
    }

    private func minimum(of read: Read) -> SequenceNumber {
        read.level == .session ? read.minimum : .zero
    }

    /// Shows a newer view if somebody waits for it, or if the last one is old; then answers the reads that it reaches.
    ///
    /// All that is applied has committed, so any of it may be shown; a few entries are shown at once.
    mutating func refreshView(now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]) {
        guard isServing else { return }
        let isDue = readers.isViewDue(now: now, state)
        let missing = log.position.sequence.rawValue - view.sequence.rawValue
        // The first is shown at once: what is live must not stand there with nothing to show.
        let isFirst = view.sequence == .zero
        if missing > 0, isDue || isFirst || missing < 64, !buggify(.lateView) { showView(now: now, state: state) }
        for answer in readers.takeAnswered(stamp, state) {
            directives.append(.send(answer.frame, to: answer.connection))
        }
    }

    /// Tells those who watch what is new, some in each turn.
    mutating func answerWatches(now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]) {
        guard phase != .halted else { return }
        for answer in readers.takeWatched(now: now, because: readRefusal, stamp, state) {
            directives.append(.send(answer.frame, to: answer.connection))
        }
    }

    /// When somebody who watches is to be told something.
    var watchDeadline: Tick {
        readers.watchDeadline(because: readRefusal, isBehind: isServing && view.sequence != log.position.sequence)
    }

    /// When to look again whether a view is due; never while the present one shows everything.
    var nextView: Tick {
        guard view.sequence != log.position.sequence, isServing else { return .never }
        return readers.viewDue
    }

    /// Shows what is applied.
    mutating func showView(now: Tick, state: any FollowingState) {
        readers.capture(log, now: now, state)
        readers.show(through: log.position.sequence, state)
    }

    // MARK: - Joins

    /// A frame came in on the node's own bulk socket: somebody joins, or recovers, from this replica.
    package mutating func joinReceived(
        _ frame: RawSpan, from connection: Connection, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        // What cannot be read is not answered.
        guard let (header, message) = try? Message.decode(frame, rule: upstream.clusterRule), header.kind.isRequest
        else {
            directives.append(.count(.framesRefused))
            return
        }
        guard header.channel == upstream.channel else {
            directives.append(.count(.framesRefused))
            directives.append(.sendBulkReply(stamp.frame(.resync), to: connection))
            return
        }
        guard isServing else {
            putOff(message, from: connection, into: &directives)
            return
        }
        guard let request = BulkRequest(message) else {
            directives.append(.count(.framesRefused))
            return
        }
        let log = JoinLog(
            stamp: stamp, store: log.store, committed: planned, epochEnds: log.epochEnds, window: window)
        var actions: [ServeAction] = []
        joins.received(
            request, from: connection, now: now, log: log, bounds: buggify.bounds(for: request), into: &actions)
        directives.serve(actions)
        guard actions.contains(.wantsSnapshot) else { return }
        // A mark need not come: the primary may be gone, which is why somebody recovers from here.
        captureSnapshot(state: state, into: &directives)
    }

    /// All that is applied has committed, so joiners get all of it.
    private var planned: KnownPosition {
        log.known
    }

    /// What is wrong, or not the cluster's, is given to nobody; who asks for it is told so, and asks again later.
    private func putOff(_ message: Message, from connection: Connection, into directives: inout [ReplicaDirective]) {
        var answer = Message.resync
        if case .sync(let sync) = message, sync.store == log.store {
            let known = log.known
            answer = .syncPlan(
                SyncPlan(
                    nonce: sync.nonce, commit: known.position, boot: known.boot,
                    decision: .busy(retryAfter: ReplicaTiming.putOffMicroseconds)))
            directives.append(.count(.busyAnswers))
        }
        directives.append(.sendBulkReply(stamp.frame(answer), to: connection))
    }
}
