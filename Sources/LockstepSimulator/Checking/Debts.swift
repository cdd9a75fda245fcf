package import LockstepCore

/// Answers that nodes owe to requests that they have taken, in the order of coming.
///
/// Times are virtual nanoseconds.
package struct Debts {
    private var owed: [Debt] = []
    /// How often a connection was welcomed and then told to begin again, with no other answer since.
    private var rounds: [Connection: Rounds] = [:]

    private struct Rounds {
        var count = 0
        var isWelcomed = false
    }

    /// A node that welcomes a connection and does not know it, more often than this, owes what it is asked there.
    package static let mostRounds = 8

    package struct Debt: Hashable, Sendable {
        package var process: Int
        package var connection: Connection
        package var kind: MessageKind
        /// Nonce, ID, or number: what the answer repeats.
        package var key: UInt64
        package var at: Int64
    }

    package init() {}

    package var isEmpty: Bool { owed.isEmpty }

    /// So long a node may owe an answer, in nanoseconds of a healthy process.
    package static func bound(_ kind: MessageKind) -> Int64 {
        switch kind {
        // It waits for the view that it asks for 5 s, on a clock that may run at half the rate.
        case .read: 11 * Span.second
        // The session's end may have to commit.
        case .query: 5 * Span.second
        // Held back by the throttle, and by an unusual way that sends one at a time.
        case .chunkRequest: 5 * Span.second
        default: Span.second
        }
    }

    /// Whether every node that runs owes an answer to a frame of this kind.
    package static func isOwed(_ frame: [UInt8]) -> Bool {
        guard frame.count > 5, let kind = MessageKind(rawValue: frame[5]) else { return false }
        switch kind {
        case .hello, .read, .query, .sync, .chunkRequest, .repairRequest: return true
        default: return false
        }
    }

    /// A node has taken a request; what comes again while it is owed counts from the first.
    package mutating func taken(_ message: Message, from connection: Connection, by process: Int, at time: Int64) {
        guard let (kind, key) = message.request else { return }
        let isKnown = owed.contains {
            $0.process == process && $0.connection == connection && $0.kind == kind && $0.key == key
        }
        if !isKnown {
            owed.append(Debt(process: process, connection: connection, kind: kind, key: key, at: time))
        }
    }

    package func hasAny(of process: Int, to connection: Connection) -> Bool {
        owed.contains { $0.process == process && $0.connection == connection }
    }

    /// A node answers on a connection; with unusual ways it may forget it again and again.
    package mutating func answered(
        _ message: Message, to connection: Connection, by process: Int, isUsual: Bool = true
    ) {
        guard mayAnswer(message, to: connection, isUsual: isUsual) else { return }
        owed.removeAll {
            $0.process == process && $0.connection == connection && message.answers($0.kind, $0.key)
        }
    }

    /// Whether it counts: RESYNC does a few times only.
    private mutating func mayAnswer(_ message: Message, to connection: Connection, isUsual: Bool) -> Bool {
        guard isUsual else { return true }
        switch message {
        case .welcome: rounds[connection, default: Rounds()].isWelcomed = true
        case .refused: break
        case .resync:
            guard var round = rounds[connection] else { return true }
            if round.isWelcomed { round.count += 1 }
            round.isWelcomed = false
            rounds[connection] = round
            return round.count <= Self.mostRounds
        default: rounds[connection] = nil
        }
        return true
    }

    /// A node's life is over, and with it what it owed.
    package mutating func ended(_ process: Int) { owed.removeAll { $0.process == process } }

    /// The first that is owed for too long; `healthySince` says since when a process has been healthy.
    package func overdue(now: Int64, healthySince: (Int) -> Int64) -> Debt? {
        owed.first { now - max($0.at, healthySince($0.process)) > Self.bound($0.kind) }
    }
}

extension Message {
    /// The kind of a request that is always answered, and what the answer repeats.
    fileprivate var request: (MessageKind, UInt64)? {
        switch self {
        case .hello(let hello): (.hello, hello.nonce)
        case .read(let read): (.read, read.id)
        case .query(let query): (.query, query.number)
        case .sync(let sync): (.sync, sync.nonce)
        case .chunkRequest(let request): (.chunkRequest, request.snapshot)
        case .repairRequest(let request): (.repairRequest, request.nonce)
        default: nil
        }
    }

    /// Whether this is an answer to a request that had this key.
    fileprivate func answers(_ kind: MessageKind, _ key: UInt64) -> Bool {
        switch self {
        // Begin again: nothing that was asked before counts. How often that may be said, ``Debts`` decides.
        case .resync: true
        case .welcome(let welcome): kind == .hello && welcome.nonce == key
        case .refused(let refused): refused.nonce == key || kind == .query && refused.nonce == 0
        case .readResult(let result): kind == .read && result.id == key
        case .queryResult(let result): kind == .query && result.number == key
        case .result(let run): kind == .query && key >= run.first && key - run.first < UInt64(run.count)
        case .syncPlan(let plan): kind == .sync && plan.nonce == key
        case .chunk(let chunk): kind == .chunkRequest && chunk.snapshot == key
        case .repair(let repair): kind == .repairRequest && repair.nonce == key
        default: false
        }
    }
}
