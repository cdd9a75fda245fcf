/// The batch under construction, on the primary.
///
/// It writes the batch's bytes once, as they will stand in the journal and on the wire. Series of actions grow item by
/// item; beside each series it collects the replies in the form in which the session keeps them and RESULT carries them.
package struct BatchBuilder: Hashable, Sendable {
    package private(set) var head: BatchHead
    /// Used by a reactor's coding between ``beginItem(mutationCount:)`` and ``endItem(_:replyStart:)`` only.
    package var writer: ByteWriter
    /// The replies of the open series, or of the last one.
    package private(set) var replies = ByteWriter()
    /// Actions that are in the batch as rejected.
    package private(set) var rejectedActions: UInt64 = 0
    private var openSeries: OpenSeries?
    /// The open series takes no further item when its replies have more bytes.
    private var replyRoom = Int.max
    /// The batch is full when it reaches this size.
    private let fullBytes: Int

    private struct OpenSeries: Hashable, Sendable {
        var start: Int
        var countOffset: Int
        var count: Int
    }

    /// Opens a batch after `previous`, which is full at `fullBytes`.
    package init(
        store: StoreID, epoch: Epoch, after previous: Position, time: LogTime, fullBytes: Int = Limits.batchFullBytes
    ) {
        self.fullBytes = fullBytes
        head = BatchHead(
            store: store, epoch: epoch, first: previous.sequence.next, last: previous.sequence, time: time,
            previous: previous.hash)
        writer = ByteWriter(capacity: Limits.broadcastBytes)
        head.write(to: &writer)
    }

    package var isEmpty: Bool { head.last < head.first }
    package var isFull: Bool { writer.count >= fullBytes }
    /// Whether the open series takes no further item: the batch is full, or the series's replies have left their room.
    package var isSeriesOver: Bool { isFull || replies.count > replyRoom }
    package var byteCount: Int { writer.count }
    package var nextSequence: SequenceNumber { head.last.next }

    /// Writes a record that is not a series; it takes the next sequence number, which is returned.
    @discardableResult
    package mutating func append(_ entry: Entry) -> SequenceNumber {
        withBytes(of: []) { append(entry, source: $0) }
    }

    /// Writes a record whose ranges point into `source`.
    @discardableResult
    package mutating func append(_ entry: Entry, source: RawSpan) -> SequenceNumber {
        precondition(openSeries == nil, "a series is open")
        entry.write(to: &writer, source: source)
        head.last = head.last.next
        return head.last
    }

    /// Begins a series of a session's actions; items follow until ``isSeriesOver``, then ``endSeries()``.
    ///
    /// Its replies may have `replyRoom` bytes, and those of one item more.
    package mutating func beginSeries(
        session: SessionID, first: RequestNumber, ackedThrough: RequestNumber, replyRoom: Int = .max
    ) {
        precondition(openSeries == nil, "a series is open")
        let start = writer.count
        writer.write(EntryKind.actions.rawValue)
        writer.writeSession(session)
        writer.writeVarint(first)
        writer.writeVarint(ackedThrough)
        openSeries = OpenSeries(start: start, countOffset: writer.count, count: 0)
        writer.write(UInt32(0))
        writer.write(UInt32(0))
        replies.removeAll()
        self.replyRoom = replyRoom
    }

    /// Ends the series and returns how many items it has; one without items leaves no trace.
    package mutating func endSeries() -> Int {
        guard let series = openSeries else { preconditionFailure("no series is open") }
        guard series.count > 0 else {
            writer.truncate(to: series.start)
            openSeries = nil
            return 0
        }
        writer.overwrite(UInt32(series.count), at: series.countOffset)
        writer.overwrite(UInt32(writer.count - series.countOffset - 8), at: series.countOffset + 4)
        openSeries = nil
        return series.count
    }

    /// Begins the item of an action that takes effect.
    ///
    /// The caller then writes `mutationCount` mutations to ``writer``, each with ``ByteWriter/writeMeasured(_:)``,
    /// then the reply in the same way, and ends with ``endItem(_:replyStart:)``, or takes everything back with
    /// ``takeBack(_:)``.
    package mutating func beginItem(mutationCount: Int) -> ItemStart {
        let start = ItemStart(offset: writer.count)
        writer.writeVarint(UInt64(mutationCount) << 2 | UInt64(ActionStatus.committed.rawValue))
        return start
    }

    /// Where an item began.
    package struct ItemStart: Hashable, Sendable {
        fileprivate var offset: Int
    }

    /// Ends the item, whose reply is the content that ``ByteWriter/writeMeasured(_:)`` said begins at `replyStart`.
    ///
    /// Returns false, and takes everything back, if the item is larger than ``Limits/actionBytes``.
    package mutating func endItem(_ start: ItemStart, replyStart: Int) -> Bool {
        guard writer.count - start.offset <= Limits.actionBytes else {
            takeBack(start)
            return false
        }
        itemFinished(.committed, replyStart: replyStart)
        return true
    }

    /// Ends an item that was begun with no mutations, because they were counted only while they were written.
    package mutating func endItem(_ start: ItemStart, mutationCount: Int, replyStart: Int) -> Bool {
        let head = UInt64(mutationCount) << 2 | UInt64(ActionStatus.committed.rawValue)
        guard head >= 0x80 else {
            writer.bytes[start.offset] = UInt8(head)
            return endItem(start, replyStart: replyStart)
        }
        var longer = ByteWriter()
        longer.writeVarint(head)
        writer.bytes.replaceSubrange(start.offset..<start.offset + 1, with: longer.bytes)
        return endItem(start, replyStart: replyStart + longer.count - 1)
    }

    /// Forgets an item that was begun.
    package mutating func takeBack(_ start: ItemStart) { writer.truncate(to: start.offset) }

    /// Appends the item of an action without effect: rejected with a reason, or void.
    package mutating func appendItem(_ status: ActionStatus, reason: String = "") {
        precondition(status == .rejected || status == .void, "an action with effect is written in steps")
        if status == .rejected { rejectedActions += 1 }
        writer.writeVarint(UInt64(status.rawValue))
        let replyStart = writer.writeMeasured { $0.writeRaw(Self.cut(reason)) }
        itemFinished(status, replyStart: replyStart)
    }

    /// Appends the item of an action whose sender may not send its kind: void, with a reason (PROTOCOL, R-72).
    package mutating func appendDenied(_ reason: String) {
        rejectedActions += 1
        appendItem(.void, reason: reason)
    }

    /// Counts the item and copies its reply to where the session will keep it.
    private mutating func itemFinished(_ status: ActionStatus, replyStart: Int) {
        precondition(openSeries != nil, "no series is open")
        openSeries?.count += 1
        head.last = head.last.next
        let range = replyStart..<writer.count
        withBytes(of: writer.bytes) { ReplyItem.write(status, $0, range, to: &replies) }
    }

    /// A reason of at most ``Limits/textBytes``.
    private static func cut(_ reason: String) -> String.UTF8View.SubSequence {
        reason.utf8.prefix(Limits.textBytes)
    }

    /// Fixes the batch; it must have entries and no open series.
    package consuming func sealed() -> SealedBatch {
        precondition(openSeries == nil && !isEmpty, "a batch is sealed with entries and without an open series")
        writer.overwrite(head.last.rawValue, at: 32)
        let hash = BatchHash(rawValue: sha256Prefix(writer.bytes))
        return SealedBatch(head: head, hash: hash, bytes: writer.bytes)
    }
}
