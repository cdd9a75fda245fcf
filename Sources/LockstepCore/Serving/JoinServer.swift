/// What a ``JoinServer`` wants its host to do, in this order.
package enum ServeAction: Hashable, Sendable {
    /// Send a frame on the bulk socket.
    case frame([UInt8], to: Connection)
    /// Send these chunks of an encoded snapshot on the bulk socket.
    case chunks(snapshot: SnapshotNumber, indices: Range<Int>, to: Connection)
    /// A joiner needs a snapshot and none is of use: make one, and answer with ``JoinServer/snapshotReady(_:now:into:)``
    /// or ``JoinServer/snapshotFailed()``. It is not asked again before that, or before 30 s are over.
    case wantsSnapshot
    /// The peer has a history that this log does not have; the host decides what follows (PROTOCOL, R-41).
    case audienceAhead(KnownPosition, node: String)
    /// No joiner needs the snapshot any more.
    case dropSnapshot(SnapshotNumber)
    case count(ProtocolCounter)
}

/// Serves the bulk link: answers SYNC, CHUNK_REQ and REPAIR_REQ (PROTOCOL, R-32, R-34).
///
///     SYNC ---- ahead, diverged -------------------> AHEAD, DIVERGED, and the host is told
///       |------ the window holds the rest ---------> TAIL; the joiner asks by REPAIR_REQ
///       |------ a snapshot of use, a free place ---> SNAPSHOT; a reservation, renewed by each CHUNK_REQ
///       `------ none, or no place -----------------> BUSY; the host is asked for a snapshot
///
/// CHUNK_REQ without a reservation is answered by RESYNC, which on this link means: SYNC again.
///
/// Invariants: at most ``Limits/concurrentJoins`` reservations, one a node and one a connection; each is for a held
/// snapshot; at most two snapshots are held; a reservation queues at most ``Limits/chunkWindow`` chunks.
package struct JoinServer: Hashable, Sendable {
    private struct Held: Hashable, Sendable {
        var info: SnapshotInfo
        var usedAt: Tick
    }

    private struct Reservation: Hashable, Sendable {
        var node: String
        var connection: Connection
        var snapshot: SnapshotNumber
        var expires: Tick
        /// Chunks that wait for the throttle.
        var queued: [Int] = []
    }

    /// What bounds the answer to one message; only the simulator passes other ones than ``usual``.
    package struct Bounds: Hashable, Sendable {
        package var joins = Limits.concurrentJoins
        package var leaseMilliseconds = JoinServer.leaseMilliseconds
        /// A REPAIR holds at most this much, or one batch.
        package var repairBytes = 1 << 20
        package var chunksAtOnce = Int.max
        /// A joiner gets BUSY, whatever there is.
        package var isBusy = false
        package var prefersSnapshot = false
        package var isRepairUnavailable = false

        package static let usual = Bounds()
    }

    /// Oldest first.
    private var snapshots: [Held] = []
    private var reservations: [Reservation] = []
    private var snapshotAskedAt: Tick?
    private let bytesPerSecond: Int64
    private var tokens: Int64
    private var refilledAt: Tick?

    fileprivate static let leaseMilliseconds: Int64 = 30_000
    /// What may leave at once: the windows of all joiners.
    private static let burstBytes = Int64(Limits.concurrentJoins * Int(Limits.chunkWindow) * Limits.chunkBytes)
    /// DIVERGED names at most this many ends of epochs, the newest, so that it fits a message.
    private static let epochEndsInPlan = 16_384
    private static let retryMicroseconds: UInt32 = 200_000
    /// About what a small entry takes in a batch.
    private static let entryBytes: UInt64 = 20
    /// A tail of less is no reason for a new snapshot.
    private static let smallestTailBytes: UInt64 = 1 << 20

    /// Makes a server that sends at most `bytesPerSecond` of chunks, behind a burst of 16 MiB.
    package init(bytesPerSecond: Int = 400_000_000) {
        precondition((1...8_000_000_000).contains(bytesPerSecond), "the throttle is 1 byte to 8 GB a second")
        self.bytesPerSecond = Int64(bytesPerSecond)
        tokens = Self.burstBytes
    }

    /// Whether the snapshot is offered to joiners; the host keeps its bytes as long.
    package func holds(_ snapshot: SnapshotNumber) -> Bool { snapshots.contains { $0.info.id == snapshot } }

    /// Whether chunks wait for the throttle.
    package var isHolding: Bool { reservations.contains { !$0.queued.isEmpty } }

    /// When ``ticked(now:chunksAtOnce:into:)`` is due.
    package var nextDeadline: Tick {
        var deadline = Tick.never
        for reservation in reservations { deadline = min(deadline, reservation.expires) }
        for held in snapshots {
            deadline = min(deadline, held.usedAt.advanced(byMilliseconds: Self.leaseMilliseconds))
        }
        if let refilledAt, isHolding {
            let missing = max(0, Int64(Limits.chunkBytes) - tokens)
            deadline = min(deadline, refilledAt.advanced(byMicroseconds: missing * 1_000_000 / bytesPerSecond + 1))
        }
        return deadline
    }

    /// Takes a message of the bulk link; one of another kind is counted.
    package mutating func received(
        _ message: Message, from connection: Connection, now: Tick, log: JoinLog, bounds: Bounds = .usual,
        into actions: inout [ServeAction]
    ) {
        switch message {
        case .sync(let sync): synced(sync, from: connection, now: now, log: log, bounds: bounds, into: &actions)
        case .chunkRequest(let request):
            requested(request, from: connection, now: now, log: log, bounds: bounds, into: &actions)
        case .repairRequest(let request):
            requested(request, from: connection, log: log, bounds: bounds, into: &actions)
        case .hello, .welcome, .refused, .open, .opened, .resume, .resumed, .sessionMoved, .submit, .result, .busy,
            .outOfOrder, .sessionExpired, .sessionUnknown, .keepAlive, .close, .closed, .read, .readResult, .query,
            .queryResult, .resync, .runRequest, .runEnded, .runGone, .syncPlan, .chunk, .repair, .batch, .beacon,
            .adminRequest, .adminResponse:
            actions.append(.count(.framesRefused))
        }
    }

    /// A snapshot is encoded and may be offered; one that it replaces is dropped unless a joiner is fetching it.
    package mutating func snapshotReady(_ info: SnapshotInfo, now: Tick, into actions: inout [ServeAction]) {
        precondition(!holds(info.id), "a snapshot is offered once")
        snapshotAskedAt = nil
        // Of those before, the newest that is being fetched stays.
        let kept = snapshots.last { held in reservations.contains { $0.snapshot == held.info.id } }
        for held in snapshots where held != kept { drop(held.info.id, into: &actions) }
        snapshots = (kept.map { [$0] } ?? []) + [Held(info: info, usedAt: now)]
    }

    /// The snapshot that was asked for could not be made; the next joiner asks again.
    package mutating func snapshotFailed() { snapshotAskedAt = nil }

    /// Offers nothing any more: what the snapshots show is doubted, or belongs to a history that is gone.
    package mutating func discardSnapshots(into actions: inout [ServeAction]) {
        for held in snapshots { drop(held.info.id, into: &actions) }
        snapshotAskedAt = nil
    }

    /// The peer is gone; its reservation ends.
    package mutating func connectionLost(_ connection: Connection) {
        reservations.removeAll { $0.connection == connection }
    }

    /// Ends what is over and sends what the throttle held back.
    package mutating func ticked(now: Tick, chunksAtOnce: Int = .max, into actions: inout [ServeAction]) {
        reservations.removeAll { $0.expires <= now }
        let idle = snapshots.filter { held in
            held.usedAt.advanced(byMilliseconds: Self.leaseMilliseconds) <= now
                && !reservations.contains { $0.snapshot == held.info.id }
        }
        for held in idle { drop(held.info.id, into: &actions) }
        // What is left is being fetched.
        for index in snapshots.indices
        where snapshots[index].usedAt.advanced(byMilliseconds: Self.leaseMilliseconds) <= now {
            snapshots[index].usedAt = now
        }
        sendQueued(now: now, chunksAtOnce: chunksAtOnce, into: &actions)
    }

    private mutating func drop(_ snapshot: SnapshotNumber, into actions: inout [ServeAction]) {
        snapshots.removeAll { $0.info.id == snapshot }
        reservations.removeAll { $0.snapshot == snapshot }
        actions.append(.dropSnapshot(snapshot))
    }

    package func checkInvariants() {
        precondition(reservations.count <= Limits.concurrentJoins, "too many joins are served")
        precondition(snapshots.count <= 2, "too many snapshots are held")
        for reservation in reservations {
            precondition(holds(reservation.snapshot), "a reservation is for a snapshot that is held")
            precondition(reservation.queued.count <= Int(Limits.chunkWindow), "too many chunks are queued")
        }
    }
}

// MARK: - SYNC

extension JoinServer {
    private mutating func synced(
        _ sync: Sync, from connection: Connection, now: Tick, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) {
        guard sync.store == log.store else { return actions.append(.count(.framesRefused)) }
        let have = sync.have.position
        let decision: SyncDecision
        switch log.verdict(on: sync.have) {
        case .ahead:
            actions.append(.audienceAhead(sync.have, node: sync.node))
            decision = .ahead
        case .diverged:
            actions.append(.audienceAhead(sync.have, node: sync.node))
            decision = .diverged(Array(log.epochEnds.suffix(Self.epochEndsInPlan)))
        case .known where bounds.isBusy, .tooOld where bounds.isBusy:
            decision = .busy(retryAfter: Self.retryMicroseconds)
        case .known where !sync.wantsSnapshot && log.holdsTail(after: have.sequence):
            let isBehind = have.sequence < log.committed.position.sequence
            if isBehind && bounds.prefersSnapshot
                || isSnapshotCheaper(than: have.sequence, now: now, log: log, into: &actions)
            {
                decision = reserve(
                    sync.node, connection, above: have.sequence.next, now: now, log: log, bounds: bounds,
                    into: &actions)
            } else {
                decision = .tail
            }
        case .known, .tooOld:
            let lowest = sync.wantsSnapshot ? SequenceNumber.zero : have.sequence.next
            decision = reserve(
                sync.node, connection, above: lowest, now: now, log: log, bounds: bounds, into: &actions)
        }
        if case .busy = decision { actions.append(.count(.busyAnswers)) }
        let plan = SyncPlan(
            nonce: sync.nonce, commit: log.committed.position, boot: log.committed.boot, decision: decision)
        actions.append(.frame(log.stamp.frame(.syncPlan(plan)), to: connection))
    }

    /// Whether the whole tail behind `sequence` costs a joiner more than twice what a snapshot and its tail do.
    ///
    /// If there is no such snapshot yet and the tail is long, this joiner takes the tail, and the host makes one for
    /// the next.
    private mutating func isSnapshotCheaper(
        than sequence: SequenceNumber, now: Tick, log: JoinLog, into actions: inout [ServeAction]
    ) -> Bool {
        let tail = Self.bytes(behind: sequence, log)
        guard tail > Self.smallestTailBytes else { return false }
        let newest = snapshots.last { held in
            let position = held.info.position
            return position.sequence > sequence && log.holdsTail(after: position.sequence)
                && log.hash(at: position.sequence) == position.hash
        }
        guard let info = newest?.info else {
            if sequence == .zero { askForSnapshot(now: now, into: &actions) }
            return false
        }
        return tail > 2 * (info.byteCount + Self.bytes(behind: info.position.sequence, log))
    }

    /// About how many bytes of batches lie behind `sequence`.
    private static func bytes(behind sequence: SequenceNumber, _ log: JoinLog) -> UInt64 {
        (log.committed.position.sequence.rawValue - sequence.rawValue) * entryBytes
    }

    /// Finds a snapshot from which the window leads on, and a place among the joins.
    private mutating func reserve(
        _ node: String, _ connection: Connection, above lowest: SequenceNumber, now: Tick, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) -> SyncDecision {
        reservations.removeAll { $0.expires <= now }
        let previous = reservations.first { $0.node == node || $0.connection == connection }
        // A node, or a connection, has one join: a new SYNC takes the place of the one before.
        reservations.removeAll { $0.node == node || $0.connection == connection }
        let usable = snapshots.indices.filter { index in
            let position = snapshots[index].info.position
            return position.sequence >= lowest && log.holdsTail(after: position.sequence)
                && log.hash(at: position.sequence) == position.hash
        }
        // What it has begun to fetch saves it more than a newer one does.
        guard let index = usable.first(where: { snapshots[$0].info.id == previous?.snapshot }) ?? usable.last else {
            askForSnapshot(now: now, into: &actions)
            return .busy(retryAfter: Self.retryMicroseconds)
        }
        guard reservations.count < bounds.joins else {
            return .busy(retryAfter: Self.retryMicroseconds * 5)
        }
        let info = snapshots[index].info
        snapshots[index].usedAt = now
        // Under writes the tail behind a snapshot grows; when it costs more than a snapshot, the next joiner gets a new
        // one. This one goes on with what there is.
        if Self.bytes(behind: info.position.sequence, log) > max(Self.smallestTailBytes, info.byteCount) {
            askForSnapshot(now: now, into: &actions)
        }
        reservations.append(
            Reservation(
                node: node, connection: connection, snapshot: info.id,
                expires: now.advanced(byMilliseconds: bounds.leaseMilliseconds)))
        actions.append(.count(.snapshotsServed))
        return .snapshot(info)
    }

    private mutating func askForSnapshot(now: Tick, into actions: inout [ServeAction]) {
        if let asked = snapshotAskedAt, now < asked.advanced(byMilliseconds: Self.leaseMilliseconds) { return }
        snapshotAskedAt = now
        actions.append(.wantsSnapshot)
    }
}

// MARK: - CHUNK_REQ and REPAIR_REQ

extension JoinServer {
    private mutating func requested(
        _ request: ChunkRequest, from connection: Connection, now: Tick, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) {
        guard
            let index = reservations.firstIndex(where: {
                $0.connection == connection && $0.snapshot == request.snapshot && $0.expires > now
            }), let held = snapshots.firstIndex(where: { $0.info.id == request.snapshot })
        else {
            return actions.append(.frame(log.stamp.frame(.resync), to: connection))
        }
        reservations[index].expires = now.advanced(byMilliseconds: bounds.leaseMilliseconds)
        snapshots[held].usedAt = now
        let first = Int(request.index)
        let last = min(snapshots[held].info.chunkCount, first + Int(min(request.window, Limits.chunkWindow)))
        guard first < last else { return actions.append(.count(.framesRefused)) }
        for chunk in first..<last where !reservations[index].queued.contains(chunk) {
            // Beyond its window nothing is queued: the joiner asks again for what does not come.
            guard reservations[index].queued.count < Int(Limits.chunkWindow) else { break }
            reservations[index].queued.append(chunk)
        }
        sendQueued(now: now, chunksAtOnce: bounds.chunksAtOnce, into: &actions)
    }

    /// Sends queued chunks, neighbours together, as far as the throttle lets them.
    private mutating func sendQueued(now: Tick, chunksAtOnce: Int, into actions: inout [ServeAction]) {
        var left = chunksAtOnce
        // At most a second and 8 GB/s, so the product stays below 2^63.
        let elapsed = min(max(0, now - (refilledAt ?? now)), Tick.milliseconds(1_000))
        let earned = elapsed * bytesPerSecond / 1_000_000_000
        tokens = min(Self.burstBytes, tokens + earned)
        if earned > 0 || refilledAt == nil { refilledAt = now }
        for index in reservations.indices {
            while let first = reservations[index].queued.first, left > 0, tokens >= Int64(Limits.chunkBytes) {
                var end = first
                while reservations[index].queued.first == end, left > 0, tokens >= Int64(Limits.chunkBytes) {
                    reservations[index].queued.removeFirst()
                    left -= 1
                    tokens -= Int64(Limits.chunkBytes)
                    end += 1
                }
                let reservation = reservations[index]
                actions.append(
                    .chunks(snapshot: reservation.snapshot, indices: first..<end, to: reservation.connection))
            }
        }
    }

    private func requested(
        _ request: RepairRequest, from connection: Connection, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) {
        let after = request.after
        let committed = log.committed.position.sequence
        let limit = min(Int(request.largestReply), bounds.repairBytes)
        let batches: [SealedBatch]
        if !bounds.isRepairUnavailable, after.sequence < committed, request.through > after.sequence,
            log.hash(at: after.sequence) == after.hash
        {
            let held = log.window.batches(
                after: after.sequence, through: min(request.through, committed), bytes: limit)
            batches = (held ?? []).filter { $0.head.last <= committed }
        } else {
            batches = []
        }
        guard !batches.isEmpty else {
            let answer = Repair(nonce: request.nonce, status: .unavailable, batches: [])
            return actions.append(.frame(log.stamp.frame(.repair(answer)), to: connection))
        }
        actions.append(.count(.repairsServed))
        actions.append(.frame(log.stamp.repairFrame(nonce: request.nonce, batches: batches), to: connection))
    }
}
