package import LockstepCore

/// What a caller who watches a query is told.
package struct WatchUpdate: Sendable {
    /// The newest answer; nil before the first.
    package var answer: ReadAnswer?
    /// Why the node cannot answer now; nil while it can.
    package var unavailable: String?

    package init(answer: ReadAnswer?, unavailable: String?) {
        self.answer = answer
        self.unavailable = unavailable
    }
}

/// Queries that this node's callers watch at another node; on the node's thread.
///
/// The client's machine bounds their number. Of each the newest answer is kept.
package struct WatchDesk {
    private var watches: [UInt64: Watching] = [:]
    /// When ``ticked(_:)`` is due.
    package private(set) var nextDeadline = Tick.never

    private struct Watching {
        var newest = WatchUpdate(answer: nil, unavailable: nil)
        /// Until then a node that cannot answer is waited for, if it never did.
        var deadline: Tick
        var tell: (Result<WatchUpdate, any Error>) -> Void
    }

    package static let full = LockstepError(
        .unavailable,
        "this store watches its most queries (\(Limits.watchesOfConnection)): end some, or watch fewer larger ones")

    package init() {}

    /// Adds a watch, whose first answer is waited for until `deadline` while a node says that it cannot answer.
    package mutating func add(
        _ id: UInt64, deadline: Tick, tell: @escaping (Result<WatchUpdate, any Error>) -> Void
    ) {
        watches[id] = Watching(deadline: deadline, tell: tell)
        nextDeadline = min(nextDeadline, deadline)
    }

    /// Ends the watches that were never answered and whose node has said why for too long; returns them.
    package mutating func ticked(_ now: Tick) -> [UInt64] {
        guard now >= nextDeadline else { return [] }
        var ended: [UInt64] = []
        for (id, watch) in watches where watch.newest.answer == nil && watch.deadline <= now {
            guard let reason = watch.newest.unavailable else {
                // No node was reached, which is waited for.
                watches[id]?.deadline = now.advanced(byMilliseconds: 1_000)
                continue
            }
            watches[id] = nil
            watch.tell(.failure(LockstepError(.unavailable, "the node that was asked cannot answer: \(reason)")))
            ended.append(id)
        }
        nextDeadline = watches.values.lazy.filter { $0.newest.answer == nil }.map(\.deadline).min() ?? .never
        return ended
    }

    /// False if nobody watches that.
    package mutating func remove(_ id: UInt64) -> Bool { watches.removeValue(forKey: id) != nil }

    /// An answer came, whose bytes are these; false if the watch is over with it.
    package mutating func answered(_ result: ReadResult, _ bytes: [UInt8]) -> Bool {
        guard var watch = watches[result.id] else { return true }
        switch result.status {
        case .answered:
            let view = ViewPlace(epoch: result.epoch, sequence: result.sequence, time: result.time)
            watch.newest = WatchUpdate(answer: ReadAnswer(bytes: bytes, view: view), unavailable: nil)
        case .unavailable: watch.newest.unavailable = String(decoding: bytes, as: UTF8.self)
        case .refused:
            watches[result.id] = nil
            watch.tell(.failure(LockstepError.refusal(of: bytes)))
            return false
        }
        watches[result.id] = watch
        watch.tell(.success(watch.newest))
        return true
    }

    /// Nobody will answer: ends and returns the watches.
    package mutating func refuseAll(_ error: any Error) -> [UInt64] {
        let refused = Array(watches.keys)
        failAll(error)
        return refused
    }

    package mutating func failAll(_ error: any Error) {
        for watch in watches.values { watch.tell(.failure(error)) }
        watches = [:]
    }
}

extension LockstepError {
    /// A query was refused, with this text.
    static func refusal(of text: [UInt8]) -> LockstepError {
        LockstepError(.refused, "the query was refused: \(String(decoding: text, as: UTF8.self))")
    }
}
