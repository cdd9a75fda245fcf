import Lockstep
import LockstepTesting
import Testing

/// The code of Testing.md.
@Suite(.timeLimit(.minutes(5))) struct TestingPage {
    struct Search: Reactor {
        enum Action: Codable, Sendable {
            case search(String)
            case clear
        }
        enum Mutation: Codable, Sendable {
            case typed(String)
            case found([String])
        }
        struct State: Codable, Sendable {
            var query = ""
            var results: [String] = []
        }

        var find: @Sendable (String) async throws -> [String] = { [$0.uppercased()] }
        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .search(""): throw Rejection("there is nothing to look for")
            case .search(let text):
                return .run { emit in
                    try await emit(.typed(text))
                    try await emit.sleep(for: .milliseconds(300))
                    try await emit(.found(try await find(text)))
                }.policy(.latest("search"))
            case .clear: return .emit([.typed(""), .found([])]).cancelling("search")
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .typed(let text): state.query = text
            case .found(let results): state.results = results
            }
        }
    }

    struct NotThere: Error {}

    @Test func theNewestSearchIsTheOnlyOne() {
        let store = TestStore(Search())
        store.send(.search("swi"))
        store.receive(.typed("swi")) { $0.query = "swi" }
        store.advance(by: .milliseconds(200))
        store.send(.search("swift"))
        store.receive(.typed("swift")) { $0.query = "swift" }
        store.advance(by: .milliseconds(300))
        store.receive(.found(["SWIFT"])) { $0.results = ["SWIFT"] }
        store.finish()
    }

    @Test func aFailureIsReceived() {
        let store = TestStore(Search { _ in throw NotThere() })
        store.send(.search("swift"))
        store.receive(.typed("swift")) { $0.query = "swift" }
        store.advance(by: .milliseconds(300))
        store.receiveFailure("NotThere()")
        store.finish()
    }

    @Test func theSearchGoesOnAfterARestart() {
        let store = TestStore(Search())
        store.exhaustivity = .off
        store.send(.search("swift"))
        store.restart()
        store.advance(by: .milliseconds(300))
        store.skipReceived()
        #expect(store.state.results == ["SWIFT"])
        store.finish()
    }

    @Test func decisionsAreSpecified() {
        spec(Search())
            .given { $0.results = ["SWIFT"] }
            .when(.clear)
            .then(.emits(.typed(""), .found([])), .cancels("search"), .state { $0.results = [] })
        spec(Search()).when(.search("")).then(.rejects("there is nothing to look for"), .unchanged)
        spec(Search()).when(.search("swift")).then(.defers(.latest("search")))
    }

    @MainActor final class SearchView {
        private let store: any ReadableStore<Search>
        private(set) var message = ""

        init(store: some ReadableStore<Search>) { self.store = store }

        func typed(_ text: String) async {
            do {
                _ = try await store.send(.search(text))
            } catch {
                message = (error as? LockstepError)?.message ?? "\(error)"
            }
        }
    }

    @MainActor @Test func aViewShowsTheReason() async {
        let stub = StubStore<Search>(state: Search.State()) { _ in .rejected("not today") }
        let view = SearchView(store: stub)
        await view.typed("swift")
        #expect(stub.actions.count == 1)
        #expect(view.message == "not today")
    }

    typealias Votes = LockstepPage.Votes

    /// S5, S13: what was acknowledged is on the disk, and the next primary goes on from it.
    @Test func aVoteSurvivesThePrimarysDeath() throws {
        let cluster = TestCluster(Votes(), replicas: 2)
        try cluster.send("Ada")
        cluster.kill(.primary)
        cluster.restart(.primary)
        try cluster.send("Ada")
        try cluster.settle()
        #expect(try cluster.state(of: .replica(2)).votes["Ada"] == 2)
    }

    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(of: Votes(), actions: ["Ada", "Grace", "Ada"])
    }
}
