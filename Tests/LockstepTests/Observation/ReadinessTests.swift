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
                // Who comes late misses what did not last.
                let (begun, begin) = AsyncStream.makeStream(of: Void.self)
                let (shown, show) = AsyncStream.makeStream(of: Void.self)
                let changes = second.readinessChanges
                let watching = Task {
                    for await readiness in changes {
                        sight.yield(readiness)
                        begin.finish()
                        if readiness == .live { show.finish() }
                    }
                    sight.finish()
                }
                for await _ in begun {}
                try await withRunning(replica) {
                    try await second.whenReady()
                    #expect(second.readiness == .live && second.state.count == 100)
                    for await _ in shown {}
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

    /// Commits, observers and a history that are made before the store is live begin with a state of the cluster, too:
    /// what was there before is no commit of theirs (PROTOCOL R-37).
    @Test func commitsBeginWithAStateOfTheCluster() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let source = try primary.store(Echo(), named: "echo")
        try await withRunning(primary) {
            _ = try await source.send(contentsOf: (0..<200).map { Echo.Action("\($0)") })
            let replica = try Node(.replica(of: await primary.listening()))
            let store = try replica.store(Echo(), named: "echo")
            let (commits, observers, history) = (store.commits(), store.observers(), StateHistory(store))
            let (told, tell) = AsyncStream.makeStream(of: Int.self)
            observers.add { commit in tell.yield(commit.before.count) }
            try await withRunning(replica) {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        defer { tell.finish() }
                        try await observers.run()
                    }
                    group.addTask { try await history.run() }
                    while history.range.upperBound == .start { await Task.yield() }
                    // Each begins with the state that it finds, so that there has to be something after that.
                    group.addTask { while !Task.isCancelled { _ = try await source.send(Echo.Action("new")) } }
                    var counts = [try #require(history.snapshots.first).state.count]
                    for try await commit in commits {
                        counts.append(commit.before.count)
                        break
                    }
                    for await count in told {
                        counts.append(count)
                        break
                    }
                    #expect(counts.count == 3 && counts.allSatisfy { $0 >= 200 }, "\(counts)")
                    group.cancelAll()
                }
            }
        }
    }

    /// A node whose start fails ends whoever waits for its stores, and its error is the one that is thrown.
    @Test func aFailedStartEndsWhoeverWaits() async throws {
        // Below the ports that systems give away.
        let endpoint = "tcp://127.0.0.1:\(20_000 + 4 * Int.random(in: 2_600..<2_750))"
        let taken = NodeConfiguration.primary(listen: endpoint, journal: .memory)
        let first = try Node(taken)
        _ = try first.store(Echo(), named: "echo")
        try await withRunning(first) {
            _ = await first.listening()
            let waiting = try Node(taken)
            let store = try waiting.store(Echo(), named: "echo")
            let error = await #expect(throws: LockstepError.self) {
                try await waiting.whileRunning { for await _ in store.select(\.count) {} }
            }
            #expect(error?.code == .addressInUse, "the body returns, and the node's error is thrown")
            let second = try Node(taken)
            let late = try second.store(Echo(), named: "echo")
            let failures = late.failures()
            let reported = Task { () -> Int in
                var count = 0
                for await _ in failures { count += 1 }
                return count
            }
            let failed = await #expect(throws: LockstepError.self) {
                try await second.whileRunning { try await late.whenLive() }
            }
            #expect(failed?.code == .addressInUse)
            let read = await #expect(throws: LockstepError.self) { try await late.read(.local) { $0.count } }
            #expect(read?.code == .stopped)
            var changes: [StoreReadiness] = []
            for await readiness in late.readinessChanges { changes.append(readiness) }
            #expect(changes == [.stopped])
            #expect(await reported.value == 0)
            // Who subscribes later comes to the end, too.
            for await _ in late.failures() { unexpected() }
        }
    }

    /// Who follows the entries comes to the end of the sequence when the node stops in good order.
    @Test func entriesEndWithTheNode() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let (seen, sight) = AsyncStream.makeStream(of: Void.self)
        let count = Task { () -> Int in
            var count = 0
            for try await entry in store.entries(after: .zero) where !entry.mutations.isEmpty {
                count += 1
                sight.yield()
            }
            return count
        }
        try await withRunning(node) {
            _ = try await store.send(Echo.Action("a"))
            for await _ in seen { break }
        }
        #expect(try await count.value == 1)
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
