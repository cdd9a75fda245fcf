/// Who waits for a slot among the joins, and who had one and did not fetch (PROTOCOL, R-32).
///
/// A joiner that found no slot counts as waiting from its second SYNC on: one who never comes again keeps nobody out.
/// The line is a matter of whom a free slot is kept for, so it has no promise: it forgets who was silent, and the
/// oldest when it is full.
struct JoinLine: Hashable, Sendable {
    private struct Waiter: Hashable, Sendable {
        var node: String
        var connection: Connection
        var askedAt: Tick
        var isConfirmed = false
    }

    private struct Idler: Hashable, Sendable {
        var node: String
        var connection: Connection
        var until: Tick
    }

    /// In the order of coming.
    private var waiters: [Waiter] = []
    /// Those whose slot ended before they fetched, the oldest first.
    private var idlers: [Idler] = []

    /// A joiner that waits comes once a second; one that is silent for longer has gone.
    private static let silenceMilliseconds: Int64 = 2_500
    /// So long a joiner that did not fetch comes after those that did not have their turn.
    private static let memoryMilliseconds: Int64 = 60_000

    /// Whether a slot of this peer ended within the last minute before it fetched.
    func isIdler(_ node: String, _ connection: Connection, now: Tick) -> Bool {
        idlers.contains { ($0.node == node || $0.connection == connection) && $0.until > now }
    }

    /// How many have a better claim to the next slot: they came before, and come again and again.
    func countAhead(of node: String, _ connection: Connection, now: Tick) -> Int {
        let isLast = isIdler(node, connection, now: now)
        var count = 0
        for waiter in waiters {
            if !isLast, waiter.isConfirmed, waiter.node == node || waiter.connection == connection { break }
            guard waiter.isConfirmed, Self.isHere(waiter, now),
                !isIdler(waiter.node, waiter.connection, now: now),
                waiter.node != node, waiter.connection != connection
            else { continue }
            count += 1
        }
        return count
    }

    /// A joiner found no slot.
    mutating func came(_ node: String, _ connection: Connection, now: Tick) {
        waiters.removeAll { !Self.isHere($0, now) }
        if let place = waiters.firstIndex(where: { $0.node == node || $0.connection == connection }) {
            waiters[place].askedAt = now
            waiters[place].isConfirmed = true
            return
        }
        if waiters.count >= Limits.waitingJoins { waiters.removeFirst() }
        waiters.append(Waiter(node: node, connection: connection, askedAt: now))
    }

    /// A joiner has a slot, or needs none.
    mutating func leave(_ node: String, _ connection: Connection) {
        waiters.removeAll { $0.node == node || $0.connection == connection }
    }

    /// A slot ended before its joiner fetched from it.
    mutating func idled(_ node: String, _ connection: Connection, now: Tick) {
        idlers.removeAll { $0.until <= now || $0.node == node || $0.connection == connection }
        if idlers.count >= Limits.waitingJoins { idlers.removeFirst() }
        let until = now.advanced(byMilliseconds: Self.memoryMilliseconds)
        idlers.append(Idler(node: node, connection: connection, until: until))
    }

    /// A joiner fetches.
    mutating func fetched(_ node: String, _ connection: Connection) {
        guard !idlers.isEmpty else { return }
        idlers.removeAll { $0.node == node || $0.connection == connection }
    }

    private static func isHere(_ waiter: Waiter, _ now: Tick) -> Bool {
        now < waiter.askedAt.advanced(byMilliseconds: silenceMilliseconds)
    }

    func checkInvariants() {
        precondition(waiters.count <= Limits.waitingJoins, "the line is too long")
        precondition(idlers.count <= Limits.waitingJoins, "too many idlers are remembered")
    }
}
