import LockstepServer

/// What the page's programs are made of, and the page does not show.
extension OperatingYourProgramPage {
    /// A stock with room for so many pieces of an article.
    struct Stock: Reactor {
        enum Action: Codable, Sendable { case restock(String, pieces: Int) }
        struct State: Codable, Sendable { var amounts: ReplicatedMap<String, Int> = [:] }
        enum Query: Codable, Sendable { case count(String) }
        var room = Int.max

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            guard case .restock(_, let pieces) = action, pieces <= room else { throw Rejection("there is no room") }
            return .emit(action)
        }

        static func reduce(into state: inout State, _ action: Action, _ context: ReduceContext) {
            switch action {
            case .restock(let article, let pieces): state.amounts[article, default: 0] &+= pieces
            }
        }

        static func answer(_ query: Query, in state: State) throws -> Int {
            switch query {
            case .count(let article): state.amounts[article, default: 0]
            }
        }
    }

    struct Flags: Reactor {
        enum Action: Codable, Sendable { case set(String, to: Bool) }
        struct State: Codable, Sendable { var flags: ReplicatedMap<String, Bool> = [:] }

        var initialState: State { State() }

        static func reduce(into state: inout State, _ action: Action, _ context: ReduceContext) {
            switch action {
            case .set(let name, let isOn): state.flags[name] = isOn
            }
        }
    }
}
