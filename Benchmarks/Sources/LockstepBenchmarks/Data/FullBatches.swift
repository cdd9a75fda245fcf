import LockstepCore

/// Full batches of increments, as a primary's machine makes them, in the order of its chain.
struct FullBatches {
    /// The log before the first batch.
    let start: LogState
    /// Everything before: the opening of the epoch and of the session.
    let beginning: [SealedBatch]
    let batches: [SealedBatch]
    /// In all batches.
    let entryCount: Int

    /// Has a primary sequence actions until it has `count` batches that are full.
    ///
    /// Nothing is answered before the end, so nothing is acknowledged: a session has 16 batches, which its window holds.
    init(_ count: Int, of primary: OnePrimary, _ names: Workload.Names = .short) throws {
        primary.keepsOutput = true
        var sessions = try (0...count / 16).map { try OneSession(with: primary, client: UInt128($0 + 1)) }
        var picks = Workload.Picks(names)
        start = primary.machine.log
        beginning = primary.takeBatches()
        var bytes = 0
        while bytes < (count + 1) * Limits.batchFullBytes {
            let actions = try picks.increments()
            let session = bytes / (16 * Limits.batchFullBytes) % sessions.count
            primary.receive(
                sessions[session].submit(actions, count: Workload.chunkActions), from: OneSession.connection)
            // An entry is larger than its action: it has a reply as well.
            bytes += actions.count
        }
        primary.endTurn()
        batches = Array(primary.takeBatches().prefix(count))
        precondition(batches.count == count, "there are \(batches.count) batches instead of \(count)")
        precondition(
            batches.allSatisfy { $0.bytes.count >= Limits.batchFullBytes }, "a batch ended before it was full")
        entryCount = batches.reduce(0) { $0 + Int($1.head.last.rawValue - $1.head.first.rawValue) + 1 }
    }
}
