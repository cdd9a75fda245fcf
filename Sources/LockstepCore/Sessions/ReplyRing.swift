package import DequeModule

/// The replies of a session that its owner has not acknowledged, as runs of ``ReplyItem``s end to end.
///
/// Runs are appended at the end and dropped whole from the front, so an action costs about 12 ns and no allocation.
/// A run is one RESULT, so short ones that follow each other are joined up to ``Limits/frameTargetBytes``.
package struct ReplyRing: Hashable, Sendable {
    package struct Run: Hashable, Sendable {
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

    package private(set) var runs: Deque<Run> = []
    /// Where each run begins, in bytes since the ring's birth, so that a run is found without a walk.
    private var places: Deque<Int> = []
    private var bytes: [UInt8] = []
    /// The place of the first of ``bytes``.
    private var origin = 0

    package init() {}

    package var byteCount: Int { bytes.count - start }

    /// What the ring takes of memory, with what it needs to find each run: what a window is compared with.
    package var memory: Int { byteCount + runs.count * (MemoryLayout<Run>.stride + MemoryLayout<Int>.stride) }

    /// What those runs take of memory whose last number is above `number`.
    ///
    /// Cost: a binary search.
    package func memory(above number: RequestNumber) -> Int {
        let index = firstIndex { $0.last > number }
        guard index < runs.count else { return 0 }
        let perRun = MemoryLayout<Run>.stride + MemoryLayout<Int>.stride
        return bytes.count - (places[index] - origin) + (runs.count - index) * perRun
    }

    /// Where the first run begins in ``bytes``; what lies before it was dropped.
    private var start: Int { places.first.map { $0 - origin } ?? bytes.count }

    /// Equal rings keep the same replies; what was dropped and still takes room does not count.
    package static func == (left: ReplyRing, right: ReplyRing) -> Bool {
        left.runs == right.runs && left.bytes[left.start...] == right.bytes[right.start...]
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(runs)
        hasher.combine(bytes[start...])
    }

    package mutating func append(_ run: Run, items: RawSpan, _ range: Range<Int>) {
        precondition(run.byteCount == range.count, "the run says how long it is")
        let place = origin + bytes.count
        unsafe items.extracting(range).withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
        if let last = runs.last, last.last + 1 == run.first, last.epoch == run.epoch,
            last.firstSequence.advanced(by: last.count) == run.firstSequence, last.count < 4_096,
            last.byteCount + run.byteCount <= Limits.frameTargetBytes
        {
            runs[runs.count - 1].count += run.count
            runs[runs.count - 1].byteCount += run.byteCount
        } else {
            runs.append(run)
            places.append(place)
        }
    }

    /// Drops the runs all of whose numbers are at or below `number`.
    package mutating func drop(through number: RequestNumber) {
        while let first = runs.first, first.last <= number {
            runs.removeFirst()
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
        let run = runs[index - 1]
        return run.first + min(UInt64(run.count), sequence.rawValue - run.firstSequence.rawValue + 1) - 1
    }

    /// The first run for which `isBehind` holds, which then holds for all that follow.
    private func firstIndex(where isBehind: (Run) -> Bool) -> Int {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if isBehind(runs[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Calls `body` for each kept stretch of the numbers `numbers`: its run, cut to them, and its items' bytes.
    package func forEachRun(
        in numbers: ClosedRange<RequestNumber>, _ body: (Run, RawSpan, Range<Int>) -> Void
    ) {
        withBytes(of: bytes) { span in
            var index = firstIndex { $0.last >= numbers.lowerBound }
            while index < runs.count, runs[index].first <= numbers.upperBound {
                let run = runs[index]
                let offset = places[index] - origin
                index += 1
                var reader = ByteReader(offset: offset, end: offset + run.byteCount)
                let first = max(run.first, numbers.lowerBound)
                let last = min(run.last, numbers.upperBound)
                Self.skip(first - run.first, span, &reader)
                let from = reader.offset
                if last == run.last {
                    _ = try? reader.skip(reader.remaining)
                } else {
                    Self.skip(last - first + 1, span, &reader)
                }
                let part = Run(
                    first: first, count: Int(last - first) + 1, epoch: run.epoch,
                    firstSequence: run.firstSequence.advanced(by: Int(first - run.first)),
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
        writer.writeVarint(UInt64(runs.count))
        for run in runs {
            writer.writeVarint(run.first)
            writer.writeVarint(UInt64(run.count))
            writer.writeVarint(run.epoch.rawValue)
            writer.writeVarint(run.firstSequence.rawValue)
            writer.writeVarint(UInt64(run.byteCount))
        }
        writer.writeRaw(bytes[start...])
    }

    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let listed = try reader.readList(from: bytes, smallestItem: 5) { (reader) throws(WireError) in
            Run(
                first: try reader.readVarint(from: bytes), count: try Int(clamping: reader.readVarint(from: bytes)),
                epoch: Epoch(rawValue: try reader.readVarint(from: bytes)),
                firstSequence: SequenceNumber(rawValue: try reader.readVarint(from: bytes)),
                byteCount: try Int(clamping: reader.readVarint(from: bytes)))
        }
        for run in listed {
            let start = try reader.skip(run.byteCount)
            var items = ByteReader(offset: start, end: reader.offset)
            guard run.first > 0, run.count > 0, run.count <= run.byteCount, run.first < UInt64(Int64.max),
                runs.last.map({ $0.last < run.first }) ?? true
            else { throw WireError(.outOfRange, at: start) }
            for _ in 0..<run.count { _ = try ReplyItem(from: bytes, &items) }
            try items.finish()
            runs.append(run)
            places.append(self.bytes.count)
            self.bytes.append(contentsOf: copyBytes(of: bytes, start..<reader.offset))
        }
    }
}
