import LockstepCore
import Testing

struct JoinServerTests {
    private let now = Tick(rawValue: 1_000_000_000)

    /// Every relation of a reported position to the log has its answer (PROTOCOL ).
    @Test func positionsAreCompared() {
        var publisher = TestPublisher()
        let first = publisher.write()
        publisher.restart(epoch: 2_000)
        let last = publisher.write([1, 2, 3])
        let log = joinLog(publisher)
        func verdict(_ epoch: UInt64, _ sequence: SequenceNumber, _ hash: BatchHash, _ boot: UInt128 = 0)
            -> JoinLog.Verdict
        {
            log.verdict(
                on: KnownPosition(
                    position: Position(epoch: Epoch(rawValue: epoch), sequence: sequence, hash: hash),
                    boot: BootID(rawValue: boot)))
        }
        #expect(log.verdict(on: .none) == .known)
        #expect(log.verdict(on: publisher.log.known) == .known)
        #expect(verdict(1_000, first.head.last, first.hash, 0xB001) == .known)
        #expect(verdict(1_000, first.head.last, first.hash, 0xB002) == .diverged)
        #expect(verdict(2_000, first.head.last, first.hash) == .diverged)
        #expect(verdict(1_000, first.head.last, BatchHash(rawValue: 1)) == .diverged)
        // A client's position names no hash, and any entry of a batch.
        #expect(verdict(2_000, last.head.first, .none) == .known)
        #expect(verdict(2_000, last.head.first, last.hash) == .diverged)
        #expect(verdict(2_001, first.head.last, .none) == .ahead)
        #expect(verdict(2_000, last.head.last.next, .none) == .ahead)
    }

    /// A place that is no longer held is compared by nobody, and gets a snapshot (PROTOCOL R-32).
    @Test func aPlaceThatIsNoLongerHeldIsTooOld() {
        var publisher = TestPublisher(windowBytes: 400)
        let old = publisher.write()
        for _ in 1...20 { publisher.write() }
        #expect(joinLog(publisher).verdict(on: KnownPosition(position: old.position, boot: .none)) == .tooOld)
        var server = JoinServer()
        #expect(plan(&server, publisher, have: KnownPosition(position: old.position, boot: .none))?.isBusy == true)
    }

    /// A snapshot is asked for once, however many joiners wait for it, and again after 30 s (PROTOCOL R-32).
    @Test func aSnapshotIsAskedForOnce() {
        let publisher = TestPublisher()
        var server = JoinServer()
        var wanted = 0
        for seconds in [0, 1, 29, 30, 31] as [Int64] {
            let actions = sync(
                &server, publisher, node: "n\(seconds)", wantsSnapshot: true,
                at: now.advanced(byMilliseconds: seconds * 1_000))
            wanted += actions.count { $0 == .wantsSnapshot }
        }
        #expect(wanted == 2)
    }

    /// Four joins are served at a time; a fifth is BUSY until a place ends, which it does 2.5 s after its SYNC if its
    /// joiner does not fetch, and 12 s after it was made if it asked for one chunk only (PROTOCOL R-32).
    @Test func aFifthJoinIsBusy() {
        var publisher = TestPublisher()
        publisher.fatten(byMegabytes: 2)
        publisher.makeSnapshot(now: now)
        var server = publisher.joins
        for index in 1...4 as ClosedRange<UInt64> {
            let plan = plan(&server, publisher, node: "n\(index)", connection: index, wantsSnapshot: true)
            #expect(plan?.isSnapshot == true)
        }
        #expect(plan(&server, publisher, node: "n5", connection: 5, wantsSnapshot: true)?.isBusy == true)
        // The same node on a new connection takes its own place.
        #expect(plan(&server, publisher, node: "n1", connection: 6, wantsSnapshot: true)?.isSnapshot == true)
        var fetched = server
        for index in [2, 3, 4, 6] as [UInt64] {
            var actions: [ServeAction] = []
            fetched.received(
                .chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 1)), from: Connection(rawValue: index),
                now: now, log: joinLog(publisher), into: &actions)
        }
        func isBusy(_ server: inout JoinServer, at milliseconds: Int64) -> Bool? {
            plan(&server, publisher, node: "n5", connection: 5, wantsSnapshot: true, later: milliseconds)?.isBusy
        }
        var contested = server
        #expect(isBusy(&contested, at: 999) == true)
        #expect(isBusy(&contested, at: 1_000) == false)
        #expect(isBusy(&fetched, at: 11_999) == true)
        #expect(isBusy(&fetched, at: 12_000) == false)
        var actions: [ServeAction] = []
        server.ticked(now: now.advanced(byMilliseconds: 2_499), into: &actions)
        #expect(server.nextDeadline == now.advanced(byMilliseconds: 2_500))
        server.ticked(now: now.advanced(byMilliseconds: 2_500), into: &actions)
        #expect(server.nextDeadline == now.advanced(byMilliseconds: 30_000))
    }

    /// A joiner with all chunks frees its place: with the first repair, or soon after its last chunk (PROTOCOL R-32).
    @Test func aPlaceIsFreeAfterTheLastChunk() {
        var publisher = TestPublisher()
        publisher.fatten(byMegabytes: 1)
        publisher.makeSnapshot(now: now)
        let count = publisher.snapshots[1]?.info.chunkCount ?? 0
        func busy(at milliseconds: Int64) -> Bool? {
            decision(
                sync(
                    &publisher.joins, publisher, node: "n5", connection: 5, wantsSnapshot: true,
                    at: now.advanced(byMilliseconds: milliseconds)))?.isBusy
        }
        func send(_ request: BulkRequest, _ connection: UInt64) {
            var actions: [ServeAction] = []
            publisher.joins.received(
                request, from: Connection(rawValue: connection), now: now, log: joinLog(publisher), into: &actions)
        }
        for index in 1...4 as ClosedRange<UInt64> {
            _ = plan(&publisher.joins, publisher, node: "n\(index)", connection: index, wantsSnapshot: true)
            send(.chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 1)), index)
        }
        send(.chunkRequest(ChunkRequest(snapshot: 1, index: 1, window: UInt32(count - 2))), 1)
        #expect(busy(at: 3_001) == true)
        send(.chunkRequest(ChunkRequest(snapshot: 1, index: UInt32(count - 1), window: 1)), 1)
        #expect(busy(at: 2_999) == true)
        #expect(busy(at: 3_000) == false)
        var other = TestPublisher()
        other.makeSnapshot(now: now)
        for index in 1...4 as ClosedRange<UInt64> {
            _ = plan(&other.joins, other, node: "n\(index)", connection: index, wantsSnapshot: true)
        }
        #expect(plan(&other.joins, other, node: "n5", connection: 5, wantsSnapshot: true)?.isBusy == true)
        let repair = RepairRequest(nonce: 1, after: other.log.position, through: .zero, largestReply: 1)
        var actions: [ServeAction] = []
        other.joins.received(
            .repairRequest(repair), from: Connection(rawValue: 2), now: now, log: joinLog(other), into: &actions)
        #expect(plan(&other.joins, other, node: "n5", connection: 5, wantsSnapshot: true)?.isSnapshot == true)
    }

    /// An empty joiner waits for a snapshot if the tail is long, unless none can be made; a short tail it takes at once
    /// (PROTOCOL R-32).
    @Test func anEmptyJoinerWaitsForASnapshotOfALongTail() {
        var publisher = TestPublisher()
        for _ in 0..<100 { publisher.write([UInt8](repeating: 1, count: 1_000)) }
        #expect(plan(&publisher.joins, publisher) == .tail)
        // Few entries, and many bytes.
        for _ in 0..<85 { _ = publisher.writeLarge() }
        #expect(plan(&publisher.joins, publisher)?.isBusy == true)
        // Where none is made, for instance with a full disk, it does not wait for ever.
        var waiting = publisher.joins
        #expect(plan(&waiting, publisher, later: 5_000)?.isBusy == true)
        #expect(plan(&waiting, publisher, later: 5_001) == .tail)
        publisher.joins.snapshotFailed()
        #expect(plan(&publisher.joins, publisher) == .tail)
        publisher.makeSnapshot(now: now)
        #expect(plan(&publisher.joins, publisher)?.isSnapshot == true)
        // Somebody who has nearly all of it takes the rest.
        let have = KnownPosition(position: publisher.log.position, boot: .none)
        publisher.write()
        #expect(plan(&publisher.joins, publisher, have: have) == .tail)
    }

    /// A snapshot that cannot be made is asked for again after 30 s and not by each SYNC: it costs a walk through the
    /// state (PROTOCOL R-32).
    @Test func aSnapshotThatFailedIsNotAskedForAtOnce() {
        var publisher = TestPublisher()
        publisher.write()
        func asks(at milliseconds: Int64) -> Bool {
            sync(&publisher.joins, publisher, wantsSnapshot: true, at: now.advanced(byMilliseconds: milliseconds))
                .contains(.wantsSnapshot)
        }
        #expect(asks(at: 0))
        publisher.joins.snapshotFailed()
        #expect(!asks(at: 50))
        #expect(!asks(at: 29_999))
        #expect(asks(at: 30_000))
    }

    /// A reservation that nobody renews ends, and with the last one the snapshot (PROTOCOL R-32).
    @Test func anIdleSnapshotIsDropped() {
        var publisher = TestPublisher()
        publisher.makeSnapshot(now: now)
        _ = plan(&publisher.joins, publisher, wantsSnapshot: true)
        var actions: [ServeAction] = []
        publisher.joins.ticked(now: now.advanced(byMilliseconds: 29_999), into: &actions)
        #expect(actions.isEmpty)
        #expect(publisher.joins.nextDeadline == now.advanced(byMilliseconds: 30_000))
        publisher.joins.ticked(now: now.advanced(byMilliseconds: 30_000), into: &actions)
        #expect(actions == [.dropSnapshot(1)])
        #expect(publisher.joins.nextDeadline == .never)
    }

    /// A newer snapshot takes the place of one that nobody fetches; one that is fetched stays beside it.
    @Test func aFetchedSnapshotStaysBesideTheNewest() {
        var publisher = TestPublisher()
        publisher.makeSnapshot(now: now)
        _ = plan(&publisher.joins, publisher, wantsSnapshot: true)
        for _ in 1...3 {
            publisher.write()
            publisher.makeSnapshot(now: now)
        }
        #expect(publisher.snapshots.keys.sorted() == [1, 4])
        #expect(publisher.joins.holds(1) && publisher.joins.holds(4))
    }

    /// Chunks above the throttle wait for their time, and none is lost.
    @Test func theThrottleHoldsChunksBack() {
        var publisher = TestPublisher()
        publisher.fatten(byMegabytes: 20)
        publisher.joins = JoinServer(bytesPerSecond: 1 << 20)
        publisher.makeSnapshot(now: now)
        let count = publisher.snapshots[1]?.info.chunkCount ?? 0
        _ = plan(&publisher.joins, publisher, wantsSnapshot: true)
        var sent = 0
        var time = now
        for round in 0..<5 {
            let request = ChunkRequest(snapshot: 1, index: UInt32(round * 16), window: 16)
            sent += publisher.answer(publisher.stamp.frame(.chunkRequest(request)), now: time).count
        }
        #expect(sent == 64)
        while sent < count, time < now.advanced(byMilliseconds: 10_000) {
            time = max(time.advanced(byMicroseconds: 1), publisher.joins.nextDeadline)
            sent += publisher.tick(now: time).count
        }
        #expect(sent == count)
        // A quarter of a second for each chunk after the burst.
        #expect(time - now >= Tick.milliseconds(250 * Int64(count - 64) - 10))
    }

    /// Chunks without a reservation are answered by RESYNC: SYNC again.
    @Test func chunksWithoutAReservationAreNotSent() {
        var publisher = TestPublisher()
        publisher.makeSnapshot(now: now)
        let frames = publisher.answer(
            publisher.stamp.frame(.chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 1))), now: now)
        #expect(frames.map(decoded) == [.resync])
    }

    /// Repairs come from the window, only after a hash of this log, and never beyond the commit (PROTOCOL ).
    @Test func repairsNeedTheRightHash() {
        var publisher = TestPublisher()
        let start = publisher.log.position
        let batches = (1...5).map { _ in publisher.write() }
        func repair(_ after: Position, _ through: SequenceNumber, _ bytes: UInt32 = 1 << 20) -> Int? {
            let request = RepairRequest(nonce: 1, after: after, through: through, largestReply: bytes)
            let frames = publisher.answer(publisher.stamp.frame(.repairRequest(request)), now: now)
            guard case .repair(let answer)? = frames.first.flatMap(decoded), answer.status == .batches else {
                return nil
            }
            return answer.batches.count
        }
        #expect(repair(start, batches[4].head.last) == 5)
        #expect(repair(start, batches[2].head.last) == 3)
        #expect(repair(start, batches[4].head.last, 1) == 1)
        var wrong = start
        wrong.hash = BatchHash(rawValue: 1)
        #expect(repair(wrong, batches[4].head.last) == nil)
        #expect(repair(publisher.log.position, publisher.log.position.sequence.next) == nil)
        #expect(repair(start, start.sequence) == nil)
    }

    // MARK: - Asking

    private func joinLog(_ publisher: TestPublisher) -> JoinLog {
        JoinLog(
            stamp: publisher.stamp, store: publisher.log.store, committed: publisher.log.known,
            epochEnds: publisher.log.epochEnds, window: publisher.window)
    }

    private func sync(
        _ server: inout JoinServer, _ publisher: TestPublisher, node: String = "n", connection: UInt64 = 1,
        have: KnownPosition = .none, wantsSnapshot: Bool = false, at time: Tick
    ) -> [ServeAction] {
        let sync = Sync(
            nonce: 1, store: publisher.log.store, node: node, have: have, firstFrame: .zero,
            wantsSnapshot: wantsSnapshot)
        var actions: [ServeAction] = []
        server.received(
            .sync(sync), from: Connection(rawValue: connection), now: time, log: joinLog(publisher), into: &actions)
        server.checkInvariants()
        return actions
    }

    private func decision(_ actions: [ServeAction]) -> SyncDecision? {
        for case .frame(let frame, _) in actions {
            if case .syncPlan(let plan)? = decoded(frame) { return plan.decision }
        }
        return nil
    }

    private func plan(
        _ server: inout JoinServer, _ publisher: TestPublisher, node: String = "n", connection: UInt64 = 1,
        have: KnownPosition = .none, wantsSnapshot: Bool = false, later milliseconds: Int64 = 0
    ) -> SyncDecision? {
        decision(
            sync(
                &server, publisher, node: node, connection: connection, have: have, wantsSnapshot: wantsSnapshot,
                at: now.advanced(byMilliseconds: milliseconds)))
    }
}

extension SyncDecision {
    var isBusy: Bool { if case .busy = self { true } else { false } }
    var isSnapshot: Bool { if case .snapshot = self { true } else { false } }
}
