import LockstepCore

/// Entries and batches: refused, or values that encode to the same bytes; and what applying them to a log does.
enum EntryTarget {
    enum Mode: UInt8 {
        /// The rest is entries, end to end.
        case entries
        /// The rest is a batch.
        case batch
        /// Blocks of entries, for each of which a head is made that continues the log.
        case log
    }

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        switch Mode(rawValue: input.byte() & 3) ?? .log {
        case .entries:
            let bytes = input.rest()
            _ = try withBytes(of: bytes) { (span) throws(FuzzFinding) in try walk(span, bytes, checks) }
        case .batch:
            guard let batch = try? SealedBatch(bytes: input.rest()) else { return }  // Refused.
            var writer = ByteWriter()
            batch.head.write(to: &writer)
            try checks.same(
                writer.bytes, Array(batch.bytes[..<BatchHead.byteCount]), "a batch's head that was encoded again")
            var log = LogState(store: Golden.store)
            try apply(batch, to: &log, FuzzState(), checks)
        case .log:
            try applyBlocks(&input, checks)
        }
    }

    /// Walks entries as far as they can be read, and returns how many sequence numbers they take.
    private static func walk(_ span: RawSpan, _ bytes: [UInt8], _ checks: Checks) throws(FuzzFinding) -> Int {
        var reader = ByteReader(span)
        var count = 0
        while reader.remaining > 0 {
            let start = reader.offset
            let entry: Entry
            do throws(WireError) {
                entry = try Entry(from: span, &reader)
            } catch {
                try checks.holds((start...bytes.count).contains(error.offset), "an error outside the entry: \(error)")
                break
            }
            count += entry.sequenceCount
            var writer = ByteWriter()
            if case .actions(let run) = entry {
                try write(run, span, to: &writer, checks)
            } else {
                entry.write(to: &writer, source: span)
            }
            try checks.same(writer.bytes, Array(bytes[start..<reader.offset]), "an entry that was encoded again")
        }
        return count
    }

    /// Writes a run as the batch's builder does, from its items as far as they can be read.
    private static func write(
        _ run: ActionSeries, _ span: RawSpan, to writer: inout ByteWriter, _ checks: Checks
    ) throws(FuzzFinding) {
        writer.write(EntryKind.actions.rawValue)
        writer.writeSession(run.session)
        writer.writeVarint(run.first)
        writer.writeVarint(run.ackedThrough)
        writer.write(UInt32(run.count))
        writer.write(UInt32(run.items.count))
        var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        for _ in 0..<run.count {
            let start = reader.offset
            guard let item = try? Item(from: span, &reader) else {
                reader.offset = start  // What cannot be read is copied.
                break
            }
            try checks.holds(
                run.items.contains(item.mutations) && run.items.contains(item.reply), "an item outside its run")
            writer.writeVarint(UInt64(item.mutationCount) << 2 | UInt64(item.status.rawValue))
            var mutations = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
            for _ in 0..<item.mutationCount {
                guard let range = try? mutations.readRange(from: span) else {
                    throw FuzzFinding(description: "a measured mutation cannot be read")
                }
                writer.writeRange(span, range)
            }
            try checks.holds(mutations.remaining == 0, "bytes are left after the mutations")
            writer.writeRange(span, item.reply)
        }
        writer.writeRaw(span, reader.offset..<run.items.upperBound)
    }

    private static func applyBlocks(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        var log = LogState(store: Golden.store)
        let state = FuzzState()
        var batches = 0
        while !input.isAtEnd, batches < 8 {
            batches += 1
            let change = input.byte()
            let entries = input.block()
            let count = try withBytes(of: entries) { (span) throws(FuzzFinding) in try walk(span, entries, checks) }
            let epoch = max(log.position.epoch, Golden.epoch).rawValue + UInt64(change & 1)
            let head = BatchHead(
                store: Golden.store, epoch: Epoch(rawValue: epoch), first: log.position.sequence.next,
                last: log.position.sequence.advanced(by: max(count, 1)),
                time: LogTime(rawValue: log.time.rawValue + Int64(change >> 1)), previous: log.position.hash)
            var writer = ByteWriter()
            head.write(to: &writer)
            writer.writeRaw(entries)
            guard let batch = try? SealedBatch(bytes: writer.bytes) else {
                throw FuzzFinding(description: "a head that was written is not read: \(head)")
            }
            guard try apply(batch, to: &log, state, checks) else { break }
        }
        try LogWalk.walk(log, checks)
    }

    /// Applies a batch and checks what is promised of success and of each failure.
    @discardableResult
    private static func apply(
        _ batch: SealedBatch, to log: inout LogState, _ state: FuzzState, _ checks: Checks
    ) throws(FuzzFinding) -> Bool {
        let before = log
        let sum = state.sum
        let mark: LogState.Mark?
        do throws(LogState.ApplyError) {
            mark = try log.apply(batch, to: state)
        } catch {
            switch error {
            case .malformed(let sequence, _):
                // A batch's last number is below 2^63 - 1, so the one after it exists.
                try checks.holds(
                    sequence >= batch.head.first && sequence <= batch.head.last.next, "an error outside the batch")
                log = before
            case .wrongStore, .notNext, .wrongHash, .lowerEpoch:
                try checks.holds(log == before && state.sum == sum, "a batch that was refused changed something")
            }
            return false
        }
        try checks.same(log.position, batch.position, "the position after a batch")
        try checks.holds(log.time >= before.time, "log time went back")
        if let mark { try checks.holds(log.mark == mark && mark.sequence == batch.head.last, "a mark is no end") }
        return true
    }
}
