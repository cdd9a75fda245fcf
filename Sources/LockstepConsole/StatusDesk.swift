internal import LockstepNode
internal import Synchronization

/// What the node's thread says for a status.
struct NodeLook: Sendable {
    var status: NodeStatus
    /// Of the stores of which the node is the primary.
    var runs: [RunsAnswer]
}

/// Asks the node for all requests of its status, one question at a time.
///
/// A question to a thread that hangs never returns, so requests do not ask: they wait for the answer to the question
/// that ``run()`` asks for them, and not for long.
final class StatusDesk: Sendable {
    /// The most requests that wait; one more is told to come again.
    ///
    /// Each has a connection of the HTTP address, which has others to serve.
    static let mostWaiting = 16
    /// A node that does not answer for so long is not waited for.
    static let patience = Duration.seconds(2)
    /// How often a request looks whether its answer is there.
    private static let step = Duration.milliseconds(2)

    private let question: @Sendable () async throws -> NodeLook
    private let contents = Mutex(Contents())
    private let calls: AsyncStream<Void>
    private let call: AsyncStream<Void>.Continuation

    private struct Contents {
        /// How many questions were begun, and since when the last of them has no answer; nil if it has one.
        var begun: UInt64 = 0
        var asked: ContinuousClock.Instant?
        /// How many were answered, and the newest answer, as long as somebody waits.
        var answered: UInt64 = 0
        var answer: Result<NodeLook, ConsoleProblem>?
        var waiting = 0
    }

    /// `question` may never return.
    init(_ question: @escaping @Sendable () async throws -> NodeLook) {
        self.question = question
        (calls, call) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// Asks whenever a request waits, until the task is cancelled and the last question has its answer.
    func run() async {
        for await _ in calls {
            contents.withLock { contents in
                contents.begun += 1
                contents.asked = .now
            }
            let answer: Result<NodeLook, ConsoleProblem>
            do { answer = .success(try await question()) } catch {
                answer = .failure(ConsoleProblem(describing: error))
            }
            contents.withLock { contents in
                contents.answered = contents.begun
                contents.asked = nil
                contents.answer = contents.waiting > 0 ? answer : nil
            }
        }
    }

    /// The answer to a question that was begun after this call, or is under way; a problem after ``patience``.
    func look() async throws(ConsoleProblem) -> NodeLook {
        let began = ContinuousClock.now
        let wanted = try enter()
        defer { leave() }
        while true {
            let answer = contents.withLock { $0.answered >= wanted ? $0.answer : nil }
            if let answer { return try answer.get() }
            if let silence { throw Self.problem(silence) }
            // It was not even asked.
            let waited = ContinuousClock.now - began
            guard waited < Self.patience else { throw Self.problem(waited) }
            do { try await Task.sleep(for: Self.step) } catch {
                throw ConsoleProblem(503, "the connection ended before the node answered")
            }
        }
    }

    /// Takes a place; returns the number of the question whose answer is waited for.
    private func enter() throws(ConsoleProblem) -> UInt64 {
        if let silence { throw Self.problem(silence) }
        let wanted: UInt64? = contents.withLock { contents in
            guard contents.waiting < Self.mostWaiting else { return nil }
            contents.waiting += 1
            return contents.asked == nil ? contents.begun + 1 : contents.begun
        }
        guard let wanted else {
            throw ConsoleProblem(503, "\(Self.mostWaiting) requests wait for the status already: ask again")
        }
        call.yield()
        return wanted
    }

    private func leave() {
        contents.withLock { contents in
            contents.waiting -= 1
            if contents.waiting == 0 { contents.answer = nil }
        }
    }

    /// How long the node has not answered, once that is too long; nil if it answers.
    private var silence: Duration? {
        guard let asked = contents.withLock({ $0.asked }) else { return nil }
        let waited = ContinuousClock.now - asked
        return waited < Self.patience ? nil : waited
    }

    private static func problem(_ silence: Duration) -> ConsoleProblem {
        ConsoleProblem(503, "the node's thread has not answered for \(Duration.seconds(silence.components.seconds))")
    }
}
