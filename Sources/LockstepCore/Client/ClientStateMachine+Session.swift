extension ClientStateMachine {
    /// Opens a session, or goes on with the one there is, on a connection that was just welcomed.
    mutating func bind(now: Tick, into directives: inout [ClientDirective]) {
        guard binding.stage == .none, let welcome, welcome.role == .primary else { return }
        if session != nil {
            binding.resume()
        } else if closeEnds != .never {
            return finishClosing(into: &directives)
        } else if wantsSession {
            binding.open(&generator)
        } else {
            return
        }
        repeatSessionRequest(now: now, into: &directives)
    }

    /// Sends OPEN, RESUME or CLOSE, whichever waits for its answer.
    mutating func repeatSessionRequest(now: Tick, into directives: inout [ClientDirective]) {
        binding.repeats(at: buggify(.asksTwice) ? now : now.advanced(byMilliseconds: ClientTiming.request))
        switch (binding.stage, session) {
        case (.opening, _):
            let open = Open(
                client: configuration.client, nonce: binding.openNonce, timeToLive: configuration.timeToLive,
                windowNumbers: configuration.windowNumbers, windowBytes: configuration.windowBytes)
            send(.open(open), into: &directives)
        case (.resuming, let session?):
            let resume = Resume(
                session: session.id, openNonce: session.openNonce, connectionNonce: link.nonce,
                ackedThrough: pending.answered)
            send(.resume(resume), into: &directives)
        case (.bound, let session?) where closeEnds != .never:
            binding.repeats(at: now.advanced(byMilliseconds: ClientTiming.closeRepeat))
            send(.close(session.id), into: &directives)
        case (.bound, _), (.none, _), (.resuming, nil):
            binding.repeats(at: .never)
        }
    }

    mutating func replyReceived(
        _ reply: IngressReply, _ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]
    ) {
        if isPaid(by: reply) { link.paid(now: now) }
        switch reply {
        case .opened(let opened): openedReceived(opened, now: now, into: &directives)
        case .resumed(let resumed): resumedReceived(resumed, now: now, into: &directives)
        case .result(let series): resultReceived(series, frame, now: now, into: &directives)
        case .busy(let busy): busyReceived(busy, now: now, into: &directives)
        case .outOfOrder(let id, let expected):
            guard isBound(id) else { return directives.append(.count(.staleFrames)) }
            outOfOrderReceived(expected: expected, into: &directives)
        case .sessionExpired(let id):
            guard session?.id == id else { return directives.append(.count(.staleFrames)) }
            if !saysClose(into: &directives) { lose(now: now, into: &directives) }
        case .sessionMoved(let id):
            // While it is not bound here, the message is about a connection of our own that this one replaces.
            guard isBound(id) else { return directives.append(.count(.staleFrames)) }
            movedReceived(now: now, into: &directives)
        case .sessionUnknown(let id):
            guard session?.id == id else { return directives.append(.count(.staleFrames)) }
            unknownReceived(now: now, into: &directives)
        case .closed(let id):
            guard session?.id == id, closeEnds != .never else { return directives.append(.count(.staleFrames)) }
            finishClosing(into: &directives)
        case .readResult(let result): readResultReceived(result, into: &directives)
        case .queryResult(let result): queryResultReceived(result, into: &directives)
        case .runEnded(let ended): runEndedReceived(ended, frame, now: now, into: &directives)
        case .runGone(let id): runGoneReceived(id, into: &directives)
        case .watchResult(let result): watchResultReceived(result, frame, now: now, into: &directives)
        }
    }

    /// Whether a node that says this does what it is asked, or will: another one would not do more.
    private func isPaid(by reply: IngressReply) -> Bool {
        switch reply {
        case .opened, .resumed, .result, .queryResult, .closed: true
        case .readResult(let result): result.status != .unavailable
        case .busy(let busy):
            switch busy.reason {
            case .overloaded, .diskFull, .windowFull, .tooManyRuns, .quota: true
            case .notAdmitting, .insufficientMembers: false
            }
        case .outOfOrder, .sessionExpired, .sessionMoved, .sessionUnknown, .runEnded, .runGone, .watchResult: false
        }
    }

    func isBound(_ id: SessionID) -> Bool { binding.stage == .bound && session?.id == id }

    private mutating func openedReceived(_ opened: Opened, now: Tick, into directives: inout [ClientDirective]) {
        guard binding.stage == .opening, opened.nonce == binding.openNonce, let welcome else {
            return directives.append(.count(.staleFrames))
        }
        guard opened.timeToLive > 0, opened.windowNumbers > 0 else { return directives.append(.count(.framesRefused)) }
        session = OpenSession(
            id: opened.session, openNonce: binding.openNonce, timeToLive: opened.timeToLive,
            windowNumbers: opened.windowNumbers, windowBytes: opened.windowBytes, incarnation: welcome.incarnation)
        binding.opened()
        pending = PendingActions()
        directives.append(.opened(opened.session))
        bound(now: now, into: &directives)
    }

    private mutating func resumedReceived(_ resumed: Resumed, now: Tick, into directives: inout [ClientDirective]) {
        guard binding.stage == .resuming, resumed.connectionNonce == link.nonce, resumed.session == session?.id else {
            return directives.append(.count(.staleFrames))
        }
        // The primary lacks what it answered, or has what was never given: this is not the session that it was.
        guard resumed.expected > pending.answered, resumed.expected <= pending.next else {
            return lose(now: now, into: &directives)
        }
        pending.goBack(to: pending.answered + 1)
        pending.skip(to: resumed.expected)
        bound(now: now, into: &directives)
    }

    private mutating func bound(now: Tick, into directives: inout [ClientDirective]) {
        binding.bind()
        pace.begin(now: now)
        keepAlives.acknowledged(through: pending.answered)
        spokeForSession(now: now)
        runsAreDue(now: now)
        if closeEnds != .never { repeatSessionRequest(now: now, into: &directives) }
    }

    /// Something was sent that the primary counts as a sign of life of the session.
    mutating func spokeForSession(now: Tick) {
        guard let session else { return }
        keepAlives.spoke(timeToLive: session.timeToLive, now: now)
    }

    mutating func sendKeepAlive(now: Tick, into directives: inout [ClientDirective]) {
        guard binding.stage == .bound, let session else { return keepAlives.rest() }
        let keepAlive = KeepAlive(
            session: session.id, ackedThrough: pending.answered, applied: knowledge.applied)
        send(.keepAlive(keepAlive), into: &directives)
        keepAlives.acknowledged(through: pending.answered)
        spokeForSession(now: now)
    }

    /// The session went to another connection: to an older one of our own, whose RESUME came late, or to a process with
    /// a copy of this one's memory, which must not fight for it for ever.
    private mutating func movedReceived(now: Tick, into directives: inout [ClientDirective]) {
        guard binding.takeBack() else { return lose(now: now, into: &directives) }
        repeatSessionRequest(now: now, into: &directives)
    }

    /// The primary may be one that does not have the session yet; only time tells.
    private mutating func unknownReceived(now: Tick, into directives: inout [ClientDirective]) {
        if saysClose(into: &directives) { return }
        if !binding.askUnknown(now: now) { lose(now: now, into: &directives) }
    }

    /// Who leaves says so, whatever the log has of the session: a replica is not waited for then.
    private mutating func saysClose(into directives: inout [ClientDirective]) -> Bool {
        guard closeEnds != .never, let session else { return false }
        send(.close(session.id), into: &directives)
        return true
    }

    /// The session is gone: what it had unanswered has an unknown outcome, and a new one is opened (PROTOCOL, R-27).
    mutating func lose(now: Tick, into directives: inout [ClientDirective]) {
        guard let session else { return }
        directives.append(.count(.sessionsExpired))
        directives.append(.lost(session: session.id, numbers: pending.unanswered))
        loseRuns(of: session.id, into: &directives)
        forgetSession()
        if phase == .welcomed { bind(now: now, into: &directives) }
    }

    private mutating func forgetSession() {
        session = nil
        binding.end()
        pending = PendingActions()
        runs = PendingRuns()
        pace.release()
        keepAlives = KeepAlives()
    }

    /// Ends the session and, with ``ClientDirective/closed``, the machine, after one second at most.
    ///
    /// Numbers without an answer are reported as lost.
    package mutating func close(now: Tick, into directives: inout [ClientDirective]) {
        guard phase != .stopped, closeEnds == .never else { return }
        closeEnds = now.advanced(byMilliseconds: ClientTiming.closing)
        guard session != nil, phase != .created else { return finishClosing(into: &directives) }
        if isBound { repeatSessionRequest(now: now, into: &directives) }
    }

    mutating func finishClosing(into directives: inout [ClientDirective]) {
        if let session, let numbers = pending.unanswered {
            directives.append(.lost(session: session.id, numbers: numbers))
        }
        if let session { loseRuns(of: session.id, into: &directives) }
        forgetSession()
        link.stop()
        closeEnds = .never
        requests = PendingRequests()
        directives.append(.closed)
    }
}
