import LockstepCore

/// Batches, and the logs and snapshots that they make.
extension GoldenVectors {
    /// Empty, but for an epoch and a session: what the first batch of a log may be.
    static let batch: SealedBatch = {
        var builder = BatchBuilder(
            store: store, epoch: epoch, after: .start(of: store), time: LogTime(rawValue: 1_750_000_000_123_456))
        builder.append(.epochOpen(node: "node-a", incarnation: incarnation, boot: boot))
        let opened = builder.append(.sessionOpen(open))
        builder.beginSeries(session: SessionID(epoch: epoch, sequence: opened), first: 1, ackedThrough: 0)
        let start = builder.beginItem(mutationCount: 1)
        builder.writer.writeMeasured { $0.write(UInt8(9)) }
        let reply = builder.writer.writeMeasured { $0.writeVarint(9) }
        let fits = builder.endItem(start, replyStart: reply)
        precondition(fits, "a small item fits")
        builder.appendItem(.rejected, reason: "zero")
        builder.appendItem(.void)
        _ = builder.endSeries()
        builder.append(.digestMark(Digest(rawValue: 9)))
        return builder.sealed()
    }()

    /// The snapshot of a log that has only ``batch``.
    static func snapshot() throws -> [UInt8] {
        var log = LogState(store: store)
        let state = CountingState()
        _ = try log.apply(batch, to: state)
        return SnapshotContent(log: log, digest: state.digest + log.digest, state: try state.image().encoded())
            .encoded()
    }

    /// A batch after ``batch`` with two accepted actions, an emission of the first, and its end.
    static let runBatch: SealedBatch = {
        let session = SessionID(epoch: epoch, sequence: SequenceNumber(rawValue: 2))
        var builder = BatchBuilder(
            store: store, epoch: epoch, after: batch.position, time: LogTime(rawValue: 1_750_000_000_123_456))
        // Ranges into the bytes below: two actions of two bytes, a count with a mutation of one byte, an item.
        withBytes(of: [1, 9, 2, 9, 1, 1, 5, 4, 1, 6, 1, 7]) { source in
            builder.append(.accepted(session: session, number: 4, ackedThrough: 2, action: 0..<2), source: source)
            builder.append(.accepted(session: session, number: 5, ackedThrough: 2, action: 2..<4), source: source)
            builder.append(.emitted(cause: .action(session, 4), mutations: 4..<7), source: source)
            builder.append(.finished(session: session, number: 4, item: 7..<12), source: source)
        }
        return builder.sealed()
    }()

    /// The log that ``batch`` and ``runBatch`` make, with its state.
    static func logWithRuns() throws -> (log: LogState, state: CountingState) {
        var log = LogState(store: store)
        let state = CountingState()
        _ = try log.apply(batch, to: state)
        _ = try log.apply(runBatch, to: state)
        return (log, state)
    }

    /// The snapshot after ``runBatch``.
    static func snapshotWithRuns() throws -> [UInt8] {
        let (log, state) = try logWithRuns()
        return SnapshotContent(log: log, digest: state.digest + log.digest, state: try state.image().encoded())
            .encoded()
    }
}
