import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// A primary that an operator told to hold effects.
@Suite(.timeLimit(.minutes(5)))
struct HeldEffectsTests {
    /// Notes that what the state asks for, and sources, may begin.
    private final class Watcher: RunExecutor {
        private let count = Mutex(0)
        var openings: Int { count.withLock { $0 } }

        func run(port: StorePort) async {}
        func opened() { count.withLock { $0 += 1 } }
        func closed() {}
        func begin(_ run: RunStart) {}
        func stop(_ id: RunID) {}
        func emission(_ ticket: UInt64, _ outcome: EmissionOutcome) {}
        func runEnd(_ id: RunID, _ outcome: EmissionOutcome) {}
        func ended() {}
    }

    /// PROTOCOL R-62: it begins neither feedback nor sources, and takes actions; another begins them once, before its
    /// first answer.
    @Test(arguments: [false, true])
    func aHeldPrimaryBeginsNothingOfItsOwn(isHeld: Bool) async throws {
        var configuration = NodeConfiguration.local()
        configuration.holdsEffects = isHeld
        let node = try Node(configuration)
        let watcher = Watcher()
        let port = try node.attach(name: "sum", executor: watcher) { SumState() }
        try await withRunning(node) {
            let first = try await port.add([1])
            #expect(first == [1] && watcher.openings == (isHeld ? 0 : 1))
            let second = try await port.add([2])
            #expect(second == [3])
            #expect(watcher.openings == (isHeld ? 0 : 1))
        }
    }
}
