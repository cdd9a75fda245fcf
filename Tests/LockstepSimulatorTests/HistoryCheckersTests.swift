import LockstepCore
import LockstepSimulator
import Testing

/// What the checkers of wrong states and of histories that were given up find, apart from a run.
@Suite struct HistoryCheckersTests {
    private static let session = SessionID(epoch: Epoch(rawValue: 7), sequence: SequenceNumber(rawValue: 3))
    private static let (lost, kept) = (BatchHash(rawValue: 1), BatchHash(rawValue: 2))

    private static func at(_ sequence: UInt64) -> SequenceNumber { SequenceNumber(rawValue: sequence) }

    // MARK: - Divergence (PROTOCOL R-53)

    private static func divergence(through last: UInt64, mark: UInt64?, own: UInt128, log: UInt128) -> Divergence {
        var divergence = Divergence()
        divergence.applied(
            through: at(last), mark: mark.map(at), own: Digest(rawValue: own), log: Digest(rawValue: log), by: 2)
        return divergence
    }

    /// A replica knows that its state is wrong at a mark with another digest, and not before it.
    @Test func aMarkTellsThatAStateIsWrong() {
        #expect(Self.divergence(through: 9, mark: 9, own: 1, log: 2).isKnown(to: 2))
        #expect(!Self.divergence(through: 9, mark: 9, own: 1, log: 2).isKnown(to: 1))
        #expect(!Self.divergence(through: 9, mark: 9, own: 2, log: 2).isKnown(to: 2))
        #expect(!Self.divergence(through: 10, mark: 9, own: 1, log: 2).isKnown(to: 2))
        #expect(!Self.divergence(through: 9, mark: nil, own: 1, log: 2).isKnown(to: 2))
    }

    /// It knows until it is fed anew, whatever it applies meanwhile.
    @Test func itIsKnownUntilTheStateIsAnother() {
        var divergence = Self.divergence(through: 9, mark: 9, own: 1, log: 2)
        divergence.applied(
            through: Self.at(12), mark: Self.at(12), own: Digest(rawValue: 3), log: Digest(rawValue: 3), by: 2)
        divergence.began(1)
        #expect(divergence.isKnown(to: 2))
        divergence.began(2)
        #expect(!divergence.isKnown(to: 2))
    }

    /// Only the very answers that left a wrong state are not judged.
    @Test func answersOfAWrongStateAreDoubtful() {
        var divergence = Divergence()
        #expect(!divergence.isDoubtful([1, 2]))
        divergence.note([1, 2])
        #expect(divergence.isDoubtful([1, 2]) && !divergence.isDoubtful([1, 3]))
    }

    // MARK: - Histories that were given up (PROTOCOL R-41)

    private static func reply(_ sequence: UInt64, _ bytes: [UInt8], in batch: BatchHash) -> LogReply {
        LogReply(epoch: Epoch(rawValue: 7), sequence: at(sequence), status: .committed, bytes: bytes, batch: batch)
    }

    private static func key(_ number: RequestNumber) -> LogReply.Key { LogReply.Key(session: session, number: number) }

    /// Only what stood in a batch that was given up may be learned beside the log, to the letter.
    @Test func anAnswerThatWasGivenUpIsKnown() {
        var givenUp = GivenUp()
        givenUp.keep(
            [Self.key(1): Self.reply(5, [1], in: Self.lost), Self.key(2): Self.reply(6, [2], in: Self.kept)],
            [:], [Self.lost])
        func has(_ number: RequestNumber, _ sequence: UInt64, _ bytes: [UInt8], epoch: UInt64 = 7) -> Bool {
            givenUp.has(Self.key(number), Epoch(rawValue: epoch), Self.at(sequence), .committed, bytes)
        }
        #expect(has(1, 5, [1]))
        #expect(!has(1, 5, [2]) && !has(1, 6, [1]) && !has(1, 5, [1], epoch: 8) && !has(2, 6, [2]) && !has(3, 5, [1]))
        #expect(!givenUp.has(Self.key(1), Epoch(rawValue: 7), Self.at(5), .rejected, [1]))
        // A second history that is given up does not take the place of the first.
        givenUp.keep([Self.key(1): Self.reply(9, [4], in: Self.kept)], [:], [Self.kept])
        #expect(has(1, 5, [1]) && has(1, 9, [4]))
    }

    /// The same of the ends of accepted actions.
    @Test func anEndThatWasGivenUpIsKnown() {
        func note(_ bytes: [UInt8], in batch: BatchHash) -> RunNote {
            var note = RunNote(sequence: Self.at(4), action: [])
            note.end = RunNote.End(
                epoch: Epoch(rawValue: 7), sequence: Self.at(5), status: .committed, bytes: bytes, batch: batch)
            return note
        }
        var givenUp = GivenUp()
        let (first, second) = (RunID(session: Self.session, number: 1), RunID(session: Self.session, number: 2))
        let third = RunID(session: Self.session, number: 3)
        givenUp.keep(
            [:],
            [
                first: note([1], in: Self.lost), second: note([2], in: Self.kept),
                third: RunNote(sequence: Self.at(4), action: []),
            ], [Self.lost])
        func has(_ id: RunID, _ bytes: [UInt8], sequence: UInt64 = 5) -> Bool {
            let ended = RunEnded(
                id: id, epoch: Epoch(rawValue: 7), sequence: Self.at(sequence), emissions: 0, item: 0..<0)
            return givenUp.has(ended, .committed, bytes)
        }
        #expect(has(first, [1]))
        #expect(!has(first, [2]) && !has(first, [1], sequence: 6) && !has(second, [2]) && !has(third, [1]))
    }

    private static func record(_ outcome: CallRecord.Outcome, at sequence: UInt64, _ call: Call) -> CallRecord {
        var record = CallRecord(caller: 1, call: call, invoked: 1)
        (record.outcome, record.epoch, record.sequence) = (outcome, Epoch(rawValue: 7), at(sequence))
        (record.session, record.number, record.returned) = (session, 1, 2)
        return record
    }

    private static func asKept(
        _ record: CallRecord, _ reply: LogReply?, opening: UInt64? = 3, isAtPresentPlace: Bool
    ) -> CallRecord? {
        var record = record
        record.opening = 3
        return GivenUp.kept(record, reply: reply, opening: opening, isAtPresentPlace: isAtPresentPlace)
    }

    /// The search for an order gets the actions that the kept history has, with its answers.
    @Test func actionsAreTakenFromTheKeptHistory() {
        let done = Self.record(.answered(.committed, [1]), at: 5, .action([9]))
        let same = Self.asKept(done, Self.reply(5, [1], in: Self.kept), isAtPresentPlace: true)
        #expect(same?.outcome == done.outcome && same?.returned == 2)
        // Given up, and not performed again: it did not happen.
        #expect(Self.asKept(done, nil, isAtPresentPlace: true) == nil)
        // Given up and performed again at another place: with that answer, which nobody was told.
        let again = Self.asKept(done, Self.reply(6, [2], in: Self.kept), isAtPresentPlace: false)
        #expect(again?.outcome == .answered(.committed, [2]) && again?.sequence == Self.at(6))
        #expect(again?.returned == nil)
        // The number is that of another session, which has its name.
        let other = Self.reply(6, [2], in: Self.kept)
        #expect(Self.asKept(done, other, opening: 4, isAtPresentPlace: true) == nil)
        #expect(Self.asKept(done, other, opening: nil, isAtPresentPlace: true) == nil)
        // What nobody knows may have happened; what never got a number certainly did not, in any history.
        let unknown = Self.record(.unknown, at: 0, .action([9]))
        #expect(Self.asKept(unknown, nil, isAtPresentPlace: false)?.outcome == .unknown)
        var forgotten = Self.record(.answered(.void, []), at: 0, .action([9]))
        forgotten.session = .none
        #expect(Self.asKept(forgotten, nil, isAtPresentPlace: false)?.outcome == .answered(.void, []))
    }

    /// A read is compared with a batch that was given up in that one's epoch only, and with a present one in any: a
    /// primary may show at the same number what a killed one had written, and nobody knows yet.
    @Test func aReadShowsAHistoryThatWasGivenUpInItsEpochOnly() {
        func mayShow(_ batchEpoch: UInt64, isGivenUp: Bool, readIn epoch: UInt64) -> Bool {
            GivenUp.mayShow(Epoch(rawValue: batchEpoch), isGivenUp: isGivenUp, readIn: Epoch(rawValue: epoch))
        }
        #expect(mayShow(7, isGivenUp: false, readIn: 7) && mayShow(7, isGivenUp: false, readIn: 8))
        #expect(mayShow(7, isGivenUp: true, readIn: 7) && !mayShow(7, isGivenUp: true, readIn: 8))
    }

    /// A cluster is not at rest while a sender that lives does not acknowledge an end, also after a fork; what is older
    /// than the fork is excused, since its acknowledgement may have been given up.
    @Test func endsAfterAForkMustBeAcknowledged() {
        func must(_ acceptedAt: UInt64?, isOpen: Bool = true, forkedAt: UInt64 = 0) -> Bool {
            GivenUp.mustBeAcknowledged(
                acceptedAt: acceptedAt.map(Self.at), isSessionOpen: isOpen, forkedAt: Self.at(forkedAt))
        }
        #expect(must(5) && must(6, forkedAt: 5) && must(nil))
        #expect(!must(5, forkedAt: 5) && !must(5, isOpen: false) && !must(6, isOpen: false, forkedAt: 5))
    }

    /// A read counts if its place is the kept history's; a session's as a local one.
    @Test func readsOfTheKeptHistoryCount() throws {
        for (level, counted) in [
            (ReadLevel.local, ReadLevel.local), (.session, .local), (.linearizable, .linearizable),
        ] {
            let read = Self.record(.read([1]), at: 5, .read([3], level))
            #expect(Self.asKept(read, nil, isAtPresentPlace: false) == nil)
            let found = try #require(Self.asKept(read, nil, isAtPresentPlace: true))
            guard case .read(_, let level) = found.call else {
                Issue.record("a read stays a read")
                continue
            }
            #expect(level == counted && found.outcome == .read([1]))
        }
    }
}
