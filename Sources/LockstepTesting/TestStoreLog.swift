import Lockstep
import LockstepCore

/// An entry of a test store's log that says something of the user's reactor.
struct TestEntry<R: Reactor> {
    enum Kind {
        /// An action that ended at once, by its number, with the bytes of its reply, or of the reason.
        case action(RequestNumber, ActionStatus, [UInt8])
        case accepted(RunID)
        case emitted(EffectCause)
        /// The end of a run, with the bytes of its reply, or of the reason.
        case finished(RunID, ActionStatus, [UInt8])
    }

    let kind: Kind
    let place: Place
    let mutations: [R.Mutation]
    /// What the replica has before and after the entry.
    let before: R.State
    let after: R.State
}

/// What a test store's primary has committed, and a replica that is fed with it.
final class TestLog<R: Reactor> {
    let store: StoreID
    /// The journal.
    private(set) var batches: [SealedBatch] = []
    /// The session that the test's actions belong to.
    private(set) var session = SessionID.none
    /// The last entry with mutations, in words.
    private(set) var last: String?
    let replica: RecordingState<R>
    private var log: LogState

    init(_ reactor: R, store: StoreID) {
        self.store = store
        log = LogState(store: store)
        replica = RecordingState(reactor)
    }

    /// Where the replica stands.
    var place: Place { Place(epoch: log.position.epoch, sequence: log.position.sequence) }
    var runs: RunTable { log.runs }

    /// A transaction of the journal.
    func write(_ batches: [SealedBatch]) { self.batches += batches }

    /// Applies what has committed to the replica, and returns what is in it.
    ///
    /// - Throws: What a replica would stop at.
    func committed(_ batches: [SealedBatch]) throws(LogState.ApplyError) -> [TestEntry<R>] {
        var entries: [TestEntry<R>] = []
        for batch in batches {
            let before = replica.base.workingState
            replica.changes = [:]
            _ = try log.apply(batch, to: replica)
            entries += read(batch, before)
            if let entry = entries.last(where: { !$0.mutations.isEmpty }) {
                last = "\(entry.place.sequence), \(entry.mutations.map { "\($0)" }.joined(separator: ", "))"
            }
        }
        return entries
    }

    /// Reads the entries that are of interest; the batch has been applied, so its bytes are as they should be.
    private func read(_ batch: SealedBatch, _ before: R.State) -> [TestEntry<R>] {
        var entries: [TestEntry<R>] = []
        var state = before
        do throws(WireError) {
            try withBytes(of: batch.bytes) { (bytes) throws(WireError) in
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                var sequence = batch.head.first
                while reader.remaining > 0 {
                    let entry = try Entry(from: bytes, &reader)
                    for (offset, kind) in try kinds(of: entry, bytes, sequence, batch.head.epoch).enumerated() {
                        let at = sequence.advanced(by: offset)
                        let change = replica.changes[at]
                        let after = change?.after ?? state
                        entries.append(
                            TestEntry(
                                kind: kind, place: Place(epoch: batch.head.epoch, sequence: at),
                                mutations: change?.mutations ?? [], before: state, after: after))
                        state = after
                    }
                    sequence = sequence.advanced(by: entry.sequenceCount)
                }
            }
        } catch {
            preconditionFailure("a batch that was applied can be read: \(error)")
        }
        return entries
    }

    private func kinds(
        of entry: Entry, _ bytes: RawSpan, _ sequence: SequenceNumber, _ epoch: Epoch
    ) throws(WireError) -> [TestEntry<R>.Kind] {
        switch entry {
        case .actions(let run):
            var items = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
            var kinds: [TestEntry<R>.Kind] = []
            for index in 0..<run.count {
                let item = try Item(from: bytes, &items)
                kinds.append(.action(run.first + UInt64(index), item.status, copyBytes(of: bytes, item.reply)))
            }
            return kinds
        case .accepted(let session, let number, _, _): return [.accepted(RunID(session: session, number: number))]
        case .emitted(let cause, _): return [.emitted(cause)]
        case .finished(let session, let number, let range):
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let item = try Item(from: bytes, &reader)
            return [.finished(RunID(session: session, number: number), item.status, copyBytes(of: bytes, item.reply))]
        case .sessionOpen:
            session = SessionID(epoch: epoch, sequence: sequence)
            return []
        case .epochOpen, .sessionClose, .sessionExpire, .sessionAck, .digestMark, .clockJump, .runAck: return []
        }
    }

    /// What a primary that starts now recovers into `state`.
    func recover(into state: ReactorState<R>) throws(LogState.ApplyError) -> (LogState, ResendWindow) {
        var log = LogState(store: store)
        var window = ResendWindow()
        for batch in batches {
            _ = try log.apply(batch, to: state)
            window.append(batch)
        }
        return (log, window)
    }
}

/// A replica's state that notes what each entry does to it.
final class RecordingState<R: Reactor>: ReplicatedState {
    let base: ReactorState<R>
    private let coding = R.mutationCoding
    var changes: [SequenceNumber: (mutations: [R.Mutation], after: R.State)] = [:]

    init(_ reactor: R) {
        let initial = Snapshot(state: reactor.initialState, place: .start, time: .zero)
        base = ReactorState(reactor, published: PublishedState(initial))
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        let decoded = try decode(bytes, mutations, count: count)
        try base.apply(bytes, mutations: mutations, count: count, at: position, time: time)
        changes[position.1] = (decoded, base.workingState)
    }

    /// Each item is applied by the path that nodes apply whole series with, so that what it does can be noted.
    func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        var reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
        for index in 0..<count {
            let start = reader.offset
            let item = try Item(from: bytes, &reader)
            let place = (position.0, position.1.advanced(by: index))
            let decoded = try decode(bytes, item.mutations, count: item.mutationCount)
            try base.apply(bytes, items: start..<reader.offset, count: 1, at: place, time: time, replies: &replies)
            if !decoded.isEmpty { changes[place.1] = (decoded, base.workingState) }
        }
        try reader.finish()
    }

    private func decode(_ bytes: RawSpan, _ mutations: Range<Int>, count: Int) throws(WireError) -> [R.Mutation] {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        var decoded: [R.Mutation] = []
        for _ in 0..<count { decoded.append(try coding.decodeChecked(bytes, try reader.readRange(from: bytes))) }
        return decoded
    }

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int { preconditionFailure("a replica performs no actions") }

    var digest: Digest { base.digest }
    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {}
    var isViewWanted: Bool { false }
    func publish(through sequence: SequenceNumber) {}
    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        try base.answer(query, range)
    }
    func image() -> any StateImage { base.image() }
    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState { try base.prepare(bytes) }
    func install(_ prepared: any PreparedState) { base.install(prepared) }
    func reset() { base.reset() }
}
