import LockstepCore
import Testing

/// What a store's journal is given, in which order (PROTOCOL ).
@Suite struct JournalLineTests {
    private let now = Tick.zero.advanced(byMilliseconds: 5)

    private func batch(_ number: UInt64) -> SealedBatch {
        var builder = BatchBuilder(
            store: StoreID(rawValue: 1), epoch: Epoch(rawValue: 9), after: position(number - 1),
            time: LogTime(rawValue: 1))
        builder.append(
            .epochOpen(node: "n", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: UInt128(number))))
        return builder.sealed()
    }

    private func line(retries: Bool = true) -> JournalLine { JournalLine(writtenThrough: .zero, retries: retries) }

    /// What the line says next, as a text: the numbers of the batches, a replacement's place, a snapshot's number.
    private func next(_ line: inout JournalLine, at time: Tick? = nil) -> String? {
        switch line.next(now: time ?? now) {
        case .write(.batches(let batches)): batches.map { "\($0.head.first)" }.joined(separator: ",")
        case .write(.replacement(_, let position)): "replace \(position.sequence)"
        case .save(let number): "save \(number)"
        case nil: nil
        }
    }

    private func position(_ number: UInt64) -> Position {
        Position(epoch: .zero, sequence: SequenceNumber(rawValue: number), hash: .none)
    }

    @Test func oneWriteIsUnderWayAndWhatWaitsIsWrittenTogether() {
        var line = line()
        line.append([batch(1)])
        #expect(next(&line) == "1")
        line.append([batch(2)])
        line.append([batch(3), batch(4)])
        #expect(next(&line) == nil)
        line.checkInvariants()
        line.written()
        #expect(line.writtenThrough == SequenceNumber(rawValue: 1))
        #expect(next(&line) == "2,3,4")
        line.written()
        #expect(line.isDrained && line.byteCount == 0)
        #expect(line.writtenThrough == SequenceNumber(rawValue: 4))
    }

    /// A snapshot is saved beside a write, once the journal has reached its place.
    @Test func aSaveWaitsForItsPlaceAndForNoWriteAfterIt() {
        var line = line()
        line.append([batch(1)])
        #expect(next(&line) == "1")
        line.offer(7, at: SequenceNumber(rawValue: 1))
        #expect(next(&line) == nil)
        line.written()
        line.append([batch(2)])
        #expect(next(&line) == "2")
        #expect(next(&line) == "save 7")
        line.saved(isFailed: false, at: now)
        #expect(next(&line) == nil)
    }

    /// While a journal begins anew nothing is saved, and it does not begin anew while something is saved.
    @Test func aReplacementAndASaveExcludeEachOther() {
        var line = line()
        line.offer(1, at: .zero)
        #expect(next(&line) == "save 1")
        line.replace(with: [1, 2, 3], at: position(9))
        #expect(next(&line) == nil)
        line.saved(isFailed: false, at: now)
        #expect(next(&line) == "replace 9")
        line.offer(2, at: SequenceNumber(rawValue: 9))
        #expect(next(&line) == nil)
        line.checkInvariants()
        line.written()
        #expect(next(&line) == "save 2")
    }

    /// What waits belongs to the state that was replaced; what is under way is finished.
    @Test func aReplacementTakesThePlaceOfWhatWaits() {
        var line = line()
        line.append([batch(1)])
        #expect(next(&line) == "1")
        line.append([batch(2)])
        line.offer(1, at: SequenceNumber(rawValue: 2))
        line.replace(with: [1, 2, 3], at: position(9))
        line.checkInvariants()
        line.written()
        #expect(line.byteCount == 3)
        #expect(next(&line) == "replace 9")
        line.written()
        #expect(next(&line) == nil)
        #expect(line.writtenThrough == SequenceNumber(rawValue: 9))
    }

    /// Nothing of the new state is saved beside the batches of the one before, however long these are under way.
    @Test func nothingIsSavedWhileAReplacementWaits() {
        var line = line()
        line.append([batch(1), batch(2), batch(3)])
        #expect(next(&line) == "1,2,3")
        line.written()
        line.append([batch(4)])
        #expect(next(&line) == "4")
        line.replace(with: [1, 2, 3], at: position(2))
        line.offer(1, at: SequenceNumber(rawValue: 3))
        #expect(next(&line) == nil)
        line.written()
        #expect(next(&line) == "replace 2")
    }

    /// A replacement that waits drops what found no room before it, and comes after the pause.
    @Test func whatFoundNoRoomBeforeAReplacementIsForgotten() {
        var line = line()
        line.append([batch(1)])
        #expect(next(&line) == "1")
        line.replace(with: [1, 2, 3], at: position(9))
        line.foundNoRoom(at: now)
        line.checkInvariants()
        #expect(line.byteCount == 3)
        #expect(next(&line) == nil)
        #expect(next(&line, at: line.nextDeadline) == "replace 9")
    }

    /// A replacement holds up no stream, however large it is: only batches count for that (PROTOCOL R-45).
    @Test func onlyBatchesHoldUpAStream() {
        var line = line()
        line.replace(with: [UInt8](repeating: 0, count: 5_000), at: position(9))
        #expect(next(&line) == "replace 9")
        #expect(line.byteCount == 5_000 && line.batchByteCount == 0)
        let added = batch(10)
        line.append([added])
        #expect(line.batchByteCount == added.bytes.count)
        line.checkInvariants()
        line.written()
        #expect(line.byteCount == added.bytes.count && line.batchByteCount == added.bytes.count)
        #expect(next(&line) == "10")
        line.written()
        #expect(line.batchByteCount == 0)
    }

    @Test func whatFoundNoRoomComesAgainAfterAPause() {
        var line = line()
        line.append([batch(1)])
        #expect(next(&line) == "1")
        line.foundNoRoom(at: now)
        line.append([batch(2)])
        let again = now.advanced(byMilliseconds: JournalLine.retryMilliseconds)
        #expect(line.nextDeadline == again)
        #expect(next(&line, at: again.advanced(byMilliseconds: -1)) == nil)
        #expect(!line.isDrained)
        line.checkInvariants()
        #expect(next(&line, at: again) == "1,2")
        #expect(line.nextDeadline == .never)
    }

    /// A primary's machine decides for itself what it writes next.
    @Test func aPrimarysWriteDoesNotComeAgain() {
        var line = line(retries: false)
        line.append([batch(1)])
        #expect(next(&line) == "1")
        line.foundNoRoom(at: now)
        #expect(line.isDrained && line.byteCount == 0)
        #expect(line.nextDeadline == .never)
    }

    @Test func aSnapshotIsDueByTheSizesAndNotBesideAnother() {
        var line = line()
        func isDue(_ batches: Int, _ snapshot: Int) -> Bool {
            line.isSnapshotDue(batchBytes: batches, snapshotBytes: snapshot, atLeast: 100, now: now)
        }
        #expect(!isDue(100, 0) && isDue(101, 0) && !isDue(401, 101) && isDue(405, 101))
        line.offer(1, at: .zero)
        #expect(!isDue(1_000, 0))
        #expect(next(&line) == "save 1")
        #expect(!isDue(1_000, 0))
        line.saved(isFailed: true, at: now)
        #expect(!isDue(1_000, 0))
    }
}
