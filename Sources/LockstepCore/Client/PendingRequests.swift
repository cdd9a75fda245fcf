import DequeModule

/// Reads and queries that wait for their answers, by the driver's numbers and in the order in which they are repeated.
struct PendingRequests: Hashable, Sendable {
    struct PendingRead: Hashable, Sendable {
        var level: ReadLevel
        var minimum: SequenceNumber
        var isIndexOnly: Bool
        var query: [UInt8]
    }

    private struct Repeat: Hashable, Sendable {
        var at: Tick
        var key: Key
    }

    enum Key: Hashable, Sendable {
        case read(UInt64)
        case query(Query)
    }

    private(set) var reads: [UInt64: PendingRead] = [:]
    private(set) var queries: Set<Query> = []
    /// One for each that waits, and some for those that are done, until they come to the front.
    private var repeats: Deque<Repeat> = []

    var isEmpty: Bool { reads.isEmpty && queries.isEmpty }
    var isFull: Bool { reads.count + queries.count >= Limits.waitingReads }
    var nextDeadline: Tick { repeats.first?.at ?? .never }

    mutating func add(_ read: PendingRead, id: UInt64, at: Tick) {
        precondition(reads[id] == nil, "read \(id) waits already")
        reads[id] = read
        repeats.append(Repeat(at: at, key: .read(id)))
    }

    mutating func add(_ query: Query, at: Tick) {
        guard queries.insert(query).inserted else { return }
        repeats.append(Repeat(at: at, key: .query(query)))
    }

    mutating func remove(_ key: Key) -> Bool {
        let isThere =
            switch key {
            case .read(let id): reads.removeValue(forKey: id) != nil
            case .query(let query): queries.remove(query) != nil
            }
        while let first = repeats.first, !isWaiting(first.key) { repeats.removeFirst() }
        // Those that are done stay while a slow one is before them. Twice as many as wait, and some: then this is rare.
        if repeats.count > 2 * (reads.count + queries.count) + 64 { repeats = repeats.filter { isWaiting($0.key) } }
        return isThere
    }

    /// Whether a refusal with this number is of a request that waits: a replica names the READ that it leaves to the
    /// primary; a QUERY has no number of its own.
    func isRefused(by nonce: UInt64) -> Bool { reads[nonce] != nil || (nonce == 0 && !queries.isEmpty) }

    private func isWaiting(_ key: Key) -> Bool {
        switch key {
        case .read(let id): reads[id] != nil
        case .query(let query): queries.contains(query)
        }
    }

    /// Takes those that are due, and has them come again at `next`.
    mutating func takeDue(now: Tick, next: Tick) -> [Key] {
        var due: [Key] = []
        for _ in 0..<repeats.count {
            guard let first = repeats.first, first.at <= now else { break }
            repeats.removeFirst()
            guard isWaiting(first.key) else { continue }
            due.append(first.key)
            repeats.append(Repeat(at: next, key: first.key))
        }
        return due
    }

    func checkInvariants() {
        let keys = Set(repeats.map(\.key))
        precondition(
            reads.keys.allSatisfy { keys.contains(.read($0)) } && queries.allSatisfy { keys.contains(.query($0)) },
            "what waits is asked for again")
    }
}
