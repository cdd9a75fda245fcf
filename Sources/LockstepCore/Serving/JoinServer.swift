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
    /// No joiner needs the snapshot now.
    case dropSnapshot(SnapshotNumber)
    case count(ProtocolCounter)
}

/// Serves the bulk link: answers SYNC, CHUNK_REQ and REPAIR_REQ (PROTOCOL, R-32, R-34).
///
///     SYNC ---- ahead, diverged -------------------> AHEAD, DIVERGED, and the host is told
///       |------ the window holds the rest ---------> TAIL; the joiner asks by REPAIR_REQ
///       |------ that rest is long, or not held,
///       |       a snapshot of use, a free slot ----> SNAPSHOT; a reservation, renewed by each CHUNK_REQ
///       `------ none, or no slot ------------------> BUSY; the host is asked for a snapshot
///
///     reserved --CHUNK_REQ--> fetching --30 s without one, 3 s after the last chunk, REPAIR_REQ--> free
///        `-- 2.5 s without one; 1 s if others wait; another joiner comes, and this one did not fetch before --> free
///
/// While others wait, a slot is also taken from one that is slow: 10 s, and 2 s for each chunk that it asked for.
///
/// A slot that is free, or becomes so, goes to those who wait in the order of their coming (``JoinLine``).
///
/// CHUNK_REQ without a reservation is answered by RESYNC, which on this link means: SYNC again. The first REPAIR_REQ
/// after a snapshot ends the reservation: the joiner has all chunks.
///
/// Invariants: at most ``Limits/concurrentJoins`` reservations, one a node and one a connection; each is for a held
/// snapshot; at most two snapshots are held; a reservation queues at most ``Limits/chunkWindow`` chunks.
package struct JoinServer: Hashable, Sendable {
    struct Held: Hashable, Sendable {
        var info: SnapshotInfo
        var usedAt: Tick
    }

    struct Reservation: Hashable, Sendable {
        var node: String
        var connection: Connection
        var snapshot: SnapshotNumber
        var expires: Tick
        /// When it was made, and kept when the same joiner asks again without having fetched.
        var madeAt: Tick
        /// One past the highest chunk that was asked for; 0: no CHUNK_REQ has come.
        var reached = 0
        var isFetched: Bool { reached > 0 }
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
    var snapshots: [Held] = []
    var reservations: [Reservation] = []
    var line = JoinLine()
    var snapshotAskedAt: Tick?
    /// The last one that was asked for could not be made: a joiner does not wait for the next.
    var hasFailed = false
    let bytesPerSecond: Int64
    var tokens: Int64
    var refilledAt: Tick?

    static let leaseMilliseconds: Int64 = 30_000
    /// Until the first CHUNK_REQ, which a joiner repeats before this is over.
    static let firstLeaseMilliseconds = ReplicaTiming.chunk + 500
    /// After its last chunk: a joiner asks again for one that it lacks before this is over.
    static let lastLeaseMilliseconds = ReplicaTiming.chunk + 1_000
    /// What may leave at once: the windows of all joiners.
    static let burstBytes = Int64(Limits.concurrentJoins * Int(Limits.chunkWindow) * Limits.chunkBytes)

    /// Makes a server that sends at most `bytesPerSecond` of chunks, after a burst of 16 MiB.
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

    /// Takes a message of the bulk link.
    package mutating func received(
        _ request: BulkRequest, from connection: Connection, now: Tick, log: JoinLog, bounds: Bounds = .usual,
        into actions: inout [ServeAction]
    ) {
        switch request {
        case .sync(let sync): synced(sync, from: connection, now: now, log: log, bounds: bounds, into: &actions)
        case .chunkRequest(let request):
            requested(request, from: connection, now: now, log: log, bounds: bounds, into: &actions)
        case .repairRequest(let request):
            requested(request, from: connection, log: log, bounds: bounds, into: &actions)
        }
    }

    /// A snapshot is encoded and may be offered; one that it replaces is dropped unless a joiner is fetching it.
    package mutating func snapshotReady(_ info: SnapshotInfo, now: Tick, into actions: inout [ServeAction]) {
        precondition(!holds(info.id), "a snapshot is offered once")
        snapshotAskedAt = nil
        hasFailed = false
        // Of those before, the newest that is being fetched stays.
        let kept = snapshots.last { held in reservations.contains { $0.snapshot == held.info.id } }
        for held in snapshots where held != kept { drop(held.info.id, into: &actions) }
        snapshots = (kept.map { [$0] } ?? []) + [Held(info: info, usedAt: now)]
    }

    /// The snapshot that was asked for could not be made; it is asked for again 30 s after that, since making one costs
    /// the host a walk through its state.
    package mutating func snapshotFailed() { hasFailed = true }

    /// Stops offering snapshots: what they show is doubted, or belongs to a history that is gone.
    package mutating func discardSnapshots(into actions: inout [ServeAction]) {
        for held in snapshots { drop(held.info.id, into: &actions) }
        snapshotAskedAt = nil
    }

    /// Ends what is over and sends what the throttle held back.
    package mutating func ticked(now: Tick, chunksAtOnce: Int = .max, into actions: inout [ServeAction]) {
        endReservations(now: now)
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

    /// Ends the reservations whose time is over; who did not fetch is remembered.
    mutating func endReservations(now: Tick) {
        for reservation in reservations where reservation.expires <= now && !reservation.isFetched {
            line.idled(reservation.node, reservation.connection, now: now)
        }
        reservations.removeAll { $0.expires <= now }
    }

    private mutating func drop(_ snapshot: SnapshotNumber, into actions: inout [ServeAction]) {
        snapshots.removeAll { $0.info.id == snapshot }
        reservations.removeAll { $0.snapshot == snapshot }
        actions.append(.dropSnapshot(snapshot))
    }

    package func checkInvariants() {
        precondition(reservations.count <= Limits.concurrentJoins, "too many joins are served")
        precondition(snapshots.count <= 2, "too many snapshots are held")
        line.checkInvariants()
        for reservation in reservations {
            precondition(holds(reservation.snapshot), "a reservation is for a snapshot that is held")
            precondition(reservation.queued.count <= Int(Limits.chunkWindow), "too many chunks are queued")
        }
    }
}
