import LockstepCore

/// A stream of mutations from outside, merged once, on the primary.
///
///     var sources: [ExternalSource<Self>] {
///         [ExternalSource("prices") { emit in for try await price in feed() { try await emit(.priced(price)) } }]
///     }
///
/// Each entry carries the source's name as its cause. A source that fails is reported
/// (``Store/failures(bufferLimit:)``) and begun again by its policy; it never ends anything but itself. One that throws
/// `CancellationError`, as `emit` does when the primary takes nothing more, has not failed: it is not reported, and
/// begun again in the same way while this primary lives. When the primary is replaced, the next one begins it anew:
/// whatever it has to go on from belongs to the state.
public struct ExternalSource<R: Reactor>: Sendable {
    /// 1 to 64 letters, digits, `-`, `_` and `.`.
    public let name: String
    /// How often it is begun in all while this primary lives, and how far apart.
    public let retry: RetryPolicy
    let body: @Sendable (Emitter<R>) async throws -> Void

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `-`, `_` and `.`; it is in the log.
    ///   - retry: How often it is begun in all, and how far apart, if it throws; by default for ever, from 100 ms to
    ///     10 s.
    ///   - body: Runs on the concurrent pool until it returns, fails, or the node stops.
    public init(
        _ name: String, retry: RetryPolicy = RetryPolicy(attempts: .max),
        body: @escaping @Sendable (_ emit: Emitter<R>) async throws -> Void
    ) {
        precondition(NodeID(name) != nil, "\"\(name)\" cannot name a source: use 1 to 64 letters, digits, -, _ and .")
        self.name = name
        self.retry = retry
        self.body = body
    }
}

extension EffectRuntime {
    /// Runs a source, and again when it throws.
    func perform(_ source: ExternalSource<R>, of store: String) async {
        var generator = SplitMix64(seed: seed)
        var attempt = 1
        while !Task.isCancelled {
            let life = number()
            begin(life: life) { _ in true }
            let scope = EmitterScope<R>(
                self, cause: .source(source.name), start: nil, lifetime: life,
                idempotencyKey: "\(store)/\(source.name)")
            do {
                try await source.body(Emitter(scope))
                try await emitKept(scope)
                end(life: life)
                return
            } catch {
                end(life: life)
                _ = scope.end()
                guard !Task.isCancelled else { return }
                // Refused by a state without its part, or by a primary that ends, it has not failed.
                if !(error is CancellationError) {
                    failures.send(EffectFailure(origin: .source(source.name), error: error))
                }
            }
            attempt += 1
            guard let delay = source.retry.delay(beforeAttempt: attempt, using: &generator),
                (try? await clock.sleep(for: delay)) != nil
            else { return }
        }
    }

    /// What was kept for the end of a life that has no end in the log.
    func emitKept(_ scope: EmitterScope<R>) async throws {
        let kept = scope.takeAtEnd()
        if !kept.isEmpty { _ = try await emit(kept, scope) }
    }
}
