import Lockstep
import Testing

/// The code of Clients.md.
@Suite(.timeLimit(.minutes(5))) struct ClientsPage {
    typealias Stock = GettingStartedPage.Stock

    func sell(in stock: RemoteStore<Stock>) async throws -> Int {
        let receipt = try await stock.send(.sell("pear"))
        let left = try await stock.ask(.amount("pear"), .session)  // includes the sale
        print("sold at \(receipt.place), \(left.answer) left at \(left.place)")
        return left.answer
    }

    func show(_ stock: RemoteStore<Stock>) async throws {
        for try await pears in stock.watch(.amount("pear"), atMost: .milliseconds(200)) {
            let note = pears.unavailable.map { " (\($0))" } ?? ""
            print("\(pears.answer) pears at \(pears.place)\(note)")
        }
    }

    func sellOnce(in stock: RemoteStore<Stock>) async throws {
        do {
            _ = try await stock.send(.sell("pear"), timeout: .seconds(2))
        } catch let error as LockstepError where error.code == .outcomeUnknown {
            guard let pending = error.pending else { throw error }
            for outcome in try await stock.outcomes(of: pending, timeout: .seconds(30)) {
                print(outcome)  // committed, rejected, or void: it never took effect
            }
        }
    }

    @Test func aClientSellsAndWatchesAsThePageSays() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let stock = try primary.store(Stock(), named: "stock")
        try await withRunning(primary) {
            _ = try await stock.send(.deliver("pear", 3))
            let client = try Node(.client(of: await primary.listening()))
            let remote = try client.remote(Stock.self, named: "stock")
            let showing = Task { try await show(remote) }
            try await withRunning(client) {
                #expect(try await sell(in: remote) == 2)
                try await sellOnce(in: remote)
                for try await pears in remote.watch(.amount("pear")) where pears.answer == 1 { break }
            }
            // It ends with its node, without an error.
            try await showing.value
        }
    }
}
