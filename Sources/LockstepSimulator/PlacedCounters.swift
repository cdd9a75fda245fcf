import Counters
import Lockstep

/// The real counters, with a trail of the place at which each mutation was reduced.
///
/// The counters' own state does not depend on places; this one does, so that a mutation which is reduced with the place
/// or time of another is seen by the digest, as it would be with a reactor that keeps places.
struct PlacedCounters: Reactor {
    typealias Action = Counters.Action
    typealias Mutation = Counters.Mutation
    typealias Reply = Counters.Reply
    typealias Query = Counters.Query
    typealias Answer = Counters.Answer

    struct State: Codable, Equatable, Sendable {
        var counters = Counters.State()
        /// A hash over the places and times of all mutations, in their order.
        var trail: UInt64 = 0
    }

    private static let counters = Scope<PlacedCounters, Counters>("counters", state: .property(\.counters)) {
        $0
    } action: {
        $0
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        try Self.counters.mutate(action, by: Counters(), context) { $0 }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        Counters.reduce(into: &state.counters, mutation, context)
        context.extend(&state.trail)
    }

    static func prefetch(actions: [Action], in state: State) { Counters.prefetch(actions: actions, in: state.counters) }

    static func prefetch(mutations: [Mutation], in state: State) {
        Counters.prefetch(mutations: mutations, in: state.counters)
    }

    static func answer(_ query: Query, in state: State) throws -> Answer {
        try Counters.answer(query, in: state.counters)
    }
}

extension ReduceContext {
    /// Goes on with a hash over places and times, and over what else is said of the entry.
    func extend(_ trail: inout UInt64, after others: [UInt64] = []) {
        for field in others + [epoch.rawValue, sequence.rawValue, UInt64(bitPattern: time.rawValue)] {
            trail = (trail ^ field) &* 0xA076_1D64_78BD_642F
            trail ^= trail >> 29
        }
    }
}
