import LockstepCore

/// A log for tests: real batches, and the snapshots of a state that is always empty.
struct History {
    let store: StoreID
    private(set) var batches: [SealedBatch] = []
    private(set) var log: LogState
    private let state = EmptyState()

    init(store: StoreID) {
        self.store = store
        log = LogState(store: store)
    }

    var end: Position { log.position }

    /// Adds a batch of about `bytes` bytes and returns it; the first of an epoch opens it.
    @discardableResult
    mutating func add(bytes: Int = 200, epoch: UInt64? = nil) throws -> SealedBatch {
        let epoch = epoch.map(Epoch.init(rawValue:)) ?? max(log.position.epoch, Epoch(rawValue: 1))
        var builder = BatchBuilder(store: store, epoch: epoch, after: log.position, time: LogTime(rawValue: 1_000))
        if epoch > log.position.epoch {
            builder.append(
                .epochOpen(
                    node: "node-1", incarnation: Incarnation(rawValue: 1),
                    boot: BootID(rawValue: UInt128(epoch.rawValue)))
            )
        }
        // Sessions that do not exist: their end is an entry of any size without effect.
        let filler = max(1, (bytes - builder.byteCount) / 12)
        let sessions = (0..<filler).map { index in
            SessionID(
                epoch: Epoch(rawValue: 1 << 40), sequence: SequenceNumber(rawValue: 1 << 30 + UInt64(index)))
        }
        builder.append(.sessionExpire(sessions))
        let batch = builder.sealed()
        _ = try log.apply(batch, to: state)
        batches.append(batch)
        return batch
    }

    mutating func add(count: Int, bytes: Int = 200, epoch: UInt64? = nil) throws -> [SealedBatch] {
        var added: [SealedBatch] = []
        for _ in 0..<count { added.append(try add(bytes: bytes, epoch: epoch)) }
        return added
    }

    /// The snapshot at the end, with a state of `bytes` bytes.
    func snapshot(bytes: Int = 10_000) -> [UInt8] {
        let state = (0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ Int(end.sequence.rawValue)) }
        return SnapshotContent(log: log, digest: Digest(rawValue: 7), state: state).encoded()
    }
}

/// A user's state that holds nothing.
final class EmptyState: ReplicatedState {
    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int { count }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {}

    var digest: Digest { Digest(rawValue: 0) }
    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {}
    var isViewWanted: Bool { false }
    func publish(through sequence: SequenceNumber) {}
    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] { [] }
    func image() -> any StateImage { Image() }
    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState { Prepared() }
    func install(_ prepared: any PreparedState) {}
    func reset() {}

    struct Image: StateImage {
        func encoded() throws -> [UInt8] { [] }
        var digest: Digest { Prepared().digest }
    }
    struct Prepared: PreparedState { var digest: Digest { Digest(rawValue: 0) } }
}
