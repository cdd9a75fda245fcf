import LockstepCore

/// A primary without clients and sockets: it writes batches, publishes them, and serves joins with a real `JoinServer`.
struct TestPublisher {
    let cluster = ClusterID(rawValue: 0xC1)
    let storeName = "counts"
    let channel = Channel(rawValue: 7)
    var boot = BootID(rawValue: 0xB001)
    var incarnation = Incarnation(rawValue: 0x1)
    var isVolatile = false
    var epoch = Epoch(rawValue: 1_000)
    var log: LogState
    var window: ResendWindow
    /// What it has applied; `maker` runs the actions ahead of it.
    let state = CountingState()
    private let maker = CountingState()
    var joins = JoinServer()
    var snapshots: [SnapshotNumber: EncodedSnapshot] = [:]
    var isSnapshotWanted = false
    /// What the host of the server was told.
    var reports: [KnownPosition] = []
    private var nextSnapshot: SnapshotNumber = 1
    private var session = SessionID.none
    private var nextNumber: RequestNumber = 1
    private var keepsReplies = false

    /// Starts with `epochOpen` and a session in the log.
    init(windowBytes: Int = Limits.resendWindowBytes, epoch: UInt64 = 1_000) {
        self.epoch = Epoch(rawValue: epoch)
        log = LogState(store: StoreID(cluster: ClusterID(rawValue: 0xC1), name: "counts"))
        window = ResendWindow(capacity: windowBytes)
        open()
    }

    var stamp: FrameStamp { FrameStamp(channel: channel, clusterHash: cluster.hash, epoch: epoch) }

    var digest: Digest { state.digest + log.digest }

    /// Begins an epoch, and a session for its writes.
    mutating func open() {
        var batch = BatchBuilder(store: log.store, epoch: epoch, after: log.position, time: time)
        batch.append(.epochOpen(node: "primary", incarnation: incarnation, boot: boot))
        let open = Open(
            client: ClientKey(rawValue: UInt128(epoch.rawValue)), nonce: 1, timeToLive: 60_000_000,
            windowNumbers: 1_000, windowBytes: 65_536)
        session = SessionID(epoch: epoch, sequence: batch.append(.sessionOpen(open)))
        nextNumber = 1
        commit(batch.sealed())
    }

    /// Starts again as another process, with the same log; as a volatile one it has lost it.
    mutating func restart(epoch number: UInt64, losingEverything: Bool = false) {
        boot = BootID(rawValue: boot.rawValue + 1)
        epoch = Epoch(rawValue: number)
        joins = JoinServer()
        snapshots = [:]
        isSnapshotWanted = false
        if losingEverything {
            incarnation = Incarnation(rawValue: incarnation.rawValue + 1)
            log = LogState(store: log.store)
            window.removeAll()
            state.reset()
            maker.reset()
        }
        open()
    }

    /// The client acknowledges at once, unless a test wants a fat session.
    private var acknowledged: RequestNumber { keepsReplies ? 0 : nextNumber - 1 }

    private var time: LogTime { LogTime(rawValue: 1_000_000 + Int64(log.position.sequence.rawValue)) }

    /// Writes one batch with an action for each byte, as `CountingState` takes them, and perhaps a digest mark.
    @discardableResult
    mutating func write(_ values: [UInt8] = [1], mark: Bool = false, forgedMark: Digest? = nil) -> SealedBatch {
        var batch = BatchBuilder(store: log.store, epoch: epoch, after: log.position, time: time)
        if !values.isEmpty {
            var actions = ByteWriter()
            for value in values { actions.writeBytes([value]) }
            batch.beginSeries(session: session, first: nextNumber, ackedThrough: acknowledged)
            let context = PerformContext(
                session: session, firstNumber: nextNumber, epoch: epoch, firstSequence: batch.nextSequence,
                time: time)
            withBytes(of: actions.bytes) { span in
                var reader = ByteReader(span)
                _ = maker.perform(span, &reader, count: values.count, context: context, into: &batch)
            }
            nextNumber += UInt64(batch.endSeries())
        }
        if let forgedMark {
            batch.append(.digestMark(forgedMark))
        } else if mark {
            batch.append(.digestMark(digest(after: batch)))
        }
        let sealed = batch.sealed()
        commit(sealed)
        return sealed
    }

    /// Writes one batch that is too large for the broadcast.
    mutating func writeLarge() -> SealedBatch {
        var batch = BatchBuilder(store: log.store, epoch: epoch, after: log.position, time: time)
        batch.beginSeries(session: session, first: nextNumber, ackedThrough: acknowledged)
        let start = batch.beginItem(mutationCount: 0)
        let reply = batch.writer.writeMeasured { $0.writeRaw([UInt8](repeating: 7, count: 100_000)) }
        _ = batch.endItem(start, replyStart: reply)
        nextNumber += UInt64(batch.endSeries())
        let sealed = batch.sealed()
        commit(sealed)
        return sealed
    }

    /// Keeps replies of `megabytes` in the session, so that a snapshot takes as much.
    mutating func fatten(byMegabytes megabytes: Int) {
        keepsReplies = true
        for _ in 0..<megabytes * 10 { _ = writeLarge() }
    }

    /// The digest of state and sessions after a batch that is still open.
    private func digest(after batch: BatchBuilder) -> Digest {
        guard !batch.isEmpty else { return digest }
        var trial = log
        let copy = CountingState()
        copy.sum = state.sum
        apply(batch.sealed(), to: &trial, copy)
        return copy.digest + trial.digest
    }

    private mutating func commit(_ batch: SealedBatch) {
        apply(batch, to: &log, state)
        window.append(batch)
    }

    private func apply(_ batch: SealedBatch, to log: inout LogState, _ state: CountingState) {
        do { _ = try log.apply(batch, to: state) } catch { preconditionFailure("a test's batch is wrong: \(error)") }
    }

    // MARK: - Frames

    func frame(_ batch: SealedBatch) -> [UInt8] { stamp.frame(broadcasting: batch) }

    var beaconContent: Beacon {
        Beacon(
            boot: boot, incarnation: incarnation, commit: log.position, time: log.time,
            markSequence: log.mark?.sequence ?? .zero, markDigest: log.mark?.digest ?? .none)
    }

    var beacon: [UInt8] { stamp.frame(.beacon(beaconContent)) }

    var welcome: Welcome {
        Welcome(
            nonce: 1, cluster: cluster, role: .primary, isVolatile: isVolatile, node: "primary",
            incarnation: incarnation, boot: boot, channel: channel, store: log.store, commit: log.position,
            publishEndpoint: "tcp://primary:2", bulkEndpoint: "tcp://primary:3", primaryEndpoint: "",
            creditActions: 1, creditBytes: 1, largestAction: 1)
    }

    /// Answers a frame of the bulk link; snapshots that are asked for are made by ``makeSnapshot(now:)``.
    mutating func answer(_ frame: [UInt8], from connection: Connection = Connection(rawValue: 1), now: Tick)
        -> [[UInt8]]
    {
        guard let request = decoded(frame).flatMap(BulkRequest.init) else {
            preconditionFailure("the replica sends what can be read, and what belongs there")
        }
        let log = JoinLog(
            stamp: stamp, store: log.store, committed: log.known, epochEnds: log.epochEnds, window: window)
        var actions: [ServeAction] = []
        joins.received(request, from: connection, now: now, log: log, into: &actions)
        joins.checkInvariants()
        return frames(actions)
    }

    /// Makes a snapshot at the log's position and offers it.
    mutating func makeSnapshot(now: Tick) {
        let content = SnapshotContent(log: log, digest: digest, state: encodedState)
        let snapshot = EncodedSnapshot(number: nextSnapshot, bytes: content.encoded(), log: log, digest: digest)
        nextSnapshot += 1
        snapshots[snapshot.info.id] = snapshot
        isSnapshotWanted = false
        var actions: [ServeAction] = []
        joins.snapshotReady(snapshot.info, now: now, into: &actions)
        joins.checkInvariants()
        _ = frames(actions)
    }

    private var encodedState: [UInt8] {
        var writer = ByteWriter()
        writer.write(state.sum)
        return writer.bytes
    }

    mutating func tick(now: Tick) -> [[UInt8]] {
        var actions: [ServeAction] = []
        joins.ticked(now: now, into: &actions)
        joins.checkInvariants()
        return frames(actions)
    }

    private mutating func frames(_ actions: [ServeAction]) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        for action in actions {
            switch action {
            case .frame(let frame, _): frames.append(frame)
            case .chunks(let snapshot, let indices, _):
                guard let held = snapshots[snapshot] else { preconditionFailure("the server offers what is held") }
                frames += indices.compactMap { held.frame(of: $0, stamp: stamp) }
            case .wantsSnapshot: isSnapshotWanted = true
            case .audienceAhead(let known, _): reports.append(known)
            case .dropSnapshot(let snapshot): snapshots[snapshot] = nil
            case .count: break
            }
        }
        return frames
    }
}

/// The message of a frame, whatever its cluster; nil if it cannot be read.
func decoded(_ frame: [UInt8]) -> Message? {
    withBytes(of: frame) { span in try? Message.decode(span, rule: .any).message }
}
