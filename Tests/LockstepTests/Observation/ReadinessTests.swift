import Lockstep
import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// How far a store can be relied on, and what waits for it (SEMANTICS K40, K41, K43).
@Suite(.timeLimit(.minutes(5))) struct ReadinessTests {
    /// K41: a node without a primary is connecting; live and whole when it has caught up; stale without its primary;
    /// and stopped at the end.
    @Test func aReplicaGoesThroughItsStages() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let first = try primary.store(Echo(), named: "echo")
        #expect(first.readiness == .connecting)
        let (halted, halt) = AsyncStream.makeStream(of: Void.self)
        let (addresses, address) = AsyncStream.makeStream(of: String.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await withRunning(primary) {
                    try await first.whenReady()
                    _ = try await first.send(contentsOf: (0..<100).map { Echo.Action("\($0)") })
                    address.yield(await primary.listening())
                    for await _ in halted {}
                }
            }
            group.addTask {
                var places = addresses.makeAsyncIterator()
                guard let place = await places.next() else { return }
                let replica = try Node(.replica(of: place))
                let second = try replica.store(Echo(), named: "echo")
                #expect(second.readiness == .connecting)
                let (seen, sight) = AsyncStream.makeStream(of: StoreReadiness.self)
                let changes = second.readinessChanges
                let watching = Task {
                    for await readiness in changes { sight.yield(readiness) }
                    sight.finish()
                }
                try await withRunning(replica) {
                    try await second.whenReady()
                    #expect(second.readiness == .live && second.state.count == 100)
                    halt.finish()
                    for await readiness in second.readinessChanges where readiness == .stale { break }
                    #expect(second.state.count == 100)
                }
                await watching.value
                var all: [StoreReadiness] = []
                for await readiness in seen { all.append(readiness) }
                #expect(all.first == .connecting && all.last == .stopped && all.contains(.live))
                #expect(second.readiness == .stopped)
                let stopped = await #expect(throws: LockstepError.self) { try await second.whenReady() }
                #expect(stopped?.code == .stopped)
            }
            try await group.waitForAll()
        }
        #expect(first.readiness == .stopped)
    }

    /// A replica that was never live has nothing of the cluster: it shows no state, answers no read, and whoever waits for
    /// it can be cancelled (PROTOCOL R-37).
    @Test func whatWasNeverLiveShowsNothing() async throws {
        let node = try Node(.replica(of: "tcp://127.0.0.1:9"))
        let store = try node.store(Echo(), named: "echo")
        let first = Task { () -> Int? in
            for await count in store.select(\.count) { return count }
            return nil
        }
        try await withRunning(node) {
            let session = await #expect(throws: LockstepError.self) {
                try await store.read(.session, timeout: .milliseconds(50)) { $0.count }
            }
            #expect(session?.code == .unavailable && session?.message == ReadRefusal.neverLive.text)
            let local = await #expect(throws: LockstepError.self) { try await store.read(.local) { $0.count } }
            #expect(local?.code == .unavailable && local?.message == ReadRefusal.neverLive.text)
            let waiting = Task { try await store.whenLive() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        #expect(await first.value == nil, "the loop ends with the node, and no state came")
        let stopped = await #expect(throws: LockstepError.self) { try await store.whenLive() }
        #expect(stopped?.code == .stopped)
    }

    /// What observers of a replica see first is a state of the cluster, never the initial one, and it is there when
    /// `whenLive` returns (PROTOCOL R-37).
    @Test func observersBeginWithAStateOfTheCluster() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let source = try primary.store(Echo(), named: "echo")
        let before = Task { () -> Place? in
            for await snapshot in source.states { return snapshot.place }
            return nil
        }
        try await withRunning(primary) {
            try await source.whenLive()
            #expect(await before.value.map { $0 > .start } == true)
            _ = try await source.send(contentsOf: (0..<200).map { Echo.Action("\($0)") })
            let replica = try Node(.replica(of: await primary.listening()))
            let store = try replica.store(Echo(), named: "echo")
            let values = Task { () -> Int? in
                for await count in store.select(\.count) { return count }
                return nil
            }
            let every = Task { () -> Int? in
                for try await step in store.states(every: .fail) { return step.state.count }
                return nil
            }
            try await withRunning(replica) {
                try await store.whenLive()
                #expect(store.state.count == 200)
                #expect(try await store.read(.local) { $0.count } == 200)
                #expect(await values.value == 200)
                #expect(try await every.value == 200)
            }
        }
    }

    /// A remote store is live when a node answers for it; the end of its own node ends the wait (PROTOCOL R-37).
    @Test func aRemoteStoreIsLiveWhenANodeAnswers() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try primary.store(Echo(), named: "echo")
        try await withRunning(primary) {
            let client = try Node(.client(of: await primary.listening()))
            let remote = try client.remote(Echo.self, named: "echo")
            try await withRunning(client) { try await remote.whenLive() }
        }
        let lost = try Node(.client(of: "tcp://127.0.0.1:9"))
        let nowhere = try lost.remote(Echo.self, named: "echo")
        let waiting = Task { try await nowhere.whenLive() }
        try await withRunning(lost) {}
        let stopped = await #expect(throws: LockstepError.self) { try await waiting.value }
        #expect(stopped?.code == .stopped)
    }

    /// K40: attaching again ends what was bound before the new one begins, also for the same target; nil detaches.
    @Test func attachingAgainEndsWhatWasBound() async throws {
        let stage = Stage()
        let binding = Binding<String> { name in
            stage.note("bind \(name)")
            do { try await stage.pass(name) } catch { stage.note("end \(name)") }
        }
        // K41: only the last of those that were attached before anything ran is bound.
        binding.attach("never")
        binding.attach("a")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await binding.run() }
            await stage.noted("at a")
            binding.attach("a")
            await stage.noted("at a", count: 2)
            binding.attach("b")
            await stage.noted("at b")
            binding.attach(nil)
            await stage.noted("end b")
            binding.attach("c")
            await stage.noted("at c")
            group.cancelAll()
        }
        #expect(
            stage.trace == [
                "bind a", "at a", "end a", "bind a", "at a", "end a", "bind b", "at b", "end b", "bind c", "at c",
                "end c",
            ])
    }
}
