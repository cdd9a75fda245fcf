import LockstepCore

/// Effects that the state asks for: which of them run is a function of the committed state.
///
///     var feedback: [Feedback<Self>] {
///         [.react("search", to: { $0.pendingSearch }) { query, emit in
///             try await emit(.found(try await search(query)))
///         }]
///     }
///
/// The primary compares what the state asks for with what runs, whenever it shows a newer state: what appears is begun,
/// in the order of the identities; what disappears, or changes, is cancelled, and nothing of it is committed after the
/// entry that took its request away. What ends, or fails, is not begun again while its request stays; a failure is
/// reported and concerns nobody else. After a restart the next primary begins exactly what its state asks for.
///
/// A mutation that fulfils a request should take it out of the state: then it is committed exactly once. If the
/// request's own effect emitted that mutation, and a later entry brings the request back, its effect is begun anew,
/// however soon that is.
///
/// A request counts as never gone if one entry takes it away and brings it back. It also does if another entry takes it
/// away, and it is back before the primary looks. What has ended is not begun again then. So give requests that may be
/// equal an identity, such as a number.
public struct Feedback<R: Reactor>: Sendable {
    /// 1 to 64 letters, digits, `-`, `_` and `.`; it is in the log as the cause of what it emits.
    public let name: String
    let reaction: any Reacting<R>

    init(_ name: String, _ reaction: any Reacting<R>) {
        precondition(NodeID(name) != nil, "\"\(name)\" cannot name a feedback: use 1 to 64 letters, digits, -, _ and .")
        self.name = name
        self.reaction = reaction
    }

    /// At most one request: nil asks for nothing, another value cancels the one before.
    ///
    /// - Parameters:
    ///   - name: The feedback's name.
    ///   - request: What the state asks for; a pure function, called for each newer state, and on the node's thread
    ///     before and after each emission.
    ///   - effect: Runs on the concurrent pool.
    /// - Returns: The feedback, for ``Reactor/feedback``.
    public static func react<Request: Equatable & Sendable>(
        _ name: String, to request: @escaping @Sendable (R.State) -> Request?,
        effect: @escaping @Sendable (Request, Emitter<R>) async throws -> Void
    ) -> Feedback {
        Feedback(
            name,
            Reaction<R, Int, Request>(
                name: name, requests: { state in request(state).map { [(0, $0)] } ?? [] },
                request: { state, _ in request(state) }, followsChanges: false
            ) { _, request, _, emit in try await effect(request, emit) })
    }

    /// One effect for each element of a set, undisturbed while the element is there.
    public static func react<Request: Hashable & Comparable & Sendable>(
        _ name: String, toEach requests: @escaping @Sendable (R.State) -> Set<Request>,
        effect: @escaping @Sendable (Request, Emitter<R>) async throws -> Void
    ) -> Feedback {
        Feedback(
            name,
            Reaction<R, Request, Request>(
                name: name, requests: { state in requests(state).sorted().map { ($0, $0) } },
                request: { state, id in requests(state).contains(id) ? id : nil }, followsChanges: false
            ) { _, request, _, emit in try await effect(request, emit) })
    }

    /// One effect for each identity; a payload that changes is passed to the running effect.
    ///
    /// - Parameters:
    ///   - name: The feedback's name.
    ///   - requests: What the state asks for, by identity.
    ///   - effect: Gets the identity, the payload with which it begins, and those that follow, each different from the
    ///     one before; of payloads that it does not come to in time only the newest is kept.
    /// - Returns: The feedback, for ``Reactor/feedback``.
    public static func react<ID: Hashable & Comparable & Sendable, Request: Equatable & Sendable>(
        _ name: String, toEach requests: @escaping @Sendable (R.State) -> [ID: Request],
        effect: @escaping @Sendable (ID, Request, AsyncStream<Request>, Emitter<R>) async throws -> Void
    ) -> Feedback {
        Feedback(
            name,
            Reaction<R, ID, Request>(
                name: name,
                requests: { state in requests(state).sorted { $0.key < $1.key }.map { ($0.key, $0.value) } },
                request: { state, id in requests(state)[id] }, followsChanges: true, effect: effect))
    }
}

/// Compares what the state asks for with what runs.
struct Reaction<R: Reactor, ID: Hashable & Sendable, Request: Equatable & Sendable>: Reacting {
    let name: String
    /// In the order in which they begin.
    let requests: @Sendable (R.State) -> [(ID, Request)]
    /// What is asked for under one identity.
    let request: @Sendable (R.State, ID) -> Request?
    /// A changed payload goes to the running effect; otherwise it is another effect.
    let followsChanges: Bool
    let effect: @Sendable (ID, Request, AsyncStream<Request>, Emitter<R>) async throws -> Void

    private struct Life: Sendable {
        var number: UInt64
        var request: Request
        var signal: StopSignal
        var payloads: Payloads<Request>
        var fulfilment: Fulfilment
    }

    func run(_ runtime: EffectRuntime<R>, of store: String) async {
        await withDiscardingTaskGroup { group in
            var lives: [ID: Life] = [:]
            for await snapshot in States(published: runtime.published) {
                let wanted = requests(snapshot.state)
                let ids = Set(wanted.map(\.0))
                // What was fulfilled has gone, even if the same is asked for again.
                let gone = lives.filter { id, life in
                    !ids.contains(id) || life.fulfilment.isIncluded(in: snapshot.place)
                }
                // In the order in which they began: a simulated run must be the same each time.
                for (id, life) in gone.sorted(by: { $0.value.number < $1.value.number }) {
                    stop(life, runtime)
                    lives[id] = nil
                }
                for (id, request) in wanted {
                    if let life = lives[id] {
                        guard life.request != request else { continue }
                        if followsChanges {
                            lives[id]?.request = request
                            life.payloads.replace(with: request)
                            continue
                        }
                        stop(life, runtime)
                    }
                    lives[id] = begin(id, request, runtime, of: store, in: &group)
                }
            }
            for life in lives.values.sorted(by: { $0.number < $1.number }) { stop(life, runtime) }
            group.cancelAll()
        }
    }

    private func stop(_ life: Life, _ runtime: EffectRuntime<R>) {
        runtime.end(life: life.number)
        life.payloads.finish()
        life.signal.stop()
    }

    private func begin(
        _ id: ID, _ request: Request, _ runtime: EffectRuntime<R>, of store: String,
        in group: inout DiscardingTaskGroup
    ) -> Life {
        let life = Life(
            number: runtime.number(), request: request, signal: StopSignal(), payloads: Payloads(request),
            fulfilment: Fulfilment())
        let isWanted: @Sendable (R.State) -> Bool = { [current = self.request, followsChanges] state in
            current(state, id).map { followsChanges || $0 == request } ?? false
        }
        runtime.begin(
            life: life.number, name: "\(name) for \(id)", fulfilment: life.fulfilment, while: isWanted)
        group.addTask { [effect, name] in
            var outcome: Result<Void, any Error>?
            var isAgain = false
            repeat {
                let scope = EmitterScope<R>(
                    runtime, cause: .feedback(name), start: nil, lifetime: life.number,
                    idempotencyKey: "\(store)/\(name)/\(id)")
                outcome = await life.signal.race { [isAgain] in
                    if isAgain { try await runtime.wait { !isWanted($0) } }
                    let (request, updates) = life.payloads.begin()
                    try await effect(id, request, updates, Emitter(scope))
                    try await runtime.emitKept(scope)
                }
                _ = scope.end()
                // Refused, and not stopped: its request went and came back between two looks at the state, or is on its
                // way back, or goes for good, and then this is stopped. What follows a fulfilled one is another life's.
                isAgain = scope.hasDropped && !life.fulfilment.isNoted
            } while isAgain && outcome != nil
            runtime.end(life: life.number)
            if case .failure(let error) = outcome, !(error is CancellationError) {
                runtime.failures.send(
                    EffectFailure(origin: .feedback(name, request: "\(id)"), error: error))
            }
        }
        return life
    }
}

extension EffectRuntime {
    func perform(_ feedback: Feedback<R>, of store: String) async { await feedback.reaction.run(self, of: store) }
}
