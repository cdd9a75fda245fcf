/// Where the answers of sessions go, when each session was heard last, and what its client has (PROTOCOL, R-19, R-23).
///
/// Invariant: a connection's count is the number of sessions that are bound to it.
package struct SessionBindings: Hashable, Sendable {
    /// Where a session's answers go.
    struct Binding: Hashable, Sendable {
        var connection: Connection?
        var lastHeard: Tick
        /// The expected number that OUT_OF_ORDER named last on this connection.
        var outOfOrderSent: RequestNumber?
    }

    private(set) var bindings: [SessionID: Binding] = [:]
    /// When those that are silent are looked for.
    private(set) var nextSweep: Tick = .zero
    /// How many sessions are bound to each connection.
    private var counts: [Connection: Int] = [:]
    /// What clients say that they have answers to, for the next `sessionAck`.
    private var acknowledged: [SessionID: RequestNumber] = [:]
    /// Ends of runs that their senders have, for the next `runAck`.
    private var endsAcknowledged: Set<RunID> = []

    subscript(_ session: SessionID) -> Binding? { bindings[session] }

    func isHeld(_ session: SessionID, by connection: Connection) -> Bool {
        bindings[session]?.connection == connection
    }

    /// How many sessions the connection holds.
    func count(of connection: Connection) -> Int { counts[connection, default: 0] }

    mutating func sweeps(at time: Tick) { nextSweep = time }

    // MARK: - Who holds a session

    /// A session that a former boot had: nobody holds it until its client resumes it.
    mutating func recovered(_ session: SessionID, lastHeard: Tick) { bindings[session] = Binding(lastHeard: lastHeard) }

    /// The session's answers go to this connection from now on.
    mutating func bind(_ session: SessionID, to connection: Connection, now: Tick) {
        release(session)
        bindings[session] = Binding(connection: connection, lastHeard: now)
        counts[connection, default: 0] += 1
    }

    /// The session is over.
    mutating func forget(_ session: SessionID) {
        release(session)
        bindings[session] = nil
        acknowledged[session] = nil
    }

    private mutating func release(_ session: SessionID) {
        guard let before = bindings[session]?.connection, let count = counts[before] else { return }
        counts[before] = count > 1 ? count - 1 : nil
    }

    // MARK: - What is heard of it

    mutating func heard(_ session: SessionID, now: Tick) { bindings[session]?.lastHeard = now }

    /// Notes that OUT_OF_ORDER with this number is sent; false if it was, to this connection.
    mutating func takeOutOfOrder(_ session: SessionID, expected: RequestNumber) -> Bool {
        guard bindings[session]?.outOfOrderSent != expected else { return false }
        bindings[session]?.outOfOrderSent = expected
        return true
    }

    /// The session goes on in order.
    mutating func wentOn(_ session: SessionID) { bindings[session]?.outOfOrderSent = nil }

    /// Time in which this process did not run is nobody's silence: what was sent meanwhile is still to be read.
    ///
    /// `pause` is in nanoseconds; one of a second or less is none. A session that was heard since it ended is not given
    /// its time twice.
    mutating func excuse(_ pause: Int64, now: Tick) {
        guard pause > Tick.milliseconds(1_000) else { return }
        bindings = bindings.mapValues { binding in
            var binding = binding
            binding.lastHeard = min(now, Tick(rawValue: binding.lastHeard.rawValue + pause))
            return binding
        }
    }

    /// The sessions that were silent longer than their time to live, in order.
    ///
    /// OPEN, RESUME, SUBMIT, KEEPALIVE and RUN_REQUEST are signs of life. What counts as no silence: a pause of this
    /// process (``excuse(_:now:)``), the time before this boot, and time in which nothing is admitted, since then an end
    /// cannot be logged and nobody asks.
    func expired(_ sessions: SessionTable, now: Tick) -> [SessionID] {
        bindings.filter { session, binding in
            guard let standing = sessions.standing(of: session) else { return false }
            return now - binding.lastHeard > Self.nanoseconds(standing.timeToLive)
        }.keys.sorted()
    }

    private static func nanoseconds(_ microseconds: Int64) -> Int64 {
        let (product, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : product
    }

    // MARK: - What clients have

    /// Notes what a session's owner says that it has, for the next `sessionAck`.
    mutating func note(_ number: RequestNumber, of session: SessionID, _ standing: SessionTable.Standing) {
        guard number > max(standing.ackedThrough, acknowledged[session] ?? 0), number <= standing.last else { return }
        acknowledged[session] = number
    }

    /// An entry of the log says it: nothing is left to note up to `number`.
    mutating func logged(_ number: RequestNumber, of session: SessionID) {
        if let noted = acknowledged[session], noted <= number { acknowledged[session] = nil }
    }

    /// Takes what is noted, in the order of the sessions.
    mutating func takeAcknowledged() -> [SessionAcknowledgement] {
        defer { acknowledged = [:] }
        return acknowledged.sorted { $0.key < $1.key }.map {
            SessionAcknowledgement(session: $0.key, through: $0.value)
        }
    }

    /// A run's end is with its sender.
    mutating func noteEnd(_ id: RunID) { endsAcknowledged.insert(id) }
    var endCount: Int { endsAcknowledged.count }

    /// Takes the ends that their senders have and that are still kept, in order.
    mutating func takeEnds(where isKept: (RunID) -> Bool) -> [RunID] {
        defer { endsAcknowledged = [] }
        return endsAcknowledged.filter(isKept).sorted()
    }

    /// Cheap: the tables' sizes.
    func checkEvent() {
        precondition(counts.count <= bindings.count, "a connection that is counted holds a session")
    }

    /// A walk over the sessions.
    func checkInvariants() {
        checkEvent()
        var held: [Connection: Int] = [:]
        for connection in bindings.values.compactMap(\.connection) { held[connection, default: 0] += 1 }
        precondition(held == counts, "a connection's sessions are counted")
    }
}
