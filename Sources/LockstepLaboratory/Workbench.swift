package import Lockstep

/// What the laboratory's workloads work on: registers, lists, a set, accounts and documents, each of the simplest kind
/// that can go wrong.
package struct Workbench: Reactor {
    /// The store's name, on the nodes and in `lockstep init --store`.
    package static let store = "workbench"
    /// How many accounts there are, and what each begins with: the sum is the same for ever.
    package static let accounts = 10
    package static let balance: Int64 = 100

    package enum Action: Codable, Sendable {
        case write(String, Int64)
        case compareAndSet(String, expected: Int64?, new: Int64)
        case append(String, Int64)
        case insert(Int64)
        case transfer(from: Int, to: Int, amount: Int64)
        case replace(String, String)
    }

    package enum Mutation: Codable, Sendable {
        case written(String, Int64)
        case appended(String, Int64)
        case inserted(Int64)
        case transferred(from: Int, to: Int, amount: Int64)
        case replaced(String, String)
    }

    package struct State: Codable, Sendable {
        package var registers: ReplicatedMap<String, Int64> = [:]
        package var lists: ReplicatedMap<String, [Int64]> = [:]
        /// How often each element was inserted; always once, if every promise is kept.
        package var elements: ReplicatedMap<Int64, Int64> = [:]
        package var balances = Array(repeating: Workbench.balance, count: Workbench.accounts)
        package var documents: ReplicatedMap<String, String> = [:]
    }

    package enum Query: Codable, Sendable {
        case register(String)
        case list(String)
        /// The elements above one, in order, at most so many.
        case elements(after: Int64, limit: Int)
        case balances
        case document(String)
    }

    package enum Answer: Codable, Sendable {
        case value(Int64?)
        case list([Int64])
        case document(String?)
    }

    /// The register's value, the list's length, how often the element is there, the balance that was taken from, or the
    /// document's bytes.
    package typealias Reply = Int64

    package init() {}
    package var initialState: State { State() }

    package func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        let state = context.state
        switch action {
        case .write(let name, let value): return .emit(.written(name, value), reply: value)
        case .compareAndSet(let name, let expected, let new):
            guard state.registers[name] == expected else { throw Rejection("\(name) has another value") }
            return .emit(.written(name, new), reply: new)
        case .append(let name, let value):
            return .emit(.appended(name, value), reply: Int64((state.lists[name]?.count ?? 0) + 1))
        case .insert(let element):
            return .emit(.inserted(element), reply: (state.elements[element] ?? 0) + 1)
        case .transfer(let from, let to, let amount):
            guard state.balances.indices.contains(from), state.balances.indices.contains(to), amount >= 0 else {
                throw Rejection("there are \(Self.accounts) accounts, and amounts are not negative")
            }
            guard state.balances[from] >= amount else { throw Rejection("account \(from) has too little") }
            return .emit(
                .transferred(from: from, to: to, amount: amount),
                reply: state.balances[from] - (from == to ? 0 : amount))
        case .replace(let name, let text): return .emit(.replaced(name, text), reply: Int64(text.utf8.count))
        }
    }

    package static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .written(let name, let value): state.registers[name] = value
        case .appended(let name, let value): state.lists[name, default: []].append(value)
        case .inserted(let element): state.elements[element, default: 0] += 1
        case .transferred(let from, let to, let amount):
            state.balances[from] -= amount
            state.balances[to] += amount
        case .replaced(let name, let text): state.documents[name] = text
        }
    }

    package static func answer(_ query: Query, in state: State) throws -> Answer {
        switch query {
        case .register(let name): return .value(state.registers[name])
        case .list(let name): return .list(state.lists[name] ?? [])
        case .elements(let last, let limit):
            let rest = state.elements.sorted().filter { $0.key > last }.prefix(limit)
            return .list(rest.flatMap { Array(repeating: $0.key, count: Int($0.value)) })
        case .balances: return .list(state.balances)
        case .document(let name): return .document(state.documents[name])
        }
    }
}
