import LockstepCore
import Testing

/// Data nodes that lie: on their word nothing commits, no read is answered, no reign ends, and nothing of another
/// history is kept (PROTOCOL, R-77, R-81 to ).
@Suite struct LyingPeersTests {
    private typealias Example = PrimaryStandbyTests
    private typealias Follower = StandbyStateMachineTests

    // MARK: - To a primary

    private static let liar = Connection(rawValue: 51)
    private static let stranger = Member(node: Follower.name("s9"), incarnation: Incarnation(rawValue: 91))

    /// A primary whose epoch is open, with its one standby.
    static func admitting() -> PrimaryHarness {
        let harness = Example.harness()
        harness.persist()
        Example.fetch(harness)
        Example.acknowledge(harness)
        harness.hello(Example.client)
        harness.forget()
        harness.replication = []
        return harness
    }

    private static func say(
        _ request: ReplicationRequest, _ harness: PrimaryHarness, from connection: Connection = liar
    ) {
        harness.run { $0.replicationReceived(request, epoch: Epoch(rawValue: 9), from: connection, &$1) }
    }

    /// How many frames counted as stale.
    private static func stale(_ harness: PrimaryHarness) -> Int {
        harness.replication.count { if case .count(.staleFrames) = $0 { true } else { false } }
    }

    /// A log that ends at this place of a reign.
    private static func log(_ end: UInt64, committed: UInt64 = 0, epoch: UInt64 = 9, boot: UInt128 = 1) -> FollowerLog {
        let end = EpochEnd(
            epoch: Epoch(rawValue: epoch), boot: BootID(rawValue: boot), sequence: SequenceNumber(rawValue: end),
            hash: BatchHash(rawValue: 5))
        return FollowerLog(
            end: Position(epoch: end.epoch, sequence: end.sequence, hash: end.hash),
            committed: SequenceNumber(rawValue: committed), epochEnds: [end])
    }

    private static func fetch(
        _ member: Member, _ log: FollowerLog = .empty(of: PrimaryHarness.store), nonce: UInt64 = 6,
        _ harness: PrimaryHarness
    ) {
        let fetch = Fetch(
            nonce: nonce, store: PrimaryHarness.store, member: member, boot: BootID(rawValue: 3), promised: .zero,
            log: log)
        say(.fetch(fetch), harness)
    }

    /// What a member says that has everything of the primary's log.
    private static func acknowledgement(
        _ member: Member, nonce: UInt64, boot: UInt128, _ harness: PrimaryHarness
    ) -> Acknowledge {
        let end = harness.machine.log.position
        return Acknowledge(
            nonce: nonce, member: member, boot: BootID(rawValue: boot), primaryBoot: BootID(rawValue: 1),
            end: end.sequence, hash: end.hash, mark: .init(sequence: .zero, digest: .none))
    }

    /// Has the primary sequence an entry, which its own disk then has.
    private static func write(_ harness: PrimaryHarness) {
        harness.receive(PrimaryHarness.openMessage(), from: Example.client)
        harness.turn()
        harness.persist()
    }

    /// a FETCH of another's journal, of a longer log, of a later reign or of another one of the epoch
    /// gets its plan, and is worth nothing: the standby's stream goes on, and its word alone is waited for.
    @Test func aFetchThatLiesIsWorthNothing() {
        let harness = Self.admitting()
        let end = harness.machine.log.position
        let nothing = FollowerLog.empty(of: PrimaryHarness.store)
        let lies: [(Member, FollowerLog, FetchDecision)] = [
            (Example.own, nothing, .refused(.isOwn)),
            (Example.other, nothing, .refused(.wasSetBack)),
            (Self.stranger, Self.log(100), .truncate(to: end)),
            (Self.stranger, Self.log(100, committed: 100), .refused(.losesCommitted)),
            (Self.stranger, Self.log(100, epoch: 10), .refused(.notPrimary)),
            (Self.stranger, Self.log(100, boot: 7), .truncate(to: .start(of: PrimaryHarness.store))),
        ]
        for (member, log, _) in lies { Self.fetch(member, log, harness) }
        #expect(Example.plans(harness) == lies.map(\.2))
        Self.write(harness)
        #expect(harness.machine.phase == .admitting && harness.committed.isEmpty)
        Example.acknowledge(harness)
        #expect(harness.committed.count == 1 && harness.alarms.isEmpty && harness.halts.isEmpty)
    }

    /// an acknowledgement counts on the connection of its member's stream, and for no more than the log has.
    @Test func nobodyAcknowledgesForAnother() {
        let harness = Self.admitting()
        Self.write(harness)
        Self.fetch(Self.stranger, nonce: 6, harness)
        let right = Self.acknowledgement(Example.other, nonce: 4, boot: 2, harness)
        let lies: [(Connection, (inout Acknowledge) -> Void)] = [
            (Self.liar, { _ in }), (Self.liar, { $0.nonce = 6 }), (Example.link, { $0.nonce = 6 }),
            (Example.link, { $0.end = right.end.next }), (Example.link, { $0.hash = .none }),
        ]
        for (connection, lie) in lies {
            var said = right
            lie(&said)
            Self.say(.acknowledge(said), harness, from: connection)
        }
        #expect(harness.committed.isEmpty && Self.stale(harness) == lies.count)
        Self.say(.acknowledge(right), harness, from: Example.link)
        #expect(harness.committed.count == 1)
    }

    /// of 64 streams that end which were silent longest, but none of a member, however many are opened.
    @Test func strangersTakeNoMembersStream() {
        let harness = Self.admitting()
        func stranger(_ number: UInt64) -> Member {
            Member(node: Self.stranger.node, incarnation: Incarnation(rawValue: UInt128(number)))
        }
        for number in 1...70 as ClosedRange<UInt64> {
            harness.advance(milliseconds: 1)
            Self.fetch(stranger(number), nonce: number, harness)
        }
        Self.write(harness)
        func isHeard(_ number: UInt64) -> Bool {
            harness.replication = []
            Self.say(
                .acknowledge(Self.acknowledgement(stranger(number), nonce: number, boot: 3, harness)), harness)
            return Self.stale(harness) == 0
        }
        #expect(!isHeard(7) && isHeard(8) && isHeard(70) && harness.committed.isEmpty)
        Example.acknowledge(harness)
        #expect(harness.committed.count == 1)
    }

    /// a confirmation counts on the connection of its stream, and for a round that was asked for: one that came
    /// before the read says nothing of it.
    @Test func nobodyConfirmsWhatWasNotAsked() {
        let harness = Self.admitting()
        func confirm(_ round: UInt64, from connection: Connection) {
            Self.say(.confirm(Confirmation(nonce: 4, round: round)), harness, from: connection)
        }
        confirm(1, from: Example.link)
        harness.read(1, .linearizable, from: Example.client)
        confirm(1, from: Self.liar)
        confirm(2, from: Example.link)
        #expect(harness.kinds.isEmpty && Self.stale(harness) == 3)
        confirm(1, from: Example.link)
        #expect(harness.kinds == [.readResult])
    }

    /// STEP_DOWN deposes nobody: one that knows more has the record read, and no other anything.
    @Test func aWordDeposesNobody() {
        let harness = Self.admitting()
        func reads(_ highest: UInt64, of epoch: UInt64) -> Bool {
            harness.replication = []
            let report = RecordReport(
                nonce: 0, highest: Epoch(rawValue: highest), log: Self.log(100, committed: 100, epoch: epoch),
                shown: ArbiterMemory(revision: 900, number: 900, epoch: Epoch(rawValue: epoch), boot: .none),
                leads: true, record: nil)
            Self.say(.stepDown(report), harness)
            return harness.replication.contains { if case .readRecord = $0 { true } else { false } }
        }
        #expect(!reads(9, of: 9) && !reads(8, of: 12) && reads(10, of: 10))
        #expect(harness.machine.phase == .admitting && harness.alarms.isEmpty && harness.halts.isEmpty)
    }

    // MARK: - To a standby

    private static func batch(
        after position: Position, store: StoreID = PrimaryHarness.store, epoch: UInt64 = 9, opens: Bool = false
    ) -> SealedBatch {
        var builder = BatchBuilder(
            store: store, epoch: Epoch(rawValue: epoch), after: position, time: PrimaryHarness.begin)
        let boot = BootID(rawValue: 77)
        let entry: Entry =
            opens ? .epochOpen(node: "p2", incarnation: .none, boot: boot) : .digestMark(Digest(rawValue: 1))
        builder.append(entry)
        return builder.sealed()
    }

    /// a batch that does not follow, or is of an epoch that the record does not name, ends the stream; what came
    /// before it is kept, and no more is taken for committed than is there.
    @Test func aBatchOfAnotherHistoryIsNotKept() {
        let first = Follower.batches(1)[0]
        var elsewhere = first.position
        elsewhere.hash = .none
        let lies = [
            Self.batch(after: elsewhere), Self.batch(after: .start(of: PrimaryHarness.store), opens: true),
            Self.batch(after: first.position, store: StoreID(rawValue: 4)), Self.batch(after: first.position, epoch: 8),
            Self.batch(after: first.position, opens: true), Self.batch(after: first.position, epoch: 10),
            Self.batch(after: first.position, epoch: 10, opens: true),
        ]
        for lie in lies {
            var standby = Follower.Standby()
            let nonce = standby.fetch()
            standby.plan(.tail, nonce)
            standby.append([first, lie], nonce, commit: 99)
            #expect(standby.wanted.contains(.append([first], committed: first.head.last)), "\(lie.head)")
            #expect(standby.machine.phase == .settling && standby.machine.log.end == first.position, "\(lie.head)")
        }
    }

    /// a log begins with the opening of an epoch, and not with a batch of epoch 0.
    @Test func aLogBeginsWithAnOpening() {
        let begin = Position.start(of: PrimaryHarness.store)
        var log = KeptLog(store: PrimaryHarness.store, end: begin, epochEnds: [], committed: .zero)
        #expect(throws: KeptLog.Fault.wrongEpoch) { try log.append(Self.batch(after: begin, epoch: 0)) }
        #expect(log.end == begin)
    }

    /// what is of another epoch than the record's, or of another stream, is no word of the primary.
    @Test func anotherReignIsNotObeyed() {
        var standby = Follower.Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        for (nonce, epoch) in [(nonce, 8), (nonce, 10), (nonce &+ 1, 9)] as [(UInt64, UInt64)] {
            let takeOver = TakeOver(nonce: nonce, end: standby.machine.log.end, staysMember: true)
            let replies: [ReplicationReply] = [
                .confirmRequest(Confirmation(nonce: nonce, round: 1)), .takeOver(takeOver),
            ]
            for reply in replies {
                standby.receive(reply, epoch: Epoch(rawValue: epoch))
                #expect(standby.wanted == [.count(.staleFrames)] && standby.machine.election.phase == .following)
            }
        }
    }

    /// the record that another node tells is not followed if it is of another store.
    @Test(arguments: [PrimaryHarness.store, StoreID(rawValue: 4)])
    func aRecordOfAnotherStoreIsNotFollowed(store: StoreID) {
        var standby = Follower.Standby()
        standby.run { $0.start(into: &$2) }
        let record = ConfigurationRecord(
            cluster: PrimaryHarness.cluster, store: store, channel: PrimaryHarness.channel, epoch: Follower.epoch,
            primary: Follower.primary, openedAfter: .start(of: store), minimum: 1, attempt: AttemptID(rawValue: 1))
        let report = RecordReport(
            nonce: 0, highest: Follower.epoch, log: standby.machine.log.summary, shown: ArbiterMemory(), leads: true,
            record: StoredRecord(record, revision: 5))
        standby.run { $0.reported(report, from: Follower.primary.member.node, now: $1, into: &$2) }
        #expect((standby.machine.followed != nil) == (store == PrimaryHarness.store))
    }
}
