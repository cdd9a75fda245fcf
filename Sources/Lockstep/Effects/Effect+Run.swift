import LockstepCore

extension Effect {
    // A closure of several statements without a result fits both overloads of a reactor without replies: this one gives
    // way.

    /// Runs on the primary after the commit of the action's acceptance; what it returns is the reply.
    ///
    /// The sender's `send` returns when it has ended and the end has committed. It is run again by the next primary if
    /// this one dies before that: its end is recorded exactly once, its other emissions may be repeated
    /// (``Emitter/atEnd(_:)`` is not). What it throws becomes the outcome `failed`; mutations that were emitted before
    /// stay.
    ///
    /// - Parameter body: Runs on the concurrent pool, never on the node's thread; it should react to cancellation.
    /// - Returns: An effect that goes on after the acceptance.
    @_disfavoredOverload
    public static func run(
        _ body: @escaping @Sendable (_ emit: Emitter<R>) async throws -> R.Reply
    ) -> Effect { Effect(deferred: DeferredEffect(body: body)) }

    /// Emits a mutation after a time, together with the end, exactly once.
    ///
    /// The time begins anew when the next primary runs the effect again; a timer in the state does not (see ``Timers``).
    public static func after(_ duration: Duration, emit mutation: R.Mutation, reply: R.Reply) -> Effect {
        run { emit in
            try await emit.sleep(for: duration)
            emit.atEnd(mutation)
            return reply
        }
    }

    /// Fails after its acceptance: the outcome is `failed` with the error's description.
    ///
    /// To refuse the action, with certainly no effect, throw ``Rejection`` instead.
    public static func fail(_ error: any Error & Sendable) -> Effect { run { _ in throw error } }

    /// Does one effect after the other; the reply is the last one's.
    ///
    /// The next begins when the one before has returned. An error or a cancellation ends the whole: what has not begun
    /// never begins. Effects that all end at once become one entry. What a part keeps for its end
    /// (``Emitter/atEnd(_:)``, ``after(_:emit:reply:)``) is committed with the end of the whole only by the last part; by
    /// another it is emitted before the next part begins, which shall see it, and may be repeated after a restart.
    /// A policy of a part does not count: give it to the whole.
    public static func concat(_ first: Effect, _ rest: Effect...) -> Effect { concat([first] + rest) }

    /// Does one effect after the other; there is at least one.
    public static func concat(_ effects: [Effect]) -> Effect {
        guard let last = effects.last else { preconditionFailure("there is at least one effect to concatenate") }
        let cancels = effects.flatMap { $0.deferred?.cancels ?? [] }
        guard effects.contains(where: \.isDeferred) else { return atOnce(effects, cancels, reply: last.atOnceReply) }
        return Effect(
            deferred: DeferredEffect(
                body: { emit in
                    for effect in effects.dropLast() { _ = try await effect.perform(emit, isLast: false) }
                    return try await last.perform(emit, isLast: true)
                }, plan: mergedPlan(effects), cancels: cancels, until: mergedUntil(effects)))
    }

    /// Does effects side by side; the reply is the first one's, and the first error ends the others.
    ///
    /// Effects that all end at once become one entry. In it, as in the end of the whole, what the parts bring is in the
    /// order of the parts. A policy of a part does not count: give it to the whole.
    public static func merge(_ first: Effect, _ rest: Effect...) -> Effect {
        let effects = [first] + rest
        let cancels = effects.flatMap { $0.deferred?.cancels ?? [] }
        guard effects.contains(where: \.isDeferred) else { return atOnce(effects, cancels, reply: first.atOnceReply) }
        return Effect(
            deferred: DeferredEffect(
                body: { emit in
                    try await withThrowingTaskGroup(of: (Int, EmitterAttempt<R>).self) { group in
                        for (place, effect) in effects.enumerated() {
                            group.addTask {
                                (place, try await emit.attempt { try await effect.perform($0, isLast: true) })
                            }
                        }
                        var parts = [EmitterAttempt<R>?](repeating: nil, count: effects.count)
                        for try await (place, part) in group { parts[place] = part }
                        guard let reply = parts[0]?.reply else { throw CancellationError() }
                        // In the order of the parts, whichever came to its end first.
                        for part in parts { part?.keep(in: emit) }
                        return reply
                    }
                }, plan: mergedPlan(effects), cancels: cancels, until: mergedUntil(effects)))
    }

    /// Parts that all end at once, as one effect, which a modifier may still let go on.
    private static func atOnce(_ effects: [Effect], _ cancels: [String], reply: R.Reply) -> Effect {
        let mutations = Mutations.many(effects.flatMap(\.emitted))
        guard effects.contains(where: { $0.deferred != nil }) else { return Effect(mutations, reply: reply) }
        let plan = DeferredEffect<R>(
            body: nil, plan: mergedPlan(effects), cancels: cancels, until: mergedUntil(effects))
        return Effect(mutations, reply: reply, deferred: plan)
    }

    /// An action that ends one of the parts ends the whole.
    private static func mergedUntil(_ effects: [Effect]) -> (@Sendable (R.Action) -> Bool)? {
        let conditions = effects.compactMap { $0.deferred?.until }
        guard !conditions.isEmpty else { return nil }
        return { action in conditions.contains { $0(action) } }
    }

    /// A part's names stay those of the whole; a policy is given to the whole.
    private static func mergedPlan(_ effects: [Effect]) -> RunPlan {
        RunPlan(names: effects.flatMap { $0.deferred?.plan.names ?? [] })
    }

    /// The reply of an effect that ends at once.
    private var atOnceReply: R.Reply {
        guard let reply else { preconditionFailure("an effect without a reply goes on") }
        return reply
    }

    /// Does a part of a larger effect.
    func perform(_ emit: Emitter<R>, isLast: Bool) async throws -> R.Reply {
        if let body = deferred?.body {
            guard !isLast else { return try await body(emit) }
            let part = try await emit.attempt(body)
            // What a part keeps for its end is committed there, before the next part begins.
            if !part.kept.isEmpty { try await emit(contentsOf: part.kept) }
            return part.reply
        }
        try Task.checkCancellation()
        if isLast {
            for mutation in emitted { emit.atEnd(mutation) }
        } else if !emitted.isEmpty {
            try await emit(contentsOf: emitted)
        }
        return atOnceReply
    }
}

extension Effect where R.Reply == NoReply {
    /// Runs on the primary after the commit of the action's acceptance.
    public static func run(
        _ body: @escaping @Sendable (_ emit: Emitter<R>) async throws -> Void
    ) -> Effect {
        Effect(
            deferred: DeferredEffect(body: { emit in
                try await body(emit)
                return NoReply()
            }))
    }

    /// Emits a mutation after a time, together with the end, exactly once.
    public static func after(_ duration: Duration, emit mutation: R.Mutation) -> Effect {
        after(duration, emit: mutation, reply: NoReply())
    }

    /// Cancels what runs under a name, and does nothing else.
    public static func cancel(_ id: EffectID) -> Effect { Effect.none.cancelling(id) }
}
