extension PrimaryStateMachine {
    /// A frame came in on the ingress socket, or from the node's own store.
    ///
    /// `sender` is whose connection it is, nil of a node without keys; what it says with a HELLO holds as long as the
    /// connection, which its node ends when the access list changes it.
    package mutating func received(
        _ frame: RawSpan, from connection: Connection, of sender: Sender? = nil, _ step: inout PrimaryStep
    ) {
        // Before the epoch is open nothing may be said in it; peers repeat themselves.
        guard isEpochOpen || isFeeding, !isOver else { return }
        switch door.enter(frame, from: connection, into: &step.directives) {
        case nil: return
        case .hello(let hello)?:
            guard isEpochOpen || hello.role == .replica && isFed(hello.known) else { return }
            helloReceived(hello, from: connection, of: sender, &step)
        case .message(let message)?:
            guard isEpochOpen else { return }
            messageReceived(message, frame, from: connection, &step)
        }
    }

    private var door: IngressDoor {
        IngressDoor(
            node: configuration.node, cluster: configuration.cluster, store: configuration.storeName,
            channel: configuration.channel, stamp: stamp)
    }

    private mutating func messageReceived(
        _ message: Message, _ frame: RawSpan, from connection: Connection, _ step: inout PrimaryStep
    ) {
        if buggify(.forgetsPeer) { peers.forget(connection) }
        guard peers.isThere(connection) else {
            // The connection is new to this boot, or was forgotten: the peer starts over with HELLO.
            step.directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        peers.heard(connection, now: step.now)
        guard let request = IngressRequest(message) else {
            step.directives.append(.count(.framesRefused))
            return
        }
        if let session = request.session, session.sequence > committed.position.sequence,
            log.sessions.standing(of: session) != nil
        {
            // Guessed: its OPEN is not committed, and every answer would show it.
            step.directives.append(.count(.framesRefused))
            return
        }
        switch request {
        case .open(let open): openReceived(open, from: connection, &step)
        case .resume(let resume): resumeReceived(resume, from: connection, &step)
        case .submit(let submit): submitReceived(submit, frame, from: connection, &step)
        case .keepAlive(let keepAlive): keepAliveReceived(keepAlive, from: connection, &step)
        case .close(let session): closeReceived(session, from: connection, &step)
        case .read(let read): readReceived(read, frame, from: connection, &step)
        case .query(let query): queryReceived(query, from: connection, &step)
        case .runRequest(let request): runRequestReceived(request, from: connection, &step)
        case .watch(let request): watchReceived(request, frame, from: connection, &step)
        case .unwatch(let id): readers.unwatch(id)
        }
    }

    func refuse(
        _ reason: RefusalReason, _ text: String, nonce: UInt64, _ connection: Connection, _ step: inout PrimaryStep
    ) {
        door.refuse(reason, text, nonce: nonce, connection, into: &step.directives)
    }

    private mutating func helloReceived(
        _ hello: Hello, from connection: Connection, of sender: Sender?, _ step: inout PrimaryStep
    ) {
        guard peers.hasRoom(for: connection) else {
            refuse(.unavailable, "the node has its most connections", nonce: hello.nonce, connection, &step)
            return
        }
        guard !buggify(.refusesHello) else {
            refuse(.unavailable, "ask again", nonce: hello.nonce, connection, &step)
            return
        }
        guard !Self.isImpossible(hello.known.position.epoch, own: epoch, wall: step.wall) else {
            let text = "epoch \(hello.known.position.epoch) is more than a year ahead of this host's clock"
            refuse(.protocolViolation, text, nonce: hello.nonce, connection, &step)
            return
        }
        guard replication == nil || hello.known.position.epoch <= epoch else {
            return refuseOfLaterReign(hello, from: connection, &step)
        }
        if isAhead(hello.known) {
            audienceIsAhead(hello.known, by: hello.node, stopsAdmitting: hello.role == .replica, &step)
            if hello.role == .client {
                let text = "the client has answers from \(hello.known.position), this log ends at \(committed.position)"
                peers.forget(connection)
                refuse(.primaryBehind, text, nonce: hello.nonce, connection, &step)
                return
            }
        } else if hello.role == .replica {
            replicaCame(hello.node, &step)
        }
        if hello.role == .replica, !peers.isThere(connection) { beacons.hurry(now: step.now) }
        let isTight = buggify(.creditOfOne)
        // Of what follows it says nothing as long as that tells nothing.
        let known = hello.known.position.sequence
        let applied =
            known >= pipeline.told && known <= committed.position.sequence ? committed.position.sequence : known
        peers.came(hello, on: connection, of: sender, applied: applied, now: step.now)
        let welcome = Welcome(
            nonce: hello.nonce, cluster: configuration.cluster, role: .primary, isVolatile: configuration.isVolatile,
            node: configuration.node, incarnation: configuration.incarnation, boot: configuration.boot,
            channel: configuration.channel, store: log.store, commit: committed.position,
            publishEndpoint: configuration.publishEndpoint, bulkEndpoint: configuration.bulkEndpoint,
            primaryEndpoint: "", creditActions: isTight ? 1 : UInt32(Limits.creditActions),
            creditBytes: isTight ? 1 : UInt32(Limits.creditBytes), largestAction: UInt32(Limits.actionBytes))
        step.directives.append(.send(stamp.frame(.welcome(welcome)), to: connection))
    }

    private mutating func openReceived(_ open: Open, from connection: Connection, _ step: inout PrimaryStep) {
        let sender = peers[connection]?.sender
        if let session = log.sessions.session(openedBy: open.client, nonce: open.nonce) {
            guard isOwner(connection, of: session.id) else {
                return refuseForeign(session.id, nonce: open.nonce, connection, &step)
            }
            bindings.bind(session.id, to: connection, now: step.now)
            answer(.opened(Opened(session, nonce: open.nonce)), to: connection, &step)
            return
        }
        // It is asked again, and this does not last.
        guard phase != .awaiting else { return }
        guard admits, !buggify(.refusesOpen) else {
            step.directives.append(.count(.busyAnswers))
            let text = "the store does not open sessions now: \(admissionProblem)"
            refuse(.unavailable, text, nonce: open.nonce, connection, &step)
            return
        }
        if let text = sessionProblem(for: connection, &step) {
            refuse(.sessionLimit, text, nonce: open.nonce, connection, &step)
            return
        }
        var granted = open
        granted.timeToLive = sessionRoom.grantedTimeToLive(open.timeToLive, count: log.sessions.count)
        granted.windowNumbers = min(max(open.windowNumbers, 1), Limits.windowNumbers)
        granted.windowBytes = log.sessions.grantedWindowBytes(open.windowBytes)
        if buggify(.smallWindowNumbers) { granted.windowNumbers = 1 }
        if buggify(.smallWindowBytes) { granted.windowBytes = Limits.smallestWindowBytes }
        var id = SessionID.none
        append(.sessionOpen(granted, sender: sender?.name), &step) { machine, sequence in
            id = SessionID(epoch: machine.epoch, sequence: sequence)
            machine.log.sessions.open(id, granted, sender: sender?.name)
        }
        bindings.bind(id, to: connection, now: step.now)
        step.directives.append(.count(.sessionsOpened))
        noteSessionCount(&step)
        guard let session = log.sessions[id] else { preconditionFailure("the session was just opened") }
        answer(.opened(Opened(session, nonce: open.nonce)), to: connection, &step)
    }

    private mutating func resumeReceived(_ resume: Resume, from connection: Connection, _ step: inout PrimaryStep) {
        guard let standing = log.sessions.standing(of: resume.session) else {
            answerForMissing(resume.session, to: connection, &step)
            return
        }
        guard standing.openNonce == resume.openNonce else {
            let text = "session \(resume.session) was opened by somebody else"
            refuse(.protocolViolation, text, nonce: resume.connectionNonce, connection, &step)
            return
        }
        guard isOwner(connection, of: resume.session) else {
            return refuseForeign(resume.session, nonce: resume.connectionNonce, connection, &step)
        }
        if let before = bindings[resume.session]?.connection, before != connection {
            step.directives.append(.send(stamp.frame(.sessionMoved(resume.session)), to: before))
        }
        bindings.bind(resume.session, to: connection, now: step.now)
        let resumed = Resumed(
            session: resume.session, connectionNonce: resume.connectionNonce, expected: standing.last + 1)
        step.directives.append(.send(stamp.frame(.resumed(resumed)), to: connection))
        // One who says that it has more than there is learns from RESUMED that the log does not.
        guard resume.ackedThrough < standing.last else { return }
        sendCommitted(of: resume.session, resume.ackedThrough + 1...standing.last, to: connection, &step)
    }

    /// Whether the connection is of the name that opened the session; so it is where either is without one.
    private func isOwner(_ connection: Connection, of session: SessionID) -> Bool {
        guard let name = peers[connection]?.sender?.name, let opener = log.sessions.sender(of: session) else {
            return true
        }
        return name == opener
    }

    private func refuseForeign(
        _ session: SessionID, nonce: UInt64, _ connection: Connection, _ step: inout PrimaryStep
    ) {
        let text = "session \(session) was opened by another name of the access list; open one of your own"
        refuse(.protocolViolation, text, nonce: nonce, connection, &step)
    }

    /// Sends the kept replies to these numbers, as far as they have committed; the rest follows with its commit.
    func sendCommitted(
        of session: SessionID, _ numbers: ClosedRange<RequestNumber>, to connection: Connection,
        _ step: inout PrimaryStep
    ) {
        guard let last = log.sessions.lastNumber(of: session, through: committed.position.sequence),
            numbers.lowerBound <= last
        else { return }
        sendReplies(of: session, numbers.lowerBound...min(last, numbers.upperBound), to: connection, &step)
    }

    private mutating func keepAliveReceived(
        _ keepAlive: KeepAlive, from connection: Connection, _ step: inout PrimaryStep
    ) {
        peers.applied(keepAlive.applied, by: connection)
        guard let standing = log.sessions.standing(of: keepAlive.session) else {
            if keepAlive.session != .none { answerForMissing(keepAlive.session, to: connection, &step) }
            return
        }
        guard bindings.isHeld(keepAlive.session, by: connection) else {
            step.directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        bindings.heard(keepAlive.session, now: step.now)
        guard
            acknowledges(keepAlive.ackedThrough, keepAlive.session, standing, from: connection, &step)
        else { return }
        bindings.note(keepAlive.ackedThrough, of: keepAlive.session, standing)
    }

    private mutating func closeReceived(_ id: SessionID, from connection: Connection, _ step: inout PrimaryStep) {
        replicaLeft(connection, &step)
        guard log.sessions.standing(of: id) != nil else {
            answer(.closed(id), to: connection, &step)
            return
        }
        guard bindings.isHeld(id, by: connection) else {
            step.directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        // Without room an end cannot be logged; the session then expires when there is room again.
        guard admits else { return }
        append(.sessionClose(id), &step) { machine, _ in machine.forget(id) }
        answer(.closed(id), to: connection, &step)
    }

    private mutating func queryReceived(_ query: Query, from connection: Connection, _ step: inout PrimaryStep) {
        var status = QueryStatus.pending
        if let standing = log.sessions.standing(of: query.session) {
            if query.number <= standing.ackedThrough {
                status = .acknowledged
            } else if let last = log.sessions.lastNumber(of: query.session, through: committed.position.sequence),
                query.number <= last
            {
                sendReplies(of: query.session, query.number...query.number, to: connection, &step)
                return
            }
        } else if isInLog(query.session) {
            status = .sessionEnded
        } else if phase == .behind || query.session.epoch > epoch {
            // It may lack the reign that decides; who asks believes at once that a session is unknown.
            readRecord(&step)
        } else {
            status = .sessionUnknown
        }
        let result = Message.queryResult(QueryResult(session: query.session, number: query.number, status: status))
        if status == .sessionEnded {
            answer(result, to: connection, &step)
        } else {
            step.directives.append(.send(stamp.frame(result), to: connection))
        }
    }
}

extension Opened {
    fileprivate init(_ session: Session, nonce: UInt64) {
        self.init(
            nonce: nonce, session: session.id, timeToLive: session.timeToLive, windowNumbers: session.windowNumbers,
            windowBytes: session.windowBytes)
    }
}
