import LockstepCore

extension Effect {
    /// Gives the effect a policy that it shares with others of the same name.
    ///
    /// Several hold together: the effect begins when each of them lets it, and takes its place under all at once. A
    /// second policy of one name takes the place of the first. At most 16 hold; an action beyond is rejected.
    ///
    ///     .policy(.latest("search")).policy(.merge("backend", max: 4))
    ///
    /// An effect that ends at once has ended before it could share anything: for it the policy means nothing, unless a
    /// modifier after it lets it go on, such as ``delayed(by:)``. A policy of a part of ``concat(_:_:)`` or
    /// ``merge(_:_:)`` does not count either: give it to the whole.
    public func policy(_ policy: EffectPolicy) -> Effect {
        changed { deferred in deferred.with(plan: { $0.keep(policy.limit) }) }
    }

    /// Lets the effect be cancelled under a name, by ``cancelling(_:)`` of a later action.
    public func cancellable(_ id: EffectID) -> Effect {
        changed { deferred in deferred.with(plan: { $0.names.append(id.name) }) }
    }

    /// Cancels what runs under a name, when this action is logged: nothing of it is committed afterwards.
    public func cancelling(_ id: EffectID) -> Effect {
        changed { $0.with(cancels: [id.name]) }
    }

    /// Cancels the effect when the primary logs an action for which `predicate` holds; not by the action that began it.
    ///
    /// - Parameter predicate: Runs on the node's thread for each later action that is not rejected, while the effect runs.
    /// - Returns: The effect with this condition; several hold side by side.
    public func cancelled(by predicate: @escaping @Sendable (R.Action) -> Bool) -> Effect {
        changed { $0.with(until: predicate) }
    }

    /// Waits before it begins; cancellable while it waits.
    ///
    /// Also an effect that ends at once then goes on.
    public func delayed(by duration: Duration) -> Effect {
        wrapped { emit, perform in
            try await emit.sleep(for: duration)
            return try await perform(emit)
        }
    }

    /// Begins when `operation` has returned.
    public func startAfter(_ operation: @escaping @Sendable () async throws -> Void) -> Effect {
        wrapped { emit, perform in
            try await operation()
            return try await perform(emit)
        }
    }

    /// Tries again when it fails, with the policy's delays; jitter is seeded by the action, so that it repeats.
    ///
    /// `.retry(RetryPolicy(attempts: 3))` tries three times in all. Its delays begin with 100 ms and double up to 10 s, and
    /// chance takes up to half of each away; the delays are waited for on the store's clock. The last failure is the
    /// effect's. What the next primary runs again begins with the first attempt.
    ///
    /// What a failed attempt emitted stays committed; what it kept for the end is dropped. Cancellation is not a failure.
    public func retry(_ policy: RetryPolicy) -> Effect {
        wrapped { emit, perform in
            try await Lockstep.retry(
                policy, seed: emit.scope.seed, clock: emit.clock, if: { !($0 is CancellationError) }
            ) { (_: Int) async throws -> R.Reply in
                let attempt = try await emit.attempt(perform)
                attempt.keep(in: emit)
                return attempt.reply
            }
        }
    }

    /// Fails with ``EffectTimeout`` if it has not ended in time; it is cancelled then, and awaited.
    public func timeout(_ duration: Duration) -> Effect {
        wrapped { emit, perform in
            let attempt = try await withThrowingTaskGroup(of: EmitterAttempt<R>.self) { group in
                group.addTask { try await emit.attempt(perform) }
                group.addTask {
                    try await emit.sleep(for: duration)
                    throw EffectTimeout(duration: duration)
                }
                defer { group.cancelAll() }
                guard let attempt = try await group.next() else { throw CancellationError() }
                return attempt
            }
            attempt.keep(in: emit)
            return attempt.reply
        }
    }

    /// Turns a failure into an end of another kind: `handler` may emit, and returns the reply, or throws.
    public func recover(
        _ handler: @escaping @Sendable (_ error: any Error, _ emit: Emitter<R>) async throws -> R.Reply
    ) -> Effect {
        wrapped { emit, perform in
            do {
                let attempt = try await emit.attempt(perform)
                attempt.keep(in: emit)
                return attempt.reply
            } catch {
                guard !(error is CancellationError) else { throw error }
                return try await handler(error, emit)
            }
        }
    }

    /// Runs with a resource that is released on every path: end, failure, cancellation, the node's stop.
    ///
    /// A crash of the process releases what the system releases; the next primary makes the resource anew.
    ///
    /// - Parameters:
    ///   - acquire: Makes the resource; what it throws is the effect's failure, and nothing is released.
    ///   - release: Called once for each resource, also when the task is cancelled; it must not throw.
    ///   - body: Uses it.
    /// - Returns: An effect that goes on after the acceptance.
    public static func withResource<Resource: Sendable>(
        _ acquire: @escaping @Sendable () async throws -> Resource,
        release: @escaping @Sendable (Resource) async -> Void,
        _ body: @escaping @Sendable (Resource, Emitter<R>) async throws -> R.Reply
    ) -> Effect {
        run { emit in
            let resource = try await acquire()
            do {
                let reply = try await body(resource, emit)
                await release(resource)
                return reply
            } catch {
                await release(resource)
                throw error
            }
        }
    }

    // MARK: - Changing

    /// Changes how the effect runs; one that ends at once keeps it for a modifier that lets it go on.
    private func changed(_ change: (DeferredEffect<R>) -> DeferredEffect<R>) -> Effect {
        Effect(mutations, reply: reply, deferred: change(deferred ?? DeferredEffect(body: nil)))
    }

    /// Puts something around the effect's work, whether it goes on or not.
    private func wrapped(
        _ body:
            @escaping @Sendable (
                Emitter<R>, @escaping @Sendable (Emitter<R>) async throws -> R.Reply
            ) async throws -> R.Reply
    ) -> Effect {
        let inner = self
        let base = deferred ?? DeferredEffect(body: nil)
        return Effect(
            deferred: base.with(body: { emit in
                try await body(emit) { try await inner.perform($0, isLast: true) }
            }))
    }
}

/// An effect took longer than ``Effect/timeout(_:)`` allows.
public struct EffectTimeout: Error, Hashable, Sendable, CustomStringConvertible {
    /// What it was allowed.
    public let duration: Duration
    /// One line.
    public var description: String { "the effect did not end within \(duration)" }
}

extension EmitterScope {
    /// The same in every process, for jitter.
    var seed: UInt64 {
        idempotencyKey.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
