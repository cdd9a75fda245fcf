internal import Dispatch
internal import LockstepHTTP
internal import Synchronization

/// Where states are encoded and compared: one at a time, on a queue of its own.
///
/// The threads that run effects are few, and a state that is encoded would keep one of them busy.
final class ConsoleDesk: Sendable {
    /// The most questions that wait; one more is told to come again.
    static let mostWaiting = 8
    private let queue = DispatchQueue(label: "lockstep-console", qos: .utility)
    private let waiting = Mutex(0)

    /// The answer of `body`, which runs on the queue.
    func answer(_ body: @escaping @Sendable () throws -> HTTPAnswer) async -> HTTPAnswer {
        let isFull = waiting.withLock { waiting in
            guard waiting < Self.mostWaiting else { return true }
            waiting += 1
            return false
        }
        guard !isFull else {
            return .problem(ConsoleProblem(503, "\(Self.mostWaiting) questions about states wait already: ask again"))
        }
        return await withCheckedContinuation { continuation in
            queue.async {
                let answer: HTTPAnswer
                do { answer = try body() } catch { answer = .problem(ConsoleProblem(describing: error)) }
                self.waiting.withLock { $0 -= 1 }
                continuation.resume(returning: answer)
            }
        }
    }
}

extension HTTPAnswer {
    /// Why there is no answer.
    static func problem(_ problem: ConsoleProblem) -> HTTPAnswer { .json(problem, status: problem.status) }
}
