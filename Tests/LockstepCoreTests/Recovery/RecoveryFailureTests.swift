import LockstepCore
import Testing

/// What a recovery refuses, repeats, and gives up.
struct RecoveryFailureTests {
    /// A recovery that waits for the rest of a log of two batches.
    private static func repairing() -> (harness: RecoveryHarness, batches: [SealedBatch]) {
        var publisher = TestPublisher()
        publisher.write([1])
        let old = publisher.log
        let batches = [publisher.write([2]), publisher.write([3])]
        var harness = RecoveryHarness(from: publisher, log: old)
        harness.start()
        harness.run { $0.machine.awaited == .rest(after: old.position.sequence) }
        return (harness, batches)
    }

    /// A recovery that waits for the first chunk of a snapshot.
    private static func fetching() throws -> (harness: RecoveryHarness, snapshot: EncodedSnapshot) {
        var publisher = RecoveryTests.longPublisher()
        publisher.makeSnapshot(now: .zero.advanced(byMilliseconds: 5_000))
        let snapshot = try #require(publisher.snapshots[1])
        var harness = RecoveryHarness(from: publisher)
        harness.start()
        harness.run { $0.machine.awaited == .chunk(after: 0, of: snapshot.info.chunkCount) }
        return (harness, snapshot)
    }

    // MARK: - What is refused

    /// A chunk whose bytes are not what its hash says does not count, and is asked for again.
    @Test func aDamagedChunkIsAskedForAgain() throws {
        var (harness, snapshot) = try Self.fetching()
        let info = snapshot.info
        let content = Array(snapshot.bytes[info.chunkRange(0)])
        let damaged = Chunk(snapshot: info.id, index: 0, hash: sha256Prefix(content) ^ 1, content: 0..<content.count)
        harness.pending = []
        harness.receive(
            withBytes(of: content) { harness.publisher.stamp.frame(.chunk(damaged), source: $0) }, on: .bulk)
        #expect(harness.machine.awaited == .chunk(after: 0, of: info.chunkCount))
        harness.pass(milliseconds: 2_000)
        #expect(harness.asked == [.chunkRequest(ChunkRequest(snapshot: info.id, index: 0, window: 1))])
        harness.run()
        #expect(harness.end == .finished(harness.publisher.log.position))
    }

    /// Chunks that are right by themselves and are not those of the plan come to nothing.
    @Test func chunksOfAnotherSnapshotAreRefused() throws {
        var (harness, snapshot) = try Self.fetching()
        var bytes = snapshot.bytes
        bytes[100] ^= 1
        let other = EncodedSnapshot(
            number: snapshot.info.id, bytes: bytes, log: harness.publisher.log, digest: snapshot.info.digest)
        for index in 0..<other.info.chunkCount {
            harness.receive(try #require(other.frame(of: index, stamp: harness.publisher.stamp)), on: .bulk)
        }
        #expect(harness.end == .failed(.chunksDoNotBelongTogether))
        #expect(!harness.hasWritten)
    }

    /// A snapshot that is larger than a store can be is not begun.
    @Test func aSnapshotOfImpossibleSizeIsRefused() {
        var publisher = RecoveryTests.longPublisher()
        publisher.makeSnapshot(now: .zero.advanced(byMilliseconds: 5_000))
        var harness = RecoveryHarness(from: publisher, largestSnapshotBytes: 1_000)
        harness.start()
        harness.run()
        let bytes = publisher.snapshots[1]?.info.byteCount ?? 0
        #expect(harness.end == .failed(.snapshotTooLarge(bytes: bytes)))
    }

    /// Batches that do not go on from the journal's end are not written, and neither are those beside them.
    @Test func batchesThatDoNotChainAreRefused() throws {
        var (harness, batches) = Self.repairing()
        let frame = harness.publisher.stamp.repairFrame(nonce: try harness.repairNonce, batches: [batches[1]])
        harness.receive(frame, on: .bulk)
        let (next, found) = (batches[0].head.first, batches[1].head.first)
        #expect(harness.end == .failed(.batchUnfit(.notNext(expected: next, found: found))))
        #expect(harness.appended.isEmpty)
    }

    /// A frame with a batch too short to be one is no answer: nothing is written, and the recovery goes on waiting.
    @Test func aBatchThatCannotBeReadIsNoAnswer() throws {
        var (harness, batches) = Self.repairing()
        let repair = Repair(nonce: try harness.repairNonce, status: .batches, batches: [0..<10])
        let frame = withBytes(of: [UInt8](repeating: 1, count: 10)) {
            harness.publisher.stamp.frame(.repair(repair), source: $0)
        }
        harness.receive(frame, on: .bulk)
        #expect(harness.end == nil)
        #expect(harness.appended.isEmpty)
        harness.run()
        #expect(harness.appended == batches)
    }

    /// The node's own words reach the operator.
    @Test func aRefusalEndsIt() throws {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        guard case .hello(let hello)? = harness.asked.first else { throw RecoveryHarness.NoRequest() }
        harness.receive(.refused(Refused(nonce: hello.nonce, reason: .wrongCluster, text: "no")), on: .ingress)
        #expect(harness.end == .failed(.refused("no")))
    }

    /// A WELCOME that was damaged on its way is no answer: HELLO is repeated.
    @Test func aDamagedWelcomeIsNoAnswer() throws {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        guard case .hello(let hello)? = harness.asked.first else { throw RecoveryHarness.NoRequest() }
        var frame = harness.publisher.stamp.frame(.welcome(harness.welcome(nonce: hello.nonce)))
        frame[frame.count - 1] ^= 1
        harness.receive(frame, on: .ingress)
        #expect(harness.end == nil)
        harness.pending = []
        harness.pass(milliseconds: 300)
        harness.run()
        #expect(harness.end == .finished(harness.publisher.log.position))
    }

    /// Where no answer to HELLO can be read, the operator is told why, and not that nobody answers.
    @Test func aNodeOfAnotherVersionIsNamedInTheEnd() throws {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        guard case .hello(let hello)? = harness.asked.first else { throw RecoveryHarness.NoRequest() }
        var frame = harness.publisher.stamp.frame(.welcome(harness.welcome(nonce: hello.nonce)))
        frame[4] += 1
        harness.receive(frame, on: .ingress)
        harness.pass(milliseconds: 10_000)
        #expect(harness.end == .failed(.welcomeUnreadable(WireError(.wrongVersion, at: 4))))
    }

    @Test func aNodeWithoutABulkSocketIsOfNoUse() throws {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        guard case .hello(let hello)? = harness.asked.first else { throw RecoveryHarness.NoRequest() }
        var welcome = harness.welcome(nonce: hello.nonce)
        welcome.bulkEndpoint = ""
        harness.receive(.welcome(welcome), on: .ingress)
        #expect(harness.end == .failed(.servesNoSnapshots))
    }

    /// Answers to other requests than the present one change nothing.
    @Test func staleAnswersAreIgnored() throws {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        var before = harness.machine
        harness.receive(.welcome(harness.welcome(nonce: 1)), on: .ingress)
        harness.receive(.refused(Refused(nonce: 1, reason: .wrongCluster, text: "no")), on: .ingress)
        #expect(harness.machine == before)
        harness.run { $0.machine.awaited == .plan }
        before = harness.machine
        let known = harness.publisher.log.known
        harness.receive(
            .syncPlan(SyncPlan(nonce: 1, commit: known.position, boot: known.boot, decision: .ahead)))
        #expect(harness.machine == before)
        let (repairing, batches) = Self.repairing()
        harness = repairing
        harness.receive(
            harness.publisher.stamp.repairFrame(nonce: try harness.repairNonce &+ 1, batches: batches), on: .bulk)
        #expect(harness.machine == repairing.machine)
        #expect(harness.appended.isEmpty)
    }

    // MARK: - Patience

    /// HELLO is said every 300 ms, for 10 s.
    @Test func aNodeThatIsNotThereIsGivenUp() {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        #expect(harness.asked.count == 1)
        harness.pass(milliseconds: 900)
        #expect(harness.asked.count == 4)
        #expect(Set(harness.asked).count == 1, "it is the same HELLO each time")
        harness.pass(milliseconds: 9_099)
        #expect(!harness.machine.hasEnded)
        harness.pass(milliseconds: 1)
        #expect(harness.end == .failed(.noNode))
        #expect(harness.machine.nextDeadline == .never)
    }

    /// Every request after HELLO is repeated for 30 s.
    @Test func aNodeThatFallsSilentIsGivenUp() {
        var (harness, _) = Self.repairing()
        harness.pass(milliseconds: 600)
        #expect(harness.asked.count == 3)
        harness.pass(milliseconds: 29_399)
        #expect(!harness.machine.hasEnded)
        harness.pass(milliseconds: 1)
        #expect(harness.end == .failed(.noAnswer))
    }

    /// A node that only says BUSY is asked for 2 minutes.
    @Test func aNodeThatMakesNoSnapshotIsGivenUp() {
        var harness = RecoveryHarness(from: RecoveryTests.longPublisher())
        harness.start()
        let began = harness.now
        while !harness.machine.hasEnded {
            harness.run()
            harness.pass(milliseconds: 100)
        }
        #expect(harness.end == .failed(.preparesTooLong))
        #expect(harness.now >= began.advanced(byMilliseconds: 120_000))
        #expect(harness.now < began.advanced(byMilliseconds: 121_000))
    }

    /// A node that only says RESYNC is asked for 2 minutes, and not as fast as it answers.
    @Test func aNodeThatAlwaysWantsToBeginAgainIsGivenUp() {
        var harness = RecoveryHarness(from: TestPublisher())
        harness.start()
        let began = harness.now
        while !harness.machine.hasEnded {
            harness.run { $0.machine.awaited == .plan }
            harness.receive(.resync)
            harness.pass(milliseconds: 300)
        }
        #expect(harness.end == .failed(.asksToBeginAgain))
        #expect(harness.now >= began.advanced(byMilliseconds: 120_000))
        #expect(harness.directives.count { $0 == .connectIngress } <= 401)
    }

    /// A journal that takes long to write a snapshot is no node that cannot go on: what is missing then is planned anew.
    @Test func aSlowJournalIsNoLackOfProgress() throws {
        var publisher = RecoveryTests.longPublisher()
        publisher.makeSnapshot(now: .zero.advanced(byMilliseconds: 5_000))
        publisher.write([5])
        var harness = RecoveryHarness(from: publisher)
        harness.replaceTime = 130_000
        harness.start()
        harness.run { $0.snapshots.count == 1 }
        let nonce = try harness.repairNonce
        harness.receive(.repair(Repair(nonce: nonce, status: .unavailable, batches: [])))
        #expect(!harness.machine.hasEnded)
        harness.pass(milliseconds: 300)
        harness.run()
        #expect(harness.end == .finished(publisher.log.position))
    }
}
