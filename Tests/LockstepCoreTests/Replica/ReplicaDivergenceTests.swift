import LockstepCore
import Testing

struct ReplicaDivergenceTests {
    /// A wrong digest stops serving, raises the alarm with both digests, and is healed by one snapshot (PROTOCOL R-53).
    @Test func aWrongDigestIsQuarantinedAndHealed() throws {
        let harness = ReplicaHarness(hasJournal: true)
        harness.join()
        harness.state.skew = 1
        harness.broadcast(harness.publisher.write([1]))
        harness.state.skew = 0
        let batch = harness.publisher.write([2], mark: true)
        let directives = harness.broadcast(batch)
        #expect(directives.phases == [.quarantined])
        #expect(directives.applied == [batch])
        guard case .diverged(let sequence, _, let own, let primary) = try #require(directives.alarms.first) else {
            throw Unexpected()
        }
        #expect(sequence == batch.head.last)
        #expect(own != primary)
        #expect(primary == harness.publisher.digest)
        let request = try #require(harness.requests.first)
        guard case .sync(let sync) = decoded(request) else { throw Unexpected() }
        #expect(sync.wantsSnapshot)
        // Nothing of the stream is applied to a state that is wrong.
        harness.broadcast(harness.publisher.write([3]))
        #expect(harness.machine.log.position == batch.position)
        harness.settle()
        harness.pass(1_000)
        harness.expectSame()
        #expect(harness.trace.phases.suffix(3) == [.quarantined, .catchingUp, .live])
    }

    /// Who wins an election with a wrong state does not take it over: it begins anew from the journal (PROTOCOL R-86).
    @Test func aWrongStateIsNotTakenOver() {
        let harness = ReplicaHarness(isBesideStandby: true)
        harness.join()
        /// The log of the standby beside it, which ends where the state does.
        func kept() -> KeptLog {
            let log = harness.machine.log
            let end = log.position
            let last = EpochEnd(epoch: end.epoch, boot: log.boot, sequence: end.sequence, hash: end.hash)
            return KeptLog(store: log.store, end: end, epochEnds: [last], committed: end.sequence)
        }
        #expect(kept().tail(after: harness.machine) == [])
        #expect(diverge(harness).phases == [.quarantined])
        #expect(kept().batches(after: harness.machine.log.position) == [])
        #expect(kept().tail(after: harness.machine) == nil)
    }

    /// The second difference within an hour stops the replica for good (PROTOCOL R-53).
    @Test func aSecondDifferenceWithinTheHourHalts() {
        let harness = ReplicaHarness()
        harness.join()
        diverge(harness)
        harness.settle()
        harness.pass(1_000)
        #expect(harness.machine.phase == .live)
        let directives = diverge(harness)
        #expect(directives.phases == [.halted])
        #expect(directives.contains { if case .halt(.divergedAgain) = $0 { true } else { false } })
        #expect(harness.welcome().isEmpty)
    }

    /// After the hour a difference is healed again.
    @Test func aDifferenceAfterTheHourIsHealedAgain() {
        let harness = ReplicaHarness()
        harness.join()
        diverge(harness)
        harness.settle()
        harness.now = harness.now.advanced(byMilliseconds: 3_600_001)
        harness.pass(2_000)
        #expect(diverge(harness).phases == [.quarantined])
        harness.settle()
        harness.pass(2_000)
        harness.expectSame()
    }

    /// The beacon's mark is compared with the own one of the same place, and only with that (PROTOCOL R-52).
    @Test func aBeaconsMarkIsCompared() {
        let harness = ReplicaHarness()
        harness.join()
        harness.broadcast(harness.publisher.write([1], mark: true))
        var beacon = harness.publisher.beaconContent
        beacon.markDigest = Digest(rawValue: 0xBAD)
        beacon.markSequence = SequenceNumber(rawValue: 1)
        #expect(harness.broadcast(harness.publisher.stamp.frame(.beacon(beacon))).alarms.isEmpty)
        beacon.markSequence = harness.publisher.beaconContent.markSequence
        #expect(harness.broadcast(harness.publisher.stamp.frame(.beacon(beacon))).phases == [.quarantined])
    }

    /// A primary with a lower epoch is not followed; everything is kept, and local reads go on (PROTOCOL R-42).
    @Test func aWelcomeWithALowerEpochMeansAhead() {
        let harness = ReplicaHarness()
        harness.join()
        let known = harness.machine.known
        let ahead = harness.publisher
        var old = TestPublisher()
        old.restart(epoch: 1_001, losingEverything: true)
        old.epoch = Epoch(rawValue: 900)
        old.log = TestPublisher(epoch: 900).log
        harness.publisher = old
        let directives = harness.welcome()
        #expect(directives.phases == [.ahead])
        #expect(directives.subscriptions == 0)
        #expect(harness.machine.known == known)
        #expect(harness.beacon().isEmpty)
        // Recovered: another boot whose log has everything.
        harness.publisher = ahead
        harness.publisher.restart(epoch: 3_000)
        harness.join()
    }

    /// A data node's primary has not opened its epoch yet: nothing is wrong, and the WELCOME after it is followed.
    @Test func aDataNodeWaitsForThePrimarysEpoch() {
        let harness = ReplicaHarness(isBesideStandby: true)
        harness.join()
        let ahead = harness.publisher
        harness.publisher.epoch = Epoch(rawValue: 900)
        harness.publisher.log = TestPublisher(epoch: 900).log
        let directives = harness.welcome()
        #expect(directives.phases.isEmpty && directives.alarms.isEmpty && directives.subscriptions == 0)
        #expect(harness.machine.phase == .live)
        harness.publisher = ahead
        harness.publisher.restart(epoch: 3_000)
        harness.join()
        #expect(harness.machine.phase == .live)
    }

    /// AHEAD and DIVERGED answers keep state and journal; the same WELCOME again does not change that (PROTOCOL R-42).
    @Test(arguments: [SyncDecision.ahead, .diverged([])])
    func anAnswerThatSaysAheadKeepsEverything(decision: SyncDecision) {
        let harness = ReplicaHarness()
        harness.join()
        harness.publisher.restart(epoch: 2_000)
        harness.welcome()
        harness.beacon()
        let log = harness.machine.log
        let directives = harness.plan(decision, for: harness.takeSync())
        #expect(directives.phases == [.ahead])
        #expect(directives.alarms.count == 1)
        #expect(harness.welcome().isEmpty)
        harness.pass(5_000)
        #expect(harness.machine.phase == .ahead)
        #expect(harness.machine.log == log)
    }

    /// A primary that lacks only marks, as one from a backup, has all that anybody was told: the replica gives its end up
    /// for a snapshot (PROTOCOL ).
    @Test func anEndThatWasToldToNobodyIsGivenUp() {
        let harness = ReplicaHarness(hasJournal: true)
        harness.join()
        harness.broadcast(harness.publisher.write([9]))
        let (backup, sum) = (harness.publisher, harness.publisher.state.sum)
        for _ in 1...3 { harness.broadcast(harness.publisher.write([], mark: true)) }
        let end = harness.machine.known
        harness.publisher = backup
        harness.publisher.state.sum = sum
        harness.publisher.restart(epoch: 2_000)
        harness.welcome()
        harness.beacon()
        harness.settle()
        harness.pass(1_000)
        harness.expectSame()
        #expect(harness.machine.phase == .live)
        #expect(harness.publisher.reports == [end])
        #expect(harness.trace.alarms.isEmpty)
        #expect(harness.journal.isEmpty, "the snapshot has taken the old log's place")
        harness.broadcast(harness.publisher.write([3]))
        harness.expectSame()
    }

    /// One that also lacks what was told is asked twice, and not followed (PROTOCOL R-42).
    @Test func anEndThatWasToldIsKeptWithTheMarksAfterIt() {
        let harness = ReplicaHarness()
        harness.join()
        let (backup, sum) = (harness.publisher, harness.publisher.state.sum)
        harness.broadcast(harness.publisher.write([9]))
        let told = harness.machine.known
        harness.broadcast(harness.publisher.write([], mark: true))
        let log = harness.machine.log
        harness.publisher = backup
        harness.publisher.state.sum = sum
        harness.publisher.restart(epoch: 2_000)
        harness.welcome()
        harness.beacon()
        harness.settle()
        harness.pass(5_000)
        #expect(harness.publisher.reports == [log.known, told])
        #expect(harness.machine.phase == .ahead)
        #expect(harness.machine.log == log)
        #expect(harness.trace.alarms.count == 1)
    }

    /// The server finds by itself that a joiner knows more, and tells its host (PROTOCOL ).
    @Test func anOldCopyOfThePrimaryIsFoundOut() {
        let harness = ReplicaHarness()
        let copy = harness.publisher
        let sum = copy.state.sum
        harness.join()
        harness.broadcast(harness.publisher.write([9]))
        let known = harness.machine.known
        harness.publisher = copy
        harness.publisher.state.sum = sum
        harness.publisher.restart(epoch: 2_000)
        harness.welcome()
        harness.beacon()
        harness.settle()
        #expect(harness.machine.phase == .ahead)
        #expect(harness.publisher.reports == [known])
    }

    /// What an earlier boot has sent is forgotten at the WELCOME of another one: it may be of a history that was given
    /// up, and after the end of the new one nothing would ever take its place (PROTOCOL R-31).
    @Test func framesOfAHistoryThatWasGivenUpAreNotWaitedFor() {
        let harness = ReplicaHarness()
        harness.join()
        let copy = harness.publisher
        let sum = copy.state.sum
        for value in 1...5 as ClosedRange<UInt8> { harness.publisher.write([value]) }
        harness.broadcast(harness.publisher.write([6]))
        #expect(harness.machine.status.bufferedBytes > 0)
        // An older copy is put back, and ends before the frame; this replica has nothing that the copy lacks.
        harness.publisher = copy
        harness.publisher.state.sum = sum
        harness.publisher.restart(epoch: 2_000)
        harness.join()
        #expect(harness.machine.status.bufferedBytes == 0)
        #expect(harness.trace.alarms.isEmpty)
        #expect(harness.publisher.reports.isEmpty)
    }

    /// The same boot's WELCOME from another address keeps what its stream has brought (PROTOCOL R-31).
    @Test func framesOfTheSameBootAreKept() {
        let harness = ReplicaHarness()
        harness.join()
        harness.publisher.write([1])
        harness.broadcast(harness.publisher.write([2]))
        let buffered = harness.machine.status.bufferedBytes
        var welcome = harness.publisher.welcome
        welcome.publishEndpoint = "tcp://other:2"
        let directives = harness.event { machine, directives in
            machine.welcomed(
                welcome, endpoint: "tcp://other:1", now: harness.now, state: harness.state, into: &directives)
        }
        #expect(directives.subscriptions == 1)
        #expect(buffered > 0)
        #expect(harness.machine.status.bufferedBytes == buffered)
        harness.beacon()
        harness.settle()
        harness.pass(1_000)
        #expect(harness.machine.phase == .live)
        harness.expectSame()
    }

    /// When a volatile primary comes back with another incarnation, everything is discarded and joined anew
    /// (PROTOCOL R-43).
    @Test func anotherIncarnationOfAVolatilePrimaryDiscards() throws {
        var publisher = TestPublisher()
        publisher.isVolatile = true
        let harness = ReplicaHarness(publisher, hasJournal: true)
        harness.join()
        for _ in 1...5 { harness.broadcast(harness.publisher.write([7])) }
        harness.publisher.restart(epoch: 2_000, losingEverything: true)
        let directives = harness.welcome()
        #expect(directives.contains(.discarded))
        #expect(harness.machine.known == .none)
        #expect(harness.state.sum == 0)
        harness.beacon()
        // The journal still holds the old log, so only a snapshot may go on.
        let request = try #require(harness.requests.first)
        guard case .sync(let sync) = decoded(request) else { throw Unexpected() }
        #expect(sync.wantsSnapshot)
        #expect(sync.have == .none)
        harness.settle()
        harness.pass(1_000)
        harness.expectSame()
        #expect(harness.machine.phase == .live)
    }

    /// A durable primary's new incarnation is no reason to discard: nothing else discards by itself (PROTOCOL R-43).
    @Test func anotherIncarnationOfADurablePrimaryKeepsEverything() {
        let harness = ReplicaHarness()
        harness.join()
        for _ in 1...5 { harness.broadcast(harness.publisher.write([7])) }
        let log = harness.machine.log
        harness.publisher.restart(epoch: 2_000, losingEverything: true)
        harness.welcome()
        harness.beacon()
        harness.settle()
        #expect(harness.machine.phase == .ahead)
        #expect(harness.machine.log == log)
    }

    @discardableResult
    private func diverge(_ harness: ReplicaHarness) -> [ReplicaDirective] {
        harness.state.skew = 1
        harness.broadcast(harness.publisher.write([1]))
        harness.state.skew = 0
        return harness.broadcast(harness.publisher.write([2], mark: true))
    }

    struct Unexpected: Error {}
}
