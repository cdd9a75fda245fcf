extension ClientStateMachine {
    /// A frame came in on the connection.
    ///
    /// The driver calls ``turnEnded(now:into:)`` afterwards.
    package mutating func received(_ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]) {
        guard link.isConnected else { return directives.append(.count(.staleFrames)) }
        let header: FrameHeader
        let message: Message
        do {
            (header, message) = try Message.decode(frame, rule: link.clusterRule)
        } catch {
            directives.append(.count(.framesRefused))
            if error.problem == .wrongCluster { foreignFrameReceived(frame, now: now, into: &directives) }
            if error.problem == .wrongVersion,
                let version = FrameHeader.versionOfRefusal(in: frame, nonce: link.nonce)
            {
                let text = "it speaks version \(version) of the protocol, this node version \(FrameHeader.wireVersion)"
                refusedReceived(
                    Refused(nonce: link.nonce, reason: .wrongVersion, text: text), now: now, into: &directives)
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

    /// The connection can be of no use, such as one whose handshake is refused: a new one follows after a back-off.
    package mutating func connectionFailed(now: Tick, into directives: inout [ClientDirective]) {
        guard link.isConnected else { return }
        reconnectLater(now: now, into: &directives)
    }

    /// The connection broke, or nobody listens where it leads: the next of several nodes is asked.
    ///
    /// Where one is known, its connection comes back by itself.
    package mutating func connectionBroke(now: Tick, into directives: inout [ClientDirective]) {
        guard link.isOfSeveral else { return }
        connectionFailed(now: now, into: &directives)
    }

    /// The primary is elsewhere, as this node knows better than any hint: session and numbers go on there.
    package mutating func relocate(to endpoint: String, now: Tick, into directives: inout [ClientDirective]) {
        guard phase != .stopped else { return }
        link.relocate(to: endpoint)
        guard phase != .created else { return }
        connect(now: now, into: &directives)
    }

    mutating func connect(now: Tick, into directives: inout [ClientDirective]) {
        directives.append(.connect(endpoint: endpoint))
        greet(now: now, into: &directives)
    }

    /// Begins anew on the connection: nothing that was said on it before counts.
    private mutating func greet(now: Tick, into directives: inout [ClientDirective]) {
        forgetConnection()
        link.greet(nonce: generator.next(), now: now)
        sendHello(now: now, into: &directives)
    }

    /// What the session and its numbers were told on a connection does not count on another.
    private mutating func forgetConnection() {
        binding.unbind()
        pace.release()
    }

    mutating func sendHello(now: Tick, into directives: inout [ClientDirective]) {
        let hello = Hello(
            nonce: link.nonce, role: configuration.role, node: configuration.node,
            incarnation: configuration.incarnation, boot: configuration.boot, store: configuration.store, known: known,
            mark: knowledge.mark)
        var stamp = stamp
        stamp.channel = .none
        directives.append(.send(stamp.frame(.hello(hello))))
        link.greeted(now: now)
    }

    /// Something shows that the peer may be another boot: HELLO leaves with the next tick, at most every 100 ms.
    package mutating func sayHello(now: Tick) { link.hurryHello(now: now) }

    private mutating func heard(now: Tick) { link.heard(now: now, greetsAtOnce: buggify(.helloInTheMiddle)) }

    mutating func reconnectLater(now: Tick, into directives: inout [ClientDirective]) {
        forgetConnection()
        directives.append(.count(.reconnects))
        if link.fail(now: now, &generator) { connect(now: now, into: &directives) }
    }

    private mutating func welcomeReceived(
        _ new: Welcome, now: Tick, into directives: inout [ClientDirective]
    ) {
        guard new.nonce == link.nonce, !link.isReplaced(new.boot) else {
            return directives.append(.count(.staleFrames))
        }
        if new.role == .replica, wantsSession {
            // A replica takes no actions; it says where the primary is.
            follow(new.primaryEndpoint, now: now, into: &directives)
            return
        }
        guard !link.isOldNews(new, known: known.position.epoch) else {
            directives.append(.count(.staleFrames))
            return reconnectLater(now: now, into: &directives)
        }
        let before = welcome
        link.welcomed(new, now: now)
        heard(now: now)
        directives.append(.welcomed(new))
        if new.isVolatile, let session, session.incarnation != new.incarnation {
            knowledge.forgetAnswered()
            lose(now: now, into: &directives)
        }
        watchesAreDue(at: new, now: now, into: &directives)
        // Another boot, reached over the same connection, knows nothing of what was said to the one before.
        guard before?.boot != new.boot || binding.stage == .none else { return }
        binding.unbind()
        bind(now: now, into: &directives)
        requestsAreDue(now: now, into: &directives)
    }

    private mutating func resyncReceived(now: Tick, into directives: inout [ClientDirective]) {
        // Every frame that was under way gets a RESYNC; the HELLO that answers the first answers them all.
        guard phase == .welcomed else { return }
        forgetConnection()
        if link.resynced(nonce: generator.next(), now: now) { sendHello(now: now, into: &directives) }
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
        case .refused(let refused) where refused.nonce == link.nonce:
            link.metForeign(clusterHash: header.clusterHash)
            refusedReceived(refused, now: now, into: &directives)
        case .welcome(let welcome) where welcome.nonce == link.nonce:
            link.metForeign(clusterHash: welcome.cluster.hash)
            let text = "the peer belongs to cluster \(welcome.cluster)"
            refusedReceived(
                Refused(nonce: link.nonce, reason: .wrongCluster, text: text), now: now, into: &directives)
        case .welcome, .refused, .resync: break
        }
    }

    private mutating func refusedReceived(
        _ refused: Refused, now: Tick, into directives: inout [ClientDirective]
    ) {
        let isOfOpen = binding.stage == .opening && refused.nonce == binding.openNonce
        let isOfRequest = refused.reason == .notPrimary && requests.isRefused(by: refused.nonce)
        guard refused.nonce == link.nonce || isOfOpen || isOfRequest else {
            return directives.append(.count(.staleFrames))
        }
        if refused.reason == .notPrimary {
            follow(refused.endpoint, now: now, into: &directives)
            return
        }
        link.answered(now: now)
        // Of several nodes, that one of them cannot serve now is no trouble before none can.
        if refused.reason != .unavailable || !link.isOfSeveral || isOfOpen || link.route.isLast {
            directives.append(.refused(refused))
        }
        if isOfOpen {
            binding.repeats(at: now.advanced(byMilliseconds: ClientTiming.refusal))
        } else if refused.reason == .protocolViolation, binding.stage == .resuming || binding.stage == .bound {
            // The primary contradicts what this session says of itself: it cannot go on.
            lose(now: now, into: &directives)
        } else {
            forgetConnection()
            link.refused(now: now)
        }
    }

    /// Goes where the primary is said to be, or begins again where it was told to: the primary that is there may be on
    /// its way.
    mutating func follow(_ endpoint: String, now: Tick, into directives: inout [ClientDirective]) {
        let here = self.endpoint
        switch link.sentOn(to: endpoint) {
        case .nowhere:
            directives.append(.noPrimary(at: here))
            reconnectLater(now: now, into: &directives)
        case .atOnce: connect(now: now, into: &directives)
        case .later:
            forgetConnection()
            link.wait(now: now, &generator)
        }
    }
}
