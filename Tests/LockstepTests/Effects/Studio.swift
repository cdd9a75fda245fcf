import Lockstep
import Synchronization
import Testing

/// Where the effects of ``Studio`` wait for a test, so that nothing depends on time.
final class Stage: Sendable {
    private let contents = Mutex(Contents())

    private struct Contents: Sendable {
        var open: Set<String> = []
        var waiting: [String: [UInt64: CheckedContinuation<Void, any Error>]] = [:]
        var lastNumber: UInt64 = 0
        var trace: [String] = []
        var arrivals: [(prefix: String, count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    var trace: [String] { contents.withLock { $0.trace } }

    /// Notes that something happened.
    func note(_ text: String) {
        let arrived = contents.withLock { contents in
            contents.trace.append(text)
            let trace = contents.trace
            let isThere = { (prefix: String, count: Int) in trace.count { $0.hasPrefix(prefix) } >= count }
            let arrived = contents.arrivals.filter { isThere($0.prefix, $0.count) }
            contents.arrivals.removeAll { isThere($0.prefix, $0.count) }
            return arrived
        }
        for arrival in arrived { arrival.continuation.resume() }
    }

    /// Waits until `count` notes begin with this text.
    func noted(_ prefix: String, count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isThere = contents.withLock { contents in
                if contents.trace.count(where: { $0.hasPrefix(prefix) }) >= count { return true }
                contents.arrivals.append((prefix, count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits until the test opens the door of this name; throws when the task is cancelled.
    func pass(_ name: String) async throws {
        note("at \(name)")
        let number = contents.withLock { contents in
            contents.lastNumber += 1
            return contents.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = contents.withLock { contents in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if contents.open.contains(name) { return .success(()) }
                    contents.waiting[name, default: [:]][number] = continuation
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            let continuation = contents.withLock { $0.waiting[name]?.removeValue(forKey: number) }
            continuation?.resume(throwing: CancellationError())
        }
    }

    func open(_ name: String) {
        let waiting = contents.withLock { contents in
            contents.open.insert(name)
            return contents.waiting.removeValue(forKey: name) ?? [:]
        }
        for continuation in waiting.values { continuation.resume() }
    }
}

/// A reactor whose effects wait at the doors of a ``Stage``.
struct Studio: Reactor {
    enum Action: Codable, Sendable, Hashable {
        case say(String)
        /// Emits NAME 0, waits at the door NAME, emits NAME 1; the reply counts what the state holds of it.
        case work(String, Policy?)
        case fail(String)
        case stop(String)
        case stopByAction
        case ask(String?)
        case want([String])
        case tune([String: Int])
        case wake(String, Int64)
        case quiet(String)
        case refused
        case parts(String)
        case emitLate
        case resource(String, fails: Bool)
    }

    enum Policy: String, Codable, Sendable { case latest, first, serial, merge2, cancellable, byAction }

    enum Mutation: Codable, Sendable, Hashable {
        case said(String)
        case asked(String?)
        case wanted([String])
        case tuned([String: Int])
        case woken(String, LogTime)
        case fired(String, LogTime)
        case quieted(String)
    }

    struct State: Codable, Sendable, Equatable {
        var said: [String] = []
        var asked: String?
        var wanted: Set<String> = []
        var tuned: [String: Int] = [:]
        var timers = Timers<String, String>()
        var firedAt: [LogTime] = []
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String { "the string broke" }
    }

    typealias Reply = Int

    let stage: Stage
    var hooks: [Middleware<Self>] = []
    var feeds: [ExternalSource<Self>] = []
    var reactions: [Feedback<Self>] = []

    var initialState: State { State() }
    var middleware: [Middleware<Self>] { hooks }
    var sources: [ExternalSource<Self>] { feeds }
    var feedback: [Feedback<Self>] { reactions }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        let stage = stage
        switch action {
        case .say(let text): return .emit(.said(text), reply: context.state.said.count + 1)
        case .work(let name, let policy): return policed(work(name), policy)
        case .fail(let name):
            return .run { emit in
                try await emit(.said("\(name) 0"))
                throw Failure()
            }
        case .stop(let name): return .emit(.said("stop"), reply: 0).cancelling(EffectID("work", name))
        case .stopByAction: return .emit(.said("stop by action"), reply: 0)
        case .ask(let request): return .emit(.asked(request), reply: 0)
        case .want(let requests): return .emit(.wanted(requests), reply: 0)
        case .tune(let requests): return .emit(.tuned(requests), reply: 0)
        case .wake(let name, let after):
            return .emit(.woken(name, LogTime(rawValue: context.time.rawValue + after)), reply: 0)
        case .quiet(let name): return .emit(.quieted(name), reply: 0)
        case .refused: throw Rejection("refused")
        case .parts(let name):
            return .concat(.emit(.said("\(name) first"), reply: 0), work(name), .emit(.said("\(name) last"), reply: 7))
        case .emitLate:
            return .run { emit in
                stage.note("keeping")
                Late.emitter.withLock { $0 = emit }
                return 0
            }
        case .resource(let name, let fails):
            return .withResource {
                stage.note("acquire \(name)")
                return name
            } release: { name in
                stage.note("release \(name)")
            } _: { name, emit in
                try await stage.pass(name)
                if fails { throw Failure() }
                return 1
            }
        }
    }

    private func work(_ name: String) -> Effect<Self> {
        let stage = stage
        return .run { emit in
            stage.note("begin \(name) attempt \(emit.attempt)")
            let first = try await emit(.said("\(name) 0"))
            guard emit.snapshot.place >= first, emit.state.said.contains("\(name) 0") else { throw Failure() }
            try await stage.pass(name)
            let second = try await emit(.said("\(name) 1"))
            guard second > first else { throw Failure() }
            return emit.state.said.count { $0.hasPrefix("\(name) ") }
        }
    }

    private func policed(_ effect: Effect<Self>, _ policy: Policy?) -> Effect<Self> {
        switch policy {
        case nil: effect
        case .latest: effect.policy(.latest("work"))
        case .first: effect.policy(.first("work"))
        case .serial: effect.policy(.serial("work", queueLimit: 2))
        case .merge2: effect.policy(.merge("work", max: 2))
        case .cancellable: effect.cancellable(EffectID("work", "one"))
        case .byAction: effect.cancelled { $0 == .stopByAction }
        }
    }

    /// Where an effect leaves its emitter, to be used after its end.
    enum Late { static let emitter = Mutex<Emitter<Studio>?>(nil) }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .said(let text): state.said.append(text)
        case .asked(let request): state.asked = request
        case .wanted(let requests): state.wanted = Set(requests)
        case .tuned(let requests): state.tuned = requests
        case .woken(let name, let time): state.timers.schedule(name, at: time, name)
        case .quieted(let name): state.timers.cancel(name)
        case .fired(let name, let deadline):
            guard state.timers.fired(name, deadline: deadline) else { return }
            state.said.append("timer \(name)")
            state.firedAt.append(LogTime(rawValue: context.time.rawValue - deadline.rawValue))
        }
    }

    static func nextDue(in state: State) -> LogTime? { state.timers.next }

    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
        state.timers.due(at: time, limit: limit).map { .fired($0.id, $0.deadline) }
    }
}

/// Records an outcome that is not the expected one.
func unexpected(sourceLocation: SourceLocation = #_sourceLocation) {
    Issue.record("another outcome was expected", sourceLocation: sourceLocation)
}
