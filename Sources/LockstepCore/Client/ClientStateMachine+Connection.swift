extension ClientStateMachine {
    /// A frame came in on the connection.
    ///
    /// The driver calls ``turnEnded(now:into:)`` afterwards.
    package mutating func received(_ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]) {
        guard phase == .greeting || phase == .welcomed else { return directives.append(.count(.staleFrames)) }
        let header: FrameHeader
        let message: Message
        do {
            (header, message) = try Message.decode(frame, rule: cluster.map { .member($0.hash) } ?? .any)
        } catch {
            directives.append(.count(.framesRefused))
            if error.problem == .wrongCluster { foreignFrameReceived(frame, now: now, into: &directives) }
            if error.problem == .wrongVersion,
                let version = FrameHeader.versionOfRefusal(in: frame, nonce: nonce)
            {
                let text = "it speaks version \(version) of the protocol, this node version \(FrameHeader.wireVersion)"
                refusedReceived(
                    Refused(nonce: nonce, reason: .wrongVersion, text: text), now: now, into: &directives)
            }
            return
        }
        if let greeting = Greeting(message) { return greetingReceived(greeting, now: now, into: &directives) }
        guard let welcome, header.channel == welcome.channel else {
            directives.append(.count(.staleFrames))
            return
        }
        heard(now: now)
        guard let reply = IngressReply(message) else { return directives.append(.count(.framesRefused)) }
        replyReceived(reply, frame, now: now, into: &directives)
    }

    private mutating func greetingReceived(
        _ greeting: Greeting, now: Tick, into directives: inout [ClientDirective]
    ) {
        switch greeting {
        case .welcome(let welcome): welcomeReceived(welcome, now: now, into: &directives)
        case .refused(let refused): refusedReceived(refused, now: now, into: &directives)
        case .resync: resyncReceived(now: now, into: &directives)
        }
    }

    /// The connection is broken and will not come back by itself.
    package mutating func connectionFailed(now: Tick, into directives: inout [ClientDirective]) {
        guard phase == .greeting || phase == .welcomed else { return }
        reconnectLater(now: now, into: &directives)
    }

    mutating func connect(now: Tick, into directives: inout [ClientDirective]) {
        directives.append(.connect(endpoint: endpoint))
        greet(now: now, into: &directives)
    }

    /// Begins anew on the connection: nothing that was said on it before counts.
    private mutating func greet(now: Tick, into directives: inout [ClientDirective]) {
        phase = .greeting
        forgetConnection()
        nonce = generator.next()
        helloInterval = ClientTiming.firstHello
        attemptEnds = now.advanced(byMilliseconds: ClientTiming.attempt)
        sendHello(now: now, into: &directives)
    }

    private mutating func forgetConnection() {
        welcome = nil
        binding = .none
        sessionAt = .never
        busyUntil = .never
        connectAt = .never
    }

    mutating func sendHello(now: Tick, into directives: inout [ClientDirective]) {
        let hello = Hello(
            nonce: nonce, role: configuration.role, node: configuration.node, incarnation: configuration.incarnation,
            boot: configuration.boot, store: configuration.store, known: known)
        var stamp = stamp
        stamp.channel = .none
        directives.append(.send(stamp.frame(.hello(hello))))
        helloAt = now.advanced(byMilliseconds: helloInterval)
        helloInterval = min(helloInterval * 3 / 2, ClientTiming.slowestHello)
    }

    /// Something shows that the peer may be another boot: HELLO leaves with the next tick, at most every 100 ms.
    package mutating func sayHello(now: Tick) {
        guard phase == .welcomed, now >= helloHeld else { return }
        helloHeld = now.advanced(byMilliseconds: ClientTiming.firstHello)
        helloAt = min(helloAt, now)
    }

    private mutating func heard(now: Tick) {
        lastHeard = now
        helloInterval = ClientTiming.slowestHello
        helloAt = buggify(.helloInTheMiddle) ? now : now.advanced(byMilliseconds: ClientTiming.ping)
    }

    mutating func reconnectLater(now: Tick, into directives: inout [ClientDirective]) {
        phase = .waiting
        forgetConnection()
        failures += 1
        if failures >= 2 {
            redirect = nil
            sentOnBy = []
        }
        connectAt = now.advanced(byMilliseconds: nextBackOff())
        directives.append(.count(.reconnects))
    }

    /// Half to the whole of the back-off, which doubles, in milliseconds.
    private mutating func nextBackOff() -> Int64 {
        let half = backOff / 2
        let delay = half + Int64(generator.next(below: UInt64(half) + 1))
        backOff = min(backOff * 2, ClientTiming.slowestBackOff)
        return delay
    }

    private mutating func welcomeReceived(
        _ new: Welcome, now: Tick, into directives: inout [ClientDirective]
    ) {
        guard new.nonce == nonce else { return directives.append(.count(.staleFrames)) }
        if new.role == .replica, wantsSession {
            // A replica takes no actions; it says where the primary is.
            follow(new.primaryEndpoint, now: now, into: &directives)
            return
        }
        let before = welcome
        cluster = new.cluster
        welcome = new
        phase = .welcomed
        failures = 0
        redirects = 0
        sentOnBy = []
        backOff = ClientTiming.firstBackOff
        attemptEnds = .never
        heard(now: now)
        directives.append(.welcomed(new))
        if new.isVolatile, let session, session.incarnation != new.incarnation {
            answeredPosition = .none
            lose(now: now, into: &directives)
        }
        // Another boot after the same connection knows nothing of what was said to the one before.
        guard before?.boot != new.boot || binding == .none else { return }
        binding = .none
        bind(now: now, into: &directives)
        requestsAreDue(now: now, into: &directives)
    }

    private mutating func resyncReceived(now: Tick, into directives: inout [ClientDirective]) {
        // Every frame that was under way gets a RESYNC; the HELLO that answers the first answers them all.
        guard phase == .welcomed else { return }
        lastHeard = now
        greet(now: now, into: &directives)
    }

    /// A frame of another cluster counts only if it answers this HELLO.
    private mutating func foreignFrameReceived(
        _ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]
    ) {
        // What cannot be read even so is noise, and was counted.
        guard let (header, message) = try? Message.decode(frame, rule: .any), let greeting = Greeting(message) else {
            return
        }
        switch greeting {
        case .refused(let refused) where refused.nonce == nonce:
            foreignCluster = header.clusterHash
            refusedReceived(refused, now: now, into: &directives)
        case .welcome(let welcome) where welcome.nonce == nonce:
            foreignCluster = welcome.cluster.hash
            let text = "the peer belongs to cluster \(welcome.cluster)"
            refusedReceived(
                Refused(nonce: nonce, reason: .wrongCluster, text: text), now: now, into: &directives)
        case .welcome, .refused, .resync: break
        }
    }

    private mutating func refusedReceived(
        _ refused: Refused, now: Tick, into directives: inout [ClientDirective]
    ) {
        let isOfOpen = binding == .opening && refused.nonce == openNonce
        // A replica names the READ that it leaves to the primary; a QUERY has no number of its own.
        let isOfRequest =
            refused.reason == .notPrimary
            && (requests.reads[refused.nonce] != nil || (refused.nonce == 0 && !requests.queries.isEmpty))
        guard refused.nonce == nonce || isOfOpen || isOfRequest else {
            return directives.append(.count(.staleFrames))
        }
        if refused.reason == .notPrimary {
            follow(refused.endpoint, now: now, into: &directives)
            return
        }
        lastHeard = now
        directives.append(.refused(refused))
        if isOfOpen {
            sessionAt = now.advanced(byMilliseconds: ClientTiming.refusal)
        } else if refused.reason == .protocolViolation, binding == .resuming || binding == .bound {
            // The primary contradicts what this session says of itself: it cannot go on.
            lose(now: now, into: &directives)
        } else {
            phase = .greeting
            forgetConnection()
            helloAt = now.advanced(byMilliseconds: ClientTiming.refusal)
            helloInterval = ClientTiming.refusal
            attemptEnds = now.advanced(byMilliseconds: ClientTiming.attempt)
        }
    }

    /// Goes where the primary is said to be: at once the first time, later with back-off.
    ///
    /// Never where it came from, and not far: nodes that name each other are replicas of nobody. Then it begins
    /// again where it was told to, for the primary that is there may be on its way.
    mutating func follow(_ endpoint: String, now: Tick, into directives: inout [ClientDirective]) {
        let here = self.endpoint
        guard !endpoint.isEmpty, endpoint != here, !sentOnBy.contains(endpoint),
            sentOnBy.count < ClientTiming.farthest
        else {
            directives.append(.noPrimary(at: here))
            redirect = nil
            sentOnBy = []
            reconnectLater(now: now, into: &directives)
            return
        }
        if !sentOnBy.contains(here) { sentOnBy.append(here) }
        redirect = endpoint == configuration.endpoint ? nil : endpoint
        failures = 0
        redirects += 1
        guard redirects > 1 else { return connect(now: now, into: &directives) }
        phase = .waiting
        forgetConnection()
        connectAt = now.advanced(byMilliseconds: nextBackOff())
    }
}
