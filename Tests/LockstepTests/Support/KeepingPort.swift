import Lockstep
import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// Keeps what effects bring until a test looks, and answers nothing by itself.
final class KeepingPort: EffectPort {
    let name = "studio"
    private let contents = Mutex(Contents())
    private let shown: @Sendable () async throws -> Void
    private let current: @Sendable () async throws -> Void

    private struct Contents: Sendable {
        var tickets: [UInt64] = []
        var ends: [RunID] = []
    }

    /// Makes a port; unless it is told otherwise, nobody who asks what is shown has to wait.
    ///
    /// - Parameters:
    ///   - shown: Waits until an entry is shown.
    ///   - current: Waits until all is shown that has committed.
    init(
        shown: @escaping @Sendable () async throws -> Void = {},
        current: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.shown = shown
        self.current = current
    }

    /// Of the emissions, in their order.
    var tickets: [UInt64] { contents.withLock { $0.tickets } }
    /// The runs whose end was brought.
    var ends: [RunID] { contents.withLock { $0.ends } }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) {
        contents.withLock { $0.tickets.append(ticket) }
    }

    func finishRun(_ id: RunID, item: [UInt8]) { contents.withLock { $0.ends.append(id) } }
    func waitUntilShown(_ sequence: SequenceNumber) async throws { try await shown() }
    func waitUntilCurrent() async throws { try await current() }
}

extension ReactorState {
    /// Takes up an accepted action as a primary does whose reign begins; returns the order to begin its effect.
    func takeUp(_ action: R.Action, attempt: UInt64 = 1) throws -> RunStart {
        let id = RunID(session: SessionID(epoch: .zero, sequence: SequenceNumber(rawValue: 1)), number: 1)
        let context = PerformContext(
            session: id.session, firstNumber: id.number, epoch: .zero, firstSequence: SequenceNumber(rawValue: 2),
            time: .zero)
        let start = RunStart(id: id, attempt: attempt, emissions: 0)
        let bytes = try R.actionCoding.encoded(action)
        var item = ByteWriter()
        let resumption = resume(start, action: bytes, context: context, into: &item)
        if case .ended = resumption { Issue.record("the effect does not go on") }
        return start
    }
}
