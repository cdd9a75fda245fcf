// Sessions that give way, end, are not there, and are seen by an operator (PROTOCOL, R-19, R-27).

extension PrimaryStateMachine {
    /// So many sessions end in one entry at most.
    private static let sessionsOfEntry = 1_024

    /// Makes room for one more session of this connection if it is to have one; why not, in one line, if not.
    mutating func sessionProblem(for connection: Connection, _ step: inout PrimaryStep) -> String? {
        let most = sessionRoom.limitOfConnection(log.sessions.count)
        guard bindings.count(of: connection) < most else {
            return "this connection has \(most) sessions, as many as one may have now; close some, or use another one"
        }
        if let sender = peers[connection]?.sender, let most = sender.quota.sessions,
            log.sessions.share(of: sender.name).sessions >= most
        {
            return "\(sender.name) has \(most) sessions, as many as the access list allows it; close some"
        }
        if sessionRoom.isCrowded(log.sessions.count) { endUnused(&step) }
        guard log.sessions.count < sessionRoom.limit else {
            return "the store has its \(sessionRoom.limit) sessions; close some, or wait until some have expired"
        }
        return nil
    }

    /// Ends sessions that never had an action: of the peers with the most of them first, and of each the oldest.
    ///
    /// Nothing of them is unanswered, so their clients lose nothing, and open others when they need them. Whose
    /// connection is gone, or who has not resumed since the start, counts as one peer.
    private mutating func endUnused(_ step: inout PrimaryStep) {
        let most = sessionRoom.takeLook(now: step.now)
        guard most > 0 else { return }
        let unused = log.sessions.unused.map { (id: $0, holder: holder(of: $0)) }
        var counts: [Connection?: Int] = [:]
        for session in unused { counts[session.holder, default: 0] += 1 }
        let first = unused.sorted { (counts[$0.holder, default: 0], $1.id) > (counts[$1.holder, default: 0], $0.id) }
        let ended = first.prefix(most).map(\.id).sorted()
        endSessions(ended, &step)
    }

    /// The connection that a session's answers go to, if this boot knows it.
    private func holder(of session: SessionID) -> Connection? {
        guard let connection = bindings[session]?.connection, peers.isThere(connection) else { return nil }
        return connection
    }

    /// Logs the end of sessions, which are in the table and in order.
    mutating func endSessions(_ ended: [SessionID], _ step: inout PrimaryStep) {
        for start in stride(from: 0, to: ended.count, by: Self.sessionsOfEntry) {
            let part = Array(ended[start..<min(start + Self.sessionsOfEntry, ended.count)])
            append(.sessionExpire(part), &step) { machine, _ in
                for session in part { machine.forget(session) }
            }
            for _ in part { step.directives.append(.count(.sessionsExpired)) }
        }
    }

    /// Raises the alarm at three quarters of the limit, and takes it back below half of it.
    mutating func noteSessionCount(_ step: inout PrimaryStep) {
        if let alarm = sessionRoom.alarm(log.sessions.count) { step.directives.append(.alarm(alarm)) }
    }

    /// Takes a session that is over out of all tables; an entry of the log says so.
    mutating func forget(_ session: SessionID) {
        log.sessionEnded(session)
        bindings.forget(session)
    }

    // MARK: - Sessions that are not there

    /// The session is not in the table: its end is in this log, or this log never had it.
    mutating func answerForMissing(_ session: SessionID, to connection: Connection, _ step: inout PrimaryStep) {
        guard isInLog(session) else {
            step.directives.append(.send(stamp.frame(.sessionUnknown(session)), to: connection))
            return
        }
        // Its end may be sequenced and not yet committed; sent at once, this answer would show it too early.
        answer(.sessionExpired(session), to: connection, &step)
    }

    /// Whether the entry that opened the session is in this log: its place is, and in that epoch.
    func isInLog(_ session: SessionID) -> Bool {
        guard session.sequence > .zero, session.sequence <= log.position.sequence else { return false }
        var before = SequenceNumber.zero
        for end in log.epochEnds {
            if session.sequence <= end.sequence { return end.epoch == session.epoch && session.sequence > before }
            before = end.sequence
        }
        return session.epoch == log.position.epoch
    }

    // MARK: - What an operator asks

    /// A session as the primary knows it.
    package struct SessionRow: Hashable, Sendable {
        package var id: SessionID
        package var client: ClientKey
        /// The name of the node that it is bound to; nil if that is gone, or has not resumed since the start.
        package var peer: String?
        /// Who opened it, by the access list; nil if nobody is named.
        package var sender: String?
        package var last: RequestNumber
        package var ackedThrough: RequestNumber
        /// What its replies take of memory.
        package var keptBytes: Int
        /// Nanoseconds since it was heard of, or since the start.
        package var idle: Int64
        /// Microseconds without a sign of life after which it ends.
        package var timeToLive: Int64
    }

    /// Which sessions an operator means: those to which all of it applies.
    package struct SessionFilter: Hashable, Sendable {
        package var id: SessionID?
        package var peer: String?
        /// Nanoseconds without a sign of life, at least.
        package var idle: Int64 = 0
        /// Only those that never had an action.
        package var isUnused = false

        package init(id: SessionID? = nil, peer: String? = nil, idle: Int64 = 0, isUnused: Bool = false) {
            self.id = id
            self.peer = peer
            self.idle = idle
            self.isUnused = isUnused
        }
    }

    /// The sessions that were opened after `session`, in the order of their opening, at most `limit`.
    ///
    /// Cost: a walk through all sessions.
    package func sessionRows(after session: SessionID, limit: Int, now: Tick) -> [SessionRow] {
        log.sessions.ids(after: session).prefix(limit).compactMap { row(of: $0, now: now) }
    }

    private func row(of id: SessionID, now: Tick) -> SessionRow? {
        guard let session = log.sessions[id] else { return nil }
        return SessionRow(
            id: id, client: session.client, peer: holder(of: id).flatMap { peers[$0]?.hello.node },
            sender: session.sender, last: session.last,
            ackedThrough: session.ackedThrough, keptBytes: session.replies.memory,
            idle: max(0, now - (bindings[id]?.lastHeard ?? now)), timeToLive: session.timeToLive)
    }

    /// An operator ends sessions; their clients learn it, and report what had no answer as unknown.
    ///
    /// Returns how many; nil, and does nothing, if nothing can be logged now. A session whose opening has not committed
    /// is not there yet.
    package mutating func closeSessions(_ filter: SessionFilter, _ step: inout PrimaryStep) -> Int? {
        guard admits else { return nil }
        let candidates = filter.id.map { [$0] } ?? log.sessions.ids(after: .none)
        let ended = candidates.filter { id in
            guard id.sequence <= committed.position.sequence, let row = row(of: id, now: step.now) else { return false }
            // With keys the log knows a client also when it is gone.
            let isOfPeer = filter.peer == nil || filter.peer == row.peer || filter.peer == row.sender
            return isOfPeer && row.idle >= filter.idle && (!filter.isUnused || row.last == 0)
        }
        let bound = ended.compactMap { id in holder(of: id).map { (id: id, connection: $0) } }
        endSessions(ended, &step)
        for session in bound { answer(.sessionExpired(session.id), to: session.connection, &step) }
        noteSessionCount(&step)
        return ended.count
    }
}
