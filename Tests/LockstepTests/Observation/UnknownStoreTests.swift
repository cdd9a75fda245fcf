import Lockstep
import LockstepCore
import LockstepNode
import Testing

/// Stores that a node is asked for and does not have (PROTOCOL R-9).
@Suite(.timeLimit(.minutes(5))) struct UnknownStoreTests {
    /// Goal: a replica or a client whose only store the node does not have ends, and names it; nobody waits for ever.
    @Test func aNodeWithoutAKnownStoreEnds() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try primary.store(Echo(), named: "echo")
        try await withRunning(primary) {
            let place = await primary.listening()
            let replica = try Node(.replica(of: place))
            let copy = try replica.store(Echo(), named: "ecko")
            let client = try Node(.client(of: place))
            let remote = try client.remote(Echo.self, named: "ecko")
            let observed = Task { for await _ in copy.select(\.count) { Issue.record("nothing is shown") } }
            let calls = [
                Task { try await copy.whenLive() }, Task { try await remote.whenLive() },
                Task { _ = try await copy.send(Echo.Action("a")) },
                Task { _ = try await remote.send(Echo.Action("a")) },
                Task { for try await _ in copy.entries(after: .zero) {} },
            ]
            for node in [replica, client] {
                let error = await #expect(throws: LockstepError.self) { try await node.run() }
                expectRefusal(error, of: "ecko", at: place)
            }
            for call in calls {
                let error = await #expect(throws: LockstepError.self) { try await call.value }
                expectRefusal(error, of: "ecko", at: place)
            }
            await observed.value
        }
    }

    /// Goal: a node with another store goes on, calls to the unknown one end, and it is live when the primary has it.
    @Test func aNodeWithAKnownStoreGoesOn() async throws {
        // Two primaries after each other at one address, which the system gives to nobody else.
        let place = "tcp://127.0.0.1:\(20_000 + 4 * Int.random(in: 2_200..<2_300))"
        var configuration = NodeConfiguration.primary(listen: place, journal: .memory)
        var generator = SystemRandomNumberGenerator()
        configuration.cluster = ClusterID(using: &generator)
        let first = try Node(configuration)
        _ = try first.store(Echo(), named: "echo")
        let running = Task { try await first.run() }
        let replica = try Node(.replica(of: place))
        let (known, unknown) = (
            try replica.store(Echo(), named: "echo"), try replica.store(Echo(), named: "later")
        )
        let next = configuration
        try await withRunning(replica) {
            try await known.whenLive()
            let calls: [@Sendable () async throws -> Void] = [
                { try await unknown.whenLive() }, { _ = try await unknown.send(Echo.Action("a")) },
                { _ = try await unknown.read(.session, timeout: .seconds(600)) { $0.count } },
                { _ = try await unknown.read(.linearizable, timeout: .seconds(600)) { $0.count } },
            ]
            for call in calls {
                let error = await #expect(throws: LockstepError.self) { try await call() }
                expectRefusal(error, of: "later", at: place)
            }
            #expect(known.readiness == .live && unknown.readiness == .connecting)
            running.cancel()
            try await running.value
            let second = try Node(next)
            for name in ["echo", "later"] { _ = try second.store(Echo(), named: name) }
            try await withRunning(second) {
                for await readiness in unknown.readinessChanges where readiness == .live { break }
                try await unknown.whenLive()
                #expect(try await unknown.send(Echo.Action("a")).place > .start)
            }
        }
    }

    private func expectRefusal(_ error: LockstepError?, of store: String, at place: String) {
        #expect(error?.code == .refused)
        for part in ["no store named \(store)", place, "init --add"] {
            #expect(error?.message.contains(part) == true, "\(part) in: \(error?.message ?? "")")
        }
    }
}
