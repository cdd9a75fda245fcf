import Lockstep
import LockstepNode
import Testing

/// Stores on running nodes: one without network, and a primary, a replica and a client in one process.
@Suite(.timeLimit(.minutes(5))) struct StoreTests {
    /// PROTOCOL: each action is answered once, with its reply, its place and its number.
    @Test func anActionIsAnsweredWithItsReceipt() async throws {
        let node = try Node(.local())
        let ledger = try node.store(Ledger(), named: "ledger")
        #expect(ledger.name == "ledger")
        #expect(ledger.state == Ledger().initialState && ledger.place == .start)
        try await withRunning(node) {
            let first = try await ledger.send(.put("a", 1))
            let second = try await ledger.send(.put("a", 2))
            #expect(first.reply == "was 0.0" && second.reply == "was 1.0")
            #expect(first.session == second.session && first.number + 1 == second.number)
            #expect(first.place < second.place)
            let rejected = await #expect(throws: LockstepError.self) { try await ledger.send(.refuse) }
            #expect(rejected?.code == .rejected && rejected?.message == "no")
            let failed = await #expect(throws: LockstepError.self) { try await ledger.send(.fail) }
            #expect(failed?.code == .rejected && failed?.message == "the ledger is wet")
            let large = await #expect(throws: LockstepError.self) {
                try await ledger.send(.look(String(repeating: "x", count: 1 << 20)))
            }
            #expect(large?.code == .tooLarge)
        }
    }

    /// Many actions at once keep their order, over several frames, and are looked at one by one.
    @Test func manyActionsKeepTheirOrder() async throws {
        let node = try Node(.local())
        let echo = try node.store(Echo(), named: "echo")
        let ledger = try node.store(Ledger(), named: "ledger")
        try await withRunning(node) {
            let texts = (0..<10_000).map { "text \($0)" }
            let outcomes = try await echo.send(contentsOf: texts.map { Echo.Action($0) })
            #expect(outcomes.count == 10_000 && Array(outcomes).count == 10_000)
            #expect(try await echo.read { $0 } == texts)
            let mixed = Array(try await ledger.send(contentsOf: [.put("a", 1), .refuse, .look("a")]))
            #expect(try mixed[0].get().reply == "was 0.0")
            guard case .rejected(let reason, let place) = mixed[1] else {
                Issue.record("the second action should be rejected")
                return
            }
            #expect(reason == "no")
            #expect(try mixed[2].get().place > place)
            #expect(try await ledger.send(contentsOf: []).count == 0)
        }
    }

    /// PROTOCOL R-16: a session's read sees its own write, a linearizable one everybody's.
    @Test func readsAreAsFreshAsAsked() async throws {
        let node = try Node(.local())
        let one = try node.store(Ledger(), named: "ledger")
        try await withRunning(node) {
            for amount in 1...50 {
                let place = try await one.send(.put("a", amount)).place
                let snapshot = try await one.snapshot(.session)
                #expect(snapshot.state.amounts["a"] == Double(amount) && snapshot.place >= place)
            }
            #expect(try await one.read(.linearizable) { $0.amounts["a"] } == 50)
            #expect(try await one.ask(.amount("a")).answer == "50.0")
            let refused = await #expect(throws: LockstepError.self) { try await one.ask(.refuse) }
            #expect(refused?.code == .refused && refused?.message == "no such account")
        }
    }

    /// Observers get the current state, then newer ones, and end with the node.
    @Test func observersSeeTheNewestStateAndEndWithTheNode() async throws {
        let ledger: Store<Ledger>
        let watching: Task<[Double], Never>
        do {
            let node = try Node(.local())
            ledger = try node.store(Ledger(), named: "ledger")
            let amounts = ledger.select { $0.amounts["a"] ?? 0 }
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            watching = Task {
                var seen: [Double] = []
                for await amount in amounts {
                    seen.append(amount)
                    begin.finish()
                }
                return seen
            }
            try await withRunning(node) {
                _ = try await ledger.send(.put("a", 1))
                for await _ in begun {}
                for amount in 2...200 { _ = try await ledger.send(.put("a", amount)) }
                for await snapshot in ledger.states where snapshot.state.amounts["a"] == 200 { break }
            }
        }
        let seen = await watching.value
        #expect(seen.first.map { $0 <= 1 } == true && seen.last == 200)
        #expect(seen == seen.sorted() && Set(seen).count == seen.count)
        let stopped = await #expect(throws: LockstepError.self) { try await ledger.send(.nothing) }
        #expect(stopped?.code == .stopped)
    }

    /// Guarantee 15: who reads or asks after the node's end is told of it, however fresh the state is to be; who looks
    /// still sees the last one.
    @Test func readsEndWithTheNode() async throws {
        let node = try Node(.local())
        let ledger = try node.store(Ledger(), named: "ledger")
        try await withRunning(node) {
            _ = try await ledger.send(.put("a", 1))
            #expect(try await ledger.read(.session) { $0.amounts["a"] } == 1)
            #expect(try await ledger.read(.local) { $0.amounts["a"] } == 1)
        }
        await expectStopped(ledger)
        #expect(ledger.state.amounts["a"] == 1)
        // Its node is gone, and never ran.
        let orphan = try Node(.local()).store(Ledger(), named: "ledger")
        await expectStopped(orphan)
    }

    private func expectStopped(_ ledger: Store<Ledger>) async {
        for consistency in [ReadConsistency.local, .session, .linearizable] {
            let read = await #expect(throws: LockstepError.self) {
                try await ledger.read(consistency) { $0.amounts["a"] }
            }
            let asked = await #expect(throws: LockstepError.self) { try await ledger.ask(.amount("a"), consistency) }
            #expect(read?.code == .stopped && asked?.code == .stopped, "\(consistency)")
        }
    }

    /// Every committed action comes in order, from the beginning or from any entry on, also within a batch.
    @Test func entriesComeFromAnyPlaceOn() async throws {
        let node = try Node(.local())
        let ledger = try node.store(Ledger(), named: "ledger")
        try await withRunning(node) {
            let receipts = try await ledger.send(contentsOf: (1...100).map { .put("a", $0) }).map { try $0.get() }
            _ = try await ledger.send(contentsOf: [.refuse])
            let all = try await take(101, from: ledger.entries(after: .zero))
            #expect(all.prefix(100).map(\.place) == receipts.map(\.place))
            #expect(all.prefix(100).compactMap(\.number) == receipts.map(\.number))
            #expect(all.last?.rejection == "no" && all.last?.mutations.isEmpty == true)
            let middle = receipts[49].place.sequence
            let rest = try await take(51, from: ledger.entries(after: middle))
            #expect(rest.map(\.place) == all.suffix(51).map(\.place))
            guard case .put(_, let amount) = rest[0].mutations.first else {
                Issue.record("the entry should have its mutation")
                return
            }
            #expect(amount == 51)
        }
    }

    private func take<R: Reactor>(_ count: Int, from entries: Entries<R>) async throws -> [LoggedEntry<R>] {
        var taken: [LoggedEntry<R>] = []
        for try await entry in entries {
            taken.append(entry)
            if taken.count == count { break }
        }
        return taken
    }

    /// PROTOCOL: the same store type on both nodes; a client has the same calls and no state.
    @Test func aReplicaAndAClientUseTheSameStore() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let first = try primary.store(Ledger(), named: "ledger")
        try await withRunning(primary) {
            let endpoint = await primary.listening()
            let replica = try Node(.replica(of: endpoint))
            let second = try replica.store(Ledger(), named: "ledger")
            let client = try Node(.client(of: endpoint))
            let remote = try client.remote(Ledger.self, named: "ledger")
            _ = try await first.send(.put("a", 1))
            try await withRunning(replica) {
                try await withRunning(client) { try await exercise(second, remote) }
            }
        }
    }

    /// PROTOCOL R-43: a read does not wait for what a log had that is gone, neither one that was under way nor a later
    /// one; it waits for what the log that is there has acknowledged.
    @Test func noReadWaitsForALogThatIsGone() async throws {
        // Below the ports that systems give away.
        let endpoint = "tcp://127.0.0.1:\(20_000 + 4 * Int.random(in: 2_300..<2_600))"
        let cluster = ClusterID(rawValue: 43)
        let client = try Node(.client(of: endpoint))
        let remote = try client.remote(Ledger.self, named: "ledger")
        try await withRunning(client) {
            try await withRunning(try Self.primary(at: endpoint, of: cluster)) {
                for amount in 1...100 { _ = try await remote.send(.put("a", amount)) }
                #expect(try await remote.ask(.amount("a")).answer == "100.0")
            }
            let underWay = Task { try await remote.ask(.amount("a"), .session, timeout: .seconds(30)).answer }
            try await withRunning(try Self.primary(at: endpoint, of: cluster)) {
                let early = try await underWay.value
                #expect(early.hasPrefix("0"))
                _ = try await remote.send(.put("a", 7))
                #expect(try await remote.ask(.amount("a"), .session, timeout: .seconds(10)).answer == "7.0")
            }
        }
    }

    private static func primary(at endpoint: String, of cluster: ClusterID) throws -> Node {
        var configuration = NodeConfiguration.primary(listen: endpoint, journal: .memory)
        configuration.cluster = cluster
        let node = try Node(configuration)
        _ = try node.store(Ledger(), named: "ledger")
        return node
    }

    private func exercise(_ second: Store<Ledger>, _ remote: RemoteStore<Ledger>) async throws {
        #expect(try await second.send(.put("a", 2)).reply == "was 1.0")
        #expect(try await second.read { $0.amounts["a"] } == 2)
        #expect(try await remote.send(.put("a", 3)).reply == "was 2.0")
        #expect(try await remote.ask(.amount("a")).answer == "3.0")
        #expect(try await second.read(.linearizable) { $0.amounts["a"] } == 3)
        let refused = await #expect(throws: LockstepError.self) { try await remote.ask(.refuse) }
        #expect(refused?.code == .refused)
        let rejected = await #expect(throws: LockstepError.self) { try await remote.send(.fail) }
        #expect(rejected?.message == "the ledger is wet")
        #expect(try await remote.send(contentsOf: [.look("a"), .nothing]).replies() == ["3.0", ""])
    }

    /// A store belongs to a node that has its state, a remote store to one that has not; names are used once.
    @Test func wrongStoresAreRefused() throws {
        let node = try Node(.local())
        _ = try node.store(Ledger(), named: "a")
        let client = try Node(.client(of: "tcp://127.0.0.1:7400"))
        for attempt: () throws -> Void in [
            { _ = try node.store(Ledger(), named: "a") }, { _ = try node.store(Ledger(), named: "") },
            { _ = try node.remote(Ledger.self, named: "b") }, { _ = try client.store(Ledger(), named: "a") },
        ] {
            let error = #expect(throws: LockstepError.self) { try attempt() }
            #expect(error?.code == .invalidConfiguration)
        }
    }
}
