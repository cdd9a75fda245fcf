import Dispatch
package import LockstepCore
import Synchronization

/// A journal that keeps nothing: every start is a new incarnation, and the node's own memory is the only log.
///
/// It answers on a queue of its own, as the durable one does, so that the node runs the same path with either.
///
/// That of a data node holds its newest snapshot and the batches after it as long as the process lives: who loses its
/// post begins anew from its journal (PROTOCOL, R-84).
package final class MemoryJournal: Journal {
    private let queue = DispatchQueue(label: "lockstep.journal.memory", qos: .journal)
    private let state: Mutex<State>

    struct State: Sendable {
        var identity: JournalIdentity
        var head: Position
        var batchBytes = 0
        var snapshotBytes = 0
        var notes: [JournalNote: String] = [:]
        var isClosed = false
        /// Only the journal of a data node has what follows.
        var isForDataNode: Bool
        var arbitration: JournalArbitration?
        var snapshot: (bytes: [UInt8], position: Position)?
        var batches: [SealedBatch] = []
        var cut: [CutBatch] = []
    }

    /// A batch that was cut off, in the order of cutting.
    package struct CutBatch: Hashable, Sendable {
        package var batch: SealedBatch
        package var reason: String
        /// Seconds since 1970.
        package var movedAt: Int64
    }

    /// An empty journal; with `isVolatile` false it is used by one node after the other, as a file is.
    package init(_ request: JournalRequest, isVolatile: Bool = true) {
        self.isVolatile = isVolatile
        var generator = SystemRandomNumberGenerator()
        let identity = JournalIdentity(
            cluster: request.cluster ?? ClusterID(using: &generator), storeName: request.storeName,
            channel: request.channel, incarnation: Incarnation(using: &generator))
        state = Mutex(
            State(identity: identity, head: .start(of: identity.store), isForDataNode: request.isForDataNode))
    }

    package var identity: JournalIdentity { state.withLock { $0.identity } }

    package let isVolatile: Bool

    package func append(
        _ batches: [SealedBatch], completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { $0.append(batches) }
    }

    package func save(
        snapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { state in
            state.snapshotBytes = bytes.count
            state.batchBytes = 0
            guard state.isForDataNode else { return }
            state.snapshot = (bytes, position)
            state.batches.removeAll { $0.head.last <= position.sequence }
            state.batchBytes = state.batches.reduce(0) { $0 + $1.bytes.count }
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
            state.arbitration?.replaced(by: position)
            guard state.isForDataNode else { return }
            state.snapshot = (bytes, position)
            state.batches = []
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

    /// Lets the next node use what the last one has closed; only of one that is not volatile.
    package func reopen() {
        precondition(!isVolatile, "a volatile journal ends with its node")
        queue.sync { state.withLock { $0.isClosed = false } }
    }

    package func close() { queue.sync { state.withLock { $0.isClosed = true } } }

    /// What is there now, for those who read without waiting.
    func inspect<Value: Sendable>(_ body: (State) -> Value) -> Value { state.withLock { body($0) } }

    /// Changes what is there, on the journal's queue; nil if the journal is closed.
    func change<Value: Sendable>(
        _ body: @escaping @Sendable (inout State) -> Value, then completion: @escaping @Sendable (Value?) -> Void
    ) {
        queue.async { [self] in completion(state.withLock { $0.isClosed ? nil : body(&$0) }) }
    }

    /// As ``change(_:then:)``, for a write that cannot fail in an open journal.
    func answer(
        _ completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void,
        _ body: @escaping @Sendable (inout State) -> Void
    ) {
        change(body) { completion($0 == nil ? .failure(Self.closed) : .success(())) }
    }

    /// The answer of a journal that was closed.
    static var closed: JournalFailure { .failed("the journal is closed") }
}

extension MemoryJournal.State {
    /// Appends batches that follow the head.
    mutating func append(_ added: [SealedBatch]) {
        for batch in added {
            precondition(batch.head.previous == head.hash, "batches are appended in the order of the chain")
            head = batch.position
            batchBytes += batch.bytes.count
            if isForDataNode { batches.append(batch) }
        }
    }
}
