import Lockstep

/// A reactor that uses what most do: JSON, plain containers, several mutations an action, errors.
struct Ledger: Reactor {
    enum Action: Codable, Sendable {
        case put(String, Int)
        case putAll([String: Int])
        case look(String)
        case refuse
        case fail
        case nothing
        case grow(Int)
        case unwritable
        case stamp
    }

    enum Mutation: Codable, Sendable {
        case put(String, Double)
        case tag(String)
        case stamped(LogTime, SequenceNumber)
    }

    struct State: Codable, Sendable, Equatable {
        var amounts: [String: Double] = [:]
        var tags: Set<String> = []
        var map: ReplicatedMap<String, Double> = [:]
        var stamps: [String] = []
    }

    enum Query: Codable, Sendable { case amount(String), refuse }

    struct Failure: Error, CustomStringConvertible {
        var description: String { "the ledger is wet" }
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .put(let name, let amount):
            return .emit(.put(name, Double(amount)), reply: "was \(context.state.amounts[name] ?? 0)")
        case .putAll(let amounts):
            let names = amounts.keys.sorted()
            return .emit(names.flatMap { [.put($0, Double(amounts[$0] ?? 0)), .tag($0)] }, reply: "\(names.count)")
        case .look(let name): return .none(reply: "\(context.state.amounts[name] ?? 0)")
        case .refuse: throw Rejection("no")
        case .fail: throw Failure()
        case .nothing: return .none(reply: "")
        case .grow(let count): return .emit(.tag(String(repeating: "x", count: count)), reply: "grown")
        case .unwritable: return .emit([.put("a", 1), .put("b", .infinity)], reply: "never")
        case .stamp: return .emit(.stamped(context.time, .zero), reply: "\(context.session) \(context.request)")
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .put(let name, let amount):
            state.amounts[name] = amount
            state.map[name] = amount
        case .tag(let tag): state.tags.insert(tag)
        case .stamped(let time, _):
            state.stamps.append("\(time) \(context.time) \(context.epoch):\(context.sequence)")
        }
    }

    static func answer(_ query: Query, in state: State) throws -> String {
        switch query {
        case .amount(let name): return "\(state.amounts[name] ?? 0)"
        case .refuse: throw Rejection("no such account")
        }
    }

    typealias Reply = String
    typealias Answer = String
}

/// The shortest reactor: its actions are its mutations, on the fast path.
struct Echo: Reactor {
    struct Action: Codable, Sendable, WireCodable, Equatable {
        var text: String
        init(_ text: String) { self.text = text }
        func encode(into writer: inout ByteWriter) { text.encode(into: &writer) }
        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            text = try String(from: bytes, &reader)
        }
    }

    var initialState: [String] { [] }

    static func reduce(into state: inout [String], _ mutation: Action, _ context: ReduceContext) {
        state.append(mutation.text)
    }
}
