import Lockstep
import NodeTesting
import Testing
import Todo

/// The program `todo`, restarted under a replica in this process, over loopback TCP and with a journal on disk.
@Suite(.timeLimit(.minutes(5))) struct NodeTests {
    /// A primary that is killed while tasks are syncing is followed by one that syncs them; a replica sees all of it.
    @Test func listAndSyncStatesSurviveAKill() async throws {
        try await withTemporaryFolder { folder in
            let address = try freeAddress()
            @Sendable func serve(delay: Int) throws -> ChildProcess {
                try ChildProcess(
                    "todo", "serve", "--data", folder + "/journal", "--listen", address, "--failures", "0",
                    "--min-delay", "\(delay)", "--max-delay", "\(delay)")
            }
            let replica = try Node(.replica(of: address))
            let list = try replica.store(Todo(), named: "todo")
            try await withRunning(replica) {
                // The first primary's service would take an hour.
                let first = try serve(delay: 3_600_000)
                _ = try await list.send(.add("Buy milk"))
                _ = try await list.send(.add("Call Ada"))
                _ = try await list.send(.setArchived(1, true))
                #expect(try await list.read { $0.items.map(\.sync) } == [.syncing, .syncing])
                first.kill()

                let second = try serve(delay: 10)
                let state = try await state(of: list) { $0.items.allSatisfy { $0.sync == .synced } }
                #expect(state.items.map(\.title) == ["Call Ada", "Buy milk"])
                #expect(state.items.map(\.isArchived) == [false, true])
                #expect(second.terminate() == 0)
            }
        }
    }
}
