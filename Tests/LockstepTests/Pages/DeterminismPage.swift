import Lockstep
import LockstepTesting
import Testing

/// The code of Determinism.md.
@Suite(.timeLimit(.minutes(5))) struct DeterminismPage {
    struct Draw: Reactor {
        enum Action: Codable, Sendable {
            case join(String)
            case draw
        }
        enum Mutation: Codable, Sendable {
            case joined(String)
            case drawn(String, prize: Int)
        }
        struct State: Codable, Sendable {
            var players: Set<String> = []
            var winners: [String] = []
            var joinedAt: [String: LogTime] = [:]
        }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .join(let name): return .emit(.joined(name))
            case .draw:
                guard let winner = context.state.players.randomElement() else { throw Rejection("nobody plays") }
                return .emit(.drawn(winner, prize: .random(in: 1...100)))
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .joined(let name):
                state.players.insert(name)
                state.joinedAt[name] = context.time
            case .drawn(let winner, let prize):
                state.winners.append("\(winner) won \(prize)")
                state.players.remove(winner)
            }
        }

        /// Wrong: another list on each node, since a `Set` has no order.
        static func listWrongly(_ state: inout State) { state.winners += state.players }

        /// Right: an order of one's own.
        static func list(_ state: inout State) { state.winners += state.players.sorted() }
    }

    /// K16, S15: the same log gives the same state in other processes; whatever is drawn, is drawn in `mutate`.
    @Test func theReducerIsDeterministic() throws {
        try checkDeterminism(of: Draw(), actions: [.join("Ada"), .join("Grace"), .draw, .draw])
    }
}
