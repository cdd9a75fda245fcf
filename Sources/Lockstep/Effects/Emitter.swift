public import LockstepCore
import Synchronization

/// What an effect writes with: `try await emit(.found(page))`.
///
/// A value that may be copied and used by the effect's own child tasks. It is of use until the effect ends.
public struct Emitter<R: Reactor>: Sendable {
    let scope: EmitterScope<R>

    init(_ scope: EmitterScope<R>) { self.scope = scope }

    /// Commits one mutation, as an entry of its own.
    ///
    /// - Returns: Its place, when it has committed and ``state`` includes it: an effect reads its own writes.
    /// - Throws: `CancellationError` if the effect was cancelled, was superseded, has ended, or its node stops. If the
    ///   task was cancelled, or the node stopped, while it waited here, nobody can tell whether the mutation is in the
    ///   log: what was already sequenced commits all the same. Otherwise it is not there. ``LockstepError`` of code
    ///   `refused` for a mutation that cannot be encoded, or `tooLarge` for one above 1 MiB.
    @discardableResult
    public func callAsFunction(_ mutation: R.Mutation) async throws -> Place {
        try await callAsFunction(contentsOf: [mutation])
    }

    /// Commits several mutations together, as one entry.
    @discardableResult
    public func callAsFunction(contentsOf mutations: [R.Mutation]) async throws -> Place {
        try scope.checkLive()
        return try await scope.environment.emit(mutations, scope)
    }

    /// Commits a mutation only if the state before it still satisfies a condition.
    ///
    ///     let rate = try await service.rate(of: emit.state.currency)
    ///     try await emit(.rated(rate)) { $0.currency == rate.currency }
    ///
    /// - Parameters:
    ///   - mutation: What to commit.
    ///   - holds: Asked on the node's thread, of the state after everything that is sequenced before the mutation; a pure
    ///     and short function.
    /// - Returns: The mutation's place; nil if the condition did not hold: then nothing was committed, and the effect goes
    ///   on.
    /// - Throws: As without a condition.
    @discardableResult
    public func callAsFunction(
        _ mutation: R.Mutation, onlyIf holds: @escaping @Sendable (R.State) -> Bool
    ) async throws -> Place? {
        try scope.checkLive()
        let condition = EmissionCondition()
        do {
            return try await scope.environment.emit([mutation], scope, condition) { condition.note(holds($0)) }
        } catch is CancellationError where condition.hasFailed {
            return nil
        }
    }

    /// Commits the mutation together with the effect's end, exactly once, whatever crashes.
    ///
    /// Other emissions are repeated when the effect is run again by the next primary; what changes the state by an
    /// amount belongs here. It is dropped if the effect fails. External sources and feedback have no end in the log; for
    /// them it is committed when they return.
    public func atEnd(_ mutation: R.Mutation) { scope.atEnd(mutation) }

    /// The newest published state; it includes everything that this effect emitted and waited for.
    public var state: R.State { scope.environment.snapshot.state }

    /// The state with its place and time.
    public var snapshot: Snapshot<R.State> { scope.environment.snapshot }

    /// The accepted action whose effect this is; nil for a source or a feedback.
    public var run: RunID? { scope.start?.id }

    /// 1 for the first; higher when a former primary did not come to the end (PROTOCOL, R-62).
    public var attempt: Int { Int(clamping: scope.start?.attempt ?? 1) }

    /// How many emissions of earlier attempts are in the log.
    public var emissionsBefore: Int { Int(clamping: scope.start?.emissions ?? 0) }

    /// What to give to a service that does a thing once a key: a text that begins with the name of the store.
    ///
    /// Of an action it is the same in every attempt, and that of no other action. Of a feedback it is the same for all
    /// requests of one identity: of an element, or of a key of a dictionary; a feedback of at most one request has one
    /// identity for all of them. Of a source it is the same for all that it brings. So a feedback and a source add what
    /// tells one thing from another, such as a number from the request.
    public var idempotencyKey: String { scope.idempotencyKey }

    /// The store's clock, which tests replace.
    public var clock: any Clock<Duration> { scope.environment.clock }

    /// Waits on the store's clock; cancellable.
    public func sleep(for duration: Duration) async throws { try await clock.sleep(for: duration) }
}

/// What the state answered to the condition of an emission, the last time that it was asked.
final class EmissionCondition: Sendable {
    private let answer = Mutex(true)

    var hasFailed: Bool { answer.withLock { !$0 } }

    func note(_ holds: Bool) -> Bool {
        answer.withLock { $0 = holds }
        return holds
    }
}

/// A part of an effect that returned, with what it keeps for the end.
struct EmitterAttempt<R: Reactor>: Sendable {
    let reply: R.Reply
    let kept: [R.Mutation]

    func keep(in emit: Emitter<R>) {
        for mutation in kept { emit.atEnd(mutation) }
    }
}

extension Emitter {
    /// Does something that may fail: what it keeps for the end counts only if it returns, and the caller takes it.
    func attempt(
        _ body: @Sendable (Emitter<R>) async throws -> R.Reply
    ) async throws -> EmitterAttempt<R> {
        let part = EmitterScope(partOf: scope)
        do {
            let reply = try await body(Emitter(part))
            return EmitterAttempt(reply: reply, kept: part.end())
        } catch {
            _ = part.end()
            throw error
        }
    }
}

/// One life of an effect, a feedback or a source, or a part of it.
final class EmitterScope<R: Reactor>: Sendable {
    let environment: any EffectEnvironment<R>
    let cause: EffectCause
    let start: RunStart?
    /// Tells lives of one cause apart.
    let lifetime: UInt64
    let idempotencyKey: String
    private let contents = Mutex(Contents())

    private let whole: EmitterScope?

    private struct Contents: Sendable {
        var isEnded = false
        var hasDropped = false
        var atEnd: [R.Mutation] = []
    }

    init(
        _ environment: any EffectEnvironment<R>, cause: EffectCause, start: RunStart?, lifetime: UInt64,
        idempotencyKey: String
    ) {
        self.environment = environment
        self.cause = cause
        self.start = start
        self.lifetime = lifetime
        self.idempotencyKey = idempotencyKey
        whole = nil
    }

    init(partOf whole: EmitterScope) {
        environment = whole.environment
        cause = whole.cause
        start = whole.start
        lifetime = whole.lifetime
        idempotencyKey = whole.idempotencyKey
        self.whole = whole
    }

    /// An emission was refused, because what it belongs to is no longer asked for, or has ended.
    func wasDropped() {
        contents.withLock { $0.hasDropped = true }
        whole?.wasDropped()
    }

    var hasDropped: Bool { contents.withLock { $0.hasDropped } }

    func checkLive() throws {
        try Task.checkCancellation()
        guard contents.withLock({ !$0.isEnded }) else { throw CancellationError() }
        try whole?.checkLive()
    }

    func atEnd(_ mutation: R.Mutation) {
        contents.withLock { if !$0.isEnded { $0.atEnd.append(mutation) } }
    }

    func takeAtEnd() -> [R.Mutation] {
        contents.withLock { contents in
            defer { contents.atEnd = [] }
            return contents.atEnd
        }
    }

    /// Ends the life; returns what is to be committed with the end.
    func end() -> [R.Mutation] {
        contents.withLock { contents in
            contents.isEnded = true
            return contents.atEnd
        }
    }
}

/// Where effects run: a node's runtime, or a test.
protocol EffectEnvironment<R>: Sendable {
    associatedtype R: Reactor
    var clock: any Clock<Duration> { get }
    var snapshot: Snapshot<R.State> { get }
    /// Commits mutations and waits until ``snapshot`` includes them.
    func emit(_ mutations: [R.Mutation], _ scope: EmitterScope<R>) async throws -> Place
    /// The same, unless `isWanted` says no of the state before them: then it throws `CancellationError`.
    ///
    /// Where it said no because the effect's own condition did not hold, the effect counts as asked for all the same.
    func emit(
        _ mutations: [R.Mutation], _ scope: EmitterScope<R>, _ condition: EmissionCondition?,
        while isWanted: @escaping @Sendable (R.State) -> Bool
    ) async throws -> Place
    /// Waits until a state is shown, not older than the call, of which `isWanted` says no.
    func wait(while isWanted: @escaping @Sendable (R.State) -> Bool) async throws
}
