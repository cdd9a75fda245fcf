import Lockstep
import LockstepCore
import LockstepNode
import Testing

/// Queries that a client without a state watches, over real sockets (PROTOCOL ).
@Suite(.timeLimit(.minutes(5))) struct WatchTests {
    /// Goal: a client sees the answer, its changes and, whatever it misses, the newest, with places that do not go back;
    /// at a primary and at a replica.
    @Test func aClientWatchesAtAPrimaryAndAtAReplica() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let ledger = try primary.store(Ledger(), named: "ledger")
        try await withRunning(primary) {
            let replica = try Node(.replica(of: await primary.listening(), listen: "tcp://127.0.0.1:0"))
            let copy = try replica.store(Ledger(), named: "ledger")
            try await withRunning(replica) {
                try await copy.whenReady()
                for (round, endpoint) in [await primary.listening(), await replica.listening()].enumerated() {
                    let client = try Node(.client(of: endpoint))
                    let remote = try client.remote(Ledger.self, named: "ledger")
                    try await withRunning(client) {
                        try await watch(remote, written: ledger, 300 * round + 1...300 * round + 300)
                    }
                }
            }
        }
    }

    /// Writes the amounts after the first answer has come, so that there is a change to be told.
    private func watch(
        _ remote: RemoteStore<Ledger>, written ledger: Store<Ledger>, _ amounts: ClosedRange<Int>
    ) async throws {
        var writing: Task<Void, any Error>?
        var seen: [Double] = []
        var last = Place.start
        for try await amount in remote.watch(.amount("a"), atMost: .milliseconds(10)) {
            #expect(amount.place > last && amount.unavailable == nil)
            last = amount.place
            seen.append(try #require(Double(amount.answer)))
            if amount.answer == "\(Double(amounts.upperBound))" { break }
            writing =
                writing
                ?? Task {
                    for amount in amounts { _ = try await ledger.send(.put("a", amount)) }
                }
        }
        try await writing?.value
        #expect(seen == seen.sorted() && Set(seen).count == seen.count)
        #expect(seen.count > 1)
    }

    /// Goal: a slow consumer misses answers in between, and gets the newest.
    @Test func aSlowConsumerGetsTheNewest() async throws {
        try await withRemote { ledger, remote in
            var answers = remote.watch(.amount("a"), atMost: .milliseconds(10)).makeAsyncIterator()
            _ = try await ledger.send(.put("a", 1))
            while try await answers.next()?.answer != "1.0" {}
            // A second watch tells when the last value has come to this client.
            for amount in 2...50 { _ = try await ledger.send(.put("a", amount)) }
            for try await other in remote.watch(.amount("a"), atMost: .milliseconds(10)) where other.answer == "50.0" {
                break
            }
            var taken = 0
            while try await answers.next()?.answer != "50.0" { taken += 1 }
            #expect(taken <= 1)
        }
    }

    /// Goal: a query that the reactor refuses ends the watch with its reason; a watch ends with the loop, and others go on.
    @Test func aRefusedQueryEndsItsWatch() async throws {
        try await withRemote { ledger, remote in
            let refused = await #expect(throws: LockstepError.self) {
                for try await answer in remote.watch(.refuse) { Issue.record("\(answer)") }
            }
            #expect(refused?.code == .refused && refused?.message.contains("no such account") == true)
            for round in 1...3 {
                _ = try await ledger.send(.put("a", round))
                for try await amount in remote.watch(.amount("a")) where amount.answer == "\(Double(round))" { break }
            }
        }
    }

    /// Goal: a query above its limit is refused before it leaves, and the largest one is answered.
    @Test func aQueryAboveItsLimitIsRefused() async throws {
        try await withRemote { _, remote in
            let frame = try Ledger.queryCoding.encoded(.amount("")).count
            let large = Ledger.Query.amount(String(repeating: "x", count: Limits.actionBytes - frame + 1))
            let asked = await #expect(throws: LockstepError.self) { try await remote.ask(large) }
            let watched = await #expect(throws: LockstepError.self) {
                for try await answer in remote.watch(large) { Issue.record("\(answer)") }
            }
            for error in [asked, watched] {
                #expect(error?.code == .tooLarge)
                #expect(error?.message == "a query of 1048577 bytes is above the limit of 1048576")
            }
            let largest = Ledger.Query.amount(String(repeating: "x", count: Limits.actionBytes - frame))
            #expect(try await remote.ask(largest).answer == "0.0")
        }
    }

    /// Goal: a store watches so many queries; one more is told so, and goes when another has ended.
    @Test func aStoreWatchesSoManyQueries() async throws {
        try await withRemote { _, remote in
            var watches: [WatchedAnswers<Ledger>.Iterator] = []
            for _ in 0..<Limits.watchesOfConnection {
                watches.append(remote.watch(.amount("a")).makeAsyncIterator())
            }
            for index in watches.indices { _ = try await watches[index].next() }
            let full = await #expect(throws: LockstepError.self) {
                for try await answer in remote.watch(.amount("a")) { Issue.record("\(answer)") }
            }
            #expect(full?.code == .unavailable && full?.message.contains("1024") == true)
            watches.removeLast()
            for try await answer in remote.watch(.amount("a")) {
                #expect(!answer.answer.isEmpty)
                break
            }
        }
    }

    /// Goal: a watch ends with its node, and with its task.
    @Test func aWatchEndsWithItsNodeAndItsTask() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try primary.store(Ledger(), named: "ledger")
        try await withRunning(primary) {
            let client = try Node(.client(of: await primary.listening()))
            let remote = try client.remote(Ledger.self, named: "ledger")
            let (first, told) = AsyncStream.makeStream(of: Void.self)
            try await withRunning(client) {
                let cancelled = Task { () -> Int in
                    var count = 0
                    for try await _ in remote.watch(.amount("a")) { count += 1; told.yield() }
                    return count
                }
                for await _ in first { break }
                cancelled.cancel()
                let seen = try await cancelled.value
                #expect(seen == 1)
            }
            let second = try Node(.client(of: await primary.listening()))
            let other = try second.remote(Ledger.self, named: "ledger")
            let watching = Task {
                var count = 0
                for try await _ in other.watch(.amount("a")) { count += 1; told.yield() }
                return count
            }
            try await withRunning(second) { for await _ in first { break } }
            #expect(try await watching.value == 1)
        }
    }

    /// Runs a primary and a client of it.
    private func withRemote(
        _ body: @escaping @Sendable (Store<Ledger>, RemoteStore<Ledger>) async throws -> Void
    ) async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let ledger = try primary.store(Ledger(), named: "ledger")
        try await withRunning(primary) {
            let client = try Node(.client(of: await primary.listening()))
            let remote = try client.remote(Ledger.self, named: "ledger")
            try await withRunning(client) { try await body(ledger, remote) }
        }
    }
}
