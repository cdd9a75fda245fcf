// How many sessions there may be, who gives way, and what an operator sees of them (PROTOCOL, R-19).
//
//     0 --- half ------------- three quarters -------------- the limit
//           a time to live is  a peer has few; those that    REFUSED
//           short              were never used end

extension PrimaryStateMachine {
    /// The time to live that a session gets at most while the table is half full: 60 s, what clients wish for by default.
    private static let crowdedTimeToLive: Int64 = 60_000_000
    /// So many sessions end in one entry at most.
    private static let sessionsOfEntry = 1_024
    /// Looking for sessions to end is a walk through all of them, so it happens this often at most.
    private static let lookMilliseconds: Int64 = 10

    var isHalfFull: Bool { log.sessions.count * 2 >= sessionLimit }
    private var isCrowded: Bool { log.sessions.count * 4 >= sessionLimit * 3 }

    /// The time to live that an OPEN gets which asks for so many microseconds.
    func grantedTimeToLive(_ wanted: Int64) -> Int64 {
        let most = isHalfFull ? Self.crowdedTimeToLive : 7 * 86_400 * 1_000_000
        return min(max(wanted, 1_000_000), most)
    }

    // MARK: - Who holds a session

    /// The session's answers go to this connection from now on; `nil`: the session is over.
    mutating func bind(_ session: SessionID, to connection: Connection?, now: Tick) {
        if let before = bindings[session]?.connection, let count = sessionCounts[before] {
            sessionCounts[before] = count > 1 ? count - 1 : nil
        }
        guard let connection else {
            bindings[session] = nil
            return
        }
        bindings[session] = Binding(connection: connection, lastHeard: now)
        sessionCounts[connection, default: 0] += 1
    }

    /// Makes room for one more session of this connection if it is to have one; why not, in one line, if not.
    mutating func sessionProblem(
        for connection: Connection, now: Tick, wall: LogTime, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) -> String? {
        let most = max(1, isCrowded ? sessionLimit / 16 : sessionLimit / 8 * 5)
        guard sessionCounts[connection, default: 0] < most else {
            return "this connection has \(most) sessions, as many as one may have now; close some, or use another one"
        }
        if isCrowded { endUnused(now: now, wall: wall, state: state, into: &directives) }
        guard log.sessions.count < sessionLimit else {
            return "the store has its \(sessionLimit) sessions; close some, or wait until some have expired"
        }
        return nil
    }

    /// Ends sessions that never had an action: of the peers with the most of them first, and of each the oldest.
    ///
    /// Nothing of them is unanswered, so their clients lose nothing, and open others when they need them. Whose
    /// connection is gone, or who has not resumed since the start, counts as one peer.
    private mutating func endUnused(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        guard now >= nextSessionLook else { return }
        nextSessionLook = now.advanced(byMilliseconds: Self.lookMilliseconds)
        let unused = log.sessions.unused.map { (id: $0, holder: holder(of: $0)) }
        var counts: [Connection?: Int] = [:]
        for session in unused { counts[session.holder, default: 0] += 1 }
        let first = unused.sorted { (counts[$0.holder, default: 0], $1.id) > (counts[$1.holder, default: 0], $0.id) }
        let ended = first.prefix(max(1, sessionLimit / 64)).map(\.id).sorted()
        endSessions(ended, now: now, wall: wall, state: state, into: &directives)
    }

    /// The connection that a session's answers go to, if this boot knows it.
    private func holder(of session: SessionID) -> Connection? {
        guard let connection = bindings[session]?.connection, peers[connection] != nil else { return nil }
        return connection
    }

    /// Logs the end of sessions, which are in the table and in order.
    mutating func endSessions(
        _ ended: [SessionID], now: Tick, wall: LogTime, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) {
        for start in stride(from: 0, to: ended.count, by: Self.sessionsOfEntry) {
            let part = Array(ended[start..<min(start + Self.sessionsOfEntry, ended.count)])
            append(.sessionExpire(part), now: now, wall: wall, state: state) { machine, _ in
                for session in part { machine.forget(session) }
            }
            for _ in part { directives.append(.count(.sessionsExpired)) }
        }
    }

    /// Raises the alarm at three quarters of the limit, and takes it back below half of it.
    mutating func noteSessionCount(into directives: inout [PrimaryDirective]) {
        if !isSessionAlarmRaised, isCrowded {
            isSessionAlarmRaised = true
            directives.append(.alarm(.sessionsNearLimit(count: log.sessions.count, limit: sessionLimit)))
        } else if isSessionAlarmRaised, !isHalfFull {
            isSessionAlarmRaised = false
            directives.append(.alarm(.sessionsHaveRoom))
        }
    }

    // MARK: - What an operator asks

    /// A session as the primary knows it.
    package struct SessionRow: Hashable, Sendable {
        package var id: SessionID
        package var client: ClientKey
        /// The name of the node that it is bound to; nil if that is gone, or has not resumed since the start.
        package var peer: String?
        package var last: RequestNumber
        package var ackedThrough: RequestNumber
        /// What its replies take of memory.
        package var keptBytes: Int
        /// Nanoseconds since it was heard of, or since the start.
        package var idle: Int64
        /// Microseconds.
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
            id: id, client: session.client, peer: holder(of: id).flatMap { peers[$0]?.hello.node }, last: session.last,
            ackedThrough: session.ackedThrough, keptBytes: session.replies.memory,
            idle: max(0, now - (bindings[id]?.lastHeard ?? now)), timeToLive: session.timeToLive)
    }

    /// An operator ends sessions; their clients learn it, and report what had no answer as unknown.
    ///
    /// Returns how many; nil, and does nothing, if nothing can be logged now. A session whose opening has not committed
    /// is not there yet.
    package mutating func closeSessions(
        _ filter: SessionFilter, now: Tick, wall: LogTime, state: any ReplicatedState,
        into directives: inout [PrimaryDirective]
    ) -> Int? {
        guard admits else { return nil }
        let candidates = filter.id.map { [$0] } ?? log.sessions.ids(after: .none)
        let ended = candidates.filter { id in
            guard id.sequence <= committed.position.sequence, let row = row(of: id, now: now) else { return false }
            return (filter.peer == nil || filter.peer == row.peer) && row.idle >= filter.idle
                && (!filter.isUnused || row.last == 0)
        }
        let bound = ended.compactMap { id in holder(of: id).map { (id: id, connection: $0) } }
        endSessions(ended, now: now, wall: wall, state: state, into: &directives)
        for session in bound { answer(.sessionExpired(session.id), to: session.connection, into: &directives) }
        noteSessionCount(into: &directives)
        return ended.count
    }
}
