package import LockstepCore
package import LockstepNode

/// Where an ``EffectRuntime`` brings mutations and ends: a node's store, or a test's.
///
/// Who waits gets ``LockstepError`` of code `stopped` when the node stops.
package protocol EffectPort: Sendable {
    /// The store's name, which is a part of every effect's key.
    var name: String { get }
    /// Follows effects in spans; nil without a tracer.
    var traces: ActionTraces? { get }
    /// Brings mutations to the primary's machine; the runtime hears of `ticket`.
    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64)
    /// Brings the end of a run; the runtime hears of it.
    func finishRun(_ id: RunID, item: [UInt8])
    /// Waits until the published state includes a committed entry.
    func waitUntilShown(_ sequence: SequenceNumber) async throws
    /// Waits until the published state includes all that had committed before the call.
    func waitUntilCurrent() async throws
}

extension EffectPort {
    /// Where every commit is shown at once.
    package func waitUntilCurrent() async throws {}
    package var traces: ActionTraces? { nil }
}

extension StorePort: EffectPort {
    package func waitUntilShown(_ sequence: SequenceNumber) async throws {
        guard publishedSequence < sequence else { return }
        try await insistently { try await $0.waitUntilShown(sequence, timeout: .seconds(600)) }
    }

    package func waitUntilCurrent() async throws {
        try await insistently { try await $0.waitUntilReadable(.linearizable, minimum: .zero, timeout: .seconds(600)) }
    }

    /// Waits again where too many wait already: what has committed is shown sooner or later, and an effect must not fail
    /// after its own commit.
    private func insistently(_ wait: (StorePort) async throws -> Void) async throws {
        while true {
            do { return try await wait(self) } catch let error as LockstepError
                where error.code == .unavailable || error.code == .timeout
            {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }
}
