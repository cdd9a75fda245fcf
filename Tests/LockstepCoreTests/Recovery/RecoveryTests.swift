import LockstepCore
import Testing

/// What `lockstep recover --from` gets, and from where it goes on (PROTOCOL, R-31, R-32, R-34).
struct RecoveryTests {
    /// A node whose log is longer than what it holds in batches, so that a snapshot is needed.
    static func longPublisher() -> TestPublisher {
        var publisher = TestPublisher(windowBytes: 300_000)
        publisher.fatten(byMegabytes: 1)
        return publisher
    }

    /// A journal that ends within the node's history gets the rest, and nothing of it is kept aside.
    @Test func aJournalThatIsBehindGetsTheTail() {
        var publisher = TestPublisher()
        publisher.write([1, 2])
        let old = publisher.log
        let expected = [publisher.write([3]), publisher.write([4], mark: true)]
        var harness = RecoveryHarness(from: publisher, log: old)
        harness.start()
        harness.run()
        #expect(harness.directives.prefix(3).contains(.continueFrom(old.position)))
        #expect(harness.appended == expected)
        #expect(harness.machine.log == publisher.log)
        #expect(harness.end == .finished(publisher.log.position))
    }

    /// The machine finishes without a request where there is nothing to fetch.
    @Test func aJournalThatHasAllGetsNothing() {
        var publisher = TestPublisher()
        publisher.write()
        var harness = RecoveryHarness(from: publisher, log: publisher.log)
        harness.start()
        harness.run()
        #expect(harness.appended.isEmpty && harness.snapshots.isEmpty)
        #expect(harness.end == .finished(publisher.log.position))
    }

    /// The snapshot is whole, is the one that was offered, and the batches after it follow.
    @Test func aJournalThatIsFarBehindGetsASnapshotAndTheRest() throws {
        var publisher = Self.longPublisher()
        publisher.makeSnapshot(now: .zero.advanced(byMilliseconds: 5_000))
        let offered = try #require(publisher.snapshots[1])
        let rest = publisher.write([5])
        var harness = RecoveryHarness(from: publisher)
        harness.start()
        harness.run()
        let start = LogState(store: publisher.log.store).position
        #expect(
            harness.snapshots == [
                RecoverySnapshot(common: start, position: offered.info.position, encoded: offered.bytes)
            ])
        #expect(offered.info.chunkCount > 2, "the test needs several chunks")
        let all = offered.info.byteCount
        #expect(harness.directives.contains(.progressed(.snapshot(bytes: all, of: all))))
        #expect(harness.appended == [rest])
        #expect(harness.machine.log == publisher.log)
        #expect(harness.end == .finished(publisher.log.position))
    }

    /// A node that has to make the snapshot first is asked again, and the operator can be told what is waited for.
    @Test func aSnapshotThatIsBeingMadeIsWaitedFor() {
        var harness = RecoveryHarness(from: Self.longPublisher())
        harness.start()
        harness.run()
        #expect(harness.publisher.isSnapshotWanted)
        #expect(harness.machine.awaited == .snapshot)
        harness.publisher.makeSnapshot(now: harness.now)
        harness.pass(milliseconds: 60)
        harness.run()
        #expect(harness.snapshots.count == 1)
        #expect(harness.end == .finished(harness.publisher.log.position))
    }

    /// The journal's end is not in the node's history, and the end of its last epoch but one is: it goes on from there.
    @Test func thePlacesAreTriedFromTheNewestToTheOldest() {
        var publisher = TestPublisher()
        publisher.write([1])
        let common = publisher.log
        var strayed = publisher
        strayed.restart(epoch: 2_000)
        strayed.write([7])
        strayed.restart(epoch: 2_500)
        publisher.restart(epoch: 3_000)
        publisher.write([2])
        publisher.write([3])
        publisher.write([4])
        var harness = RecoveryHarness(from: publisher, log: strayed.log)
        harness.past = [common]
        var asked: [Position] = []
        harness.start()
        harness.run { harness in
            if case .sync(let sync)? = harness.asked.first { asked.append(sync.have.position) }
            return false
        }
        #expect(asked.count == 3 && asked.first == strayed.log.position && asked.last == common.position)
        #expect(harness.directives.contains(.continueFrom(common.position)))
        #expect(harness.machine.log == publisher.log)
        #expect(harness.end == .finished(publisher.log.position))
    }

    /// Without a common place nothing is written.
    @Test func aForeignHistoryChangesNothing() {
        var foreign = TestPublisher(epoch: 500)
        foreign.write([9])
        var publisher = TestPublisher()
        publisher.write([1])
        publisher.write([2])
        var harness = RecoveryHarness(from: publisher, log: foreign.log)
        harness.start()
        harness.run()
        #expect(harness.end == .failed(.noCommonPlace))
        #expect(!harness.hasWritten)
    }

    // MARK: - Beginning again

    /// The node forgot the joiner in the middle of a snapshot: what came stays, and the rest is fetched.
    @Test func afterARESYNCTheSameSnapshotIsNotFetchedTwice() throws {
        var publisher = Self.longPublisher()
        publisher.makeSnapshot(now: .zero.advanced(byMilliseconds: 5_000))
        var harness = RecoveryHarness(from: publisher)
        harness.start()
        harness.run { $0.machine.awaited == .chunk(after: 2, of: publisher.snapshots[1]?.info.chunkCount ?? 0) }
        harness.receive(.resync)
        #expect(harness.machine.awaited == .welcome)
        #expect(harness.directives.last == .connectIngress)
        #expect(harness.asked.isEmpty, "HELLO does not follow at once")
        harness.pass(milliseconds: 300)
        harness.run { harness in
            guard case .chunkRequest(let request)? = harness.asked.first else { return false }
            #expect(request.index >= 2)
            return false
        }
        #expect(harness.snapshots.map(\.encoded) == [try #require(publisher.snapshots[1]).bytes])
        #expect(harness.end == .finished(publisher.log.position))
    }

    /// What the plan promised is gone: the next plan begins where the journal ends by now.
    @Test func whatIsNoLongerHeldLeadsToAnotherPlan() throws {
        var publisher = TestPublisher()
        publisher.write([1])
        let old = publisher.log
        let (first, second) = (publisher.write([2]), publisher.write([3]))
        var harness = RecoveryHarness(from: publisher, log: old)
        harness.start()
        harness.run { $0.machine.awaited == .rest(after: old.position.sequence) }
        harness.receive(publisher.stamp.repairFrame(nonce: try harness.repairNonce, batches: [first]), on: .bulk)
        #expect(harness.appended == [first])
        harness.receive(.repair(Repair(nonce: try harness.repairNonce, status: .unavailable, batches: [])))
        #expect(harness.machine.awaited == .welcome)
        harness.pass(milliseconds: 300)
        harness.run()
        #expect(harness.directives.contains(.continueFrom(first.position)))
        #expect(harness.appended == [first, second])
        #expect(harness.end == .finished(publisher.log.position))
    }

    /// What is written belongs to one history: a node that has another one by then ends the recovery.
    @Test func anotherHistoryAfterTheFirstWriteEndsIt() throws {
        var publisher = TestPublisher()
        publisher.write([1])
        let old = publisher.log
        let first = publisher.write([2])
        publisher.write([3])
        var harness = RecoveryHarness(from: publisher, log: old)
        harness.start()
        harness.run { $0.machine.awaited == .rest(after: old.position.sequence) }
        harness.receive(publisher.stamp.repairFrame(nonce: try harness.repairNonce, batches: [first]), on: .bulk)
        harness.receive(.resync)
        harness.publisher = TestPublisher(epoch: 5_000)
        for _ in 0..<5 { harness.publisher.write() }
        harness.pass(milliseconds: 300)
        harness.run()
        #expect(harness.end == .failed(.noLongerHeld(after: first.position)))
        #expect(harness.appended == [first])
    }
}

extension RecoveryHarness {
    /// Of the REPAIR_REQ that waits for its answer.
    var repairNonce: UInt64 {
        get throws {
            guard case .repairRequest(let request)? = asked.last else { throw NoRequest() }
            return request.nonce
        }
    }

    struct NoRequest: Error {}
}
