import CounterWithHistory
import Lockstep
import LockstepSQLite
import NodeTesting
import Testing

/// The counter on a primary and two replicas, over loopback TCP and with a journal on disk.
@Suite(.timeLimit(.minutes(5))) struct NodeTests {
    private let name = "counter"

    /// Two replicas press at 9: one press counts, the other is refused, and everybody ends at 10.
    @Test func ofTwoPressesAtNineOneCounts() async throws {
        try await withTemporaryFolder { folder in
            let address = try freeAddress()
            let primary = try Node(.primary(listen: address, journal: .sqlite(at: folder, create: true)))
            let counter = try primary.store(CounterWithHistory(), named: name)
            let (one, two) = (try Node(.replica(of: address)), try Node(.replica(of: address)))
            let left = try one.store(CounterWithHistory(), named: name)
            let right = try two.store(CounterWithHistory(), named: name)
            try await withRunning(primary, one, two) {
                try await left.whenReady()
                try await right.whenReady()
                _ = try await counter.send(.set(9))

                let presses = [try left.submit(.increment), try right.submit(.increment)]
                var replies: [Int] = []
                var reasons: [String] = []
                for press in presses {
                    switch try await press.finished() {
                    case .committed(let receipt): replies.append(receipt.reply)
                    case .rejected(let reason, _): reasons.append(reason)
                    case let outcome: Issue.record("unexpected: \(outcome)")
                    }
                }
                #expect(replies == [10])
                #expect(reasons == ["Maximum reached"])
                for store in [counter, left, right] {
                    let state = try await store.snapshot(.linearizable).state
                    #expect(state.value == 10)
                    #expect(state.history.records.map(\.name) == ["set to 9", "increment"])
                }
            }
        }
    }

    /// A primary that is started again has the value and the history that it had.
    @Test func valueAndHistorySurviveARestart() async throws {
        try await withTemporaryFolder { folder in
            func life<Value: Sendable>(
                _ body: @escaping @Sendable (Store<CounterWithHistory>) async throws -> Value
            ) async throws -> Value {
                let node = try Node(.local(journal: .sqlite(at: folder, create: true)))
                let counter = try node.store(CounterWithHistory(), named: name)
                return try await withRunning(node) { try await body(counter) }
            }
            let before = try await life { counter in
                _ = try await counter.send(.set(7))
                _ = try await counter.send(.reset)
                _ = try await counter.send(.increment)
                return try await counter.snapshot(.session).state
            }
            try await life { counter in
                let after = try await counter.snapshot(.linearizable).state
                #expect(after == before)
                #expect(after.history.records.map(\.name) == ["set to 7", "reset", "increment"])
                #expect(try await counter.send(.undo).reply == 0)
                #expect(try await counter.send(.undo).reply == 7)
            }
        }
    }
}
