import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// The thread of a node, its executor and its sleep.
@Suite(.timeLimit(.minutes(5)))
struct NodeEventLoopTests {
    /// An actor on a loop.
    actor Probe {
        nonisolated let loop: NodeEventLoop
        private(set) var count = 0
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init() throws { loop = try NodeEventLoop(name: "test-loop") }

        func add() { count += 1 }
        var isOnThread: Bool { loop.isOnThread }
        func work(_ work: LoopWork?) { loop.setWork(work) }
    }

    /// What producers leave for a loop, as an inbox does.
    final class Box: Sendable {
        let values = Mutex<[(producer: Int, value: Int)]>([])
    }

    /// What a consumer has seen; on the loop's thread only.
    final class Seen {
        var count = 0
        var last = [Int](repeating: -1, count: 8)
        var isInOrder = true
    }

    /// No job is lost when many threads enqueue while the loop goes to sleep and wakes.
    @Test
    func everyJobRuns() async throws {
        let probe = try Probe()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<10_000 { await probe.add() } }
            }
        }
        #expect(await probe.count == 80_000)
    }

    /// What is left under a lock is always found: 8 producers of 10,000 values each, a loop that sleeps whenever it has
    /// nothing, and no time-out that would help it.
    ///
    /// Each producer's values stay in order.
    @Test
    func noWakeUpIsLost() async throws {
        let probe = try Probe()
        let box = Box()
        let signaller = probe.loop.signaller
        let isInOrder = await withCheckedContinuation { continuation in
            Task { await consume(box, on: probe) { continuation.resume(returning: $0) } }
            for producer in 0..<8 {
                Task.detached {
                    for value in 0..<10_000 {
                        box.values.withLock { $0.append((producer, value)) }
                        signaller.signal()
                        if value.isMultiple(of: 16) { await Task.yield() }
                    }
                }
            }
        }
        #expect(isInOrder)
    }

    private func consume(
        _ box: Box, on probe: isolated Probe, finished: @escaping @Sendable (_ isInOrder: Bool) -> Void
    ) {
        let seen = Seen()
        probe.work(
            LoopWork(
                turn: { _ in
                    probe.assertIsolated()
                    let values = box.values.withLock { values in
                        defer { values = [] }
                        return values
                    }
                    for (producer, value) in values {
                        seen.isInOrder = seen.isInOrder && value == seen.last[producer] + 1
                        seen.last[producer] = value
                    }
                    seen.count += values.count
                    if seen.count == 80_000 {
                        seen.count = 0
                        finished(seen.isInOrder)
                    }
                    return values.isEmpty ? .until(.never) : .again
                },
                isWaiting: { box.values.withLock { !$0.isEmpty } }))
    }

    /// The executor knows its own thread.
    @Test
    func isolationIsTheThread() async throws {
        let probe = try Probe()
        #expect(await probe.isOnThread)
        #expect(!probe.loop.isOnThread)
        #expect(probe.loop.isIsolatingCurrentContext() == false)
    }

    /// Touching the loop's own things elsewhere is a mistake that stops the program.
    @Test
    func anotherThreadIsRefused() async {
        await #expect(processExitsWith: .failure) {
            let loop = try NodeEventLoop(name: "test-loop")
            loop.setWork(nil)
        }
    }

    /// The work ends, the jobs go on; and the loop ends with its last reference.
    @Test
    func jobsRunAfterTheWorkEnded() async throws {
        weak var loop: NodeEventLoop?
        do {
            let probe = try Probe()
            loop = probe.loop
            await probe.work(LoopWork(turn: { _ in .until(.never) }, isWaiting: { false }))
            await probe.work(nil)
            await probe.add()
            #expect(await probe.count == 1)
        }
        // The last job may still be leaving its thread.
        while loop != nil { await Task.yield() }
    }
}
