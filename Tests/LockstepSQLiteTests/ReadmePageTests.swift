import Foundation
import Lockstep
import LockstepSQLite
import Testing

/// The code of README.md.
@Suite(.timeLimit(.minutes(5))) struct ReadmePageTests {
    struct Votes: Reactor {
        enum Action: Codable, Sendable { case vote(String) }
        enum Mutation: Codable, Sendable { case counted(String) }
        struct State: Codable, Sendable { var votes: ReplicatedMap<String, Int> = [:] }
        typealias Reply = Int

        var initialState: State { State() }

        /// On the primary, once for each action: it may refuse, and may use what it likes.
        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .vote(let name):
                guard !name.isEmpty else { throw Rejection("nobody was named") }
                return .emit(.counted(name), reply: context.state.votes[name, default: 0] + 1)
            }
        }

        /// On every node, for each mutation: a function of its arguments.
        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .counted(let name): state.votes[name, default: 0] += 1
            }
        }
    }

    func program() async throws {
        let journal = JournalSource.sqlite(at: "data/votes", create: true)
        let node = try Node(.primary(listen: "tcp://127.0.0.1:7400", journal: journal))
        let votes = try node.store(Votes(), named: "votes")
        try await node.whileRunning {
            let receipt = try await votes.send(.vote("Ada"))
            print("vote \(receipt.reply), entry \(receipt.place)")
        }
    }

    func use(_ votes: Store<Votes>) async throws {
        _ = try await votes.send(.vote("Ada"))  // goes to the primary
        let now = try await votes.read(.linearizable) { $0.votes["Ada"] }  // with all that anyone was acknowledged
        for await count in votes.select({ $0.votes["Ada"] }) { print(count ?? 0) }  // each change
        print(now ?? 0)
    }

    struct Search: Reactor {
        enum Action: Codable, Sendable { case search(String) }
        enum Mutation: Codable, Sendable { case found([String]) }
        struct State: Codable, Sendable { var hits: [String] = [] }
        var find: @Sendable (String) async throws -> [String] = { [$0] }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            let find = find
            switch action {
            case .search(let text):
                return .run { emit in
                    try await emit.sleep(for: .milliseconds(300))
                    try await emit(.found(try await find(text)))  // returns when it has committed
                }
                .policy(.latest("search"))  // a newer search takes this one's place
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .found(let hits): state.hits = hits
            }
        }
    }

    @Test func aVoteIsCountedAndASearchEnds() async throws {
        let node = try Node(.local())
        let votes = try node.store(Votes(), named: "votes")
        let search = try node.store(Search(), named: "search")
        let replies = try await node.whileRunning {
            _ = try await search.send(.search("pears"))
            let hits = try await search.read { $0.hits }
            return (try await votes.send(.vote("Ada")).reply, hits)
        }
        #expect(replies.0 == 1 && replies.1 == ["pears"])
    }
}
