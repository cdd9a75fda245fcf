import LockstepCore
import Testing

struct ReplicaServingTests {
    private let peer = Connection(rawValue: 9)

    /// HELLO is answered by WELCOME as a replica, with the primary's endpoint and the own bulk socket.
    @Test func helloIsWelcomedAsAReplica() throws {
        let harness = ReplicaHarness()
        harness.join()
        guard case .welcome(let welcome) = try #require(ask(harness, .hello(hello(harness, store: "counts")))) else {
            throw Unexpected()
        }
        #expect(welcome.nonce == 77)
        #expect(welcome.role == .replica)
        #expect(welcome.isVolatile)
        #expect(welcome.commit == harness.machine.log.position)
        #expect(welcome.primaryEndpoint == "tcp://primary:1")
        #expect(welcome.bulkEndpoint == "tcp://replica:3")
        #expect(welcome.publishEndpoint.isEmpty)
    }

    /// HELLO for another store, of another cluster, or before the primary is known is refused (PROTOCOL ).
    @Test func helloThatCannotBeServedIsRefused() {
        let harness = ReplicaHarness()
        #expect(refusal(ask(harness, .hello(hello(harness, store: "counts")))) == .unavailable)
        harness.join()
        #expect(refusal(ask(harness, .hello(hello(harness, store: "other")))) == .unknownStore)
        var stamp = harness.publisher.stamp
        stamp.clusterHash = 0xBAD
        let frame = stamp.frame(.hello(hello(harness, store: "counts")))
        #expect(refusal(answer(harness, frame)) == .wrongCluster)
    }

    /// What only the primary takes is refused with its endpoint.
    @Test func submissionsAreSentToThePrimary() throws {
        let harness = ReplicaHarness()
        harness.join()
        let open = Open(
            client: ClientKey(rawValue: 1), nonce: 5, timeToLive: 1, windowNumbers: 1, windowBytes: 16_384)
        guard case .refused(let refused) = try #require(ask(harness, .open(open))) else { throw Unexpected() }
        #expect(refused == Refused(nonce: 5, reason: .notPrimary, text: refused.text, endpoint: "tcp://primary:1"))
        #expect(refusal(ask(harness, .close(.none))) == .notPrimary)
        #expect(refusal(ask(harness, read(.linearizable, minimum: .zero))) == .notPrimary)
    }

    /// A local read is answered at once from the published view.
    @Test func aLocalReadIsAnsweredFromTheView() throws {
        let harness = ReplicaHarness()
        harness.join()
        harness.broadcast(harness.publisher.write([5]))
        harness.pass(100)
        let answer = try #require(result(ask(harness, read(.local, minimum: .zero))))
        #expect(answer.status == .answered)
        #expect(answer.sequence == harness.machine.log.position.sequence)
        #expect(harness.state.published.sum == 5)
    }

    /// Much that is new is shown once a second while nobody looks; who wants it makes a tick due, and 10 ms after the last
    /// view it is shown.
    @Test func aViewThatIsWantedMakesATickDue() {
        let harness = ReplicaHarness()
        harness.join()
        harness.broadcast(harness.publisher.write([5]))
        harness.broadcast(harness.publisher.write(Array(repeating: 1, count: 100)))
        harness.tick(after: 10)
        #expect(harness.state.published.sum == 5)
        #expect(!harness.machine.isTickDue(now: harness.now, state: harness.state))
        harness.state.isViewWanted = true
        #expect(harness.machine.isTickDue(now: harness.now, state: harness.state))
        harness.tick()
        #expect(harness.state.published.sum == 105)
        #expect(!harness.machine.isTickDue(now: harness.now, state: harness.state))
    }

    /// A session read waits for the sequence number that the reader has seen, even if the broadcast is late
    /// (PROTOCOL R-16).
    @Test func aSessionReadWaitsForItsSequenceNumber() throws {
        let harness = ReplicaHarness()
        harness.join()
        harness.pass(200)
        let batch = harness.publisher.write([5])
        #expect(ask(harness, read(.session, minimum: batch.head.last)) == nil)
        var directives = harness.broadcast(batch)
        directives += harness.tick(after: 10)
        let answers = directives.compactMap { directive -> ReadResult? in
            if case .send(let frame, peer) = directive { result(decoded(frame)) } else { nil }
        }
        #expect(answers.map(\.status) == [.answered])
        #expect(answers.first?.sequence == batch.head.last)
    }

    /// A read whose sequence number does not come is answered after 5 s: unavailable.
    @Test func aReadDoesNotWaitForEver() {
        let harness = ReplicaHarness()
        harness.join()
        #expect(ask(harness, read(.session, minimum: SequenceNumber(rawValue: 1_000))) == nil)
        let before = harness.trace.count
        harness.pass(5_000)
        let statuses = harness.trace[before...].compactMap { directive -> ReadStatus? in
            if case .send(let frame, _) = directive { result(decoded(frame))?.status } else { nil }
        }
        #expect(statuses == [.unavailable])
    }

    /// A quarantined replica answers no read, neither new ones nor those that wait (PROTOCOL R-53).
    @Test func aQuarantinedReplicaAnswersNoRead() {
        let harness = ReplicaHarness()
        harness.join()
        #expect(ask(harness, read(.session, minimum: SequenceNumber(rawValue: 1_000))) == nil)
        let directives = harness.broadcast(harness.publisher.write([1], forgedMark: Digest(rawValue: 1)))
        #expect(harness.machine.phase == .quarantined)
        #expect(
            directives.contains {
                if case .send(let frame, _) = $0 { result(decoded(frame))?.status == .unavailable } else { false }
            })
        #expect(result(ask(harness, read(.local, minimum: .zero)))?.status == .unavailable)
    }

    /// Another replica, or `recover --from`, joins from a replica by tail as from a primary (PROTOCOL ).
    @Test func aJoinerIsServedFromTheWindow() throws {
        let harness = ReplicaHarness()
        harness.join()
        for value in 1...5 as ClosedRange<UInt8> { harness.broadcast(harness.publisher.write([value])) }
        let sync = Sync(
            nonce: 3, store: harness.publisher.log.store, node: "joiner", have: .none, firstFrame: .zero,
            wantsSnapshot: false)
        guard case .syncPlan(let plan) = try #require(join(harness, .sync(sync)).first) else { throw Unexpected() }
        #expect(plan.decision == .tail)
        let request = RepairRequest(
            nonce: 4, after: .start(of: harness.publisher.log.store), through: plan.commit.sequence,
            largestReply: 1 << 20)
        guard case .repair(let repair) = try #require(join(harness, .repairRequest(request)).first) else {
            throw Unexpected()
        }
        #expect(repair.batches.count == 6)
    }

    /// A joiner that needs a snapshot gets one made at once: a mark may never come (PROTOCOL ).
    @Test func aJoinerGetsASnapshotAlsoFromAnAheadReplica() throws {
        let harness = ReplicaHarness()
        harness.join()
        harness.publisher.restart(epoch: 2_000)
        harness.welcome()
        harness.beacon()
        harness.plan(.ahead, for: harness.takeSync())
        let sync = Sync(
            nonce: 3, store: harness.publisher.log.store, node: "joiner", have: .none, firstFrame: .zero,
            wantsSnapshot: true)
        guard case .syncPlan(let busy) = try #require(join(harness, .sync(sync)).first) else { throw Unexpected() }
        #expect(busy.decision == .busy(retryAfter: 50_000))
        let captured = harness.trace.compactMap { directive -> (SnapshotNumber, LogState, Digest)? in
            if case .captureSnapshot(let number, let log, let digest) = directive { (number, log, digest) } else { nil }
        }
        let (number, log, digest) = try #require(captured.first)
        let info = EncodedSnapshot(number: number, bytes: [1, 2, 3], log: log, digest: digest).info
        harness.event { machine, directives in
            machine.snapshotEncoded(number, info: info, now: harness.now, into: &directives)
        }
        guard case .syncPlan(let plan) = try #require(join(harness, .sync(sync)).first) else { throw Unexpected() }
        #expect(plan.decision == .snapshot(info))
        let chunks = harness.event { machine, directives in
            let request = harness.publisher.stamp.frame(
                .chunkRequest(ChunkRequest(snapshot: number, index: 0, window: 16)))
            withBytes(of: request) {
                machine.joinReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
        #expect(chunks == [.sendChunks(snapshot: number, indices: 0..<1, to: peer)])
    }

    // MARK: - Asking

    private func hello(_ harness: ReplicaHarness, store: String) -> Hello {
        Hello(
            nonce: 77, role: .client, node: "client", incarnation: .none, boot: BootID(rawValue: 3), store: store,
            known: .none)
    }

    private func read(_ level: ReadLevel, minimum: SequenceNumber) -> Message {
        .read(Read(id: 11, level: level, minimum: minimum, isIndexOnly: false, query: 0..<0))
    }

    private func ask(_ harness: ReplicaHarness, _ message: Message) -> Message? {
        answer(harness, harness.publisher.stamp.frame(message))
    }

    private func answer(_ harness: ReplicaHarness, _ frame: [UInt8]) -> Message? {
        let directives = harness.event { machine, directives in
            withBytes(of: frame) {
                machine.ingressReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
        for case .send(let frame, peer) in directives { return decoded(frame) }
        return nil
    }

    private func join(_ harness: ReplicaHarness, _ message: Message) -> [Message] {
        let frame = harness.publisher.stamp.frame(message)
        let directives = harness.event { machine, directives in
            withBytes(of: frame) {
                machine.joinReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
        return directives.compactMap { directive in
            if case .sendBulkReply(let frame, _) = directive { decoded(frame) } else { nil }
        }
    }

    private func refusal(_ message: Message?) -> RefusalReason? {
        if case .refused(let refused) = message { refused.reason } else { nil }
    }

    private func result(_ message: Message?) -> ReadResult? {
        if case .readResult(let result) = message { result } else { nil }
    }

    struct Unexpected: Error {}
}
