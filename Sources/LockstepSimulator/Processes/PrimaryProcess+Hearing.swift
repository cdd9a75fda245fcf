import LockstepCore

// What a primary hears, and what it makes of it, for the checkers.
extension PrimaryProcess {
    /// Gives the machine a frame of the ingress, and the checkers what it may have heard.
    func receive(_ frame: [UInt8], from connection: Connection) {
        let isEpochOpen = isEpochOpen
        let kind = frame.count > 5 ? MessageKind(rawValue: frame[5]) : nil
        if kind == .hello { noteHello(frame) }
        let isAwaiting = audience.isAwaiting(now: now)
        let first = directives.count
        let sender = connection == .local ? sender : simulation.network.sender(on: connection)
        withBytes(of: frame) { bytes in step { $0.received(bytes, from: connection, of: sender, &$1) } }
        guard isEpochOpen, let kind, kind.isOfSession || isAwaiting && kind == .read else { return }
        let message = withBytes(of: frame) {
            try? Message.decode($0, rule: .member(simulation.cluster.hash)).message
        }
        guard let message else { return }
        let answers = directives[first...].compactMap { directive -> [UInt8]? in
            guard case .send(let answer, connection) = directive else { return nil }
            return answer
        }
        if case .read(let read) = message { return checkUnheard(read, answers) }
        let kinds = answers.compactMap { MessageKind(rawValue: $0[5]) }
        watch.heard(message, from: connection, answers: kinds, now: now)
        checkAcknowledged(message, kinds)
        if case .close(let session) = message, machine?.log.sessions.standing(of: session) == nil {
            watch.closed(session)
        }
    }

    // MARK: - The audience

    private func noteHello(_ frame: [UInt8]) {
        guard audience.isAwaiting(now: now) else { return }
        withBytes(of: frame) {
            guard case .hello(let hello)? = try? Message.decode($0, rule: .any).message else { return }
            audience.heard(hello)
        }
    }

    /// After each event until its replicas were heard: what it has given numbers to by then.
    func noteAwaited() {
        guard audience.isAwaiting(now: now), let machine else { return }
        store.oracle.awaits(machine.epoch, head: machine.status.head)
    }

    /// Until its replicas were heard, it answers no linearizable read (PROTOCOL R-48).
    private func checkUnheard(_ read: Read, _ answers: [[UInt8]]) {
        guard read.level == .linearizable else { return }
        for answer in answers {
            let result = withBytes(of: answer) { try? Message.decode($0, rule: .any).message }
            guard case .readResult(let result)? = result, result.id == read.id, result.status == .answered else {
                continue
            }
            simulation.fail(
                .linearizability,
                "\(name) answers a linearizable read, and has not heard \(audience.awaited) (R-48)")
        }
    }

    // MARK: - Sessions

    /// A frame that acknowledges more than was answered is refused (PROTOCOL R-18).
    private func checkAcknowledged(_ message: Message, _ answers: [MessageKind]) {
        let (session, number): (SessionID, RequestNumber)
        switch message {
        case .submit(let submit): (session, number) = (submit.session, submit.ackedThrough)
        case .keepAlive(let keepAlive): (session, number) = (keepAlive.session, keepAlive.ackedThrough)
        default: return
        }
        // Its connection does not hold it, or it has ended here.
        guard !answers.contains(.resync), machine?.log.sessions.standing(of: session) != nil else { return }
        store.oracle.acknowledged(through: number, of: session, isRefused: answers.contains(.refused), by: self)
    }

    func noteOpened(_ frame: [UInt8], _ connection: Connection) {
        guard MessageKind(rawValue: frame[5]) == .opened else { return }
        withBytes(of: frame) {
            // It may have been closed since, while the answer waited for the commit.
            guard case .opened(let opened)? = try? Message.decode($0, rule: .any).message,
                machine?.log.sessions.standing(of: opened.session) != nil
            else { return }
            watch.opened(opened, to: connection)
        }
    }

    func checkExpiry() {
        let ended = expired
        expired = 0
        guard let machine else { return }
        let (open, limit) = (machine.log.sessions.count, machine.sessionRoom.limit)
        let finding = watch.expired(now: now, isOpen: { machine.log.sessions.standing(of: $0) != nil }) {
            guard let standing = store.oracle.sessions[$0],
                !SessionWatch.mayGiveWay(last: standing.last, open: open, ended: ended, limit: limit)
            else { return nil }
            return standing.timeToLive
        }
        store.oracle.judge(finding, "ends", by: self)
    }

    func checkSilence() {
        guard let status = machine?.status else { return }
        let isWorking = status.phase == .admitting && !status.isDiskFull && !isDiskFull
        let finding = watch.looked(now: now, isWorking: isWorking) { store.oracle.sessions[$0]?.timeToLive }
        store.oracle.judge(finding, "keeps", by: self)
    }
}
