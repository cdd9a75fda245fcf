import LockstepCore
import Testing

/// A standby one event at a time: what it acknowledges, when it asks anew, when it stops (PROTOCOL, R-77, R-83, R-86, R-87).
@Suite struct StandbyStateMachineTests {
    static let own = Member(node: name("s1"), incarnation: Incarnation(rawValue: 21))
    static let primary = ConfigurationRecord.Primary(
        member: Member(node: name("p1"), incarnation: Incarnation(rawValue: 11)), boot: BootID(rawValue: 1),
        endpoints: ["tcp://p1:7003"])
    static let epoch = Epoch(rawValue: 9)
    static let stamp = FrameStamp(
        channel: PrimaryHarness.channel, clusterHash: PrimaryHarness.cluster.hash, epoch: epoch)
    static let begin = Tick(rawValue: 5_000_000_000)

    static func name(_ text: String) -> NodeID { NodeID(text) ?? { preconditionFailure("a name") }() }

    static let record = StoredRecord(
        ConfigurationRecord(
            cluster: PrimaryHarness.cluster, store: PrimaryHarness.store, channel: PrimaryHarness.channel, epoch: epoch,
            primary: primary, openedAfter: .start(of: PrimaryHarness.store), minimum: 1,
            attempt: AttemptID(rawValue: 1)
        ).adding(own, attempt: AttemptID(rawValue: 2)), revision: 5)

    /// It acknowledges what its disk has, and nothing before.
    @Test func itAcknowledgesWhatItsDiskHas() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Self.batches(2)
        standby.append(batches, nonce, commit: 1)
        #expect(standby.said.isEmpty)
        #expect(standby.wanted == [.append(batches, committed: SequenceNumber(rawValue: 1))])
        standby.run { $0.appended(through: batches[0].head.last, now: $1, into: &$2) }
        guard case .acknowledge(let one)? = standby.said.first else { return #expect(Bool(false), "an ACK") }
        #expect(one.end == batches[0].head.last && one.hash == batches[0].hash && one.nonce == nonce)
        standby.machine.isDoubted = true
        standby.run { $0.appended(through: batches[1].head.last, now: $1, into: &$2) }
        #expect(standby.said.isEmpty, "a state that is wrong acknowledges nothing")
    }

    /// A frame that was lost ends the stream: the rest of it is not taken, and another one is opened a little later.
    @Test func aGapOpensAnotherStream() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Self.batches(3)
        standby.append([batches[0]], nonce)
        standby.run { $0.appended(through: batches[0].head.last, now: $1, into: &$2) }
        standby.append([batches[2]], nonce)
        #expect(standby.machine.phase == .settling && standby.machine.log.end == batches[0].position)
        standby.append([batches[1]], nonce)
        #expect(standby.machine.log.end == batches[0].position, "nothing more of that stream counts")
        standby.now = standby.now.advanced(byMilliseconds: 250)
        standby.run { $0.ticked(now: $1, into: &$2) }
        guard case .fetch(let fetch)? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
        #expect(fetch.nonce != nonce && fetch.log.end == batches[0].position)
    }

    /// The last frame of a stream was lost: a heartbeat names an end that does not come.
    @Test func aHeartbeatShowsWhatIsMissing() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let pulse = Heartbeat.Pulse(
            channel: PrimaryHarness.channel, epoch: Self.epoch, end: SequenceNumber(rawValue: 1))
        standby.run {
            $0.pulseReceived(pulse, from: Self.primary.member.node, boot: Self.primary.boot, now: $1, into: &$2)
        }
        standby.now = standby.now.advanced(byMilliseconds: 310)
        standby.run { $0.ticked(now: $1, into: &$2) }
        guard case .fetch? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
    }

    /// Heartbeats of others: one of a reign that is over is told so, one of a later is looked up.
    @Test func heartbeatsOfOthers() {
        var standby = Standby()
        _ = standby.fetch()
        let other = Self.name("p2")
        func pulse(_ epoch: UInt64) -> Heartbeat.Pulse {
            .init(channel: PrimaryHarness.channel, epoch: Epoch(rawValue: epoch), end: .zero)
        }
        standby.run { $0.pulseReceived(pulse(8), from: other, boot: BootID(rawValue: 7), now: $1, into: &$2) }
        #expect(standby.wanted.contains { if case .tell(other, _) = $0 { true } else { false } })
        standby.run { $0.pulseReceived(pulse(10), from: other, boot: BootID(rawValue: 7), now: $1, into: &$2) }
        #expect(standby.wanted.contains { if case .readRecord = $0 { true } else { false } })
        #expect(standby.machine.election.phase == .following, "a heartbeat alone elects nobody")
        standby.run { $0.pulseReceived(pulse(9), from: other, boot: BootID(rawValue: 7), now: $1, into: &$2) }
        #expect(standby.wanted.contains { if case .readRecord = $0 { true } else { false } }, "two boots of one epoch")
    }

    /// Who has won says so, and the record is read; of an epoch that is known already nothing follows.
    @Test func whoHasWonNeedNotBeWaitedFor() {
        var standby = Standby()
        _ = standby.fetch()
        func told(_ epoch: UInt64) -> Bool {
            let report = RecordReport(
                nonce: 0, highest: Epoch(rawValue: epoch), log: standby.machine.log.summary, shown: ArbiterMemory(),
                leads: false, record: nil)
            standby.run { $0.laterReignTold(report, into: &$2) }
            return standby.wanted.contains { if case .readRecord = $0 { true } else { false } }
        }
        #expect(!told(Self.epoch.rawValue))
        #expect(told(Self.epoch.rawValue + 1))
        #expect(standby.machine.election.phase == .following, "a word alone elects nobody")
    }

    /// Where the arbiter says nothing, the record that another node knows is followed; but not of another reign of an epoch
    /// that is known, which an arbiter that was set back gave away twice.
    @Test func anotherReignOfAnEpochIsNotFollowed() {
        func follows(_ boot: BootID) -> Bool {
            var standby = Standby(memory: ArbiterMemory(revision: 3, number: 1, epoch: Self.epoch, boot: boot))
            standby.run { $0.start(into: &$2) }
            let report = RecordReport(
                nonce: 0, highest: Self.epoch, log: standby.machine.log.summary, shown: ArbiterMemory(), leads: true,
                record: Self.record)
            standby.run { $0.reported(report, from: Self.primary.member.node, now: $1, into: &$2) }
            return standby.machine.followed != nil
        }
        #expect(follows(Self.primary.boot) && follows(.none))
        #expect(!follows(BootID(rawValue: 7)))
    }

    /// A plan of a process that the record does not name is not taken.
    @Test func onlyThePrimaryOfTheRecordCounts() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce, boot: BootID(rawValue: 99))
        #expect(standby.machine.phase == .fetching(nonce: nonce))
        standby.plan(.tail, nonce &+ 1)
        #expect(standby.machine.phase == .fetching(nonce: nonce))
        standby.plan(.tail, nonce)
        #expect(standby.machine.phase == .streaming(nonce: nonce))
    }

    /// What is of another history is cut, and nothing is acknowledged before that is durable; what is known to be
    /// committed is never cut.
    @Test func itCutsOnlyWhatIsNotCommitted() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Self.batches(3)
        standby.append(batches, nonce, commit: 2)
        standby.run { $0.appended(through: batches[2].head.last, now: $1, into: &$2) }
        standby.run { $0.disconnected(isRefused: false, now: $1, into: &$2) }
        guard case .fetch(let second)? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
        standby.plan(.truncate(to: batches[1].position), second.nonce)
        #expect(
            standby.wanted == [.truncate(to: batches[1].position)] && standby.machine.log.end == batches[1].position)
        standby.run { $0.truncated(now: $1, into: &$2) }
        guard case .acknowledge(let one)? = standby.said.first else { return #expect(Bool(false), "an ACK") }
        #expect(one.end == batches[1].head.last)

        standby.run { $0.disconnected(isRefused: false, now: $1, into: &$2) }
        guard case .fetch(let third)? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
        standby.plan(.truncate(to: batches[0].position), third.nonce)
        #expect(standby.machine.phase == .halted)
        #expect(standby.machine.log.end == batches[1].position, "and keeps what it has")
    }

    /// A primary gives its post to who has everything, and to nobody else.
    @Test func aPostIsTakenOnlyWithAll() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Self.batches(2)
        standby.append(batches, nonce)
        standby.receive(.takeOver(TakeOver(nonce: nonce, end: batches[1].position, staysMember: true)))
        #expect(standby.machine.election.phase == .following, "it is not on the disk yet")
        standby.run { $0.appended(through: batches[1].head.last, now: $1, into: &$2) }
        standby.receive(.takeOver(TakeOver(nonce: nonce, end: batches[1].position, staysMember: true)))
        #expect(standby.machine.election.phase == .asking)
        standby.run { $0.recordRead(Self.record, request: 2, now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .promising && standby.wanted == [.promise(Epoch(rawValue: 10))])
        // From here on it takes nothing of the old reign, and acknowledges nothing.
        standby.append(Self.batches(3).suffix(1), nonce)
        #expect(standby.machine.log.end == batches[1].position && standby.said.isEmpty)
    }

    /// A standby whose FETCH was due while it campaigned says it when the campaign has failed, though the same primary
    /// reigns.
    @Test func aFetchThatWasDueInACampaignIsSaidAfterIt() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Self.batches(1)
        standby.append(batches, nonce)
        standby.run { $0.appended(through: batches[0].head.last, now: $1, into: &$2) }
        standby.receive(.takeOver(TakeOver(nonce: nonce, end: batches[0].position, staysMember: false)))
        standby.run { $0.recordRead(Self.record, request: 2, now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .promising)
        standby.run { $0.disconnected(isRefused: false, now: $1, into: &$2) }
        standby.run { $0.ticked(now: $1, into: &$2) }
        #expect(standby.machine.phase == .settling && standby.said.isEmpty, "who campaigns follows nobody")
        standby.run { $0.promiseStored(Epoch(rawValue: 10), now: $1, into: &$2) }
        let newer = StoredRecord(Self.record.record.rewritten(attempt: AttemptID(rawValue: 3)), revision: 6)
        standby.run { $0.refused(newer, request: 3, now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .following)
        standby.now = standby.now.advanced(byMilliseconds: 250)
        standby.run { $0.ticked(now: $1, into: &$2) }
        guard case .fetch? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
    }

    /// Another node that asks is told what this one knows; a FETCH of it is refused.
    @Test func itAnswersOthers() throws {
        var standby = Standby()
        _ = standby.fetch()
        let asked = try #require(standby.machine.answer(to: .recordRequest(nonce: 3)))
        let message = try withBytes(of: asked) { try Message.decode($0, rule: .any).message }
        guard case .replicationReply(.record(let report)) = message else { return #expect(Bool(false), "a RECORD") }
        #expect(report.nonce == 3 && report.record == Self.record)
    }

    /// a stream that brings something is not given up, though a heartbeat named an end that is not here yet; one
    /// that brings nothing more is.
    @Test func aStreamThatBringsSomethingGoesOn() {
        var standby = Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Self.batches(3)
        func pulse(_ standby: inout Standby) {
            let pulse = Heartbeat.Pulse(channel: PrimaryHarness.channel, epoch: Self.epoch, end: batches[2].head.last)
            standby.run {
                $0.pulseReceived(pulse, from: Self.primary.member.node, boot: Self.primary.boot, now: $1, into: &$2)
            }
        }
        pulse(&standby)
        standby.now = standby.now.advanced(byMilliseconds: 200)
        standby.append([batches[0]], nonce)
        standby.run { $0.appended(through: batches[0].head.last, now: $1, into: &$2) }
        standby.now = standby.now.advanced(byMilliseconds: 110)
        standby.run { $0.ticked(now: $1, into: &$2) }
        #expect(standby.machine.phase == .streaming(nonce: nonce) && standby.said.isEmpty)
        pulse(&standby)
        standby.now = standby.now.advanced(byMilliseconds: 310)
        standby.run { $0.ticked(now: $1, into: &$2) }
        guard case .fetch? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
    }

    /// A standby that heard nobody and has promised the next epoch, with a FETCH that nobody has answered.
    private static func campaigner() -> Standby {
        var standby = Standby()
        _ = standby.fetch()
        standby.now = standby.now.advanced(byMilliseconds: 3_100)
        standby.run { $0.ticked(now: $1, into: &$2) }
        standby.run { $0.recordRead(record, request: 9, now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .promising)
        return standby
    }

    /// who campaigned in vain, while nobody answered it, opens a stream with the primary again that it left.
    @Test func whoCampaignedInVainFollowsAgain() {
        var standby = Self.campaigner()
        // Nobody answers: what it asked is given up while it campaigns.
        for _ in 0..<4 {
            standby.now = standby.now.advanced(byMilliseconds: 300)
            standby.run { $0.ticked(now: $1, into: &$2) }
            #expect(standby.said.isEmpty)
        }
        standby.run { $0.promiseStored(Epoch(rawValue: 10), now: $1, into: &$2) }
        let rewritten = StoredRecord(Self.record.record.rewritten(attempt: AttemptID(rawValue: 3)), revision: 6)
        standby.run { $0.refused(rewritten, request: 20, now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .following)
        standby.now = standby.now.advanced(byMilliseconds: 250)
        standby.run { $0.ticked(now: $1, into: &$2) }
        guard case .fetch? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
    }

    /// the log of who campaigns stays as it is, whatever a late plan says.
    @Test func aLatePlanChangesNothingOfACampaign() {
        for decision in [FetchDecision.tail, .snapshot, .truncate(to: .start(of: PrimaryHarness.store))] {
            var standby = Self.campaigner()
            guard case .fetching(let nonce) = standby.machine.phase else { return #expect(Bool(false), "a FETCH") }
            standby.plan(decision, nonce)
            #expect(standby.wanted == [.count(.staleFrames)] && standby.machine.phase == .fetching(nonce: nonce))
        }
    }

    /// a journal that is to begin anew with a snapshot does so, whoever reigns by then; until then no stream follows
    /// from its old end, and its node does not campaign.
    @Test func whoLacksBeginsAnewBeforeItFollows() throws {
        var standby = Standby()
        standby.plan(.snapshot, standby.fetch())
        #expect(standby.machine.phase == .lacking && standby.wanted == [.wantsSnapshot])
        let other = ConfigurationRecord.Primary(
            member: Member(node: Self.name("p2"), incarnation: Incarnation(rawValue: 12)), boot: BootID(rawValue: 3),
            endpoints: ["tcp://p2:7003"])
        let won = try #require(
            Self.record.record.adding(other.member, attempt: AttemptID(rawValue: 3)).campaign(
                other, above: Self.epoch, after: .start(of: PrimaryHarness.store), attempt: AttemptID(rawValue: 4)))
        let later = StoredRecord(won, revision: 7)
        standby.run { $0.recordRead(later, request: 2, now: $1, into: &$2) }
        #expect(standby.machine.phase == .lacking && standby.wanted == [.connect(other)])
        standby.now = standby.now.advanced(byMilliseconds: 1_100)
        standby.run { $0.ticked(now: $1, into: &$2) }
        standby.run { $0.recordRead(later, request: 3, now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .asking && standby.said.isEmpty)
        // A later reign is followed all the same: its primary has the snapshot.
        let back = ConfigurationRecord.Primary(member: Self.primary.member, boot: BootID(rawValue: 5), endpoints: [])
        let latest = try #require(
            won.adding(back.member, attempt: AttemptID(rawValue: 5)).campaign(
                back, above: won.epoch, after: .start(of: PrimaryHarness.store), attempt: AttemptID(rawValue: 6)))
        standby.now = standby.now.advanced(byMilliseconds: 300)
        standby.run { $0.ticked(now: $1, into: &$2) }
        standby.run { $0.recordRead(StoredRecord(latest, revision: 9), request: 4, now: $1, into: &$2) }
        #expect(standby.machine.phase == .lacking && standby.wanted == [.connect(back)])
        let end = Self.batches(2)[1].position
        let ends = [EpochEnd(epoch: Self.epoch, boot: Self.primary.boot, sequence: end.sequence, hash: end.hash)]
        standby.run {
            $0.replaced(
                at: KnownPosition(position: end, boot: Self.primary.boot), epochEnds: ends, now: $1, into: &$2)
        }
        guard case .fetch(let fetch)? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
        #expect(fetch.log.end == end)
    }
}
