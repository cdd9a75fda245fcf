import LockstepCore
import Testing

/// A primary with standbys: what it sends them, what it waits for, and when its reign is over (PROTOCOL, R-76, R-78, R-86,
///
@Suite struct PrimaryStandbyTests {
    static let own = Member(node: name("p1"), incarnation: Incarnation(rawValue: 11))
    static let other = Member(node: name("s1"), incarnation: Incarnation(rawValue: 21))
    static let link = Connection(rawValue: 50)
    static let client = Connection(rawValue: 7)

    private static func name(_ text: String) -> NodeID { NodeID(text) ?? { preconditionFailure("a name") }() }

    /// A record of epoch 9 with this primary and one standby as its members.
    static func record(minimum: Int = 1, members: Int = 2) -> StoredRecord {
        let record = ConfigurationRecord(
            cluster: PrimaryHarness.cluster, store: PrimaryHarness.store, channel: PrimaryHarness.channel,
            epoch: Epoch(rawValue: 9), primary: .init(member: own, boot: BootID(rawValue: 1), endpoints: []),
            openedAfter: .start(of: PrimaryHarness.store), minimum: minimum, attempt: AttemptID(rawValue: 1))
        guard members > 1 else { return StoredRecord(record, revision: 5) }
        return StoredRecord(record.adding(other, attempt: AttemptID(rawValue: 2)), revision: 5)
    }

    static func harness(_ record: StoredRecord = record()) -> PrimaryHarness {
        let reign = Reign(won: record, member: own, memory: ArbiterMemory(), seed: 3)
        let harness = PrimaryHarness(reign: reign)
        harness.start()
        return harness
    }

    private static func say(_ request: ReplicationRequest, _ harness: PrimaryHarness, epoch: UInt64 = 9) {
        harness.run { $0.replicationReceived(request, epoch: Epoch(rawValue: epoch), from: link, &$1) }
    }

    static func fetch(_ harness: PrimaryHarness, nonce: UInt64 = 4, promised: UInt64 = 0) {
        let log = FollowerLog(end: .start(of: PrimaryHarness.store), committed: .zero, epochEnds: [])
        say(
            .fetch(
                Fetch(
                    nonce: nonce, store: PrimaryHarness.store, member: other, boot: BootID(rawValue: 2),
                    promised: Epoch(rawValue: promised), log: log)), harness)
    }

    /// Acknowledges all that the primary has sequenced.
    static func acknowledge(
        _ harness: PrimaryHarness, nonce: UInt64 = 4, boot: UInt128 = 1, epoch: UInt64 = 9
    ) {
        let end = harness.machine.log.position
        say(
            .acknowledge(
                Acknowledge(
                    nonce: nonce, member: other, boot: BootID(rawValue: 2), primaryBoot: BootID(rawValue: boot),
                    end: end.sequence, hash: end.hash, mark: .init(sequence: .zero, digest: .none))), harness,
            epoch: epoch)
    }

    /// The messages that left for the standby, in order.
    private static func replies(_ harness: PrimaryHarness) -> [ReplicationReply] {
        harness.replication.compactMap { directive in
            guard case .send(let frame, _) = directive else { return nil }
            let message = withBytes(of: frame) { try? Message.decode($0, rule: .any).message }
            return message.flatMap { ReplicationReply($0) }
        }
    }

    static func plans(_ harness: PrimaryHarness) -> [FetchDecision] {
        replies(harness).compactMap { if case .plan(let plan) = $0 { plan.decision } else { nil } }
    }

    /// A batch commits when both disks have it, whichever is first.
    @Test func aBatchWaitsForTheStandby() {
        let harness = Self.harness()
        harness.persist()
        #expect(harness.committed.isEmpty && harness.machine.phase == .opening)
        Self.fetch(harness)
        #expect(Self.plans(harness) == [.tail])
        Self.acknowledge(harness)
        #expect(harness.committed.count == 1 && harness.machine.phase == .admitting)
        // What is told of it then is the commit number alone.
        #expect(
            Self.replies(harness).last == .append(Append(nonce: 4, commit: SequenceNumber(rawValue: 1), batches: [])))
    }

    /// The standby's word may come before the own disk's: that commits nothing either.
    @Test func theOwnDiskCountsToo() {
        let harness = Self.harness()
        Self.fetch(harness)
        Self.acknowledge(harness)
        #expect(harness.committed.isEmpty)
        harness.persist()
        #expect(harness.committed.count == 1)
    }

    /// A sole member commits as a primary without an arbiter does, and answers reads at once.
    @Test func aSoleMemberIsAlone() {
        let harness = Self.harness(Self.record(members: 1))
        harness.persist()
        #expect(harness.machine.phase == .admitting)
        harness.hello(Self.client)
        harness.forget()
        harness.read(1, .linearizable, from: Self.client)
        #expect(harness.kinds == [.readResult])
    }

    /// Below its minimum a store commits nothing, and says why it takes nothing.
    @Test func belowTheMinimumNothingCommits() {
        let harness = Self.harness(Self.record(minimum: 2, members: 1))
        harness.persist()
        #expect(harness.committed.isEmpty && harness.machine.phase == .opening)
        #expect(!harness.machine.isPersisting && harness.machine.committed.position.sequence == .zero)
    }

    /// one that stops waits for its own disk, and not for members that are too few for anything to commit.
    @Test func aStopBelowTheMinimumWaitsForTheDiskAlone() {
        let harness = Self.harness(Self.record(minimum: 2, members: 1))
        harness.machine.stop()
        #expect(!harness.machine.isDrained)
        harness.persist()
        #expect(harness.machine.isDrained && harness.committed.isEmpty)
    }

    /// where an epoch opens late, each session has its whole time to live from then on, since nobody could be heard.
    @Test func sessionsOutliveAnOpeningThatTakesLong() throws {
        let before = Self.harness(Self.record(members: 1))
        before.persist()
        _ = before.session(Self.client)
        let won = try #require(
            Self.record().record.campaign(
                .init(member: Self.own, boot: BootID(rawValue: 2), endpoints: []), above: Epoch(rawValue: 9),
                after: before.machine.log.position, attempt: AttemptID(rawValue: 3)))
        let harness = PrimaryHarness(
            durable: before.durable, boot: 2,
            reign: Reign(won: StoredRecord(won, revision: 6), member: Self.own, memory: ArbiterMemory(), seed: 3))
        harness.start()
        harness.persist()
        harness.pass(milliseconds: 100_000)
        #expect(harness.machine.phase == .opening && harness.machine.log.sessions.count == 1)
        Self.fetch(harness)
        Self.acknowledge(harness, boot: 2, epoch: 10)
        #expect(harness.machine.phase == .admitting)
        harness.pass(milliseconds: 3_000)
        #expect(harness.machine.log.sessions.count == 1)
    }

    /// who has lost its disk gets what is committed while the epoch waits for it; of what is not, nobody gets anything,
    /// and nobody else is answered.
    @Test func anOpeningEpochFeedsWhoBeginsAnew() throws {
        let before = Self.harness(Self.record(members: 1))
        before.persist()
        let session = before.session(Self.client)
        before.submit(session, 1, [3], from: Self.client)
        before.commit()
        let committed = before.machine.committed
        let state = try before.state.image().encoded()
        before.submit(session, 2, [4], from: Self.client)
        before.commit()
        let tail = before.durable.filter { $0.head.last > committed.position.sequence }
        let won = try #require(
            Self.record(minimum: 2).record.campaign(
                .init(member: Self.own, boot: BootID(rawValue: 2), endpoints: []), above: Epoch(rawValue: 9),
                after: before.machine.log.position, attempt: AttemptID(rawValue: 3)))
        let harness = PrimaryHarness(
            durable: before.durable.filter { $0.head.last <= committed.position.sequence }, boot: 2,
            reign: Reign(won: StoredRecord(won, revision: 6), member: Self.own, memory: ArbiterMemory(), seed: 3))
        harness.start(inheriting: tail)
        harness.persist()
        harness.hello(Self.client)
        #expect(harness.machine.phase == .opening && harness.sent.isEmpty)

        harness.hello(Self.link, role: .replica, node: "s1")
        let welcome = try #require(harness.sent.first?.welcome)
        #expect(welcome.commit == committed.position)
        harness.pass(milliseconds: 300)
        #expect(harness.published.allSatisfy { $0.beacon?.commit == committed.position } && !harness.published.isEmpty)
        func sync(_ have: KnownPosition) {
            let sync = Sync(
                nonce: 1, store: PrimaryHarness.store, node: "s1", have: have, firstFrame: .zero, wantsSnapshot: true)
            harness.receiveBulk(harness.stamp.frame(.sync(sync)), from: Self.link)
            harness.turn()
        }
        sync(before.machine.committed)
        #expect(harness.bulk.isEmpty, "who knows more waits for the opening")
        sync(.none)
        let number = try #require(harness.encoding.first)
        let image = try #require(harness.images[number])
        #expect(image.state == state && image.log.known == committed)
        let encoded = SnapshotInfo(
            id: number, position: image.log.position, boot: image.log.boot, digest: image.digest, byteCount: 10,
            chunkSize: 1_024, root: 1)
        harness.run { $0.snapshotEncoded(number, info: encoded, &$1) }
        sync(.none)
        guard case .snapshot(let info)? = harness.bulk.last?.syncPlan?.decision else {
            return #expect(Bool(false), "a snapshot is offered")
        }
        #expect(info.position == committed.position)
        let repair = RepairRequest(
            nonce: 2, after: committed.position, through: SequenceNumber(rawValue: .max), largestReply: 1 << 20)
        harness.receiveBulk(harness.stamp.frame(.repairRequest(repair)), from: Self.link)
        guard case .repair(let answer)? = harness.bulk.last?.message else { return #expect(Bool(false), "an answer") }
        #expect(answer.status == .unavailable, "what is inherited is not committed")

        Self.fetch(harness)
        Self.acknowledge(harness, boot: 2, epoch: 10)
        #expect(harness.machine.phase == .admitting && harness.machine.stamp.epoch == Epoch(rawValue: 10))
    }

    /// A linearizable read waits for a word of every member that was asked for after the read came.
    @Test func aReadWaitsForConfirmation() {
        let harness = Self.harness()
        harness.persist()
        Self.fetch(harness)
        Self.acknowledge(harness)
        harness.hello(Self.client)
        harness.forget()
        harness.replication = []
        harness.read(1, .linearizable, from: Self.client)
        harness.read(2, .local, from: Self.client)
        #expect(harness.kinds == [.readResult], "a local read is answered at once")
        #expect(Self.replies(harness) == [.confirmRequest(Confirmation(nonce: 4, round: 1))])
        // A second one comes while the first round is under way: that round does not count for it.
        harness.read(3, .linearizable, from: Self.client)
        Self.say(.confirm(Confirmation(nonce: 4, round: 1)), harness)
        #expect(harness.kinds == [.readResult, .readResult])
        #expect(Self.replies(harness).last == .confirmRequest(Confirmation(nonce: 4, round: 2)))
        Self.say(.confirm(Confirmation(nonce: 5, round: 2)), harness)
        #expect(harness.kinds.count == 2, "another stream confirms nothing")
        Self.say(.confirm(Confirmation(nonce: 4, round: 2)), harness)
        #expect(harness.kinds.count == 3)
    }

    /// a primary that is low on room gives its post away and stays a member; one whose disk is full does so too,
    /// although what it was given does not commit, and leaves the set.
    @Test(arguments: [false, true]) func aPostIsGivenAwayWithoutRoom(isFull: Bool) {
        let harness = Self.harness()
        harness.persist()
        Self.fetch(harness)
        Self.acknowledge(harness)
        harness.hello(Self.client)
        if isFull {
            harness.receive(PrimaryHarness.openMessage(), from: Self.client)
            harness.turn()
            harness.fail(isDiskFull: true)
            #expect(harness.alarms == [.diskFull])
        } else {
            harness.run { $0.freeSpaceChanged(isLow: true, &$1) }
        }
        harness.run { machine, _ in #expect(machine.giveAwayPost(to: nil) == nil) }
        harness.replication = []
        if isFull {
            harness.pass(milliseconds: 100)
            #expect(Self.takeOvers(harness).isEmpty, "nobody has everything")
        }
        Self.acknowledge(harness)
        harness.pass(milliseconds: 100)
        let takeOver = TakeOver(nonce: 4, end: harness.machine.log.position, staysMember: !isFull)
        #expect(Self.takeOvers(harness) == [takeOver])
        #expect(harness.machine.isPersisting == isFull)
    }

    private static func takeOvers(_ harness: PrimaryHarness) -> [TakeOver] {
        replies(harness).compactMap { if case .takeOver(let takeOver) = $0 { takeOver } else { nil } }
    }

    /// Whoever promised a higher epoch is refused, and the record is written anew, which settles what it asked for.
    @Test func aPromiseDeposesNobody() throws {
        let harness = Self.harness()
        Self.fetch(harness, promised: 10)
        #expect(Self.plans(harness) == [.refused(.notPrimary)])
        harness.replication = []
        harness.pass(milliseconds: 150)
        let asked = harness.replication.compactMap { if case .transact(let attempt, _) = $0 { attempt } else { nil } }
        let attempt = try #require(asked.first)
        #expect(attempt.proposed.inSync == attempt.compared.record.inSync && attempt.proposed.epoch.rawValue == 9)
        harness.run { $0.recordApplied(attempt.attempt, revision: 6, &$1) }
        #expect(harness.machine.phase == .opening, "it goes on")
    }

    /// A record of another reign ends this one: nothing is said any more.
    @Test func aRecordDeposes() {
        let harness = Self.harness()
        harness.persist()
        Self.fetch(harness)
        let next = Self.record().record.campaign(
            .init(member: Self.other, boot: BootID(rawValue: 2), endpoints: []), above: Epoch(rawValue: 9),
            after: .start(of: PrimaryHarness.store), attempt: AttemptID(rawValue: 8))
        guard let next else { preconditionFailure("it is a member") }
        harness.run { $0.recordFound(StoredRecord(next, revision: 6), request: 1, &$1) }
        #expect(harness.machine.phase == .deposed)
        harness.forget()
        Self.acknowledge(harness)
        harness.hello(Self.client)
        harness.turn()
        #expect(harness.sent.isEmpty && harness.committed.isEmpty && harness.machine.nextDeadline == .never)
    }

    /// Who knows of a later reign is not told that this log lacks something: it is to ask again.
    @Test func aLaterReignIsNoLostHistory() throws {
        let harness = Self.harness()
        harness.persist()
        Self.fetch(harness)
        Self.acknowledge(harness)
        harness.forget()
        harness.replication = []
        let known = Position(epoch: Epoch(rawValue: 10), sequence: SequenceNumber(rawValue: 2), hash: .none)
        harness.hello(Self.client, known: KnownPosition(position: known, boot: .none))
        guard case .refused(let refused)? = harness.sent.first?.message else { return #expect(Bool(false), "refused") }
        #expect(refused.reason == .unavailable && harness.alarms.isEmpty && harness.machine.phase == .admitting)
        #expect(harness.replication.contains { if case .readRecord = $0 { true } else { false } })
    }

    /// who hears nobody goes on alone though its journal is never at rest, and not while that writes nothing.
    @Test(arguments: [true, false]) func aBusyPrimaryGoesOnAlone(writes: Bool) {
        let harness = Self.harness()
        harness.persist()
        Self.fetch(harness)
        Self.acknowledge(harness)
        harness.hello(Self.client)
        var alone: RecordAttempt?
        for number in 1...100 as ClosedRange<UInt64> where alone == nil {
            harness.advance(milliseconds: 100)
            if writes, harness.machine.isPersisting { harness.persist() }
            harness.receive(PrimaryHarness.openMessage(client: UInt128(number), nonce: number), from: Self.client)
            harness.turn()
            #expect(harness.machine.isPersisting, "it is busy whenever it looks")
            harness.replication = []
            harness.tick()
            for wanted in harness.replication {
                if case .transact(let attempt, _) = wanted { alone = attempt }
                if case .readRecord(let n) = wanted { harness.run { $0.recordFound(Self.record(), request: n, &$1) } }
            }
        }
        #expect((alone?.proposed.inSync == [Self.own]) == writes)
    }

    /// whom an operator promoted, though something may be lost, greets whoever knows more.
    ///
    /// A client learns by its session what is lost, and a replica by its plan. In any other reign the same stops it.
    @Test(arguments: [true, false]) func whoKnowsMoreLearnsThatItIsLost(isNoted: Bool) {
        var record = Self.record(members: 1)
        record.record.isUnclean = isNoted
        let harness = Self.harness(record)
        harness.persist()
        harness.forget()
        let known = Position(epoch: Epoch(rawValue: 7), sequence: SequenceNumber(rawValue: 40), hash: .none)
        harness.hello(Self.client, known: KnownPosition(position: known, boot: .none))
        harness.hello(Self.link, role: .replica, known: KnownPosition(position: known, boot: .none), node: "r1")
        #expect((harness.sent.filter { $0.welcome != nil }.count == 2) == isNoted)
        #expect(harness.alarms.isEmpty == isNoted && (harness.machine.phase == .admitting) == isNoted)
    }
}
