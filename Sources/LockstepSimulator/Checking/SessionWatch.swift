package import LockstepCore

/// What a primary hears of each session, and so when it may end it (PROTOCOL ): a second opinion on signs of
/// life, from the frames that come and go.
///
/// Times are of the primary's clock. A boot gives every session its full time again.
package struct SessionWatch {
    private var sessions: [SessionID: Standing] = [:]
    /// When OPENs came that were taken.
    private var opens: [Opening: Tick] = [:]
    private var lookedAt: Tick

    private struct Standing {
        /// The connection that holds the session; nil until it is resumed in this boot.
        var connection: Connection?
        var boundAt: Tick
        var heardAt: Tick
        /// Nanoseconds without a sign of life, in which the primary was seen to work.
        var silence: Int64 = 0
    }

    private struct Opening: Hashable {
        var connection: Connection
        var nonce: UInt64
    }

    /// A session that ended too early, or not at all.
    package struct Finding: Hashable {
        package var session: SessionID
        /// Nanoseconds, both.
        package var silence: Int64
        package var timeToLive: Int64
    }

    /// A sweep comes once a second, and an unusual way leaves out three of four in a row at times.
    static let slack = 15 * Span.second
    /// What one look adds to a silence at most: time in which the process stood still is nobody's silence.
    private static let longestLook = 1_500 * Span.millisecond

    package init(recovered: [SessionID], now: Tick) {
        lookedAt = now
        for id in recovered { sessions[id] = Standing(connection: nil, boundAt: now, heardAt: now) }
    }

    // MARK: - Signs of life

    /// A frame was handled while the epoch was open; `answers` are the frames that it was answered with at once, on its
    /// own connection.
    package mutating func heard(_ message: Message, from connection: Connection, answers: [MessageKind], now: Tick) {
        // The connection does not hold the session, or is not known.
        guard !answers.contains(.resync), !answers.contains(.refused) else { return }
        switch message {
        case .open(let open): opens[Opening(connection: connection, nonce: open.nonce)] = now
        case .resume(let resume):
            if answers.contains(.resumed) { bind(resume.session, to: connection, at: now) }
        case .submit(let submit): sign(of: submit.session, on: connection, at: now)
        case .keepAlive(let keepAlive): sign(of: keepAlive.session, on: connection, at: now)
        case .runRequest(let request): sign(of: request.session, on: connection, at: now)
        default: break
        }
    }

    /// OPENED leaves: its OPEN counted when it came.
    package mutating func opened(_ opened: Opened, to connection: Connection) {
        guard let at = opens[Opening(connection: connection, nonce: opened.nonce)] else { return }
        if let standing = sessions[opened.session], standing.boundAt > at { return }
        bind(opened.session, to: connection, at: at)
    }

    private mutating func bind(_ session: SessionID, to connection: Connection, at time: Tick) {
        let heardAt = max(time, sessions[session]?.heardAt ?? .zero)
        sessions[session] = Standing(connection: connection, boundAt: time, heardAt: heardAt)
    }

    private mutating func sign(of session: SessionID, on connection: Connection, at time: Tick) {
        guard sessions[session]?.connection == connection else { return }
        sessions[session]?.heardAt = time
        sessions[session]?.silence = 0
    }

    // MARK: - Ends

    /// Whether a session may end before its time: it never had an action, and the store was three quarters full when
    /// somebody opened another.
    ///
    /// `open` sessions are left after `ended` have ended, the new one among them.
    package static func mayGiveWay(last: RequestNumber, open: Int, ended: Int, limit: Int) -> Bool {
        last == 0 && (open + ended) * 4 >= limit * 3
    }

    /// The owner closed the session.
    package mutating func closed(_ session: SessionID) { sessions[session] = nil }

    /// Sessions that are gone have expired just now; the first of those that had a sign of life within their time.
    ///
    /// `timeToLive` says, in microseconds, what the log granted; nil for a session that may end before that.
    package mutating func expired(
        now: Tick, isOpen: (SessionID) -> Bool, timeToLive: (SessionID) -> Int64?
    ) -> Finding? {
        var found: Finding?
        for id in sessions.keys.sorted() where !isOpen(id) {
            guard let standing = sessions.removeValue(forKey: id), let granted = timeToLive(id) else { continue }
            let silence = now - standing.heardAt
            if silence <= granted * 1_000, found == nil {
                found = Finding(session: id, silence: silence, timeToLive: granted * 1_000)
            }
        }
        return found
    }

    /// Once a second: the first session that is silent for much longer than its time, although the primary works.
    package mutating func looked(now: Tick, isWorking: Bool, timeToLive: (SessionID) -> Int64?) -> Finding? {
        let passed = min(now - lookedAt, Self.longestLook)
        lookedAt = now
        guard isWorking else { return nil }
        for id in sessions.keys.sorted() {
            sessions[id]?.silence += passed
            guard let silence = sessions[id]?.silence, let granted = timeToLive(id) else { continue }
            if silence > granted * 1_000 + Self.slack {
                return Finding(session: id, silence: silence, timeToLive: granted * 1_000)
            }
        }
        return nil
    }
}

extension Oracle {
    /// A session expired, or did not, against what its primary heard of it.
    func judge(_ finding: SessionWatch.Finding?, _ does: String, by process: PrimaryProcess) {
        guard let finding else { return }
        let (silence, granted) = (finding.silence / Span.millisecond, finding.timeToLive / Span.millisecond)
        fail(.expiry, "\(process.name) \(does) \(finding.session) after \(silence) ms of silence; it has \(granted) ms")
    }
}

extension MessageKind {
    /// Whether it may be a sign of life of a session, or ends one.
    var isOfSession: Bool {
        switch self {
        case .open, .resume, .submit, .keepAlive, .runRequest, .close: true
        default: false
        }
    }
}
