import LockstepCore
import Testing

/// What keeps a standby from a campaign: an arbiter that was set back can name who lacks what was acknowledged (PROTOCOL,
///
@Suite struct StandbyCampaignTests {
    private typealias Example = StandbyStateMachineTests
    private static let other = Example.name("s2")

    /// One that has followed, has a batch, and knows that to be committed; its primary is silent.
    private static func asking() -> Example.Standby {
        var standby = Example.Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        let batches = Example.batches(1)
        standby.append(batches, nonce, commit: 1)
        standby.run { $0.appended(through: batches[0].head.last, now: $1, into: &$2) }
        standby.now = standby.now.advanced(byMilliseconds: 1_400)
        standby.run { $0.ticked(now: $1, into: &$2) }
        #expect(standby.machine.election.phase == .asking)
        return standby
    }

    /// A log with as many batches of the same reign, or of one of another epoch.
    private static func log(_ count: Int, committed: UInt64, epoch: Epoch = Example.epoch) -> FollowerLog {
        var end = Example.batches(count)[count - 1].position
        end.epoch = epoch
        let boot = epoch == Example.epoch ? Example.primary.boot : BootID(rawValue: 44)
        let last = EpochEnd(epoch: epoch, boot: boot, sequence: end.sequence, hash: end.hash)
        return FollowerLog(end: end, committed: SequenceNumber(rawValue: committed), epochEnds: [last])
    }

    /// Whether it campaigns when another node has told this, and the arbiter shows `record`.
    private static func campaigns(told log: FollowerLog, record: StoredRecord = Example.record) -> Bool {
        var standby = asking()
        let report = RecordReport(
            nonce: 1, highest: log.end.epoch, log: log, shown: ArbiterMemory(), leads: false, record: nil)
        standby.run { $0.reported(report, from: other, now: $1, into: &$2) }
        standby.run { $0.recordRead(record, request: 9, now: $1, into: &$2) }
        return standby.machine.election.phase == .promising
    }

    /// who lacks what another node knows to be committed is no primary.
    @Test func whoLacksWhatWasCommittedDoesNotCampaign() {
        #expect(!Self.campaigns(told: Self.log(3, committed: 3)))
        #expect(!Self.campaigns(told: Self.log(3, committed: 2)))
        #expect(Self.campaigns(told: Self.log(3, committed: 1)), "it has what is committed, and more is nobody's yet")
        let later = Epoch(rawValue: Example.epoch.rawValue + 1)
        #expect(!Self.campaigns(told: Self.log(3, committed: 3, epoch: later)))
    }

    /// What an operator gave up holds nobody back: a history that ended before this log's, an unclean promotion, and whom an
    /// operator's record names.
    @Test func whatWasGivenUpHoldsNobodyBack() throws {
        let before = Epoch(rawValue: Example.epoch.rawValue - 1)
        #expect(Self.campaigns(told: Self.log(3, committed: 3, epoch: before)))
        let own = ConfigurationRecord.Primary(member: Example.own, boot: .none, endpoints: [])
        let end = Example.batches(1)[0].position
        let promoted = try #require(
            Example.record.record.promoting(
                own, above: Example.epoch, after: end, minimum: 1, attempt: AttemptID(rawValue: 8)))
        #expect(Self.campaigns(told: Self.log(3, committed: 3), record: StoredRecord(promoted, revision: 9)))
        let bound = try #require(
            Example.record.record.rebinding(
                own, aboveNumber: 7, above: Example.epoch, after: end, minimum: 1, attempt: AttemptID(rawValue: 8)))
        #expect(Self.campaigns(told: Self.log(3, committed: 3), record: StoredRecord(bound, revision: 9)))
    }

    /// who has heard nobody for 3 s waits for another member's word, and an empty log under the name of one is
    /// another member's.
    @Test func anEmptyLogIsNoMembersWord() {
        func campaigns(told log: FollowerLog) -> Bool {
            var (standby, record) = (Self.asking(), Example.record)
            standby.now = standby.now.advanced(byMilliseconds: 3_000)
            record.record.openedAfter = Example.batches(1)[0].position
            let report = RecordReport(
                nonce: 1, highest: Example.epoch, log: log, shown: ArbiterMemory(), leads: false, record: nil)
            standby.run { $0.reported(report, from: Example.primary.member.node, now: $1, into: &$2) }
            standby.run { $0.recordRead(record, request: 9, now: $1, into: &$2) }
            return standby.machine.election.phase == .promising
        }
        #expect(campaigns(told: Self.log(1, committed: 1)))
        #expect(!campaigns(told: .empty(of: PrimaryHarness.store)))
    }

    /// whose primary is silent, and whom the arbiter tells nothing, follows a later reign that another node tells of.
    @Test func aLaterReignIsFollowedOnAnotherNodesWord() {
        func follows(_ standby: Example.Standby, epoch: UInt64) -> Bool {
            var (standby, record) = (standby, Example.record.record)
            record.epoch = Epoch(rawValue: epoch)
            record.number += 1
            record.primary.member = Member(node: Self.other, incarnation: Incarnation(rawValue: 31))
            let stored = StoredRecord(record, revision: 6)
            let report = RecordReport(
                nonce: 0, highest: record.epoch, log: standby.machine.log.summary, shown: ArbiterMemory(), leads: true,
                record: stored)
            standby.run { $0.reported(report, from: Self.other, now: $1, into: &$2) }
            return standby.machine.followed == stored && standby.wanted.contains(.connect(record.primary))
        }
        let next = Example.epoch.rawValue + 1
        #expect(follows(Self.asking(), epoch: next))
        #expect(!follows(Self.asking(), epoch: next - 1), "no reign but a later one")
        var hearing = Example.Standby()
        hearing.plan(.tail, hearing.fetch())
        #expect(!follows(hearing, epoch: next), "who hears its primary goes by the record")
        var promising = Self.asking()
        promising.run { $0.recordRead(Example.record, request: 9, now: $1, into: &$2) }
        #expect(promising.machine.election.phase == .promising)
        #expect(!follows(promising, epoch: next + 1), "a campaign is settled by the record")
    }
}
