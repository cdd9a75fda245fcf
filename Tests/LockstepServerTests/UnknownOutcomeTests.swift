import LockstepCore
import LockstepServer
import Testing

/// What a record says of a write whose outcome is unknown, and which nodes may have built on (PROTOCOL, R-76).
@Suite struct UnknownOutcomeTests {
    private static let attempt = AttemptID(rawValue: 50)
    private static let other = AttemptID(rawValue: 51)

    private static func attempt(
        _ change: (ConfigurationRecord) -> ConfigurationRecord?
    ) throws -> (RecordAttempt, ConfigurationRecord) {
        let compared = RecordOrderTests.record("abc")
        let proposed = try #require(change(compared))
        return (RecordAttempt(replacing: StoredRecord(compared, revision: 7), with: proposed), proposed)
    }

    private func isFulfilled(_ attempt: RecordAttempt, by record: ConfigurationRecord) -> Bool {
        attempt.isFulfilled(by: StoredRecord(record, revision: 9))
    }

    /// A member that left is out of each record that is built on that, until it comes back.
    @Test func whoWasRemovedStaysOut() throws {
        let gone = RecordOrderTests.member("c")
        let (attempt, proposed) = try Self.attempt { $0.removing(gone, minimum: 1, attempt: Self.attempt) }
        #expect(isFulfilled(attempt, by: proposed.adding(RecordOrderTests.member("d"), attempt: Self.other)))
        #expect(!isFulfilled(attempt, by: proposed.adding(gone, attempt: Self.other)))
        // Another one was written in its place.
        let instead = RecordOrderTests.record("abc").adding(RecordOrderTests.member("d"), attempt: Self.other)
        #expect(!isFulfilled(attempt, by: instead))
        let more = instead.removing(RecordOrderTests.member("b"), minimum: nil, attempt: Self.other)
        #expect(!isFulfilled(attempt, by: more))
    }

    /// Another minimum shows, whoever was added since; the old one says that it was not written.
    @Test func aMinimumShows() throws {
        let (attempt, proposed) = try Self.attempt { $0.requiring(3, attempt: Self.attempt) }
        let added = RecordOrderTests.member("d")
        #expect(isFulfilled(attempt, by: proposed.adding(added, attempt: Self.other)))
        let instead = RecordOrderTests.record("abc").adding(added, attempt: Self.other)
        #expect(!isFulfilled(attempt, by: instead.adding(RecordOrderTests.member("e"), attempt: Self.other)))
    }

    /// Who was made the primary has campaigned since; the one of before has not been there again.
    @Test func whoWasPromotedLeads() throws {
        let alone = ConfigurationRecord.Primary(member: RecordOrderTests.member("d"), boot: .none, endpoints: [])
        let (attempt, proposed) = try Self.attempt { record in
            record.promoting(
                alone, above: record.epoch, after: record.openedAfter, minimum: nil, attempt: Self.attempt)
        }
        let campaigned = proposed.campaign(
            .init(member: alone.member, boot: BootID(rawValue: 6), endpoints: []), above: proposed.epoch,
            after: proposed.openedAfter, attempt: Self.other)
        #expect(isFulfilled(attempt, by: try #require(campaigned)))
        let instead = RecordOrderTests.record("abc").adding(alone.member, attempt: Self.other)
        #expect(!isFulfilled(attempt, by: instead.adding(RecordOrderTests.member("e"), attempt: Self.other)))
    }
}
