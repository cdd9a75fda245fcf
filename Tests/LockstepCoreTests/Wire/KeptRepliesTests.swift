import LockstepCore
import Testing

@Suite("Kept replies, sessions and the resend window")
struct KeptRepliesTests {
    static let epoch = Epoch(rawValue: 3)

    static func append(_ numbers: ClosedRange<RequestNumber>, sequence: UInt64, to ring: inout ReplyRing) {
        let items = numbers.flatMap { [UInt8(1 << 2), UInt8(truncatingIfNeeded: $0)] }
        withBytes(of: items) {
            ring.append(
                ReplyRing.Series(
                    first: numbers.lowerBound, count: numbers.count, epoch: epoch,
                    firstSequence: SequenceNumber(rawValue: sequence), byteCount: items.count),
                items: $0, 0..<items.count)
        }
    }

    static func kept(_ ring: ReplyRing, _ numbers: ClosedRange<RequestNumber>) -> [[UInt64]] {
        var parts: [[UInt64]] = []
        ring.forEachSeries(in: numbers) { run, bytes, range in
            let replies = stride(from: 1, to: range.count, by: 2).map { UInt64(copyBytes(of: bytes, range)[$0]) }
            parts.append([run.first, UInt64(run.count), run.firstSequence.rawValue] + replies)
        }
        return parts
    }

    /// Series that follow each other are one; the numbers asked for are cut out of them (PROTOCOL ).
    @Test func keptRepliesAreCutToTheNumbers() {
        var ring = ReplyRing()
        Self.append(1...3, sequence: 10, to: &ring)
        Self.append(4...5, sequence: 13, to: &ring)
        Self.append(6...8, sequence: 20, to: &ring)
        #expect(ring.all.map(\.count) == [5, 3])
        #expect(Self.kept(ring, 2...7) == [[2, 4, 11, 2, 3, 4, 5], [6, 2, 20, 6, 7]])
        #expect(Self.kept(ring, 9...20) == [])
        ring.drop(through: 4)
        #expect(Self.kept(ring, 1...8).count == 2)
        ring.drop(through: 5)
        #expect(Self.kept(ring, 1...8) == [[6, 3, 20, 6, 7, 8]])
        #expect(ring.byteCount == 6)
    }

    /// What was dropped leaves no trace in the value (PROTOCOL R-50).
    @Test func ringsThatKeepTheSameAreEqual() throws {
        var ring = ReplyRing()
        Self.append(1...3, sequence: 10, to: &ring)
        Self.append(4...5, sequence: 20, to: &ring)
        ring.drop(through: 3)
        var writer = ByteWriter()
        ring.write(to: &writer)
        let read = try withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(bytes)
            return try ReplyRing(from: bytes, &reader)
        }
        #expect(read == ring && read.hashValue == ring.hashValue)
    }

    /// Session numbers are contiguous, and acknowledgements only of what there is (PROTOCOL ).
    @Test func aSessionTakesItsNextNumbersOnly() {
        var table = SessionTable()
        let id = SessionID(epoch: Self.epoch, sequence: SequenceNumber(rawValue: 1))
        table.open(id, GoldenVectors.open)
        #expect(table.session(openedBy: GoldenVectors.client, nonce: 0xABCD)?.id == id)
        #expect(table.windowBytes == 1 << 20)
        func append(_ first: RequestNumber, _ ackedThrough: RequestNumber) -> Bool {
            let run = ReplyRing.Series(
                first: first, count: 2, epoch: Self.epoch, firstSequence: SequenceNumber(rawValue: 2), byteCount: 4)
            return withBytes(of: [4, 1, 4, 2]) {
                table.append(run, to: id, ackedThrough: ackedThrough, items: $0, 0..<4)
            }
        }
        #expect(!append(2, 0) && append(1, 0) && !append(1, 0) && !append(3, 3) && append(3, 2))
        #expect(table[id]?.last == 4 && table[id]?.ackedThrough == 2)
        let isTooHigh = table.acknowledge(id, through: 5)
        let before = table.digest
        let isTaken = table.acknowledge(id, through: 3)
        #expect(!isTooHigh && isTaken && table.digest != before)
        let isRemoved = (table.remove(id), table.remove(id))
        #expect(isRemoved == (true, false))
        #expect(table == SessionTable() && table.windowBytes == 0 && table.digest == Digest(rawValue: 0))
    }

    /// A chain of batches, each with one clock jump of its own.
    static func chain(_ count: Int) -> [SealedBatch] {
        var position = Position.start(of: GoldenVectors.store)
        return (0..<count).map { index in
            var builder = BatchBuilder(
                store: GoldenVectors.store, epoch: epoch, after: position, time: LogTime(rawValue: Int64(index)))
            builder.append(
                index == 0
                    ? .epochOpen(node: "n", incarnation: GoldenVectors.incarnation, boot: GoldenVectors.boot)
                    : .clockJump(LogTime(rawValue: Int64(index))))
            builder.append(.clockJump(LogTime(rawValue: Int64(index))))
            let batch = builder.sealed()
            position = batch.position
            return batch
        }
    }

    /// The window finds batches by any number in them, and hashes by their ends (PROTOCOL R-34).
    @Test func theWindowFindsBatches() {
        let batches = Self.chain(10)
        var window = ResendWindow(capacity: batches[9].bytes.count * 3)
        for batch in batches { window.append(batch) }
        #expect(window.first?.head.first.rawValue == 15 && window.last == batches[9])
        #expect(window.batch(containing: SequenceNumber(rawValue: 18)) == batches[8])
        #expect(window.batch(containing: SequenceNumber(rawValue: 14)) == nil)
        #expect(window.batch(containing: SequenceNumber(rawValue: 21)) == nil)
        #expect(window.hash(at: SequenceNumber(rawValue: 14)) == batches[6].hash)
        #expect(window.hash(at: SequenceNumber(rawValue: 16)) == batches[7].hash)
        #expect(window.hash(at: SequenceNumber(rawValue: 17)) == nil)
        let after = SequenceNumber(rawValue: 16)
        let last = SequenceNumber(rawValue: 20)
        #expect(window.batches(after: after, through: last, bytes: .max) == Array(batches[8...]))
        #expect(window.batches(after: after, through: last, bytes: 0) == [batches[8]])
        #expect(window.batches(after: after, through: after.next, bytes: .max) == [batches[8]])
        #expect(window.batches(after: SequenceNumber(rawValue: 3), through: last, bytes: .max) == nil)
        #expect(window.batches(after: last, through: last, bytes: .max) == nil)
    }

    /// Batches apply in their order and to their history only; what comes out is the same everywhere
    /// (PROTOCOL ).
    @Test func batchesApplyInOrderOnly() throws {
        let batches = Self.chain(3)
        var log = LogState(store: GoldenVectors.store)
        let state = CountingState()
        #expect(
            throws: LogState.ApplyError.notNext(expected: .init(rawValue: 1), found: .init(rawValue: 3))
        ) { try log.apply(batches[1], to: state) }
        for batch in batches { _ = try log.apply(batch, to: state) }
        #expect(log.position == batches[2].position && log.boot == GoldenVectors.boot)
        var other = BatchBuilder(
            store: GoldenVectors.store, epoch: Self.epoch,
            after: Position(epoch: Self.epoch, sequence: log.position.sequence, hash: .none), time: log.time)
        other.append(.clockJump(log.time))
        #expect(throws: LogState.ApplyError.wrongHash(at: log.position.sequence)) {
            try log.apply(other.sealed(), to: state)
        }
    }

    /// An epoch is opened by the first entry of its first batch, and nowhere else (PROTOCOL R-5).
    @Test func epochOpenStandsAtTheBeginningOnly() throws {
        var log = LogState(store: GoldenVectors.store)
        _ = try log.apply(Self.chain(1)[0], to: CountingState())
        let opening = Entry.epochOpen(node: "n", incarnation: GoldenVectors.incarnation, boot: GoldenVectors.boot)
        for (epoch, entries) in [
            (Self.epoch, [opening]), (Epoch(rawValue: 4), [opening, opening]),
            (Epoch(rawValue: 4), [.clockJump(.zero)]),
        ] {
            var builder = BatchBuilder(store: log.store, epoch: epoch, after: log.position, time: log.time)
            for entry in entries { builder.append(entry) }
            let batch = builder.sealed()
            var copy = log
            #expect(throws: LogState.ApplyError.self) { try copy.apply(batch, to: CountingState()) }
        }
    }
}
