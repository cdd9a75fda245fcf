import LockstepCore
import LockstepNode
import Synchronization

/// The journal of a data node on a disk that may have no room for some of what is written.
final class Disk: ArbitratedJournal {
    enum Write: Hashable, Sendable {
        case batches, commit, cut, promise, memory
    }

    /// A write that was asked for, with the commit number that came with it, or the number of the record.
    struct Asked: Hashable, Sendable {
        var write: Write
        var number: UInt64
    }

    let base: MemoryJournal
    private let lacking = Mutex<Set<Write>>([])
    private let refused = Mutex<[Write: Int]>([:])
    private let all = Mutex<[Asked]>([])
    private let free = Mutex<Int64?>(nil)

    init(_ base: MemoryJournal) { self.base = base }

    /// There is no room for these from now on; with none there is room for all.
    func lacksRoom(for writes: Set<Write>) { lacking.withLock { $0 = writes } }

    /// So many bytes are free from now on; nil: there is no such bound.
    func hasFree(_ bytes: Int64?) { free.withLock { $0 = bytes } }

    /// Whether such a write found no room.
    func hasRefused(_ write: Write) -> Bool { refusals(of: write) > 0 }

    /// How often such a write found no room.
    func refusals(of write: Write) -> Int { refused.withLock { $0[write] ?? 0 } }

    /// What was asked for, in this order.
    var asked: [Asked] { all.withLock { $0 } }

    private func hasRoom(for write: Write, number: UInt64 = 0) -> Bool {
        all.withLock { $0.append(Asked(write: write, number: number)) }
        guard lacking.withLock({ $0.contains(write) }) else { return true }
        refused.withLock { $0[write, default: 0] += 1 }
        return false
    }

    /// Answers on the journal's queue, in its order.
    private func refuse(_ completion: @escaping @Sendable () -> Void) {
        base.noteLater(.role, "full") { _ in completion() }
    }

    var identity: JournalIdentity { base.identity }
    var isVolatile: Bool { base.isVolatile }
    var sizes: (batches: Int, snapshot: Int) { base.sizes }
    var arbitration: JournalArbitration? { base.arbitration }
    func freeBytes() -> Int64? { free.withLock { $0 } ?? base.freeBytes() }
    func note(_ note: JournalNote) throws -> String? { try base.note(note) }
    func setNote(_ note: JournalNote, to value: String?) throws { try base.setNote(note, to: value) }
    func verifyOlder(report: @escaping @Sendable ([String]) -> Void) { base.verifyOlder(report: report) }
    func close() { base.close() }

    func recover(
        snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void,
        tail: (SealedBatch) throws -> Void
    ) throws {
        try base.recover(snapshot: snapshot, batch: batch, tail: tail)
    }

    func append(_ batches: [SealedBatch], completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        append(batches, committed: .zero, completion: completion)
    }

    func append(
        _ batches: [SealedBatch], committed: SequenceNumber,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        guard hasRoom(for: .batches, number: committed.rawValue) else {
            return refuse { completion(.failure(.diskFull)) }
        }
        base.append(batches, committed: committed, completion: completion)
    }

    func store(commit number: SequenceNumber, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        guard hasRoom(for: .commit, number: number.rawValue) else { return refuse { completion(.failure(.diskFull)) } }
        base.store(commit: number, completion: completion)
    }

    func truncate(
        after end: Position, reason: String,
        completion: @escaping @Sendable (Result<CutBatches, TruncationFailure>) -> Void
    ) {
        guard hasRoom(for: .cut) else { return refuse { completion(.failure(.write(.diskFull))) } }
        base.truncate(after: end, reason: reason, completion: completion)
    }

    func promise(_ epoch: Epoch?, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        guard hasRoom(for: .promise) else { return refuse { completion(.failure(.diskFull)) } }
        base.promise(epoch, completion: completion)
    }

    func remember(_ memory: ArbiterMemory, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        guard hasRoom(for: .memory, number: memory.number) else { return refuse { completion(.failure(.diskFull)) } }
        base.remember(memory, completion: completion)
    }

    func save(
        snapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        base.save(snapshot: bytes, at: position, completion: completion)
    }

    func replace(
        withSnapshot bytes: [UInt8], at position: Position,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        base.replace(withSnapshot: bytes, at: position, completion: completion)
    }

    func adopt(
        cluster: ClusterID, channel: Channel, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        base.adopt(cluster: cluster, channel: channel, completion: completion)
    }

    func noteLater(
        _ note: JournalNote, _ value: String?,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        base.noteLater(note, value, completion: completion)
    }

    func markArbitrated(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        base.markArbitrated(completion: completion)
    }

    func removeArbitratedMark(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void) {
        base.removeArbitratedMark(completion: completion)
    }
}
