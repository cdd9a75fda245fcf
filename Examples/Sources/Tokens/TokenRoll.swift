import Lockstep

/// Gives out the numbers 1, 2, 3 and so on: each once, to whoever asks next.
struct TokenRoll: Reactor {
    enum Action: Codable, Sendable { case take }

    enum Mutation: Codable, Sendable { case taken }

    struct State: Codable, Sendable {
        var taken = 0
    }

    enum Query: Codable, Sendable { case taken }

    /// The token's number.
    typealias Reply = Int

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<TokenRoll> {
        .emit(.taken, reply: context.state.taken + 1)
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        state.taken += 1
    }

    static func answer(_ query: Query, in state: State) throws -> Int { state.taken }
}
