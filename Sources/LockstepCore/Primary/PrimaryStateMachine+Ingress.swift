extension PrimaryStateMachine {
    /// A frame came in on the ingress socket, or from the node's own store.
    package mutating func received(
        _ frame: RawSpan, from connection: Connection, now: Tick, wall: LogTime, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) {
        // Before `epochOpen` is durable nothing may be said in the new epoch; peers repeat themselves.
        guard isEpochOpen, phase != .halted else { return }
        let header: FrameHeader
        let message: Message
        do {
            (header, message) = try Message.decode(frame, rule: .member(configuration.cluster.hash))
        } catch {
            directives.append(.count(.framesRefused))
            refuseUnreadable(frame, error, from: connection, into: &directives)
            return
        }
        if case .hello(let hello) = message {
            helloReceived(hello, from: connection, now: now, wall: wall, into: &directives)
            return
        }
        guard header.channel == configuration.channel else {
            directives.append(.count(.framesRefused))
            // A channel of another life, or of another node, behind the same address: the peer asks anew which it is.
            if header.kind.isRequest { directives.append(.send(stamp.frame(.resync), to: connection)) }
            return
        }
        if buggify(.forgetsPeer) { peers[connection] = nil }
        guard peers[connection] != nil else {
            // The connection is new to this boot, or was forgotten: the peer starts over with HELLO.
            directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        peers[connection]?.lastHeard = now
        guard let request = IngressRequest(message) else {
            directives.append(.count(.framesRefused))
            return
        }
        if let session = request.session, session.sequence > committed.position.sequence,
            log.sessions.standing(of: session) != nil
        {
            // Guessed: its OPEN is not committed, and every answer would show it.
            directives.append(.count(.framesRefused))
            return
        }
        switch request {
        case .open(let open):
            openReceived(open, from: connection, now: now, wall: wall, state: state, into: &directives)
        case .resume(let resume): resumeReceived(resume, from: connection, now: now, into: &directives)
        case .submit(let submit):
            submitReceived(submit, frame, from: connection, now: now, wall: wall, state: state, into: &directives)
        case .keepAlive(let keepAlive): keepAliveReceived(keepAlive, from: connection, now: now, into: &directives)
        case .close(let session):
            closeReceived(session, from: connection, now: now, wall: wall, state: state, into: &directives)
        case .read(let read): readReceived(read, frame, from: connection, now: now, state: state, into: &directives)
        case .query(let query): queryReceived(query, from: connection, into: &directives)
        case .runRequest(let request):
            runRequestReceived(
                request, from: connection, now: now, wall: wall, state: state, into: &directives)
        }
    }

    /// Of what cannot be read, only a HELLO of another cluster or version is answered.
    private func refuseUnreadable(
        _ frame: RawSpan, _ error: WireError, from connection: Connection, into directives: inout [PrimaryDirective]
    ) {
        guard let (reason, nonce) = FrameHeader.refusal(of: frame, error) else { return }
        let text =
            reason == .wrongCluster
            ? "\(configuration.node) belongs to cluster \(configuration.cluster); the peer names another"
            : "\(configuration.node) speaks version \(FrameHeader.wireVersion) of the protocol; the peer another"
        refuse(reason, text, nonce: nonce, connection, into: &directives)
    }

    func refuse(
        _ reason: RefusalReason, _ text: String, nonce: UInt64, _ connection: Connection,
        into directives: inout [PrimaryDirective]
    ) {
        let refused = Refused(nonce: nonce, reason: reason, text: text)
        directives.append(.send(stamp.frame(.refused(refused)), to: connection))
    }

    private mutating func helloReceived(
        _ hello: Hello, from connection: Connection, now: Tick, wall: LogTime, into directives: inout [PrimaryDirective]
    ) {
        guard hello.store == configuration.storeName else {
            let text = "there is no store named \(hello.store) here"
            refuse(.unknownStore, text, nonce: hello.nonce, connection, into: &directives)
            return
        }
        guard peers[connection] != nil || peers.count < Limits.connections else {
            refuse(.unavailable, "the node has its most connections", nonce: hello.nonce, connection, into: &directives)
            return
        }
        guard !buggify(.refusesHello) else {
            refuse(.unavailable, "ask again", nonce: hello.nonce, connection, into: &directives)
            return
        }
        guard !Self.isImpossible(hello.known.position.epoch, own: epoch, wall: wall) else {
            let text = "epoch \(hello.known.position.epoch) is more than a year ahead of this host's clock"
            refuse(.protocolViolation, text, nonce: hello.nonce, connection, into: &directives)
            return
        }
        if isAhead(hello.known) {
            audienceIsAhead(hello.known, by: hello.node, stopsAdmitting: hello.role == .replica, into: &directives)
            if hello.role == .client {
                let text = "the client has answers from \(hello.known.position), this log ends at \(committed.position)"
                peers[connection] = nil
                refuse(.primaryBehind, text, nonce: hello.nonce, connection, into: &directives)
                return
            }
        } else if hello.role == .replica {
            replicaCame(hello.node, now: now, into: &directives)
        }
        if hello.role == .replica, peers[connection] == nil { hurryBeacons(now: now) }
        let isTight = buggify(.creditOfOne)
        // Of what follows it says nothing as long as that tells nothing.
        let known = hello.known.position.sequence
        let applied = known >= told && known <= committed.position.sequence ? committed.position.sequence : known
        let before = peers[connection]
        peers[connection] = Peer(
            hello: hello, firstHeard: before?.hello.boot == hello.boot ? before?.firstHeard ?? now : now,
            lastHeard: now, applied: applied)
        let welcome = Welcome(
            nonce: hello.nonce, cluster: configuration.cluster, role: .primary, isVolatile: configuration.isVolatile,
            node: configuration.node, incarnation: configuration.incarnation, boot: configuration.boot,
            channel: configuration.channel, store: log.store, commit: committed.position,
            publishEndpoint: configuration.publishEndpoint, bulkEndpoint: configuration.bulkEndpoint,
            primaryEndpoint: "", creditActions: isTight ? 1 : UInt32(Limits.creditActions),
            creditBytes: isTight ? 1 : UInt32(Limits.creditBytes), largestAction: UInt32(Limits.actionBytes))
        directives.append(.send(stamp.frame(.welcome(welcome)), to: connection))
    }

    private mutating func openReceived(
        _ open: Open, from connection: Connection, now: Tick, wall: LogTime, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) {
        if let session = log.sessions.session(openedBy: open.client, nonce: open.nonce) {
            bind(session.id, to: connection, now: now)
            answer(.opened(Opened(session, nonce: open.nonce)), to: connection, into: &directives)
            return
        }
        // It is asked again, and this does not last.
        guard phase != .awaiting else { return }
        guard admits, !buggify(.refusesOpen) else {
            directives.append(.count(.busyAnswers))
            let text = "the store does not open sessions now: \(admissionProblem)"
            refuse(.unavailable, text, nonce: open.nonce, connection, into: &directives)
            return
        }
        if let text = sessionProblem(for: connection, now: now, wall: wall, state: state, into: &directives) {
            refuse(.sessionLimit, text, nonce: open.nonce, connection, into: &directives)
            return
        }
        var granted = open
        granted.timeToLive = grantedTimeToLive(open.timeToLive)
        granted.windowNumbers = min(max(open.windowNumbers, 1), Limits.windowNumbers)
        granted.windowBytes = log.sessions.grantedWindowBytes(open.windowBytes)
        if buggify(.smallWindowNumbers) { granted.windowNumbers = 1 }
        if buggify(.smallWindowBytes) { granted.windowBytes = Limits.smallestWindowBytes }
        var id = SessionID.none
        append(.sessionOpen(granted), now: now, wall: wall, state: state) { machine, sequence in
            id = SessionID(epoch: machine.epoch, sequence: sequence)
            machine.log.sessions.open(id, granted)
        }
        bind(id, to: connection, now: now)
        directives.append(.count(.sessionsOpened))
        noteSessionCount(into: &directives)
        guard let session = log.sessions[id] else { preconditionFailure("the session was just opened") }
        answer(.opened(Opened(session, nonce: open.nonce)), to: connection, into: &directives)
    }

    private mutating func resumeReceived(
        _ resume: Resume, from connection: Connection, now: Tick, into directives: inout [PrimaryDirective]
    ) {
        guard let standing = log.sessions.standing(of: resume.session) else {
            answerForMissing(resume.session, to: connection, into: &directives)
            return
        }
        guard standing.openNonce == resume.openNonce else {
            let text = "session \(resume.session) was opened by somebody else"
            refuse(.protocolViolation, text, nonce: resume.connectionNonce, connection, into: &directives)
            return
        }
        if let before = bindings[resume.session]?.connection, before != connection {
            directives.append(.send(stamp.frame(.sessionMoved(resume.session)), to: before))
        }
        bind(resume.session, to: connection, now: now)
        var resumed = Resumed(
            session: resume.session, connectionNonce: resume.connectionNonce, expected: standing.last + 1)
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.resumedOneShort) { resumed.expected = max(1, standing.last) }
        #endif
        directives.append(.send(stamp.frame(.resumed(resumed)), to: connection))
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.resumeWithoutReplies) { return }
        #endif
        // One who says that it has more than there is learns from RESUMED that the log does not.
        guard resume.ackedThrough < standing.last else { return }
        sendCommitted(
            of: resume.session, resume.ackedThrough + 1...standing.last, to: connection, into: &directives)
    }

    /// Sends the kept replies to these numbers, as far as they have committed; the rest follows with its commit.
    func sendCommitted(
        of session: SessionID, _ numbers: ClosedRange<RequestNumber>, to connection: Connection,
        into directives: inout [PrimaryDirective]
    ) {
        guard let last = log.sessions.lastNumber(of: session, through: committed.position.sequence),
            numbers.lowerBound <= last
        else { return }
        sendReplies(
            of: session, numbers.lowerBound...min(last, numbers.upperBound), to: connection, into: &directives)
    }

    /// The session is not in the table: its end is in this log, or this log never had it.
    mutating func answerForMissing(
        _ session: SessionID, to connection: Connection, into directives: inout [PrimaryDirective]
    ) {
        guard isInLog(session) else {
            directives.append(.send(stamp.frame(.sessionUnknown(session)), to: connection))
            return
        }
        // Its end may be sequenced and not yet committed; sent at once, this answer would show it too early.
        answer(.sessionExpired(session), to: connection, into: &directives)
    }

    /// Whether the entry that opened the session is in this log: its place is, and in that epoch.
    private func isInLog(_ session: SessionID) -> Bool {
        guard session.sequence > .zero, session.sequence <= log.position.sequence else { return false }
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.givenUpSessionsEnd) { return true }
        #endif
        var before = SequenceNumber.zero
        for end in log.epochEnds {
            if session.sequence <= end.sequence { return end.epoch == session.epoch && session.sequence > before }
            before = end.sequence
        }
        return session.epoch == log.position.epoch
    }

    private mutating func keepAliveReceived(
        _ keepAlive: KeepAlive, from connection: Connection, now: Tick, into directives: inout [PrimaryDirective]
    ) {
        peers[connection]?.applied = keepAlive.applied
        guard let standing = log.sessions.standing(of: keepAlive.session) else {
            if keepAlive.session != .none { answerForMissing(keepAlive.session, to: connection, into: &directives) }
            return
        }
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.strangerKeepsAlive) { bindings[keepAlive.session]?.lastHeard = now }
        #endif
        guard bindings[keepAlive.session]?.connection == connection else {
            directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        #if LOCKSTEP_PLANTED_DEFECTS
            let isSign = !PlantedDefect.isActive(.keepAliveIgnored)
        #else
            let isSign = true
        #endif
        if isSign { bindings[keepAlive.session]?.lastHeard = now }
        guard
            acknowledges(keepAlive.ackedThrough, keepAlive.session, standing, from: connection, into: &directives)
        else { return }
        note(keepAlive.ackedThrough, of: keepAlive.session, standing)
    }

    private mutating func closeReceived(
        _ id: SessionID, from connection: Connection, now: Tick, wall: LogTime, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) {
        replicaLeft(connection, into: &directives)
        guard log.sessions.standing(of: id) != nil else {
            answer(.closed(id), to: connection, into: &directives)
            return
        }
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.strangerCloses) { bindings[id]?.connection = connection }
        #endif
        guard bindings[id]?.connection == connection else {
            directives.append(.send(stamp.frame(.resync), to: connection))
            return
        }
        // Without room an end cannot be logged; the session then expires when there is room again.
        guard admits else { return }
        append(.sessionClose(id), now: now, wall: wall, state: state) { machine, _ in machine.forget(id) }
        answer(.closed(id), to: connection, into: &directives)
    }

    mutating func forget(_ session: SessionID) {
        log.sessionEnded(session)
        bind(session, to: nil, now: .zero)
        acknowledgements[session] = nil
    }

    private mutating func readReceived(
        _ read: Read, _ frame: RawSpan, from connection: Connection, now: Tick, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) {
        // Until its replicas were heard, somebody may have been acknowledged more than is committed here.
        let isUnsure = phase == .awaiting && read.level == .linearizable
        let refusal = isUnsure ? .opening : self.refusal(of: read)
        guard refusal == nil, !buggify(.refusesRead) else {
            directives.append(.send(stamp.readUnavailable(id: read.id, view: view, because: refusal), to: connection))
            return
        }
        var minimum = read.minimum
        switch read.level {
        case .local: minimum = .zero
        case .session: break
        case .linearizable:
            // Everything acknowledged is committed here; a primary that is behind got no further.
            minimum = committed.position.sequence
        }
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.readTooEarly) { minimum = .zero }
        #endif
        // An index alone needs no view, only the commit: the asker waits for it in its own.
        if minimum <= (read.isIndexOnly ? committed.position.sequence : view.sequence), !buggify(.queuesRead) {
            var place = view
            if read.isIndexOnly { place.sequence = max(minimum, view.sequence) }
            let answer = stamp.readResult(
                id: read.id, isIndexOnly: read.isIndexOnly, query: read.query, in: frame, state: state, view: place)
            directives.append(.send(answer, to: connection))
        } else if !reads.add(read, frame: frame, minimum: minimum, from: connection, now: now) {
            directives.append(.send(stamp.readUnavailable(id: read.id, view: view), to: connection))
        }
    }

    private func refusal(of read: Read) -> ReadRefusal? {
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.behindPrimaryReads), read.level == .linearizable, phase == .behind { return nil }
        #endif
        return readRefusal
    }

    private func isKnown(_ number: RequestNumber, _ last: RequestNumber) -> Bool {
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.queryForgetsLast) { return number < last }
        #endif
        return number <= last
    }

    private mutating func queryReceived(
        _ query: Query, from connection: Connection, into directives: inout [PrimaryDirective]
    ) {
        var status = QueryStatus.pending
        if let standing = log.sessions.standing(of: query.session) {
            if query.number <= standing.ackedThrough {
                status = .acknowledged
            } else if let last = log.sessions.lastNumber(of: query.session, through: committed.position.sequence),
                isKnown(query.number, last)
            {
                sendReplies(of: query.session, query.number...query.number, to: connection, into: &directives)
                return
            }
        } else {
            status = isInLog(query.session) ? .sessionEnded : .sessionUnknown
        }
        let result = Message.queryResult(QueryResult(session: query.session, number: query.number, status: status))
        if status == .sessionEnded {
            answer(result, to: connection, into: &directives)
        } else {
            directives.append(.send(stamp.frame(result), to: connection))
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
