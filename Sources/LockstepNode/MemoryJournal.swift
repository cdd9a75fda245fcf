import Dispatch
package import LockstepCore
import Synchronization

/// A journal that keeps nothing: every start is a new incarnation, and the node's own memory is the only log.
///
/// It answers on a queue of its own, as the durable one does, so that the node runs the same path with either.
package final class MemoryJournal: Journal {
    private let queue = DispatchQueue(label: "lockstep.journal.memory", qos: .journal)
    private let state: Mutex<State>

    private struct State: Sendable {
        var identity: JournalIdentity
        var head: Position
        var batchBytes = 0
        var snapshotBytes = 0
        var notes: [JournalNote: String] = [:]
        var isClosed = false
    }

    package init(_ request: JournalRequest) {
        var generator = SystemRandomNumberGenerator()
        let identity = JournalIdentity(
            cluster: request.cluster ?? ClusterID(using: &generator), storeName: request.storeName,
            channel: request.channel, incarnation: Incarnation(using: &generator))
        state = Mutex(State(identity: identity, head: .start(of: identity.store)))
    }

    package var identity: JournalIdentity { state.withLock { $0.identity } }

    package var isVolatile: Bool { true }

    /// Hands out nothing.
    package func recover(snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void) throws {}

    package func append(
        _ batches: [SealedBatch], completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { state in
            for batch in batches {
                precondition(batch.head.previous == state.head.hash, "batches are appended in the order of the chain")
                state.head = batch.position
                state.batchBytes += batch.bytes.count
            }
        }
    }

    package func save(
        snapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { state in
            state.snapshotBytes = bytes.count
            state.batchBytes = 0
        }
    }

    package func replace(
        withSnapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { state in
            state.head = position
            state.snapshotBytes = bytes.count
            state.batchBytes = 0
        }
    }

    package func adopt(
        cluster: ClusterID, channel: Channel, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { state in
            precondition(state.head.sequence == .zero, "only an empty journal takes another cluster")
            state.identity = state.identity.adopted(by: cluster, channel: channel)
            state.head = .start(of: state.identity.store)
        }
    }

    /// Nothing is older than the process.
    package func verifyOlder(report: @escaping @Sendable ([String]) -> Void) {}

    package func freeBytes() -> Int64? { nil }

    package var sizes: (batches: Int, snapshot: Int) { state.withLock { ($0.batchBytes, $0.snapshotBytes) } }

    /// What was noted since the process began.
    package func note(_ note: JournalNote) throws -> String? { state.withLock { $0.notes[note] } }

    /// Notes a value, or takes the note away.
    package func setNote(_ note: JournalNote, to value: String?) throws { state.withLock { $0.notes[note] = value } }

    package func noteLater(
        _ note: JournalNote, _ value: String?,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { $0.notes[note] = value }
    }

    package func close() { queue.sync { state.withLock { $0.isClosed = true } } }

    private func answer(
        _ completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void,
        _ change: @escaping @Sendable (inout State) -> Void
    ) {
        queue.async { [self] in
            let isOpen = state.withLock { state in
                if !state.isClosed { change(&state) }
                return !state.isClosed
            }
            completion(isOpen ? .success(()) : .failure(.failed("the journal is closed")))
        }
    }
}
