package import LockstepCore

/// How many frames of its own each operation of a caller takes: one action, one read, one question about a number.
///
/// Frames count from the last strike that touched the caller, its node, or the way between them. A rate in a second
/// would not show a client that says one thing again and again, or that has unusual ways.
package struct OperationFrames {
    package enum Operation: Hashable, Sendable {
        case action(SessionID, RequestNumber)
        case read(UInt64)
        case query(SessionID, RequestNumber)

        var name: String {
            switch self {
            case .action: "action"
            case .read: "read"
            case .query: "question about a number"
            }
        }
    }

    /// By the virtual time at which the counting began.
    private var counts: [Operation: (count: Int, since: Int64)] = [:]

    package init() {}

    /// The caller sends a frame.
    package mutating func sent(_ frame: [UInt8], at now: Int64) {
        guard frame.count > FrameHeader.byteCount, let kind = MessageKind(rawValue: frame[5]),
            kind == .submit || kind == .read || kind == .query
        else { return }
        switch withBytes(of: frame, { try? Message.decode($0, rule: .any).message }) {
        case .submit(let submit)?:
            for place in 0..<UInt64(submit.count) { count(.action(submit.session, submit.first + place), now) }
        case .read(let read)?: count(.read(read.id), now)
        case .query(let query)?: count(.query(query.session, query.number), now)
        default: return
        }
    }

    /// The caller is told to wait, which it may be many times: what it says again after that is not counted, since BUSY has
    /// bounds of its own.
    package mutating func received(_ frame: [UInt8]) {
        guard frame.count > FrameHeader.byteCount, MessageKind(rawValue: frame[5]) == .busy,
            case .busy(let busy)? = withBytes(of: frame, { try? Message.decode($0, rule: .any).message })
        else { return }
        for (operation, place) in counts where place.count > 0 {
            guard case .action(busy.session, let number) = operation, number >= busy.expected else { continue }
            counts[operation]?.count -= 1
        }
    }

    private mutating func count(_ operation: Operation, _ now: Int64) {
        counts[operation, default: (0, now)].count += 1
    }

    /// Looks at all that were counted; what has more than it may, and how many.
    ///
    /// Those that wait no longer are forgotten. So is what was counted before `usualSince`, when unusual ways are over.
    package mutating func look(
        now: Int64, healthySince: Int64, usualSince: Int64, isWaiting: (Operation) -> Bool
    ) -> (operation: Operation, count: Int)? {
        let isUnusual = now < usualSince
        let start = isUnusual ? healthySince : max(healthySince, usualSince)
        counts = counts.filter { $0.value.since >= start }
        let storms = counts.filter { $0.value.count > Self.bound(isUnusual: isUnusual, after: now - $0.value.since) }
        defer { counts = counts.filter { isWaiting($0.key) } }
        let most = storms.max { ($0.value.count, $0.value.since) < ($1.value.count, $1.value.since) }
        return most.map { ($0.key, $0.value.count) }
    }

    /// About twice the most of 600 seeds.
    ///
    /// A primary that forgets its peers has each of them greet again, and say everything again: at most every 100 ms, for
    /// as long as it has that way.
    package static func bound(isUnusual: Bool, after span: Int64) -> Int {
        isUnusual ? 40 + Int(span / (100 * Span.millisecond)) : 20
    }
}
