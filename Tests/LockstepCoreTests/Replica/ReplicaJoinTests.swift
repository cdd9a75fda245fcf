import LockstepCore
import Testing

struct ReplicaJoinTests {
    /// The order of a join is fixed: sockets, first frame, and only then SYNC (PROTOCOL R-31).
    @Test func syncIsSentOnlyAfterTheFirstFrame() throws {
        let harness = ReplicaHarness()
        let directives = harness.welcome()
        #expect(
            directives == [
                .connectBulk(endpoint: "tcp://primary:3"),
                .subscribe(endpoint: "tcp://primary:2", channel: Channel(rawValue: 7)),
                .phaseChanged(.joining),
            ])
        #expect(harness.requests.isEmpty)
        harness.tick(after: 1_000)
        #expect(harness.requests.isEmpty)
        harness.beacon()
        let sync = try #require(harness.takeSync())
        #expect(sync.have == .none)
        #expect(sync.firstFrame == harness.publisher.log.position.sequence.next)
        #expect(!sync.wantsSnapshot)
        #expect(sync.store == harness.publisher.log.store)
    }

    /// A log that the publisher's window continues is filled by repairs, without a snapshot (PROTOCOL ).
    @Test func aJoinByTailAppliesTheWindowAndBecomesLive() {
        let harness = ReplicaHarness()
        for value in 1...50 as ClosedRange<UInt8> { harness.publisher.write([value, value]) }
        harness.join()
        #expect(!harness.trace.contains { if case .prepare = $0 { true } else { false } })
        #expect(harness.trace.phases == [.joining, .catchingUp, .live])
        #expect(harness.journal.map(\.hash).last == harness.publisher.log.position.hash)
        #expect(harness.count(.joins) == 1)
    }

    /// Without the batches in the window the replica fetches a snapshot, then the rest (PROTOCOL ).
    @Test func aJoinBySnapshotInstallsItAndGoesOn() throws {
        let harness = ReplicaHarness(TestPublisher(windowBytes: 600), hasJournal: true)
        for value in 1...50 as ClosedRange<UInt8> { harness.publisher.write([value]) }
        harness.join()
        let installed = harness.trace.compactMap { directive -> [UInt8]? in
            if case .installed(_, _, let encoded) = directive { encoded } else { nil }
        }
        let content = try SnapshotContent(try #require(installed.first))
        #expect(installed.count == 1)
        #expect(content.log.position.sequence > .zero)
        #expect(harness.trace.phases == [.joining, .catchingUp, .live])
    }

    /// What the stream brings while a snapshot is fetched is kept and applied after it (PROTOCOL R-31).
    @Test func theStreamIsKeptWhileASnapshotIsFetched() {
        let harness = ReplicaHarness(TestPublisher(windowBytes: 600))
        for value in 1...50 as ClosedRange<UInt8> { harness.publisher.write([value]) }
        harness.publisher.makeSnapshot(now: harness.now)
        harness.welcome()
        harness.beacon()
        harness.settleOne()
        for value in 1...50 as ClosedRange<UInt8> { harness.broadcast(harness.publisher.write([value])) }
        #expect(harness.machine.status.bufferedBytes > 0)
        harness.settle()
        harness.expectSame()
        #expect(harness.machine.status.bufferedBytes == 0)
        #expect(harness.count(.repairs) == 0)
    }

    /// Two seconds without a first frame: the subscription did not arrive, so the socket is made anew (PROTOCOL R-31).
    @Test func withoutAFirstFrameTheSubscriptionIsMadeAnew() {
        let harness = ReplicaHarness()
        harness.welcome()
        harness.pass(10_000, beacons: false)
        #expect((4...6).contains(harness.trace.subscriptions))
        #expect(harness.count(.reconnects) == harness.trace.subscriptions - 1)
        harness.join()
    }

    /// A lost SYNC, or a lost plan, is asked for again, in time on a new socket.
    @Test func anUnansweredSyncIsRepeated() throws {
        let harness = ReplicaHarness()
        harness.welcome()
        harness.beacon()
        let first = try #require(harness.takeSync())
        harness.pass(4_000, settling: false)
        let later = harness.takeRequests()
        #expect((3...4).contains(later.count))
        #expect(harness.trace.contains(.count(.reconnects)))
        harness.plan(.tail, for: first)
        #expect(harness.machine.phase == .joining, "a plan for an old question is stale")
        harness.pass(2_000)
        #expect(harness.machine.phase == .live)
    }

    /// BUSY is obeyed: no SYNC before its time, then another (PROTOCOL R-32).
    @Test func busyIsWaitedFor() throws {
        let harness = ReplicaHarness()
        harness.welcome()
        harness.beacon()
        harness.plan(.busy(retryAfter: 400_000), for: harness.takeSync())
        harness.pass(399, settling: false)
        #expect(harness.requests.isEmpty)
        harness.pass(150, settling: false)
        #expect(harness.takeSync() != nil)
    }

    /// Silence of 1.5 s means that the stream is dead; the join begins again from what is here (PROTOCOL R-31).
    @Test func silenceSubscribesAnew() {
        let harness = ReplicaHarness()
        harness.join()
        let before = harness.trace.subscriptions
        harness.pass(1_400, beacons: false)
        #expect(harness.trace.subscriptions == before)
        harness.pass(200, beacons: false)
        #expect(harness.trace.subscriptions == before + 1)
        #expect(harness.machine.phase == .joining)
        harness.publisher.write()
        harness.pass(1_000)
        #expect(harness.machine.phase == .live)
        harness.expectSame()
    }

    /// Frames that wait here because the journal is behind are no silence (PROTOCOL ).
    @Test func aStreamThatWaitsForTheJournalIsNotSilent() {
        let harness = ReplicaHarness()
        harness.join()
        let before = harness.trace.subscriptions
        for _ in 0..<5 {
            harness.pass(1_000, beacons: false)
            harness.event { machine, _ in machine.streamWaits(now: harness.now) }
        }
        #expect(harness.trace.subscriptions == before && harness.machine.phase == .live)
        harness.pass(1_600, beacons: false)
        #expect(harness.trace.subscriptions == before + 1)
    }

    /// Losing the ingress link does not disturb a stream that speaks; the same WELCOME again changes nothing.
    @Test func aLostLinkLeavesAHealthyStreamAlone() {
        let harness = ReplicaHarness()
        harness.join()
        harness.event { machine, directives in machine.linkLost(now: harness.now, into: &directives) }
        #expect(harness.machine.phase == .live)
        #expect(harness.welcome().isEmpty)
        harness.broadcast(harness.publisher.write())
        harness.expectSame()
    }

    /// Before the stream is joined a lost link leads back to the beginning.
    @Test func aLostLinkEndsAnUnfinishedJoin() {
        let harness = ReplicaHarness()
        harness.welcome()
        harness.event { machine, directives in machine.linkLost(now: harness.now, into: &directives) }
        #expect(harness.machine.phase == .connecting)
        #expect(harness.machine.nextDeadline == .never)
        harness.join()
    }

    /// Another boot after the WELCOME means a new stream; the log goes on across its `epochOpen` (PROTOCOL ).
    @Test func aWelcomeOfAnotherBootSubscribesAnew() {
        let harness = ReplicaHarness()
        harness.join()
        let stale = harness.publisher.beacon
        harness.publisher.restart(epoch: 2_000)
        let before = harness.trace.subscriptions
        harness.join()
        #expect(harness.trace.subscriptions == before + 1)
        #expect(harness.machine.log.epochEnds.count == 1)
        #expect(harness.broadcast(stale) == [.count(.staleFrames)])
    }

    /// A WELCOME of another cluster or store is refused and changes nothing (PROTOCOL R-1).
    @Test func aWelcomeOfAnotherStoreIsRefused() {
        let harness = ReplicaHarness()
        harness.join()
        var welcome = harness.publisher.welcome
        welcome.cluster = ClusterID(rawValue: 0xBAD)
        let directives = harness.event { machine, directives in
            machine.welcomed(welcome, endpoint: "", now: harness.now, state: harness.state, into: &directives)
        }
        #expect(directives == [.count(.framesRefused)])
    }

    /// A replica that recovered its journal says so, and gets only what is missing (PROTOCOL ).
    @Test func aRecoveredReplicaJoinsWithItsPosition() throws {
        let first = ReplicaHarness()
        first.join()
        let harness = ReplicaHarness(
            first.publisher, recovered: (first.machine.log, ResendWindow(), first.state.sum))
        harness.publisher.write([5, 6])
        harness.welcome()
        harness.beacon()
        let request = try #require(harness.requests.first)
        guard case .sync(let sync) = decoded(request) else { throw Unexpected() }
        #expect(sync.have == first.machine.known)
        harness.settle()
        harness.expectSame()
    }

    struct Unexpected: Error {}
}
