import Foundation
import Lockstep
import LockstepTesting
import Synchronization

/// Looks up what matches a text, when nobody has typed for 300 ms.
struct Search: Reactor {
    enum Action: Codable, Sendable { case search(String) }
    enum Mutation: Codable, Sendable { case typed(String), found([String]) }
    struct State: Codable, Sendable {
        var query = ""
        var results: [String] = []
    }

    var initialState: State { State() }
    var find: @Sendable (String) async throws -> [String] = { [$0.capitalized] }

    func mutate(_ action: Action, _ context: Context) -> Effect<Self> {
        switch action {
        case .search(let text):
            .run { emit in
                try await emit(.typed(text))
                try await emit.sleep(for: .milliseconds(300))
                try await emit(.found(try await find(text)))
            }.policy(.latest("search"))
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .typed(let text): state.query = text
        case .found(let results): state.results = results
        }
    }
}

/// Jobs under every policy, with all ways to end them: each notes its steps in the state.
struct Jobs: Reactor {
    enum Action: Codable, Sendable {
        case note(String)
        case start(String, Policy?, seconds: Int)
        case steps(String)
        case atEnd(String)
        case fail(String)
        case stop(String)
        case stopAll
        case ask
        case attempt
        case reads
        case wait(seconds: Int)
        case onMain
        case flaky(failures: Int)
        case slow(seconds: Int)
    }
    enum Policy: String, Codable, Sendable { case merge, serial, latest, first }
    enum Mutation: Codable, Sendable { case noted(String), pair(String, String) }
    struct State: Codable, Sendable, Equatable { var notes: [String] = [] }
    typealias Reply = Int
    struct Broken: Error, CustomStringConvertible { var description: String }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .note(let text):
            guard !text.isEmpty else { throw Rejection("there is nothing to note") }
            return .emit(.noted(text), reply: context.state.notes.count + 1)
        case .start(let name, let policy, let seconds):
            let effect = Effect<Self>.run { emit in
                try await emit(.noted("\(name) begins"))
                try await emit.sleep(for: .seconds(seconds))
                try await emit(.noted("\(name) ends"))
                return emit.state.notes.count
            }.cancellable(EffectID(name)).cancelled { if case .stopAll = $0 { true } else { false } }
            return switch policy {
            case .merge: effect.policy(.merge("jobs", max: 2))
            case .serial: effect.policy(.serial("jobs", queueLimit: 1))
            case .latest: effect.policy(.latest("jobs"))
            case .first: effect.policy(.first("jobs"))
            case nil: effect
            }
        case .steps(let text):
            return .run { emit in
                for step in 1...3 { try await emit(.noted("\(text) \(step)")) }
                return 3
            }
        case .atEnd(let text):
            return .run { emit in
                try await emit(contentsOf: [.noted(text), .pair(text, text)])
                emit.atEnd(.noted("\(text) at the end"))
                return 7
            }
        case .fail(let reason): return .run { _ in throw Broken(description: reason) }
        case .stop(let name): return Effect.none(reply: 0).cancelling(EffectID(name))
        case .stopAll: return .none(reply: 0)
        case .ask: return .run { _ in await Outside.shared.answer() }
        case .attempt:
            return .run { emit in
                try await emit(.noted("attempt \(emit.attempt)"))
                try await emit.sleep(for: .seconds(1))
                emit.atEnd(.noted("done in attempt \(emit.attempt)"))
                return emit.attempt
            }
        case .onMain:
            return .run { emit in
                let answer = await MainActor.run { 5 }
                try await emit(.noted("main said \(answer)"))
                return answer
            }
        case .flaky(let failures):
            let count = Attempts()
            return .run { _ in
                let attempt = count.next()
                guard attempt > failures else { throw Broken(description: "attempt \(attempt)") }
                return attempt
            }.retry(
                RetryPolicy(
                    attempts: 3, backoff: .exponential(first: .seconds(1), factor: 2, limit: .seconds(9)), jitter: 0))
        case .slow(let seconds):
            return .run { emit in
                try await emit.sleep(for: .seconds(seconds))
                return seconds
            }.timeout(.seconds(2))
        case .wait(let seconds):
            return .run { emit in
                try await emit.sleep(for: .seconds(seconds))
                return seconds
            }
        case .reads:
            return .run { emit in
                for _ in 1...2 { try await emit(.noted("has \(emit.state.notes.count)")) }
                return emit.state.notes.count
            }
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .noted(let text): state.notes.append(text)
        case .pair(let first, let second): state.notes += [first, second]
        }
    }
}

final class Attempts: Sendable {
    private let count = Atomic<Int>(0)
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// Something that answers on a thread of its own.
final class Outside: Sendable {
    static let shared = Outside()

    func answer() async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: 42) }
        }
    }
}

/// The ball of PlayCatch, with a feedback that throws it back, a timer that ends the game, and a source of wind.
struct Catch: Reactor {
    enum Action: Codable, Sendable { case throwBall, play(seconds: Int), breakMachine }
    enum Mutation: Codable, Sendable { case thrown(by: String), ends(at: LogTime), over(LogTime), wind(Int), broken }
    struct State: Codable, Sendable {
        var holder = "human"
        var wind = 0
        var isOver = false
        var isBroken = false
        var timers = Timers<String, String>()
    }
    struct Worn: Error {}

    var wind: (@Sendable () -> AsyncStream<Int>)?
    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .throwBall: return .emit(.thrown(by: "human"))
        case .play(let seconds): return .emit(.ends(at: context.time.advanced(by: .seconds(seconds))))
        case .breakMachine: return .emit(.broken)
        }
    }

    var feedback: [Feedback<Self>] {
        [
            .react("machine", to: { $0.holder == "machine" ? $0.isBroken : nil }) { isBroken, emit in
                try await emit.sleep(for: .seconds(1))
                guard !isBroken else { throw Worn() }
                try await emit(.thrown(by: "machine"))
            }
        ]
    }

    var sources: [ExternalSource<Self>] {
        guard let wind else { return [] }
        return [
            ExternalSource("wind") { emit in
                for await strength in wind() {
                    guard strength >= 0 else { throw Worn() }
                    try await emit(.wind(strength))
                }
            }
        ]
    }

    static func nextDue(in state: State) -> LogTime? { state.timers.next }
    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
        state.timers.due(at: time, limit: limit).map { .over($0.deadline) }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .thrown(let thrower): state.holder = thrower == "human" ? "machine" : "human"
        case .ends(let time): state.timers.schedule("game", at: time, "over")
        case .over(let time): if state.timers.fired("game", deadline: time) { state.isOver = true }
        case .wind(let strength): state.wind = strength
        case .broken: state.isBroken = true
        }
    }
}

/// A reactor whose reducer, timers or feedback are wrong in a way that a test chooses.
struct Defect: Reactor {
    enum Action: String, Codable, Sendable {
        case random, timer, feedback, unreadable, unwritable

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            guard self != .unwritable else {
                throw EncodingError.invalidValue(self, .init(codingPath: [], debugDescription: "not this one"))
            }
            try container.encode(rawValue)
        }
    }
    enum Mutation: String, Codable, Sendable {
        case random, timer, feedback, fed, unreadable

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self == .unreadable ? "another" : rawValue)
        }
    }
    struct State: Codable, Sendable {
        var number = 0.0
        var timer: Int64?
        var asks = 0
    }

    var initialState: State { State() }
    var feedback: [Feedback<Self>] {
        [
            .react("loop", to: { $0.asks == 0 ? nil : $0.asks }) { _, emit in
                try await emit(.fed)
            }
        ]
    }

    func mutate(_ action: Action, _ context: Context) -> Effect<Self> {
        switch action {
        case .random: .emit(.random)
        case .timer: .emit(.timer)
        case .feedback: .emit(.feedback)
        case .unreadable, .unwritable: .emit(.unreadable)
        }
    }

    static func nextDue(in state: State) -> LogTime? { state.timer.map { LogTime(rawValue: $0) } }
    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] { [.fed] }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .random: state.number = Double.random(in: 0..<1)
        case .timer: state.timer = context.time.advanced(by: .seconds(1)).rawValue
        case .feedback: state.asks = 1
        case .unreadable: break
        case .fed: if state.asks > 0 { state.asks += 1 }
        }
    }
}

/// The texts of what a store reported.
func failures<R: Reactor>(
    _ reactor: R, exhaustivity: TestExhaustivity = .on, _ body: (TestStore<R>) -> Void
) -> [String] {
    let collected = CollectedFailures()
    let store = TestStore(reactor, reporter: collected.reporter)
    store.exhaustivity = exhaustivity
    body(store)
    store.skipReceived()
    store.skipEffects()
    return collected.texts
}
