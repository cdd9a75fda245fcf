// Snapshots: fetched when the log alone does not lead here, and made for the journal and for joiners.
extension ReplicaStateMachine {
    /// The plan names a snapshot; chunks of the same one that came before a break are kept.
    mutating func fetchSnapshot(_ info: SnapshotInfo, now: Tick, into directives: inout [ReplicaDirective]) {
        guard install.isOfUse(info, after: log.position.sequence, most: configuration.largestSnapshotBytes) else {
            directives.append(.count(.framesRefused))
            wait(ReplicaTiming.retry, now: now)
            return
        }
        install.begin(info, now: now)
        stage = .fetching
        fetchMore(now: now, into: &directives)
    }

    /// Asks for the chunks that the window has room for, or assembles them when all are here.
    mutating func fetchMore(now: Tick, into directives: inout [ReplicaDirective]) {
        guard stage == .fetching, let isComplete = install.fetch?.isComplete else { return }
        guard !isComplete else {
            assemble(now: now, into: &directives)
            return
        }
        let window = buggify(.oneChunkWindow) ? 1 : Int(Limits.chunkWindow)
        for request in install.requests(now: now, window: window) {
            directives.append(.sendBulk(stamp.frame(.chunkRequest(request))))
        }
    }

    mutating func chunkReceived(
        _ chunk: Chunk, _ frame: RawSpan, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        guard stage == .fetching else {
            directives.append(.count(.staleFrames))
            return
        }
        switch install.receive(chunk, frame, now: now) {
        case .accepted: fetchMore(now: now, into: &directives)
        case .duplicate: directives.append(.count(.staleFrames))
        case .refused: directives.append(.count(.framesRefused))
        }
    }

    /// All chunks are here: checks the whole and has its state decoded away from this thread.
    private mutating func assemble(now: Tick, into directives: inout [ReplicaDirective]) {
        guard let directive = install.prepare(store: log.store, forJournal: configuration.hasJournal) else {
            // Chunks of two snapshots, or a server that is wrong: everything from the beginning.
            directives.append(.count(.framesRefused))
            wait(ReplicaTiming.retry, now: now)
            return
        }
        // The driver always answers, so this wait alone has no deadline.
        stage = .preparing
        directives.append(directive)
    }

    /// The driver has decoded the state that ``ReplicaDirective/prepare(_:_:)`` named.
    ///
    /// The machine puts it in place within this event, so that no other event, and no reader, ever sees a log and a
    /// state of different positions. A state with another digest than the snapshot's is refused.
    package mutating func snapshotPrepared(
        _ ticket: PrepareTicket, _ prepared: any PreparedState, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        guard stage == .preparing, let pending = install.awaited(ticket) else { return }
        directives.append(.count(.digestChecks))
        guard prepared.digest + pending.log.digest == pending.digest else {
            snapshotRefused(ticket, now: now, into: &directives)
            return
        }
        handOver(into: &directives)
        install.installed()
        state.install(prepared)
        log = pending.log
        window.removeAll()
        upstream.reached(log.position.epoch)
        snapshots.forget()
        if holdsCluster { showView(now: now, state: state) }
        directives.append(.installed(log, digest: pending.digest, encoded: pending.encoded))
        directives.append(.count(.joins))
        follow(now: now, state: state, into: &directives)
        finish(now: now, state: state, into: &directives)
    }

    /// The driver could not decode the state: another snapshot is asked for.
    package mutating func snapshotRefused(
        _ ticket: PrepareTicket, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        guard stage == .preparing, install.awaited(ticket) != nil else { return }
        install.endPreparing()
        directives.append(.count(.framesRefused))
        wait(ReplicaTiming.retry, now: now)
    }

    // MARK: - Own snapshots

    /// The driver saw that the journal has grown: the next mark takes a snapshot.
    package mutating func snapshotDue() {
        precondition(configuration.hasJournal, "there is no journal that could have grown")
        snapshots.journalHasGrown()
    }

    /// The journal begins anew with a snapshot, which is taken at once if the stream is followed: a mark need not come.
    ///
    /// Nothing may be applied after it in the same event.
    package mutating func takeSnapshot(state: any FollowingState, into directives: inout [ReplicaDirective]) {
        snapshotDue()
        if stage == .following { captureSnapshot(state: state, into: &directives) }
    }

    /// Takes a snapshot of what is applied; all of it has committed, so it may be encoded at once.
    ///
    /// Nothing may be applied after it in the same event.
    mutating func captureSnapshot(state: any FollowingState, into directives: inout [ReplicaDirective]) {
        guard !snapshots.isEncoding else { return }
        handOver(into: &directives)
        let number = snapshots.take(chunkBytes: buggify(.tinyChunks) ? 1_024 : Limits.chunkBytes)
        directives.append(.captureSnapshot(number, log: log, digest: state.digest + log.digest))
        directives.append(.encodeSnapshot(number))
    }

    /// A snapshot is encoded: joiners may have it, and the journal if it has grown.
    package mutating func snapshotEncoded(
        _ number: SnapshotNumber, info: SnapshotInfo, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        guard snapshots.ended(number) else {
            // What it shows was found wrong, or was replaced, meanwhile.
            directives.append(.dropSnapshot(number))
            return
        }
        if snapshots.isForJournal { directives.append(.saveSnapshot(number)) }
        var actions: [ServeAction] = []
        joins.snapshotReady(info, now: now, into: &actions)
        directives.serve(actions)
    }

    /// The snapshot could not be encoded; journal and joiners ask again.
    package mutating func snapshotFailed(_ number: SnapshotNumber, into directives: inout [ReplicaDirective]) {
        if snapshots.ended(number) { joins.snapshotFailed() }
        directives.append(.dropSnapshot(number))
    }

    /// Stops offering the snapshots.
    mutating func dropSnapshots(into directives: inout [ReplicaDirective]) {
        var actions: [ServeAction] = []
        joins.discardSnapshots(into: &actions)
        directives.serve(actions)
    }
}
