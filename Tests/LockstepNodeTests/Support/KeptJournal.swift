import Dispatch
import LockstepCore
import LockstepNode
import Synchronization

/// What a journal of a test holds between two nodes, and how it is to fail.
final class KeptLog: Sendable {
    enum Fault: Hashable, Sendable {
        case none
        case diskFull
        case broken
    }

    struct Content: Sendable {
        var identity: JournalIdentity?
        var snapshot: [UInt8]?
        var batches: [SealedBatch] = []
        var fault = Fault.none
        /// What the node is told of the journal's size, to make a snapshot due.
        var pretendedBytes = 0
        var savedSnapshots = 0
        /// How often the journal was given a cluster.
        var adoptions = 0
        var refusedWrites = 0
        /// Appends wait until it is false again.
        var holdsAppends = false
        var heldAppends = 0
        /// Saves of a place that the journal has not reached, or beside another: what no journal has to bear.
        var wrongSaves = 0
        var isSaving = false
        var notes: [JournalNote: String] = [:]

        var end: SequenceNumber {
            let saved = snapshot.flatMap { try? SnapshotContent($0) }?.log.position.sequence
            return batches.last?.head.last ?? saved ?? .zero
        }
    }

    let content = Mutex(Content())

    var source: JournalSource {
        JournalSource(description: "kept") { [self] request in
            content.withLock { content in
                var generator = SystemRandomNumberGenerator()
                let identity =
                    content.identity
                    ?? JournalIdentity(
                        cluster: request.cluster ?? (request.isForReplica ? .none : ClusterID(using: &generator)),
                        storeName: request.storeName, channel: request.channel,
                        incarnation: Incarnation(using: &generator))
                content.identity = identity
                return KeptJournal(log: self, identity: identity)
            }
        }
    }
}

/// The journals of a node with several stores.
final class KeptLogs: Sendable {
    private let logs = Mutex<[String: KeptLog]>([:])

    /// What a store's journal holds.
    func content(of store: String) -> KeptLog.Content? { logs.withLock { $0[store] }?.content.withLock { $0 } }

    /// Changes what a store's journal holds, or how it fails; one that is not there yet is made.
    func change(_ store: String, _ body: (inout KeptLog.Content) -> Void) {
        let log = logs.withLock { logs in
            let log = logs[store] ?? KeptLog()
            logs[store] = log
            return log
        }
        log.content.withLock { body(&$0) }
    }

    var source: JournalSource {
        JournalSource(description: "kept") { [self] request in
            let log = logs.withLock { logs in
                let log = logs[request.storeName] ?? KeptLog()
                logs[request.storeName] = log
                return log
            }
            return try log.source.open(request)
        }
    }
}

/// A journal whose content outlives it, in the memory of the test.
final class KeptJournal: Journal {
    private let first: JournalIdentity
    private let log: KeptLog
    private let queue = DispatchQueue(label: "kept-journal")

    init(log: KeptLog, identity: JournalIdentity) {
        self.log = log
        first = identity
    }

    var identity: JournalIdentity { log.content.withLock { $0.identity } ?? first }

    func adopt(
        cluster: ClusterID, channel: Channel, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { content in
            content.identity = content.identity?.adopted(by: cluster, channel: channel)
            content.adoptions += 1
        }
    }

    var isVolatile: Bool { false }

    func recover(snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void) throws {
        let content = log.content.withLock { $0 }
        if let bytes = content.snapshot { try snapshot(try SnapshotContent(bytes)) }
        for sealed in content.batches { try batch(sealed) }
    }

    func append(_ batches: [SealedBatch], completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        let isHeld = log.content.withLock { content in
            content.heldAppends += content.holdsAppends ? 1 : 0
            return content.holdsAppends
        }
        guard isHeld else { return answer(completion) { $0.batches += batches } }
        queue.async { [self] in append(batches, completion: completion) }
    }

    func save(
        snapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        log.content.withLock { content in
            if content.isSaving || position.sequence > content.end { content.wrongSaves += 1 }
            content.isSaving = true
        }
        answer(completion) { content in
            content.isSaving = false
            content.snapshot = bytes
            content.batches.removeAll { $0.head.last <= position.sequence }
            content.pretendedBytes = 0
            content.savedSnapshots += 1
        }
    }

    func replace(
        withSnapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { content in
            content.snapshot = bytes
            content.batches = []
        }
    }

    func verifyOlder(report: @escaping @Sendable ([String]) -> Void) {}

    func freeBytes() -> Int64? { nil }

    var sizes: (batches: Int, snapshot: Int) { log.content.withLock { ($0.pretendedBytes, 0) } }

    func note(_ note: JournalNote) throws -> String? { log.content.withLock { $0.notes[note] } }

    func setNote(_ note: JournalNote, to value: String?) throws { log.content.withLock { $0.notes[note] = value } }

    func noteLater(
        _ note: JournalNote, _ value: String?,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        answer(completion) { $0.notes[note] = value }
    }

    func close() { queue.sync {} }

    private func answer(
        _ completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void,
        _ change: @escaping @Sendable (inout KeptLog.Content) -> Void
    ) {
        queue.async { [log] in
            let outcome: Result<Void, JournalFailure> = log.content.withLock { content in
                switch content.fault {
                case .none:
                    change(&content)
                    return .success(())
                case .diskFull:
                    content.refusedWrites += 1
                    return .failure(.diskFull)
                case .broken: return .failure(.failed("broken on purpose"))
                }
            }
            completion(outcome)
        }
    }
}
