import LockstepHTTP
import LockstepNode
import LockstepServer
import Logging
import ServiceLifecycle
import Synchronization
import Testing

/// How a node ends with what runs beside it.
@Suite(.timeLimit(.minutes(1))) struct ServedNodeTests {
    /// Services that have ended, in their order.
    private final class Ends: Sendable {
        private let kept = Mutex<[String]>([])

        var names: [String] { kept.withLock { $0 } }
        func add(_ name: String) { kept.withLock { $0.append(name) } }
    }

    /// Ends when it is told to.
    private struct Ending: Service {
        let name: String
        let ends: Ends

        func run() async throws {
            // Cancellation tells it, too.
            try? await gracefulShutdown()
            ends.add(name)
        }
    }

    /// A node that reads a long journal answers nobody before it is told to end; whoever asks it waits for that.
    @Test func whoAsksTheNodeEndsAfterIt() async throws {
        let ends = Ends()
        let begun = AsyncStream<Void>.makeStream()
        let probe = NodeProbe {
            begun.continuation.yield()
            // A question to a thread that is busy does not end when its task is cancelled.
            while !ends.names.contains("node") { await Task.yield() }
            return NodeAnswer(isRunning: false)
        }
        let services = Node.order(
            Ending(name: "node", ends: ends), beside: [Ending(name: "beside", ends: ends)], askedBy: [probe])
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: services, logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            for await _ in begun.stream { break }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
        }
        #expect(ends.names == ["beside", "node"])
    }
}
