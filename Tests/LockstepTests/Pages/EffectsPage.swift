import Lockstep
import LockstepTesting
import Synchronization
import Testing

/// The code of Effects.md.
@Suite(.timeLimit(.minutes(5))) struct EffectsPage {
    struct Orders: Reactor {
        enum Action: Codable, Sendable {
            case order(String)
            case search(String)
            case cancelSearch
            case charge(Int)
            case load(Int)
            case stop
            case upload(Int)
            case publish
            case remind(String, after: Duration)
            case fetch
        }
        enum Mutation: Codable, Sendable {
            case ordered(String, number: Int)
            case found([String])
            case paid(Int, receipt: String)
            case failed(String)
            case uploaded(Int)
            case published
            case reminded(String, at: LogTime)
            case due(String, LogTime)
            case priced(Int)
            case stored(Int)
        }
        struct State: Codable, Sendable {
            var orders: [String] = []
            var hits: [String] = []
            var paid: [Int: String] = [:]
            var failures: [String] = []
            var toStore: Set<Int> = []
            var reminders = Timers<String, String>()
            var shown: [String] = []
            var price = 0
            var isPublished = false
        }

        var shop = Shop()
        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .order(let article):
                return .emit(.ordered(article, number: context.state.orders.count + 1))
            case .search(let text): return search(text)
            case .cancelSearch: return .cancel("search")
            case .charge(let amount): return charge(amount)
            case .load(let count): return load(count)
            case .stop: return .none
            case .upload(let part): return upload(part)
            case .publish: return publish()
            case .remind(let text, let delay): return .emit(.reminded(text, at: context.time.advanced(by: delay)))
            case .fetch: return fetch()
            }
        }

        private func search(_ text: String) -> Effect<Self> {
            .run { [shop] emit in
                try await emit.sleep(for: .milliseconds(300))
                let hits = try await shop.search(text)
                try await emit(.found(hits))
            }
            .policy(.latest("search"))
            .cancellable("search")
        }

        private func search(_ text: String, of user: String) -> Effect<Self> {
            search(text)
                .policy(.latest("search/\(user)"))  // in place of the one before: a user's newest
                .policy(.merge("backend", max: 4))  // and at most four of all users
        }

        private func charge(_ amount: Int) -> Effect<Self> {
            .run { [shop] emit in
                let receipt = try await shop.charge(amount, key: emit.idempotencyKey)
                emit.atEnd(.paid(amount, receipt: receipt))
            }
            .retry(RetryPolicy(attempts: 3))
            .timeout(.seconds(30))
            .recover { error, emit in
                emit.atEnd(.failed("\(error)"))
                return NoReply()
            }
        }

        private func load(_ count: Int) -> Effect<Self> {
            .run { emit in
                for part in 1...count where part > emit.emissionsBefore {
                    try await emit(.uploaded(part))
                }
            }
            .cancelled { action in if case .stop = action { true } else { false } }
        }

        private func upload(_ part: Int) -> Effect<Self> {
            .run { [shop] emit in
                try await shop.upload(part)
                emit.atEnd(.uploaded(part))
            }
            .policy(.serial("uploads", queueLimit: 16))
        }

        private func publish() -> Effect<Self> {
            .concat(
                .emit(.ordered("a page", number: 1)),
                .run { [shop] emit in try await shop.upload(1) },
                .emit(.published))
        }

        private func fetch() -> Effect<Self> {
            .withResource {
                try await shop.open()
            } release: { file in
                await file.close()
            } _: { file, emit in
                for line in await file.lines { try await emit(.uploaded(line)) }
                return NoReply()
            }
        }

        var feedback: [Feedback<Self>] {
            [
                .react("store", toEach: { $0.toStore }) { [shop] part, emit in
                    try await shop.upload(part)
                    try await emit(.stored(part))
                }
            ]
        }

        var sources: [ExternalSource<Self>] {
            [
                ExternalSource("prices") { [shop] emit in
                    for try await price in shop.prices() { try await emit(.priced(price)) }
                }
            ]
        }

        var middleware: [Middleware<Self>] {
            [
                .reject { action, context in
                    guard case .order = action, context.state.isPublished else { return nil }
                    return "the shop is closed"
                }
            ]
        }

        static func nextDue(in state: State) -> LogTime? { state.reminders.next }

        static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
            state.reminders.due(at: time, limit: limit).map { .due($0.id, $0.deadline) }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .ordered(let article, _): state.orders.append(article)
            case .found(let hits): state.hits = hits
            case .paid(let amount, let receipt): state.paid[amount] = receipt
            case .failed(let reason): state.failures.append(reason)
            case .uploaded(let part): state.toStore.insert(part)
            case .published: state.isPublished = true
            case .reminded(let text, let time): state.reminders.schedule(text, at: time, text)
            case .due(let text, let deadline):
                if state.reminders.fired(text, deadline: deadline) { state.shown.append(text) }
            case .priced(let price): state.price = price
            case .stored(let part): state.toStore.remove(part)
            }
        }
    }

    /// What stands for the world outside.
    struct Shop: Sendable {
        struct Declined: Error {}
        struct File: Sendable {
            var lines: [Int] { get async { [7, 8] } }
            func close() async {}
        }

        var declines = false

        func search(_ text: String) async throws -> [String] { [text.uppercased()] }
        func charge(_ amount: Int, key: String) async throws -> String {
            if declines { throw Declined() }
            return "receipt for \(amount)"
        }
        func upload(_ part: Int) async throws {}
        func open() async throws -> File { File() }
        func prices() -> AsyncThrowingStream<Int, any Error> {
            AsyncThrowingStream { continuation in
                continuation.yield(42)
                continuation.finish()
            }
        }
    }

    func follow(_ orders: Store<Orders>) async throws {
        let submitted = try orders.submit(.search("pears"))
        guard case .accepted(let run, let place) = try await submitted.accepted() else { return }
        print("\(run) is in the log at \(place)")
        await submitted.cancel()
        switch try await submitted.finished() {
        case .committed(let receipt): print("it was first, at \(receipt.place)")
        case .cancelled: print("nothing of it is committed from here on")
        case .failed(let reason, let emissions, _): print("\(reason), after \(emissions) emissions")
        default: break
        }
    }

    func report(_ orders: Store<Orders>) async {
        for await event in orders.failures() {
            if case .value(let failure) = event { print(failure) }
        }
    }

    /// F4: effects, sources and timers have one clock, which is the store's.
    @Test func theEffectsDoWhatThePageSays() {
        let store = TestStore(Orders())
        store.receive(.priced(42)) { $0.price = 42 }
        store.send(.search("pears"))
        store.advance(by: .milliseconds(100))
        store.send(.search("plums"))
        store.advance(by: .milliseconds(300))
        store.receive(.found(["PLUMS"])) { $0.hits = ["PLUMS"] }
        store.send(.charge(3))
        store.receive(.paid(3, receipt: "receipt for 3")) { $0.paid[3] = "receipt for 3" }
        store.send(.remind("lunch", after: .seconds(60))) {
            $0.reminders.schedule("lunch", at: store.now.advanced(by: .seconds(60)), "lunch")
        }
        let due = store.now.advanced(by: .seconds(60))
        store.advance(by: .seconds(60))
        store.receive(.due("lunch", due)) {
            $0.reminders.cancelAll()
            $0.shown = ["lunch"]
        }
        store.finish()
    }

    @Test func whatIsUploadedIsStoredByFeedback() {
        let store = TestStore(Orders())
        store.exhaustivity = .off
        store.send(.upload(5))
        store.send(.load(2))
        store.send(.fetch)
        store.send(.publish)
        store.advance(by: .zero)
        store.skipReceived()
        #expect(store.state.toStore.isEmpty && store.state.orders == ["a page"])
        store.send(.order("pear"), rejected: "the shop is closed")
        store.finish()
    }

    /// K12, O3: a failure can be turned into a mutation.
    @Test func aFailureCanBecomeAMutation() {
        let store = TestStore(Orders(shop: Shop(declines: true)))
        store.exhaustivity = .off
        store.send(.charge(3))
        store.advance(by: .seconds(60))
        store.skipReceived()
        #expect(store.state.failures == ["Declined()"])
        store.finish()
    }
}
