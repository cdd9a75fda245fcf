import Lockstep

/// Counters and texts as a user's first reactor has them: `Codable`, so that all of it travels as JSON.
struct PlainCounters: Reactor {
    enum Action: Codable, Sendable {
        case add(String, Int)
        case put(String, String)
    }

    struct State: Codable, Sendable {
        var values: ReplicatedMap<String, Int> = [:]
        var texts: ReplicatedMap<String, String> = [:]
    }

    enum Query: Codable, Sendable { case totals }

    struct Totals: Codable, Sendable {
        var sum: Int
        var textBytes: Int
    }

    typealias Answer = Totals

    /// What the node of the benchmark calls the store.
    static let storeName = "plain"

    var initialState: State { State() }

    static func reduce(into state: inout State, _ mutation: Action, _ context: ReduceContext) {
        switch mutation {
        case .add(let name, let amount): state.values.updateValue(forKey: name, default: 0) { $0 &+= amount }
        case .put(let name, let text): state.texts[name] = text
        }
    }

    static func answer(_ query: Query, in state: State) throws -> Totals {
        Totals(
            sum: state.values.sorted().reduce(0) { $0 + $1.value },
            textBytes: state.texts.sorted().reduce(0) { $0 + $1.value.utf8.count })
    }
}
