import LockstepCore
import Testing

struct ReplicaStreamTests {
    /// The next batch is applied at once and handed over; nothing else happens (PROTOCOL R-35).
    @Test func theNextBatchIsApplied() {
        let harness = ReplicaHarness()
        harness.join()
        let batch = harness.publisher.write([3, 4])
        #expect(harness.broadcast(batch) == [.applied([batch])])
        harness.expectSame()
    }

    /// A batch that is here already is counted, and changes nothing (PROTOCOL R-35).
    @Test func aDuplicateIsCounted() {
        let harness = ReplicaHarness()
        harness.join()
        let batch = harness.publisher.write()
        harness.broadcast(batch)
        #expect(harness.broadcast(batch) == [.count(.duplicateBatches)])
        harness.expectSame()
    }

    /// A hole is repaired once, 0 to 50 ms after the frame that shows it, and the buffer closes it (PROTOCOL R-36).
    @Test func aGapIsRepairedOnceWithinItsJitter() throws {
        let harness = ReplicaHarness()
        harness.join()
        let position = harness.machine.log.position
        harness.publisher.write([1])
        let lost = harness.publisher.write([2])
        for value in 3...9 as ClosedRange<UInt8> { harness.broadcast(harness.publisher.write([value])) }
        harness.pass(51, beacons: false, settling: false)
        let requests = harness.takeRequests()
        #expect(requests.count == 1)
        guard case .repairRequest(let request) = try #require(requests.first) else { throw Unexpected() }
        #expect(request.after == position)
        #expect(request.through == lost.head.last)
        let status = harness.publisher.answer(
            harness.publisher.stamp.frame(.repairRequest(request)), now: harness.now)
        for frame in status { harness.bulk(frame) }
        harness.expectSame()
        #expect(harness.count(.gaps) == 1)
        #expect(harness.machine.phase == .live)
    }

    /// If only a beacon shows that the last batch was lost, it is asked for after 20 ms of silence (PROTOCOL R-36).
    @Test func aLostTailIsRepairedAfterItsBeacon() {
        let harness = ReplicaHarness()
        harness.join()
        harness.publisher.write()
        harness.beacon()
        harness.pass(19, beacons: false, settling: false)
        #expect(harness.requests.isEmpty)
        harness.pass(2, beacons: false)
        harness.expectSame()
    }

    /// A repair that is not answered is asked for again with growing patience, within 4.1 s on a new socket; the SYNC
    /// there is repeated soon, since the first is lost while the socket connects (PROTOCOL R-36).
    @Test func anUnansweredRepairIsRepeated() {
        let harness = ReplicaHarness()
        harness.join()
        harness.publisher.write()
        harness.pass(1_000, settling: false)
        #expect((2...4).contains(harness.requests.count))
        harness.pass(3_500, settling: false)
        #expect(harness.count(.reconnects) == 1)
        #expect(harness.takeRequests().count { if case .sync = $0 { true } else { false } } >= 2)
        harness.requests = []
        harness.pass(3_000)
        harness.expectSame()
        #expect(harness.machine.phase == .live)
    }

    /// When the publisher no longer holds what is missing, a new plan decides: here a snapshot (PROTOCOL R-32).
    @Test func whatIsNoLongerHeldIsReplacedByASnapshot() {
        let harness = ReplicaHarness(TestPublisher(windowBytes: 600))
        harness.join()
        for value in 1...50 as ClosedRange<UInt8> { harness.publisher.write([value]) }
        harness.pass(2_000)
        harness.expectSame()
        #expect(harness.trace.contains { if case .installed = $0 { true } else { false } })
        #expect(harness.machine.phase == .live)
    }

    /// A batch above 64 KiB comes as its head and is fetched (PROTOCOL R-33).
    @Test func aHeadOnlyBatchIsFetched() {
        let harness = ReplicaHarness()
        harness.join()
        let large = harness.publisher.writeLarge()
        #expect(harness.broadcast(large).applied.isEmpty)
        harness.broadcast(harness.publisher.write())
        harness.pass(60, beacons: false)
        harness.expectSame()
    }

    /// A frame with a lower epoch, or with that of a boot that no WELCOME named, is dropped (PROTOCOL R-30); a higher one
    /// hurries HELLO, since that boot's primary waits for it.
    @Test func framesOfAnotherEpochAreDropped() {
        let harness = ReplicaHarness()
        harness.join()
        let before = harness.machine.log
        let batch = harness.publisher.write()
        for epoch in [999, 1_001] as [UInt64] {
            var stamp = harness.publisher.stamp
            stamp.epoch = Epoch(rawValue: epoch)
            let expected: [ReplicaDirective] = (epoch > 1_000 ? [.sayHello] : []) + [.count(.staleFrames)]
            #expect(harness.broadcast(stamp.frame(broadcasting: batch)) == expected)
            #expect(harness.broadcast(stamp.frame(.beacon(harness.publisher.beaconContent))) == expected)
        }
        #expect(harness.machine.log == before)
    }

    /// The same epoch from another boot is nobody's frame: an epoch belongs to one boot (PROTOCOL R-5).
    @Test func aBeaconOfAnotherBootIsDropped() {
        let harness = ReplicaHarness()
        harness.join()
        var beacon = harness.publisher.beaconContent
        beacon.boot = BootID(rawValue: 0xE)
        #expect(harness.broadcast(harness.publisher.stamp.frame(.beacon(beacon))) == [.count(.staleFrames)])
        #expect(harness.machine.phase == .live)
    }

    /// A beacon that was on its way while a repair over the other link went past it is no sign of AHEAD
    /// (PROTOCOL R-42, the race in `beaconReceived`).
    @Test func aBeaconThatARepairOvertookIsHarmless() {
        let harness = ReplicaHarness()
        harness.join()
        harness.publisher.write()
        let early = harness.publisher.beacon
        let batches = (1...5).map { _ in harness.publisher.write() }
        let late = harness.publisher.beacon
        // The silence leads to a plan, which goes past everything that still waits in the queue.
        harness.pass(1_600, beacons: false)
        let other = harness.publisher.write()
        harness.broadcast(early)
        harness.settle()
        let position = harness.machine.log.position
        #expect(position.sequence > batches[4].head.last)
        for batch in batches { harness.broadcast(batch) }
        harness.broadcast(late)
        harness.broadcast(other)
        #expect(harness.machine.log.position == position)
        #expect(harness.machine.phase == .live)
        #expect(harness.count(.staleFrames) == 0)
        #expect(harness.trace.alarms.isEmpty)
    }

    /// A beacon behind what the same stream has shown is doubted, and the plan decides: AHEAD (PROTOCOL ).
    @Test func aBeaconBehindTheStreamIsConfirmedByThePlan() throws {
        let harness = ReplicaHarness()
        harness.join()
        var beacon = harness.publisher.beaconContent
        beacon.commit.sequence = SequenceNumber(rawValue: 1)
        beacon.commit.hash = BatchHash(rawValue: 1)
        harness.broadcast(harness.publisher.stamp.frame(.beacon(beacon)))
        let sync = try #require(harness.takeSync())
        #expect(sync.have == harness.machine.known)
        harness.plan(.ahead, for: sync)
        #expect(harness.machine.phase == .ahead)
        #expect(harness.trace.alarms.count == 1)
        harness.expectSame()
    }

    /// A next batch that names another hash is not applied; the plan decides whose history it is (PROTOCOL R-35).
    @Test func aBatchAfterAnotherHistoryIsDoubted() throws {
        let harness = ReplicaHarness()
        harness.join()
        let fork = forked(harness.publisher)
        let before = harness.machine.log
        harness.broadcast(fork)
        #expect(harness.machine.log == before)
        let sync = try #require(harness.takeSync())
        harness.plan(.tail, for: sync)
        #expect(harness.machine.phase == .catchingUp)
        harness.pass(500)
        #expect(harness.machine.phase == .live)
        // A second doubt within a second only counts.
        harness.broadcast(fork)
        #expect(harness.takeSync() == nil)
    }

    /// Above its bound the buffer loses the oldest frames; the hole is repaired later (PROTOCOL R-31).
    @Test func anOverflowingBufferLosesTheOldest() {
        let harness = ReplicaHarness(joinBufferBytes: 4_096)
        harness.welcome()
        harness.beacon()
        for value in 1...100 as ClosedRange<UInt8> { harness.broadcast(harness.publisher.write([value])) }
        #expect(harness.count(.joinBufferDrops) > 50)
        #expect(harness.machine.status.bufferedBytes <= 4_096)
        harness.settle()
        harness.pass(1_000)
        harness.expectSame()
        #expect(harness.machine.phase == .live)
    }

    /// A stream that loses too often is left for repairs in a row until the head is near (PROTOCOL R-36).
    @Test func manyGapsTurnToPulling() {
        let harness = ReplicaHarness()
        harness.join()
        for _ in 1...5 {
            harness.publisher.write()
            harness.broadcast(harness.publisher.write())
            harness.pass(60, beacons: false, settling: false)
            #expect(harness.machine.status.isPulling == (harness.count(.gaps) > 3))
            harness.settle()
        }
        harness.beacon()
        #expect(!harness.machine.status.isPulling)
        harness.expectSame()
    }

    /// A batch that no correct primary writes ends the replica before it is shown (PROTOCOL R-61, section 8).
    @Test func aBrokenBatchHalts() {
        let harness = ReplicaHarness()
        harness.join()
        let position = harness.publisher.log.position
        var batch = BatchBuilder(
            store: harness.publisher.log.store, epoch: harness.publisher.epoch, after: position,
            time: LogTime(rawValue: 2_000_000))
        batch.append(.emitted(cause: .action(.none, 1), mutations: 0..<0))
        let directives = harness.broadcast(batch.sealed())
        #expect(directives.phases == [.halted])
        let isHalted = directives.contains {
            guard case .halt(.logBroken(.malformed(at: position.sequence.next, _))) = $0 else { return false }
            return true
        }
        #expect(isHalted)
        #expect(harness.beacon().isEmpty)
        #expect(harness.machine.nextDeadline == .never)
    }

    /// A batch at the publisher's next place with another previous hash.
    private func forked(_ publisher: TestPublisher) -> SealedBatch {
        var position = publisher.log.position
        position.hash = BatchHash(rawValue: 0xF0F0)
        var batch = BatchBuilder(
            store: publisher.log.store, epoch: publisher.epoch, after: position, time: LogTime(rawValue: 2_000_000))
        batch.append(.sessionExpire([]))
        return batch.sealed()
    }

    struct Unexpected: Error {}
}
