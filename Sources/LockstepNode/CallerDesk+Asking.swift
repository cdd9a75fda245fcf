internal import DequeModule
internal import LockstepCore

// Callers who ask again about numbers whose answer they did not wait for.
extension CallerDesk {
    package enum Resolution {
        /// It was answered after its caller had gone, or will be as soon as the answer comes.
        case served
        /// This node no longer knows the numbers: the primary does, or their session is over.
        case unknown
    }

    /// Looks for the answers to numbers whose outcome a caller did not learn.
    package mutating func resolve(_ pending: PendingOutcome, for resolver: Waiter) -> Resolution {
        if resolver.deadline != .never { deadlines.insert(resolver, at: resolver.deadline) { $0.isDone } }
        if let replies = late[pending] {
            resolver.succeed(replies)
            return .served
        }
        for next in outstanding {
            switch next.owner {
            case .one(let waiter) where waiter.pending == pending:
                waiter.resolve(for: resolver)
                return .served
            case .each(let waiters):
                guard pending.numbers.count == 1, pending.numbers.lowerBound >= next.first,
                    let waiter = waiters[next.served...].first(where: { $0.pending == pending })
                else { continue }
                waiter.resolve(for: resolver)
                return .served
            case .one: continue
            }
        }
        return .unknown
    }
}
