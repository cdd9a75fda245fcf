import Lockstep
import Logging
import ServiceLifecycle
import Testing
import UnixSignals

/// The code of GettingStarted.md.
@Suite(.timeLimit(.minutes(5))) struct GettingStartedPage {
    struct Stock: Reactor {
        enum Action: Codable, Sendable {
            case deliver(String, Int)
            case sell(String)
        }
        enum Mutation: Codable, Sendable {
            case changed(String, by: Int)
        }
        struct State: Codable, Sendable {
            var amounts: ReplicatedMap<String, Int> = [:]
        }
        typealias Reply = Int

        var initialState: State { State() }

        /// On the primary, once for each action.
        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .deliver(let article, let amount):
                guard (1...1_000_000).contains(amount) else { throw Rejection("deliver 1 to 1000000 pieces") }
                return .emit(.changed(article, by: amount), reply: amount)
            case .sell(let article):
                let left = context.state.amounts[article, default: 0]
                guard left > 0 else { throw Rejection("there is no \(article) left") }
                return .emit(.changed(article, by: -1), reply: left - 1)
            }
        }

        /// On every node, for each mutation.
        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .changed(let article, let amount): state.amounts[article, default: 0] += amount
            }
        }

        enum Query: Codable, Sendable { case amount(String) }

        static func answer(_ query: Query, in state: State) throws -> Int {
            switch query {
            case .amount(let article): state.amounts[article, default: 0]
            }
        }
    }

    func runPrimary(journal: JournalSource) async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:7400", journal: journal))
        let stock = try node.store(Stock(), named: "stock")
        try await node.whileRunning { try await use(stock) }
    }

    func serve(_ node: Node, logger: Logger) async throws {
        let group = ServiceGroup(
            services: [node], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await group.run()
    }

    func primaryAndReplica(at address: String) async throws -> Int {
        let primary = try Node(.primary(listen: address, journal: .memory))
        let replica = try Node(.replica(of: address))
        let stock = try primary.store(Stock(), named: "stock")
        let copy = try replica.store(Stock(), named: "stock")
        return try await primary.whileRunning {
            _ = try await stock.send(.deliver("pear", 2))
            return try await replica.whileRunning { try await copy.read(.linearizable) { $0.amounts["pear"] ?? 0 } }
        }
    }

    func use(_ stock: some ReadableStore<Stock>) async throws {
        _ = try await stock.send(.deliver("pear", 2))
        let receipt = try await stock.send(.sell("pear"))
        print("\(receipt.reply) left, entry \(receipt.place)")
        do {
            for _ in 0..<2 { _ = try await stock.send(.sell("pear")) }
        } catch let error as LockstepError where error.code == .rejected {
            print(error.message)  // there is no pear left
        }
    }

    func watch(_ stock: Store<Stock>) async {
        for await pears in stock.select({ $0.amounts["pear", default: 0] }) {
            print("pears: \(pears)")
        }
    }

    func read(_ stock: Store<Stock>) async throws {
        let now = stock.state.amounts["pear"]  // what this node has
        let mine = try await stock.read { $0.amounts["pear"] }  // with all that I was acknowledged
        let newest = try await stock.read(.linearizable) { $0.amounts["pear"] }  // with all that anybody was
        print(now ?? 0, mine ?? 0, newest ?? 0)
    }

    func askFromAfar() async throws {
        let node = try Node(.client(of: "tcp://127.0.0.1:7400"))
        let stock = try node.remote(Stock.self, named: "stock")
        try await node.whileRunning {
            let answer = try await stock.ask(.amount("pear"))
            print("\(answer.answer) pears at \(answer.place)")
        }
    }

    func sellAgain(_ stock: Store<Stock>) async throws {
        do {
            _ = try await stock.send(.sell("pear"), timeout: .seconds(2))
        } catch let error as LockstepError where error.code == .outcomeUnknown {
            guard let pending = error.pending else { throw error }
            for outcome in try await stock.outcomes(of: pending) {
                print(outcome)  // committed, rejected, or void: it never took effect
            }
        }
    }

    @Test func theStoreIsUsedAsThePageSays() async throws {
        let node = try Node(.local())
        let stock = try node.store(Stock(), named: "stock")
        try await withRunning(node) {
            try await use(stock)
            try await read(stock)
            #expect(try await stock.ask(.amount("pear")).answer == 0)
        }
    }
}
