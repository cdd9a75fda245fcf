import Lockstep

/// Switches by name: an action is its own mutation, and there are no queries.
struct Flags: Reactor {
    enum Action: Codable, Sendable {
        case set(String, to: Bool)
        case remove(String)
    }

    struct State: Codable, Sendable {
        var flags: ReplicatedMap<String, Bool> = [:]
    }

    var initialState: State { State() }

    static func reduce(into state: inout State, _ action: Action, _ context: ReduceContext) {
        switch action {
        case .set(let name, let isOn): state.flags[name] = isOn
        case .remove(let name): state.flags[name] = nil
        }
    }
}
