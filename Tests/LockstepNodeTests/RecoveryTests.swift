import LockstepCore
import LockstepNode
import ServiceLifecycleTestKit
import Synchronization
import Testing

/// Nodes that start again, and journals that fail.
@Suite(.timeLimit(.minutes(5)))
struct RecoveryTests {
    /// PROTOCOL: what was committed is there after a restart, in a higher epoch, and a replica follows again.
    @Test
    func aPrimaryGoesOnWhereItStopped() async throws {
        let log = KeptLog()
        let first = try Node(.local(journal: log.source))
        let port = try first.attach(name: "sum") { SumState() }
        let before = try await withRunning(first) {
            _ = try await port.add([1, 2, 3])
            return try await port.status()
        }
        let second = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: log.source))
        let again = try second.attach(name: "sum") { SumState() }
        try await withRunning(second) {
            let sums = try await again.add([4])
            #expect(sums == [10])
            let after = try await again.status()
            #expect(after.epoch > before.epoch)
            #expect(after.incarnation == before.incarnation)
            #expect(after.sequence > before.sequence)
            let replica = try Node(.replica(of: try await second.listening()))
            let copy = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) {
                try await copy.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
                let answer = try await copy.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
                #expect(try SumState.sum(answer.answer) == 10)
            }
        }
    }

    /// PROTOCOL R-45: a primary that starts on a full disk says so, answers local reads with what it has, and goes on by
    /// itself when there is room.
    @Test
    func aPrimaryThatStartsOnAFullDiskWaitsForRoom() async throws {
        let log = KeptLog()
        let first = try Node(.local(journal: log.source))
        let port = try first.attach(name: "sum") { SumState() }
        try await withRunning(first) { _ = try await port.add([1, 2]) }
        log.content.withLock { $0.fault = .diskFull }
        let second = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: log.source))
        let again = try second.attach(name: "sum") { SumState() }
        try await withRunning(second) {
            let endpoint = try await second.listening()
            try await until { try await again.status().alarms.contains { $0.kind == .diskFull } }
            let local = try await again.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
            #expect(try SumState.sum(local.answer) == 3)
            let client = try Node(.client(of: endpoint))
            let remote = try client.attachRemote(name: "sum")
            try await withRunning(client) {
                log.content.withLock { $0.fault = .none }
                let sums = try await remote.add([4])
                #expect(sums == [7])
            }
            let alarms = try await again.status().alarms
            #expect(alarms == [])
        }
    }

    /// A replica with a journal continues from it.
    @Test
    func aReplicaKeepsWhatItApplied() async throws {
        let log = KeptLog()
        let kept = KeptLog()
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: log.source))
        let port = try primary.attach(name: "sum") { SumState() }
        try await withRunning(primary) {
            let endpoint = try await primary.listening()
            let cluster = try await primary.status().cluster.flatMap { ClusterID(hexadecimal: $0) }
            for expected in [UInt64(5), 10] {
                _ = try await port.add([5])
                var configuration = NodeConfiguration.replica(of: endpoint, journal: kept.source)
                configuration.cluster = cluster
                let replica = try Node(configuration)
                let copy = try replica.attach(name: "sum") { SumState() }
                try await withRunning(replica) {
                    try await copy.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
                    let answer = try await copy.ask([], level: .local, minimum: .zero, timeout: StorePort.patience)
                    #expect(try SumState.sum(answer.answer) == expected)
                }
            }
        }
        #expect(kept.content.withLock { !$0.batches.isEmpty || $0.snapshot != nil })
    }

    /// The journal has grown: a snapshot is taken and saved, and the next start begins from it.
    @Test
    func aGrownJournalGetsASnapshot() async throws {
        let log = KeptLog()
        let first = try Node(.local(journal: log.source))
        let port = try first.attach(name: "sum") { SumState() }
        try await withRunning(first) {
            _ = try await port.add([1, 2, 3])
            log.content.withLock { $0.pretendedBytes = 1 << 30 }
            try await until { log.content.withLock { $0.savedSnapshots > 0 } }
        }
        let second = try Node(.local(journal: log.source))
        let again = try second.attach(name: "sum") { SumState() }
        let sums = try await withRunning(second) { try await again.add([4]) }
        #expect(sums == [10])
    }

    /// A replica's state runs ahead of a slow journal; its snapshots wait until the journal has come as far.
    @Test
    func aSlowJournalGetsNoSnapshotOfItsFuture() async throws {
        let kept = KeptLog()
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: KeptLog().source))
        let port = try primary.attach(name: "sum") { SumState() }
        try await withRunning(primary) {
            _ = try await port.add([1])
            var configuration = NodeConfiguration.replica(of: try await primary.listening(), journal: kept.source)
            configuration.cluster = try await primary.status().cluster.flatMap { ClusterID(hexadecimal: $0) }
            let replica = try Node(configuration)
            let copy = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) {
                try await copy.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
                try await until { kept.content.withLock { !$0.batches.isEmpty || $0.snapshot != nil } }
                kept.content.withLock {
                    $0.holdsAppends = true
                    $0.pretendedBytes = 1 << 30
                }
                // Marks come once a second while something is written; after the next one a snapshot is encoded.
                try await until {
                    _ = try await port.add([1])
                    let metrics = try await copy.status().counters
                    return metrics["digest_checks", default: 0] >= 4
                }
                #expect(kept.content.withLock { $0.savedSnapshots } == 0)
                kept.content.withLock { $0.holdsAppends = false }
                try await until { kept.content.withLock { $0.savedSnapshots > 0 } }
            }
        }
        #expect(kept.content.withLock { $0.wrongSaves } == 0)
    }

    /// Has the journal hold a replica up, and more frames come on its link than a turn takes; whether it is held up,
    /// and what two turns say of what is left.
    private static func turnsOfAHeldUp(_ host: StoreHost) -> (isHeldUp: Bool?, rest: [Bool]) {
        let now = MonotonicClock.now
        let store = StoreID(rawValue: 9)
        var batch = BatchBuilder(store: store, epoch: Epoch(rawValue: 1), after: .start(of: store), time: .zero)
        batch.append(.sessionAck([]))
        let sealed = batch.sealed()
        let large = SealedBatch(
            head: sealed.head, hash: sealed.hash, bytes: [UInt8](repeating: 0, count: Limits.unpersistedBytes))
        host.replica?.desk.append([large], now: now)
        for _ in 0..<65 { host.links.linkRing.append(.copied([0]), from: .local) }
        return (host.replica?.isHeldUp, [host.handleLinks(now: now), host.handleLinks(now: now)])
    }

    /// A journal that is behind holds up the stream of its replica, and not what its own callers get: a turn that
    /// leaves frames of the link is followed by another at once.
    @Test
    func aReplicaThatIsHeldUpHandlesItsLink() async throws {
        let kept = KeptLog()
        kept.content.withLock { $0.holdsAppends = true }
        let replica = try Node(.replica(of: "tcp://127.0.0.1:9", journal: kept.source))
        let copy = try replica.attach(name: "sum") { SumState() }
        try await withRunning(replica) {
            defer { kept.content.withLock { $0.holdsAppends = false } }
            let turns: (isHeldUp: Bool?, rest: [Bool]) = try await withCheckedThrowingContinuation { continuation in
                copy.inbox.ask(
                    Errand(
                        run: { continuation.resume(returning: Self.turnsOfAHeldUp($0)) },
                        refuse: { continuation.resume(throwing: $0) }))
            }
            #expect(turns.isHeldUp == true)
            #expect(turns.rest == [true, false])
        }
    }

    /// PROTOCOL R-45: a full disk holds actions up; when there is room they are answered, once.
    @Test
    func aFullDiskIsWaitedFor() async throws {
        let log = KeptLog()
        let node = try Node(.local(journal: log.source))
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            _ = try await port.add([1])
            log.content.withLock { $0.fault = .diskFull }
            async let sums = port.add([2])
            try await until { log.content.withLock { $0.refusedWrites >= 2 } }
            let alarms = try await port.status().alarms
            #expect(alarms.contains { $0.kind == .diskFull })
            log.content.withLock { $0.fault = .none }
            let answered = try await sums
            #expect(answered == [3])
            try await until { try await port.status().alarms.isEmpty }
        }
    }

    /// PROTOCOL R-44: any other failure at commit ends the node; the outcome of what was in flight is unknown.
    @Test
    func aBrokenJournalEndsTheNode() async throws {
        let log = KeptLog()
        let node = try Node(.local(journal: log.source))
        let port = try node.attach(name: "sum") { SumState() }
        let failure = await problem {
            try await withRunning(node) {
                _ = try await port.add([1])
                log.content.withLock { $0.fault = .broken }
                let unknown = await problem { _ = try await port.add([2]) }
                #expect(unknown?.code == .outcomeUnknown)
                #expect(unknown?.pending?.numbers.count == 1)
            }
        }
        #expect(failure?.code == .journalFailed)
    }

    /// Cancellation and graceful shutdown are no errors, also while the journal is read, which they cut off.
    @Test(arguments: [true, false])
    func anEndDuringRecoveryIsNoError(isGraceful: Bool) async throws {
        let log = KeptLog()
        let first = try Node(.local(journal: log.source))
        let port = try first.attach(name: "sum") { SumState() }
        _ = try await withRunning(first) { try await port.add([1]) }
        let second = try Node(.local(journal: log.source))
        let again = try second.attach(name: "sum") { SumState() }
        try await testGracefulShutdown { trigger in
            let run = Task {
                if !isGraceful { while !Task.isCancelled { await Task.yield() } }
                try await second.run()
            }
            if isGraceful { trigger.triggerGracefulShutdown() } else { run.cancel() }
            try await run.value
        }
        let ended = await problem { _ = try await again.status() }
        #expect(ended?.code == .stopped)
    }

    private func problem(_ body: @Sendable () async throws -> Void) async -> LockstepError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? LockstepError
        }
    }
}
