import LockstepCore
import Testing

/// What a replica shows and gives away, and to whom it is never silent.
struct ReplicaReadabilityTests {
    private let peer = Connection(rawValue: 9)

    /// A replica that was never live shows nothing of its own and answers reads with the reason; when it is live, it
    /// answers (PROTOCOL R-37).
    @Test func whatWasNeverLiveAnswersNoRead() throws {
        let harness = ReplicaHarness()
        harness.publisher.write([5])
        #expect(harness.machine.readRefusal == .neverLive)
        harness.welcome()
        let refused = try #require(read(harness))
        #expect(refused.result.status == .unavailable && refused.text == ReadRefusal.neverLive.text)
        harness.beacon()
        harness.settle()
        #expect(harness.machine.phase == .catchingUp && harness.machine.log.position.sequence > .zero)
        #expect(read(harness)?.result.status == .unavailable)
        #expect(harness.state.published.sequence == .zero, "nothing is shown before it is live")
        harness.beacon()
        #expect(harness.machine.phase == .live && harness.machine.readRefusal == nil)
        #expect(read(harness)?.result.status == .answered)
        #expect(harness.state.published.sum == 5)
    }

    /// What a journal brought is the cluster's at its place, and is read also while no primary is there (PROTOCOL R-37).
    @Test func whatAJournalBroughtIsRead() throws {
        var publisher = TestPublisher()
        publisher.write([5])
        let harness = recovered(publisher)
        harness.tick(after: 10)
        #expect(harness.machine.phase == .connecting)
        let answer = try #require(read(harness))
        #expect(answer.result.status == .answered)
        #expect(answer.result.sequence == publisher.log.position.sequence)
    }

    /// A state whose volatile primary is gone is nobody's: it is not read until the new log's is here (PROTOCOL R-37,
    ///
    @Test func whatIsDiscardedIsNotRead() {
        var publisher = TestPublisher()
        publisher.isVolatile = true
        let harness = ReplicaHarness(publisher)
        harness.join()
        #expect(read(harness)?.result.status == .answered)
        harness.publisher.restart(epoch: 2_000, losingEverything: true)
        harness.welcome()
        #expect(read(harness)?.result.status == .unavailable)
        harness.beacon()
        harness.settle()
        harness.pass(1_000)
        #expect(harness.machine.phase == .live)
        #expect(read(harness)?.result.status == .answered)
    }

    /// Joins and repairs are served while the primary is away, from what the journal brought (PROTOCOL ).
    @Test func joinsAreServedWithoutThePrimary() throws {
        var publisher = TestPublisher()
        publisher.write([5])
        let harness = recovered(publisher)
        guard case .syncPlan(let plan) = try #require(join(harness, .sync(sync(harness)))) else { throw Unexpected() }
        #expect(plan.decision == .tail && plan.commit == publisher.log.position)
        let request = RepairRequest(
            nonce: 4, after: .start(of: publisher.log.store), through: plan.commit.sequence, largestReply: 1 << 20)
        guard case .repair(let repair) = try #require(join(harness, .repairRequest(request))) else {
            throw Unexpected()
        }
        #expect(repair.status == .batches && repair.batches.count == 2)
    }

    /// A joiner of a replica that has nothing of the cluster, or whose state is wrong, is told to come again; nothing is
    /// said about its own place (PROTOCOL ).
    @Test func whoCannotGiveSaysSo() throws {
        let harness = ReplicaHarness()
        harness.welcome()
        func decision() throws -> SyncDecision {
            guard case .syncPlan(let plan) = try #require(join(harness, .sync(sync(harness)))) else {
                throw Unexpected()
            }
            return plan.decision
        }
        #expect(try decision() == .busy(retryAfter: 1_000_000))
        harness.beacon()
        harness.settle()
        harness.pass(1_000)
        #expect(try decision() == .tail)
        harness.broadcast(harness.publisher.write([1], forgedMark: Digest(rawValue: 1)))
        #expect(harness.machine.phase == .quarantined)
        #expect(try decision() == .busy(retryAfter: 1_000_000))
        let request = ChunkRequest(snapshot: 1, index: 0, window: 1)
        #expect(join(harness, .chunkRequest(request)) == .resync)
    }

    /// A request on a channel that this store does not have gets RESYNC, on both links (PROTOCOL ).
    @Test func aForeignChannelIsAnswered() {
        let harness = ReplicaHarness()
        harness.join()
        var stamp = harness.publisher.stamp
        stamp.channel = Channel(rawValue: 8)
        let read = Message.read(Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0))
        #expect(ingress(harness, stamp.frame(read)) == .resync)
        #expect(ingress(harness, stamp.frame(.resync)) == nil, "what asks for nothing gets nothing")
        #expect(bulk(harness, stamp.frame(.sync(sync(harness)))) == .resync)
    }

    // MARK: - Asking

    private func recovered(_ publisher: TestPublisher) -> ReplicaHarness {
        ReplicaHarness(
            publisher, hasJournal: true, recovered: (publisher.log, publisher.window, publisher.state.sum),
            channel: publisher.channel)
    }

    private func sync(_ harness: ReplicaHarness) -> Sync {
        Sync(
            nonce: 3, store: harness.publisher.log.store, node: "joiner", have: .none, firstFrame: .zero,
            wantsSnapshot: false)
    }

    private func read(_ harness: ReplicaHarness) -> (result: ReadResult, text: String)? {
        let read = Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0)
        let directives = harness.event { machine, directives in
            withBytes(of: harness.publisher.stamp.frame(.read(read))) {
                machine.ingressReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
        for case .send(let frame, peer) in directives {
            guard case .readResult(let result) = decoded(frame) else { continue }
            return (result, String(decoding: frame[result.answer], as: UTF8.self))
        }
        return nil
    }

    private func ingress(_ harness: ReplicaHarness, _ frame: [UInt8]) -> Message? {
        let directives = harness.event { machine, directives in
            withBytes(of: frame) {
                machine.ingressReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
        for case .send(let frame, peer) in directives { return decoded(frame) }
        return nil
    }

    private func join(_ harness: ReplicaHarness, _ message: Message) -> Message? {
        bulk(harness, harness.publisher.stamp.frame(message))
    }

    private func bulk(_ harness: ReplicaHarness, _ frame: [UInt8]) -> Message? {
        let directives = harness.event { machine, directives in
            withBytes(of: frame) {
                machine.joinReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
        for case .sendBulkReply(let frame, peer) in directives { return decoded(frame) }
        return nil
    }

    struct Unexpected: Error {}
}
