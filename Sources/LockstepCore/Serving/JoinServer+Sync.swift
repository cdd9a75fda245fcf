// The answer to SYNC.
extension JoinServer {
    /// Until the first CHUNK_REQ, while others wait.
    private static let contestedMilliseconds: Int64 = 1_000
    /// So long a joiner may take while others wait, and so much longer for each chunk that it has asked for.
    private static let slowestMilliseconds: (start: Int64, chunk: Int64) = (10_000, 2_000)
    /// After which a joiner asks again while a snapshot is made, and while all slots are taken.
    private static let snapshotMicroseconds: UInt32 = 50_000
    private static let slotMicroseconds: UInt32 = 1_000_000
    /// For those whom the next slots are kept for.
    private static let nextSlotMicroseconds: UInt32 = 250_000
    /// A tail of less is no reason for a new snapshot.
    private static let smallestTailBytes: UInt64 = 1 << 20
    /// An empty joiner waits for a snapshot rather than apply a longer tail.
    private static let longTailBytes: UInt64 = 8 << 20
    /// So long an empty joiner waits for a snapshot that the host does not make, for instance with a full disk.
    private static let patienceMilliseconds: Int64 = 5_000

    mutating func synced(
        _ sync: Sync, from connection: Connection, now: Tick, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) {
        guard sync.store == log.store else {
            actions.append(.count(.framesRefused))
            return actions.append(.frame(log.stamp.frame(.resync), to: connection))
        }
        let have = sync.have.position
        let decision: SyncDecision
        switch log.verdict(on: sync.have) {
        case .ahead:
            actions.append(.audienceAhead(sync.have, node: sync.node))
            decision = .ahead
        case .diverged:
            actions.append(.audienceAhead(sync.have, node: sync.node))
            decision = .diverged(Array(log.epochEnds.suffix(Limits.epochEndsInFetch)))
        case .known where bounds.isBusy, .tooOld where bounds.isBusy:
            decision = .busy(retryAfter: Self.slotMicroseconds)
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

    /// Whether the whole tail after `sequence` costs a joiner more than a snapshot and its tail do.
    ///
    /// A pair of a snapshot costs about a third of an entry that is applied. An empty joiner says that there is no
    /// such snapshot yet; since the window holds the whole log then, the state is hardly larger than that: if it is
    /// long, the joiner waits until the host has made one, else it takes the tail, and the next joiner has the
    /// snapshot.
    private mutating func isSnapshotCheaper(
        than sequence: SequenceNumber, now: Tick, log: JoinLog, into actions: inout [ServeAction]
    ) -> Bool {
        let tail = Self.bytes(after: sequence, log)
        guard tail > Self.smallestTailBytes else { return false }
        let newest = snapshots.last { held in
            let position = held.info.position
            return position.sequence > sequence && log.holdsTail(after: position.sequence)
                && log.hash(at: position.sequence) == position.hash
        }
        guard let info = newest?.info else {
            guard sequence == .zero else { return false }
            askForSnapshot(now: now, into: &actions)
            let isLate = snapshotAskedAt.map { now > $0.advanced(byMilliseconds: Self.patienceMilliseconds) } ?? false
            return tail > Self.longTailBytes && !hasFailed && !isLate
        }
        return tail > info.byteCount + Self.bytes(after: info.position.sequence, log)
    }

    /// About how many bytes the batches after `sequence` have, which the window holds.
    private static func bytes(after sequence: SequenceNumber, _ log: JoinLog) -> UInt64 {
        (log.committed.position.sequence.rawValue - sequence.rawValue) * log.window.bytesOfEntry
    }

    /// Finds a snapshot from which the window leads on, and a slot among the joins.
    private mutating func reserve(
        _ node: String, _ connection: Connection, above lowest: SequenceNumber, now: Tick, log: JoinLog, bounds: Bounds,
        into actions: inout [ServeAction]
    ) -> SyncDecision {
        endReservations(now: now)
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
            return .busy(retryAfter: hasFailed ? Self.slotMicroseconds : Self.snapshotMicroseconds)
        }
        guard previous != nil || hasSlot(for: node, connection, now: now, bounds: bounds) else {
            line.came(node, connection, now: now)
            let isNext = line.countAhead(of: node, connection, now: now) < bounds.joins
            return .busy(retryAfter: isNext ? Self.nextSlotMicroseconds : Self.slotMicroseconds)
        }
        line.leave(node, connection)
        let info = snapshots[index].info
        snapshots[index].usedAt = now
        // Under writes the tail after a snapshot grows; when it costs more than a snapshot, the next joiner gets a new
        // one. This one goes on with what there is.
        if Self.bytes(after: info.position.sequence, log) > max(Self.smallestTailBytes, info.byteCount) {
            askForSnapshot(now: now, into: &actions)
        }
        // One who asks again and again without fetching gains no time by it.
        let madeAt = previous.flatMap { $0.isFetched ? nil : $0.madeAt } ?? now
        let lease = min(bounds.leaseMilliseconds, Self.firstLeaseMilliseconds)
        reservations.append(
            Reservation(
                node: node, connection: connection, snapshot: info.id, expires: madeAt.advanced(byMilliseconds: lease),
                madeAt: madeAt))
        actions.append(.count(.snapshotsServed))
        return .snapshot(info)
    }

    /// Whether a joiner asks for so little that it keeps its slot from those who wait.
    private static func isSlow(_ reservation: Reservation, now: Tick) -> Bool {
        let allowed = slowestMilliseconds.start + slowestMilliseconds.chunk * Int64(reservation.reached)
        return reservation.madeAt.advanced(byMilliseconds: allowed) <= now
    }

    /// Whether a joiner may have a slot now: one is free beyond those that are kept for who waits longer, or can be
    /// taken from one that does not fetch.
    private mutating func hasSlot(
        for node: String, _ connection: Connection, now: Tick, bounds: Bounds
    ) -> Bool {
        let free = max(0, bounds.joins - reservations.count)
        let isIdler = line.isIdler(node, connection, now: now)
        let victims = reservations.indices.filter { index in
            let reservation = reservations[index]
            guard !isIdler else { return false }
            guard !reservation.isFetched else { return Self.isSlow(reservation, now: now) }
            return reservation.madeAt.advanced(byMilliseconds: Self.contestedMilliseconds) <= now
                || line.isIdler(reservation.node, reservation.connection, now: now)
        }
        guard line.countAhead(of: node, connection, now: now) < free + victims.count else { return false }
        guard free == 0, let victim = victims.first else { return true }
        let idler = reservations.remove(at: victim)
        line.idled(idler.node, idler.connection, now: now)
        return true
    }

    private mutating func askForSnapshot(now: Tick, into actions: inout [ServeAction]) {
        if let asked = snapshotAskedAt, now < asked.advanced(byMilliseconds: Self.leaseMilliseconds) { return }
        snapshotAskedAt = now
        actions.append(.wantsSnapshot)
    }
}
