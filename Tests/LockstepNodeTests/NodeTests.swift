import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// Whole nodes in one process, over TCP on loopback.
@Suite(.timeLimit(.minutes(5)))
struct NodeTests {
    /// PROTOCOL: a local primary without network answers each action once, in order.
    @Test
    func aLocalNodeAnswersEveryAction() async throws {
        let node = try Node(.local())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            #expect(try await port.add([1]) == [1])
            #expect(try await port.add([2, 3, 4]) == [3, 6, 10])
            let replies = try await port.submit([1, 0], count: 1, timeout: StorePort.patience)
            let outcomes = try replies.outcomes()
            #expect(outcomes.map(\.status) == [.rejected])
            #expect(outcomes.first.map { String(decoding: $0.reply, as: UTF8.self) } == "zero")
        }
    }

    /// Many callers at once, with one action and with many, are all answered; the sums they get are all different.
    @Test
    func manyCallersAreAllAnswered() async throws {
        let node = try Node(.local())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            let sums = try await withThrowingTaskGroup(of: [UInt64].self) { group in
                for task in 0..<64 {
                    group.addTask {
                        var sums: [UInt64] = []
                        for _ in 0..<20 {
                            sums += try await port.add(Array(repeating: 1, count: task.isMultiple(of: 2) ? 1 : 100))
                        }
                        return sums
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let expected: [UInt64] = Array(1...64_640)
            #expect(sums.sorted() == expected)
        }
    }

    /// PROTOCOL: client, primary and replica; after 10,000 actions the replica has the primary's digest,
    /// with what came before it joined and what came after.
    @Test
    func aReplicaFollowsWhatAClientSends() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let first = try primary.attach(name: "sum") { SumState() }
        try await withRunning(primary) {
            let endpoint = try await primary.listening()
            _ = try await first.add([7])
            let replica = try Node(.replica(of: endpoint))
            let second = try replica.attach(name: "sum") { SumState() }
            let client = try Node(.client(of: endpoint))
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(replica) {
                try await withRunning(client) {
                    var last: UInt64 = 0
                    for _ in 0..<10 { last = try await remote.add(Array(repeating: 1, count: 1_000)).last ?? 0 }
                    #expect(last == 10_007)
                    #expect(try await second.add([1]) == [10_008])

                    try await second.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
                    let own = try await second.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
                    #expect(try SumState.sum(own.answer) == 10_008)
                    let far = try await remote.ask(
                        [], level: .linearizable, minimum: .zero, timeout: StorePort.patience)
                    #expect(try SumState.sum(far.answer) == 10_008)
                    try await Self.expectEqual(first, second)
                }
            }
        }
    }

    /// PROTOCOL: a replica that comes late gets a snapshot if the window does not reach back, and the same state.
    @Test
    func aLateReplicaCatchesUp() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let first = try primary.attach(name: "sum") { SumState() }
        try await withRunning(primary) {
            let endpoint = try await primary.listening()
            for _ in 0..<5 { _ = try await first.add(Array(repeating: 3, count: 2_000)) }
            let replica = try Node(.replica(of: endpoint, journal: .memory))
            let second = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) {
                try await until { try await second.status().phase == .live }
                try await Self.expectEqual(first, second)
            }
        }
    }

    /// Two stores of one node have their own logs over one set of sockets (PROTOCOL R-4).
    @Test
    func storesOfOneNodeDoNotMix() async throws {
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let (left, right) = (
            try primary.attach(name: "left") { SumState() }, try primary.attach(name: "right") { SumState() }
        )
        try await withRunning(primary) {
            let client = try Node(.client(of: try await primary.listening()))
            let (toLeft, toRight) = (try client.attachRemote(name: "left"), try client.attachRemote(name: "right"))
            try await withRunning(client) {
                let sums = [
                    try await toLeft.add([1, 1]), try await toRight.add([5]), try await left.add([1]),
                    try await right.add([5]),
                ]
                #expect(sums == [[1, 2], [5], [3], [10]])
            }
        }
    }

    /// Batches come from the window first, then live, without holes.
    @Test
    func batchesAreFedInOrder() async throws {
        let node = try Node(.local())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            _ = try await port.add([1, 2, 3])
            let before = SequenceNumber(rawValue: try await port.status().commit)
            var iterator = port.batches(after: .zero).makeAsyncIterator()
            var position = SequenceNumber.zero
            while position < before {
                let batch = try #require(try await iterator.next())
                #expect(batch.head.first == position.next)
                position = batch.head.last
            }
            // The window is read; these come live.
            for _ in 0..<20 {
                async let next = port.add([1])
                let batch = try #require(try await iterator.next())
                #expect(batch.head.first == position.next)
                position = batch.head.last
                _ = try await next
            }
            // Within a batch: that batch comes again.
            var within = port.batches(after: SequenceNumber(rawValue: before.rawValue - 1)).makeAsyncIterator()
            let again = try #require(try await within.next())
            #expect(again.head.last == before)
        }
    }

    /// An action of a node that stopped is refused, not lost without a word.
    @Test
    func aStoppedNodeRefuses() async throws {
        let node = try Node(.local())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) { _ = try await port.add([1]) }
        await #expect { _ = try await port.add([1]) } throws: { ($0 as? LockstepError)?.code == .stopped }
        await #expect { try await node.run() } throws: { ($0 as? LockstepError)?.code == .stopped }
    }

    /// An effect that does not end when it is told to.
    private final class Lingering: RunExecutor {
        private let isReleased = Mutex(false)

        func release() { isReleased.withLock { $0 = true } }

        func run(port: StorePort) async {
            while !isReleased.withLock({ $0 }) { await Task.yield() }
        }
        func opened() {}
        func closed() {}
        func begin(_ run: RunStart) {}
        func stop(_ id: RunID) {}
        func emission(_ ticket: UInt64, _ outcome: EmissionOutcome) {}
        func runEnd(_ id: RunID, _ outcome: EmissionOutcome) {}
        func ended() {}
    }

    /// A node that waits for its effects has taken its last turn: nothing that comes then keeps its thread awake.
    @Test
    func nothingIsWaitedForAfterTheLastTurn() async throws {
        let node = try Node(.local())
        let effect = Lingering()
        let port = try node.attach(name: "sum", executor: effect) { SumState() }
        let run = Task { try await node.run() }
        defer {
            run.cancel()
            effect.release()
        }
        #expect(try await port.add([1]) == [1])
        let mailbox: Mailbox = try await withCheckedThrowingContinuation { continuation in
            port.inbox.ask(
                Errand(
                    run: { continuation.resume(returning: $0.mailbox) },
                    refuse: { continuation.resume(throwing: $0) }))
        }
        run.cancel()
        try await until { port.readiness.current == .stopped }
        mailbox.put { _ in }
        #expect(await !node.isWaiting)
        effect.release()
        try await run.value
    }

    /// Nobody answers: the action was not submitted, and the caller learns that it is without effect.
    @Test
    func aTimeLimitEndsTheWaitForAPrimary() async throws {
        let client = try Node(.client(of: "tcp://127.0.0.1:9"))
        let port = try client.attachRemote(name: "sum")
        try await withRunning(client) {
            await #expect {
                _ = try await port.submit([1, 1], count: 1, timeout: .milliseconds(50))
            } throws: {
                ($0 as? LockstepError)?.code == .timeout
            }
        }
    }

    /// A caller that is cancelled leaves at once.
    @Test
    func cancellationEndsTheWait() async throws {
        let client = try Node(.client(of: "tcp://127.0.0.1:9"))
        let port = try client.attachRemote(name: "sum")
        try await withRunning(client) {
            let task = Task { try await port.submit([1, 1], count: 1, timeout: nil) }
            task.cancel()
            await #expect(throws: CancellationError.self) { _ = try await task.value }
            let reader = Task { try await port.ask([], level: .linearizable, minimum: .zero, timeout: .seconds(30)) }
            reader.cancel()
            await #expect(throws: CancellationError.self) { _ = try await reader.value }
        }
    }

    /// Two primaries cannot have one address; the error names it.
    @Test
    func anAddressInUseIsNamed() async throws {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        try await withRunning(node) {
            let endpoint = try await node.listening()
            // Ports above the ephemeral range's beginning are refused by the configuration, so the socket is asked.
            guard let parsed = try? TCPEndpoint(endpoint, use: "test") else { return }
            let context = try TestContext()
            #expect { _ = try context.ingress(at: parsed) } throws: {
                let error = $0 as? LockstepError
                return error?.code == .addressInUse && error?.message.contains(endpoint) ?? false
            }
        }
    }

    /// An address that comes later, such as a tunnel's, is waited for if that is asked for, with a line in the log; the
    /// wait ends with the task.
    @Test
    func anAddressThatComesLaterIsWaitedFor() async throws {
        // Of the block for documentation, so no host has it.
        var configuration = NodeConfiguration.primary(listen: "tcp://203.0.113.7:24001", journal: .memory)
        configuration.allowsPlaintext = true
        let strict = try Node(configuration)
        await #expect { try await strict.run() } throws: {
            let error = $0 as? LockstepError
            return error?.code == .invalidConfiguration && error?.message.contains("203.0.113.7:24001") ?? false
        }
        configuration.waitsForAddress = true
        let record = LogRecord()
        let patient = try Node(configuration, logger: record.logger())
        try await withRunning(patient) {
            try await until { record.short.contains("info waiting for the address to listen at") }
        }
    }

    private static func expectEqual(_ first: StorePort, _ second: StorePort) async throws {
        // The primary may log a mark or an acknowledgement meanwhile; then both are asked again.
        try await until {
            let (left, right) = (try await first.status(), try await second.status())
            guard left.sequence == right.sequence, left.commit == left.sequence else { return false }
            #expect(left.digest == right.digest)
            #expect(left.hash == right.hash)
            return left.digest != nil
        }
    }
}
