import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// Work that callers leave for the node's thread.
@Suite(.timeLimit(.minutes(5)))
struct ErrandTests {
    /// Which pieces of work were done, and which were refused.
    private final class Pieces: Sendable {
        private let notes = Mutex((done: [Int](), refused: [Int]()))

        var done: [Int] { notes.withLock { $0.done } }
        var refused: [Int] { notes.withLock { $0.refused } }

        func did(_ number: Int) { notes.withLock { $0.done.append(number) } }
        func refuse(_ number: Int) { notes.withLock { $0.refused.append(number) } }
    }

    /// A turn does a part of the work, in its order.
    ///
    /// What is left when the node ends is refused: each piece is one of the two, once, and nobody waits for ever.
    @Test
    func workThatIsLeftAtTheEndIsRefused() async throws {
        let node = try Node(NodeConfiguration.local())
        let port = try node.attach(name: "sum") { SumState() }
        let (pieces, count) = (Pieces(), 2_000)
        try await withRunning(node) {
            let sums = try await port.add([1])
            #expect(sums == [1])
            for number in 0..<count {
                port.inbox.ask(
                    Errand(
                        run: { _ in
                            let end = ContinuousClock.now + .milliseconds(5)
                            while ContinuousClock.now < end {}
                            pieces.did(number)
                        }, refuse: { _ in pieces.refuse(number) }))
            }
        }
        let (done, refused) = (pieces.done, pieces.refused)
        #expect(!done.isEmpty && !refused.isEmpty)
        #expect(done + refused == Array(0..<count))
    }
}
