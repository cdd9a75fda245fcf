import Lockstep
import LockstepTesting
import Testing

/// Emissions that depend on the state before them (SEMANTICS S9), and what an outcome counts (K12).
@Suite(.timeLimit(.minutes(5))) struct ConditionTests {
    /// A price in one currency; an effect fetches its rate.
    struct Prices: Reactor {
        enum Action: Codable, Sendable { case quote(String), change(String), fail(Int) }
        enum Mutation: Codable, Sendable, Hashable { case changed(String), rated(String), tried }
        struct State: Codable, Sendable, Equatable {
            var currency = "EUR"
            var rates: [String] = []
            var tries = 0
        }
        struct Broken: Error, CustomStringConvertible { var description: String { "broken" } }
        typealias Reply = Bool

        let stage: Stage
        var reactions: [Feedback<Self>] = []
        var initialState: State { State() }
        var feedback: [Feedback<Self>] { reactions }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .change(let currency): return .emit(.changed(currency), reply: true)
            case .quote(let currency):
                return .run { [stage] emit in
                    try await stage.pass(currency)
                    let place = try await emit(.rated(currency)) { $0.currency == currency }
                    // The effect goes on in any case.
                    try await emit(.tried)
                    return place != nil
                }
            case .fail(let count):
                return .run { emit in
                    for _ in 0..<count { try await emit(.tried) }
                    throw Broken()
                }
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .changed(let currency): state.currency = currency
            case .rated(let currency): state.rates.append(currency)
            case .tried: state.tries += 1
            }
        }
    }

    private func withPrices(
        _ prices: Prices, _ body: @escaping @Sendable (Store<Prices>, Stage) async throws -> Void
    ) async throws {
        let node = try Node(.local())
        let store = try node.store(prices, named: "prices")
        try await withRunning(node) { try await body(store, prices.stage) }
    }

    /// S9: of two effects that saw the same, the one whose condition holds no more commits nothing, and goes on.
    @Test func aConditionIsAskedOfTheStateBeforeTheMutation() async throws {
        try await withPrices(Prices(stage: Stage())) { store, stage in
            let old = try store.submit(.quote("EUR"))
            await stage.noted("at EUR")
            _ = try await store.send(.change("USD"))
            let new = try store.submit(.quote("USD"))
            stage.open("EUR")
            stage.open("USD")
            let replies = try await [old.finished().get().reply, new.finished().get().reply]
            #expect(replies == [false, true])
            let state = try await store.read { $0 }
            #expect(state == Prices.State(currency: "USD", rates: ["USD"], tries: 2))
        }
    }

    /// S9, F11: a feedback whose condition did not hold counts as asked for: it is not begun again.
    @Test func aConditionIsNoReasonToBeginAgain() async throws {
        let stage = Stage()
        var prices = Prices(stage: stage)
        prices.reactions = [
            .react("rate", to: { $0.currency }) { currency, emit in
                stage.note("begun \(currency)")
                let place = try await emit(.rated(currency)) { _ in false }
                stage.note("condition \(place == nil)")
            }
        ]
        try await withPrices(prices) { store, stage in
            await stage.noted("condition true")
            _ = try await store.send(.change("USD"))
            await stage.noted("begun USD")
            await stage.noted("condition true", count: 2)
            _ = try await store.send(.change("EUR"))
            await stage.noted("condition true", count: 3)
            #expect(stage.trace.filter { $0.hasPrefix("begun") } == ["begun EUR", "begun USD", "begun EUR"])
            let rates = try await store.read { $0.rates }
            #expect(rates.isEmpty)
        }
    }

    /// K12: what was emitted stays, and the outcome says how many entries that are.
    @Test func anOutcomeCountsItsEmissions() async throws {
        try await withPrices(Prices(stage: Stage())) { store, stage in
            guard case .failed("broken", 3, _) = try await store.submit(.fail(3)).finished() else {
                return unexpected()
            }
            let held = try store.submit(.quote("EUR"))
            await stage.noted("at EUR")
            await held.cancel()
            guard case .cancelled(0, _) = try await held.finished() else { return unexpected() }
            let tries = try await store.read { $0.tries }
            #expect(tries == 3)
        }
    }

    /// The same in a test of a user's reactor.
    @Test func aTestStoreCountsThem() {
        let store = TestStore(Prices(stage: Stage()))
        let sent = store.send(.fail(2))
        store.receive(.tried) { $0.tries = 1 }
        store.receive(.tried) { $0.tries = 2 }
        store.receiveFailure("broken")
        guard case .failed("broken", 2, _) = store.outcome(of: sent) else { return unexpected() }
        store.finish()
    }
}
