import Foundation
import LockstepFolders
import LockstepNode
import Synchronization
import ZeroMQ

/// Answers every question over the socket of a node's folder with the same bytes, and counts the questions.
final class FakeNode: Sendable {
    private let count = Atomic<Int>(0)
    private let isOver = Atomic<Bool>(false)
    private let done = DispatchSemaphore(value: 0)

    var questions: Int { count.load(ordering: .sequentiallyConsistent) }

    /// Serves the folder of a node that does not run.
    init(data: String, answer: Data) throws {
        let folder = NodeFolder(data).administration
        let ready = DispatchSemaphore(value: 0)
        let failure = Mutex<(any Error)?>(nil)
        Thread.detachNewThread { [self] in
            defer { done.signal() }
            do {
                let context = try Context()
                let poller = Poller<LoopToken>()
                let server = try AdministrationServer(folder: folder, context: context, poller: poller)
                ready.signal()
                while !isOver.load(ordering: .sequentiallyConsistent) {
                    try poller.wait(timeout: .milliseconds(20))
                    _ = try server.serve { _ in
                        count.add(1, ordering: .sequentiallyConsistent)
                        return answer
                    }
                }
                server.close()
            } catch {
                failure.withLock { $0 = error }
                ready.signal()
            }
        }
        ready.wait()
        if let error = failure.withLock({ $0 }) { throw error }
    }

    func end() {
        isOver.store(true, ordering: .sequentiallyConsistent)
        done.wait()
    }
}
