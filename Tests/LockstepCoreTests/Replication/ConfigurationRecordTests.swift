import LockstepCore
import Testing

/// The record of who is primary, and what may be written after it (PROTOCOL, R-75, R-76).
@Suite struct ConfigurationRecordTests {
    static let members = (1...4).map { ReplicationExample.member($0) }
    private let record = ReplicationExample.record(members: 3, minimum: 2)

    /// A record is read as it was written, and the same record has the same bytes.
    @Test func aRecordIsReadAsItWasWritten() throws {
        let bytes = record.bytes
        #expect(try ConfigurationRecord(from: bytes.span.bytes) == record)
        #expect(record.rewritten(attempt: record.attempt).bytes != bytes)
    }

    /// Bytes that were cut or flipped anywhere are refused.
    @Test func damagedBytesAreRefused() {
        let bytes = record.bytes
        for count in bytes.indices {
            #expect(throws: WireError.self) { try ConfigurationRecord(from: Array(bytes.prefix(count)).span.bytes) }
        }
        for bit in 0..<bytes.count * 8 {
            var damaged = bytes
            damaged[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: WireError.self) { try ConfigurationRecord(from: damaged.span.bytes) }
        }
    }

    /// A member is added once, and leaves; each writing counts.
    @Test func theSetGrowsAndShrinks() {
        let grown = record.adding(Self.members[3], attempt: .none)
        #expect(grown.inSync == Self.members && grown.number == record.number + 1)
        #expect(grown.adding(Self.members[3], attempt: .none).inSync == Self.members)
        #expect(grown.removing(Self.members[1], attempt: .none).inSync == [0, 2, 3].map { Self.members[$0] })
    }

    /// Every member but the primary has a rank of its own; who is none comes after all of them.
    ///
    /// Which node is first differs from store to store.
    @Test func candidatesHaveRanks() {
        #expect(Set(Self.members[1...2].map { record.rank(of: $0) }) == [0, 1])
        #expect(record.rank(of: Self.members[0]) == 2 && record.rank(of: Self.members[3]) == 2)
        let firsts = Set(
            (1...40 as ClosedRange<UInt128>).map { number in
                let other = ConfigurationRecord(
                    cluster: record.cluster, store: StoreID(rawValue: number), channel: record.channel,
                    epoch: record.epoch,
                    primary: record.primary, openedAfter: record.openedAfter, minimum: 1, attempt: .none)
                return Self.members[1...2].reduce(other) { $0.adding($1, attempt: .none) }.rank(of: Self.members[1])
            })
        #expect(firsts == [0, 1])
    }

    /// Who campaigns must be a member, in this incarnation; the old primary leaves if the minimum stays.
    @Test func aCampaignTakesTheOldPrimaryOut() throws {
        func campaign(_ record: ConfigurationRecord, _ member: Member, above: UInt64 = 0) -> ConfigurationRecord? {
            record.campaign(
                ReplicationExample.primary(member), above: Epoch(rawValue: above),
                after: ReplicationExample.position(5), attempt: .none)
        }
        let won = try #require(campaign(record, Self.members[1]))
        #expect(won.epoch == Epoch(rawValue: record.epoch.rawValue + 1) && won.number == record.number + 1)
        #expect(won.inSync == [Self.members[1], Self.members[2]] && won.problem == nil)
        #expect(won.openedAfter == ReplicationExample.position(5))
        #expect(try #require(campaign(record, Self.members[1], above: 40)).epoch == Epoch(rawValue: 41))
        #expect(campaign(record, Self.members[3]) == nil, "it is not in the set")
        let wiped = Member(node: Self.members[1].node, incarnation: Incarnation(rawValue: 77))
        #expect(campaign(record, wiped) == nil, "its disk is another one")
        let two = ReplicationExample.record(members: 2, minimum: 2)
        #expect(try #require(campaign(two, Self.members[1])).inSync == Array(Self.members.prefix(2)))
        #expect(try #require(campaign(record, Self.members[0])).inSync == record.inSync, "a later life of the primary")
    }

    /// Whom an operator names campaigns for an epoch of its own: that something may be lost is noted until the next failover,
    /// also if the first campaign is not heard of.
    @Test func aLossStaysNotedUntilTheNextFailover() throws {
        func campaign(_ record: ConfigurationRecord, boot: UInt128, end: Epoch) throws -> ConfigurationRecord {
            try #require(
                record.campaign(
                    ReplicationExample.primary(Self.members[3], boot: boot), above: .zero,
                    after: ReplicationExample.position(5, epoch: end.rawValue), attempt: .none))
        }
        let promoted = try #require(
            record.promoting(
                ReplicationExample.primary(Self.members[3], boot: 0), above: .zero,
                after: ReplicationExample.position(5), minimum: 1, attempt: .none))
        let won = try campaign(promoted, boot: 9, end: record.epoch)
        #expect(promoted.isUnclean && won.isUnclean && won.epoch > promoted.epoch)
        #expect(try campaign(won, boot: 10, end: record.epoch).isUnclean, "its epoch was never opened")
        #expect(try !campaign(won, boot: 10, end: won.epoch).isUnclean)
    }

    /// A set without its primary, without an order, or with an impossible minimum is no record.
    @Test func whatNoRecordMayBeIsNamed() {
        var broken = record
        broken.primary.member = Self.members[3]
        #expect(broken.problem?.contains("primary") == true)
        broken = record
        broken.minimum = 0
        #expect(broken.problem?.contains("minimum") == true)
        broken = record
        broken.number = 0
        #expect(broken.problem?.contains("number") == true)
        #expect(record.problem == nil)
    }
}

/// Values that the tests of replication share.
enum ReplicationExample {
    static func member(_ number: Int) -> Member {
        Member(node: ReplicationModel.name(number), incarnation: Incarnation(rawValue: UInt128(number)))
    }
    static func primary(_ member: Member, boot: UInt128 = 9) -> ConfigurationRecord.Primary {
        .init(member: member, boot: BootID(rawValue: boot), endpoints: ["tcp://10.0.0.1:7400"])
    }
    static func position(_ sequence: UInt64, epoch: UInt64 = 3) -> Position {
        Position(
            epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence),
            hash: BatchHash(rawValue: UInt128(sequence)))
    }
    /// The first of `members` is primary of epoch 3.
    static func record(members: Int, minimum: Int) -> ConfigurationRecord {
        let first = ConfigurationRecord(
            cluster: ClusterID(rawValue: 1), store: StoreID(rawValue: 2), channel: Channel(rawValue: 4),
            epoch: Epoch(rawValue: 3), primary: primary(member(1)), openedAfter: position(2), minimum: minimum,
            attempt: AttemptID(rawValue: 5))
        return (1..<members).reduce(first) { record, number in
            record.adding(member(number + 1), attempt: AttemptID(rawValue: 5))
        }
    }
    static func set(members: Int, minimum: Int) -> InSyncSet {
        InSyncSet(StoredRecord(record(members: members, minimum: minimum), revision: 10))
    }
}
