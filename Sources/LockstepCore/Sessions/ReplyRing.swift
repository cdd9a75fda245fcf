package import DequeModule

/// The replies of a session that its owner has not acknowledged, as series of ``ReplyItem``s end to end.
///
/// Series are appended at the end and dropped whole from the front, so an action costs about 12 ns and no allocation.
/// A series is one RESULT, so short ones that follow each other are joined up to ``Limits/frameTargetBytes``.
package struct ReplyRing: Hashable, Sendable {
    package struct Series: Hashable, Sendable {
        package var first: RequestNumber
        package var count: Int
        package var epoch: Epoch
        package var firstSequence: SequenceNumber
        package var byteCount: Int

        package init(
            first: RequestNumber, count: Int, epoch: Epoch, firstSequence: SequenceNumber, byteCount: Int
        ) {
            self.first = first
            self.count = count
            self.epoch = epoch
            self.firstSequence = firstSequence
            self.byteCount = byteCount
        }

        package var last: RequestNumber { first + UInt64(count) - 1 }
    }

    package private(set) var all: Deque<Series> = []
    /// Where each series begins, in bytes since the ring's birth, so that a series is found without a walk.
    private var places: Deque<Int> = []
    private var bytes: [UInt8] = []
    /// The place of the first of ``bytes``.
    private var origin = 0

    package init() {}

    package var byteCount: Int { bytes.count - start }

    /// What the ring takes of memory, with what it needs to find each series: what a window is compared with.
    package var memory: Int { byteCount + all.count * (MemoryLayout<Series>.stride + MemoryLayout<Int>.stride) }

    /// What those series take of memory whose last number is above `number`.
    ///
    /// Cost: a binary search.
    package func memory(above number: RequestNumber) -> Int {
        let index = firstIndex { $0.last > number }
        guard index < all.count else { return 0 }
        let perSeries = MemoryLayout<Series>.stride + MemoryLayout<Int>.stride
        return bytes.count - (places[index] - origin) + (all.count - index) * perSeries
    }

    /// Where the first series begins in ``bytes``; what lies before it was dropped.
    private var start: Int { places.first.map { $0 - origin } ?? bytes.count }

    /// Equal rings keep the same replies; what was dropped and still takes room does not count.
    package static func == (left: ReplyRing, right: ReplyRing) -> Bool {
        left.all == right.all && left.bytes[left.start...] == right.bytes[right.start...]
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(all)
        hasher.combine(bytes[start...])
    }

    package mutating func append(_ series: Series, items: RawSpan, _ range: Range<Int>) {
        precondition(series.byteCount == range.count, "the series says how long it is")
        let place = origin + bytes.count
        unsafe items.extracting(range).withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        if let last = all.last, last.last + 1 == series.first, last.epoch == series.epoch,
            last.firstSequence.advanced(by: last.count) == series.firstSequence, last.count < 4_096,
            last.byteCount + series.byteCount <= Limits.frameTargetBytes
        {
            all[all.count - 1].count += series.count
            all[all.count - 1].byteCount += series.byteCount
        } else {
            all.append(series)
            places.append(place)
        }
    }

    /// Drops the series all of whose numbers are at or below `number`.
    package mutating func drop(through number: RequestNumber) {
        while let first = all.first, first.last <= number {
            all.removeFirst()
            places.removeFirst()
        }
        let start = start
        guard start > 4_096, start * 2 >= bytes.count else { return }
        bytes.removeSubrange(0..<start)
        origin += start
    }

    /// The highest number whose entry is at or below `sequence`, if one is kept.
    ///
    /// Cost: a binary search.
    package func lastNumber(through sequence: SequenceNumber) -> RequestNumber? {
        let index = firstIndex { $0.firstSequence > sequence }
        guard index > 0 else { return nil }
        let series = all[index - 1]
        return series.first + min(UInt64(series.count), sequence.rawValue - series.firstSequence.rawValue + 1) - 1
    }

    /// The first series for which `isPast` holds, which then holds for all that follow.
    private func firstIndex(where isPast: (Series) -> Bool) -> Int {
        var low = 0
        var high = all.count
        while low < high {
            let middle = (low + high) / 2
            if isPast(all[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Calls `body` for each kept stretch of the numbers `numbers`: its series, cut to them, and its items' bytes.
    package func forEachSeries(
        in numbers: ClosedRange<RequestNumber>, _ body: (Series, RawSpan, Range<Int>) -> Void
    ) {
        withBytes(of: bytes) { span in
            var index = firstIndex { $0.last >= numbers.lowerBound }
            while index < all.count, all[index].first <= numbers.upperBound {
                let series = all[index]
                let offset = places[index] - origin
                index += 1
                var reader = ByteReader(offset: offset, end: offset + series.byteCount)
                let first = max(series.first, numbers.lowerBound)
                let last = min(series.last, numbers.upperBound)
                Self.skip(first - series.first, span, &reader)
                let from = reader.offset
                if last == series.last {
                    _ = try? reader.skip(reader.remaining)
                } else {
                    Self.skip(last - first + 1, span, &reader)
                }
                let part = Series(
                    first: first, count: Int(last - first) + 1, epoch: series.epoch,
                    firstSequence: series.firstSequence.advanced(by: Int(first - series.first)),
                    byteCount: reader.offset - from)
                body(part, span, from..<reader.offset)
            }
        }
    }

    /// The ring holds only items that were checked when they came, so one that cannot be read is a bug here.
    private static func skip(_ count: RequestNumber, _ bytes: RawSpan, _ reader: inout ByteReader) {
        for _ in 0..<count {
            do { _ = try ReplyItem(from: bytes, &reader) } catch {
                preconditionFailure("a kept reply is broken: \(error)")
            }
        }
    }

    package func write(to writer: inout ByteWriter) {
        writer.writeVarint(UInt64(all.count))
        for series in all {
            writer.writeVarint(series.first)
            writer.writeVarint(UInt64(series.count))
            writer.writeVarint(series.epoch.rawValue)
            writer.writeVarint(series.firstSequence.rawValue)
            writer.writeVarint(UInt64(series.byteCount))
        }
        writer.writeRaw(bytes[start...])
    }

    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let listed = try reader.readList(from: bytes, smallestItem: 5) { (reader) throws(WireError) in
            Series(
                first: try reader.readVarint(from: bytes), count: try Int(clamping: reader.readVarint(from: bytes)),
                epoch: Epoch(rawValue: try reader.readVarint(from: bytes)),
                firstSequence: SequenceNumber(rawValue: try reader.readVarint(from: bytes)),
                byteCount: try Int(clamping: reader.readVarint(from: bytes)))
        }
        for series in listed {
            let start = try reader.skip(series.byteCount)
            var items = ByteReader(offset: start, end: reader.offset)
            guard series.first > 0, series.count > 0, series.count <= series.byteCount,
                series.first < UInt64(Int64.max),
                all.last.map({ $0.last < series.first }) ?? true
            else { throw WireError(.outOfRange, at: start) }
            for _ in 0..<series.count { _ = try ReplyItem(from: bytes, &items) }
            try items.finish()
            all.append(series)
            places.append(self.bytes.count)
            self.bytes.append(contentsOf: copyBytes(of: bytes, start..<reader.offset))
        }
    }
}
