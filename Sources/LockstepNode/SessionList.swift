internal import Foundation
package import LockstepCore

/// A page of a store's sessions, as a primary answers `{"command":"sessions"}`.
package struct SessionList: Codable, Hashable, Sendable {
    /// The store's name.
    package var store: String
    /// How many sessions there are.
    package var count: Int
    /// In the order of their opening, at most ``pageLimit``.
    package var sessions: [Session]

    /// More do not fit an answer.
    package static let pageLimit = 1_000

    package struct Session: Codable, Hashable, Sendable {
        /// `epoch:sequence` of the entry that opened it.
        package var id: String
        /// The client's key in hexadecimal.
        package var client: String
        /// The name of the node that it is bound to; nil if that is gone, or has not resumed since the primary's start.
        package var peer: String?
        /// Who opened it: the name that the access list has; nil if nobody is named.
        package var sender: String?
        /// The highest request number in the log; 0: it was never used.
        package var last: UInt64
        /// The highest number whose answer the client has.
        package var acked: UInt64
        /// What its kept replies take of memory.
        package var keptBytes: Int
        /// Seconds since it was heard of, or since the primary's start.
        package var idleSeconds: Double
        /// Seconds of silence after which it ends.
        package var timeToLiveSeconds: Double
    }
}

/// Which sessions an operator closes, in the JSON of `{"command":"closeSessions"}`: those to which all of it applies.
package struct SessionChoice: Codable, Hashable, Sendable {
    package var session: String?
    package var peer: String?
    package var idleSeconds: Double?
    package var unused: Bool?

    package init(session: String? = nil, peer: String? = nil, idleSeconds: Double? = nil, unused: Bool? = nil) {
        self.session = session
        self.peer = peer
        self.idleSeconds = idleSeconds
        self.unused = unused
    }

    /// The choice as the machine takes it.
    ///
    /// - Throws: ``LockstepError`` of code `administration` if nothing is chosen, or the choice cannot be read.
    func filter() throws -> PrimaryStateMachine.SessionFilter {
        guard session != nil || peer != nil || idleSeconds != nil || unused == true else {
            throw LockstepError(.administration, "say which sessions: by ID, peer, idle time, or the unused ones")
        }
        let idle = idleSeconds ?? 0
        guard idle >= 0, idle <= 1e9 else {
            throw LockstepError(.administration, "the idle time is 0 to 1000000000 seconds")
        }
        return PrimaryStateMachine.SessionFilter(
            id: try session.map { try SessionList.id($0) }, peer: peer, idle: Int64(idle * 1e9),
            isUnused: unused == true)
    }
}

extension SessionList {
    /// Reads a session's ID as lists print it.
    static func id(_ text: String) throws -> SessionID {
        guard let id = SessionID(text) else {
            throw LockstepError(.administration, "\(text) names no session: EPOCH:SEQUENCE, as \"sessions\" prints it")
        }
        return id
    }
}

extension PrimaryDriver {
    /// The sessions that were opened after one, at most ``SessionList/pageLimit``.
    package func sessions(after id: SessionID) -> [SessionList.Session] {
        machine.sessionRows(after: id, limit: SessionList.pageLimit, now: MonotonicClock.now).map { row in
            SessionList.Session(
                id: "\(row.id)", client: "\(row.client)", peer: row.peer, sender: row.sender,
                last: row.last, acked: row.ackedThrough,
                keptBytes: row.keptBytes, idleSeconds: Double(row.idle) / 1e9,
                timeToLiveSeconds: Double(row.timeToLive) / 1e6)
        }
    }
}

extension Node {
    func sessions(of name: String, after text: String?) throws -> SessionList {
        let host = try primary(of: name)
        let after = try text.map { try SessionList.id($0) } ?? .none
        return SessionList(
            store: name, count: host.primary?.machine.log.sessions.count ?? 0,
            sessions: host.primary?.sessions(after: after) ?? [])
    }

    func closeSessions(of name: String, _ choice: SessionChoice) throws -> Int {
        let host = try primary(of: name)
        let filter = try choice.filter()
        guard let count = host.primary?.closeSessions(filter) else {
            throw LockstepError(.administration, "the primary logs nothing now; look at its status, and ask again")
        }
        guard count > 0 || filter.id == nil else {
            throw LockstepError(
                .administration, "there is no session \(choice.session ?? "") to which all this applies")
        }
        return count
    }
}
