import Foundation
import Lockstep
import Synchronization

/// The reactor of the README and of docs/TESTING.md.
struct Votes: Reactor {
    enum Action: Codable, Sendable { case vote(String) }
    enum Mutation: Codable, Sendable { case counted(String) }
    struct State: Codable, Sendable, Equatable { var votes: ReplicatedMap<String, Int> = [:] }
    typealias Reply = Int
    enum Query: Codable, Sendable { case count(String) }
    typealias Answer = Int

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .vote(let name):
            guard !name.isEmpty else { throw Rejection("nobody was named") }
            return .emit(.counted(name), reply: context.state.votes[name, default: 0] + 1)
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .counted(let name): state.votes[name, default: 0] += 1
        }
    }

    static func answer(_ query: Query, in state: State) -> Answer {
        switch query {
        case .count(let name): state.votes[name, default: 0]
        }
    }
}

/// A log of texts, reduced in a way that a test chooses: every defect keeps what it did in the state.
protocol Notes: Reactor where Action == String, Mutation == String, State == NotesState, Reply == NoReply {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String]
}

struct NotesState: Codable, Sendable, Equatable {
    var notes: [String] = []
    var seen: Set<String> = []
}

extension Notes {
    var initialState: NotesState { NotesState() }

    static func reduce(into state: inout NotesState, _ mutation: String, _ context: ReduceContext) {
        state.seen.insert(mutation)
        state.notes += note(mutation, in: state, context)
    }
}

/// A function of its arguments.
struct RightNotes: Notes {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        ["\(context.sequence) \(context.time) \(text)"] + state.seen.sorted()
    }
}

/// The order of a set reaches the state.
struct SetOrderNotes: Notes {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        // Made anew, a set of the same texts has one order in a process only by chance.
        Array(Set(state.seen.map { "\($0)!" }))
    }
}

/// A hash value reaches the state: the same in one process, another in every other.
struct HashNotes: Notes {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        ["\(text.hashValue & 0xFFFF_FFFF)"]
    }
}

struct ClockNotes: Notes {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        ["\(Date().timeIntervalSince1970)"]
    }
}

struct RandomNotes: Notes {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        text == "c" ? ["\(Double.random(in: 0..<1))"] : [text]
    }
}

struct GlobalNotes: Notes {
    static let calls = Atomic<Int>(0)
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        ["\(calls.add(1, ordering: .relaxed).newValue)"]
    }
}

/// The hour of the day where the process runs.
struct TimeZoneNotes: Notes {
    static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
        let date = Date(timeIntervalSince1970: Double(context.time.rawValue) / 1_000_000)
        return ["\(TimeZone.current.secondsFromGMT(for: date))"]
    }
}

/// A field of the state that is not encoded, and so is missing where a replica joins from a snapshot.
struct ForgetfulCounter: Reactor {
    struct State: Codable, Sendable {
        var total = 0
        var last = 0
        private enum CodingKeys: CodingKey { case total }
        init() {}
    }
    typealias Action = Int
    typealias Mutation = Int
    var initialState: State { State() }
    static func reduce(into state: inout State, _ mutation: Int, _ context: ReduceContext) {
        state.total += mutation - state.last
        state.last = mutation
    }
}

/// What it decides uses chance and the clock, as it may; what it reduces does not.
struct Dice: Reactor {
    enum Action: Codable, Sendable { case roll }
    struct Mutation: Codable, Sendable { var eyes: Int }
    struct State: Codable, Sendable { var eyes: [Int] = [] }
    typealias Reply = Int
    var initialState: State { State() }
    func mutate(_ action: Action, _ context: Context) -> Effect<Self> {
        let eyes = Int.random(in: 1...6)
        return .emit(Mutation(eyes: eyes), reply: eyes)
    }
    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        state.eyes.append(mutation.eyes)
    }
}
