/// Queries that a client watches, by the driver's numbers: what it has of each, and when it says so again (PROTOCOL, R-59).
struct PendingWatches: Hashable, Sendable {
    struct PendingWatch: Hashable, Sendable {
        /// Microseconds.
        var interval: UInt32
        var query: [UInt8]
        /// The fingerprint of the last answer; 0: none.
        var has: UInt128 = 0
        /// Where the node was in its last answer: one and the same boot does not go back.
        var newest: Newest?
        var repeatAt = Tick.never
        /// Milliseconds from the next repetition to the one after it.
        var delay = ClientTiming.firstWatch
    }

    struct Newest: Hashable, Sendable {
        var boot: BootID
        var epoch: Epoch
        var sequence: SequenceNumber

        /// Whether a place is before this one, on the same node.
        func isAfter(_ epoch: Epoch, _ sequence: SequenceNumber) -> Bool {
            (epoch, sequence) < (self.epoch, self.sequence)
        }
    }

    private(set) var watches: [UInt64: PendingWatch] = [:]
    private(set) var nextDeadline = Tick.never
    /// Bytes of answers that came since WATCH was said last: the node sends so many, and then waits for it.
    private var unsaidBytes = 0
    /// The connection and the boot to which all were said last.
    private var peer: Peer?

    private struct Peer: Hashable, Sendable {
        var nonce: UInt64
        var boot: BootID
    }

    /// Whether the node should hear that its answers come.
    var owesWord: Bool { unsaidBytes >= Limits.watchAnswerBytesUnsaid }
    var isFull: Bool { watches.count >= Limits.watchesOfConnection }

    /// Whether the peer of this WELCOME has not been told of the watches.
    mutating func isNewPeer(nonce: UInt64, boot: BootID) -> Bool {
        let new = Peer(nonce: nonce, boot: boot)
        defer { peer = new }
        return peer != new
    }

    /// The node of this boot is at an epoch: one that it had before is of a log that is gone, and no place there counts
    ///
    mutating func stands(at epoch: Epoch, _ boot: BootID) {
        for (number, watch) in watches where watch.newest.map({ $0.boot == boot && epoch < $0.epoch }) ?? false {
            watches[number]?.newest = nil
        }
    }

    mutating func add(_ number: UInt64, query: [UInt8], interval: UInt32) {
        precondition(watches[number] == nil, "watch \(number) is there already")
        watches[number] = PendingWatch(interval: interval, query: query)
    }

    mutating func remove(_ number: UInt64) -> Bool { watches.removeValue(forKey: number) != nil }

    /// A watch was just said: when it is said again, soon at first, in case that this was lost.
    ///
    /// At even parts of the clock, so that many wake the node together.
    mutating func said(_ number: UInt64, now: Tick, _ generator: inout SplitMix64) {
        guard var watch = watches[number] else { return }
        unsaidBytes = 0
        let jitter = watch.delay == ClientTiming.slowestWatch ? Int64(generator.next(below: 1_000)) : 0
        let part = Tick.milliseconds(ClientTiming.firstWatch)
        let at = now.rawValue + Tick.milliseconds(watch.delay - jitter)
        watch.repeatAt = Tick(rawValue: (at + part - 1) / part * part)
        watch.delay = min(2 * watch.delay, ClientTiming.slowestWatch)
        watches[number] = watch
        nextDeadline = min(nextDeadline, watch.repeatAt)
    }

    /// Takes those that are due, in the order of their numbers.
    mutating func takeDue(now: Tick) -> [UInt64] {
        guard now >= nextDeadline else { return [] }
        let due = watches.filter { $0.value.repeatAt <= now }.keys.sorted()
        nextDeadline = watches.values.lazy.map(\.repeatAt).filter { $0 > now }.min() ?? .never
        return due
    }

    /// All are to be said to another peer, in the order of their numbers.
    mutating func takeAll() -> [UInt64] {
        nextDeadline = .never
        for number in watches.keys { watches[number]?.delay = ClientTiming.firstWatch }
        return watches.keys.sorted()
    }

    /// What an answer is to the client.
    enum Verdict: Hashable, Sendable {
        case new
        /// It has just that one, or a newer one.
        case known
        /// It watches no such thing.
        case strange
    }

    /// An answer came from the node of this boot.
    mutating func received(_ result: ReadResult, _ fingerprint: UInt128, from boot: BootID) -> Verdict {
        guard var watch = watches[result.id] else { return .strange }
        unsaidBytes += result.answer.count
        if result.status != .unavailable {
            if let newest = watch.newest, newest.boot == boot, newest.isAfter(result.epoch, result.sequence) {
                return .known
            }
            watch.newest = Newest(boot: boot, epoch: result.epoch, sequence: result.sequence)
        }
        let isNew = fingerprint != watch.has
        watch.has = fingerprint
        watches[result.id] = watch
        return isNew ? .new : .known
    }

    func checkInvariants() {
        precondition(watches.count <= Limits.watchesOfConnection, "watches have their bound")
        precondition(
            watches.values.allSatisfy { $0.repeatAt >= nextDeadline }, "what is watched is said again in time")
    }
}
