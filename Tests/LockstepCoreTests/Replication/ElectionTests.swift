import LockstepCore
import Testing

/// From a silent primary to an epoch that was won, step by step (PROTOCOL, R-80 to R-82).
@Suite struct ElectionTests {
    private typealias Directive = ElectionStateMachine.Directive
    private static let own = ReplicationExample.primary(ReplicationExample.member(2), boot: 30)
    private let stored = StoredRecord(ReplicationExample.record(members: 3, minimum: 2), revision: 10)
    private var election = ElectionStateMachine(
        .init(candidate: own), promised: Epoch(rawValue: 3), memory: ArbiterMemory(), seed: 1, now: .zero)
    private var directives: [Directive] = []

    private func at(_ milliseconds: Int64) -> Tick { Tick.zero.advanced(byMilliseconds: milliseconds) }
    private mutating func taken() -> [Directive] {
        election.checkInvariants()
        defer { directives = [] }
        return directives
    }
    private mutating func read(
        _ stored: StoredRecord, request: UInt64, known: UInt64 = 0, told: [NodeID: ArbiterMemory] = [:],
        further: Set<NodeID> = [], empty: Set<NodeID> = [], hasFollowed: Bool = true, at milliseconds: Int64 = 2_000
    ) {
        election.read(
            stored, request: request, end: ReplicationExample.position(5), known: Epoch(rawValue: known),
            told: .init(shown: told, further: further, empty: empty), hasFollowed: hasFollowed,
            attemptID: AttemptID(rawValue: 70), now: at(milliseconds), into: &directives)
    }
    /// What the arbiter has shown another node, compared with the record.
    private func shown(numbers: Int = 0, epochs: UInt64 = 0, boot: BootID? = nil) -> [NodeID: ArbiterMemory] {
        let record = stored.record
        let memory = ArbiterMemory(
            revision: stored.revision, number: UInt64(Int(record.number) + numbers),
            epoch: Epoch(rawValue: record.epoch.rawValue + epochs), boot: boot ?? record.primary.boot)
        return [ReplicationExample.member(3).node: memory]
    }
    private mutating func heard(_ epoch: UInt64, at milliseconds: Int64) -> Bool {
        election.heard(epoch: Epoch(rawValue: epoch), now: at(milliseconds), into: &directives)
    }
    /// As far as the transaction; returns it.
    private mutating func campaign(known: UInt64 = 0) throws -> RecordAttempt {
        election.tick(now: at(1_400), into: &directives)
        try #require(taken() == [.readRecord(request: 1)])
        read(stored, request: 1, known: known)
        let promised = Epoch(rawValue: max(3, known) + 1)
        try #require(taken() == [.promise(promised)])
        election.promiseStored(promised, now: at(2_001), into: &directives)
        guard case .transact(let attempt, _)? = taken().first else { throw WireError(.truncated, at: 0) }
        return attempt
    }

    /// A primary that is heard is left alone; after a grace of 1 to 1.3 s the record is read, again and again.
    @Test mutating func aSilenceIsWaitedFor() {
        #expect(election.nextDeadline >= at(1_000) && election.nextDeadline <= at(1_300))
        #expect(heard(3, at: 900) == true)
        election.tick(now: at(1_899), into: &directives)
        #expect(taken().isEmpty)
        election.tick(now: at(2_200), into: &directives)
        #expect(taken() == [.readRecord(request: 1)] && election.nextDeadline == at(2_400))
        election.tick(now: at(2_400), into: &directives)
        #expect(taken() == [.readRecord(request: 2)], "no answer, no campaign")
        #expect(heard(3, at: 2_500) == true)
        #expect(election.phase == .following)
    }

    /// The promise is durable before the transaction leaves; applied, the epoch is opened.
    @Test mutating func aCampaignIsWon() throws {
        let attempt = try campaign()
        #expect(attempt.proposed.epoch == Epoch(rawValue: 4) && attempt.compared == stored)
        #expect(heard(3, at: 2_002) == false, "it has promised")
        election.applied(AttemptID(rawValue: 69), revision: 11, now: at(2_100), into: &directives)
        #expect(taken().isEmpty, "the answer to something else")
        election.applied(AttemptID(rawValue: 70), revision: 11, now: at(2_100), into: &directives)
        #expect(taken() == [.open(StoredRecord(attempt.proposed, revision: 11))] && election.phase == .won)
    }

    /// The new epoch is above all that any node knows.
    @Test mutating func theEpochIsAboveAll() throws {
        #expect(try campaign(known: 50).proposed.epoch == Epoch(rawValue: 51))
    }

    /// Who is not in the set does not campaign, and follows whom the record names.
    @Test mutating func whoIsNotInTheSetFollows() {
        let smaller = StoredRecord(stored.record.removing(Self.own.member, attempt: .none), revision: 11)
        election.tick(now: at(1_400), into: &directives)
        read(smaller, request: 1)
        #expect(taken() == [.readRecord(request: 1), .follow(smaller)])
    }

    /// A primary that has just won is not taken for the one that was silent: it has its time, and only then its post is
    /// asked for.
    @Test mutating func aNewReignHasItsTime() throws {
        let third = ReplicationExample.primary(ReplicationExample.member(3), boot: 31)
        let won = try #require(
            stored.record.campaign(
                third, above: Epoch(rawValue: 3), after: ReplicationExample.position(5), attempt: .none))
        let newer = StoredRecord(won, revision: 11)
        election.tick(now: at(1_400), into: &directives)
        read(newer, request: 1)
        #expect(taken() == [.readRecord(request: 1), .follow(newer)] && election.phase == .following)
        #expect(election.nextDeadline >= at(3_000), "a whole grace from then on")
        election.tick(now: at(3_400), into: &directives)
        read(newer, request: 2)
        #expect(taken() == [.readRecord(request: 2), .promise(Epoch(rawValue: 5))], "it was silent all the time")
    }

    /// Candidates wait for those before them, also when nobody has to wait for the primary's silence.
    @Test mutating func candidatesTakeTurns() {
        election.tick(now: at(1_400), into: &directives)
        read(StoredRecord(stored.record, revision: 9), request: 1)
        let rank = Int64(stored.record.rank(of: Self.own.member))
        #expect(heard(9, at: 2_000) == true)
        election.hurry(now: at(2_010))
        #expect(election.nextDeadline == at(2_010 + 50 * rank))
        election.takeOver(staysMember: true, now: at(2_011))
        #expect(election.nextDeadline == at(min(2_010 + 50 * rank, 2_011)))
    }

    /// A post that is offered is taken although its primary is heard, for as long as that waits; the primary stays a member
    /// if it goes on.
    @Test(arguments: [true, false]) mutating func anOfferedPostIsTaken(staysMember: Bool) throws {
        #expect(heard(3, at: 1_990) == true)
        election.takeOver(staysMember: staysMember, now: at(2_000))
        election.tick(now: at(2_000), into: &directives)
        #expect(taken() == [.readRecord(request: 1)])
        #expect(heard(3, at: 2_005) == true && election.phase == .asking)
        read(stored, request: 1)
        #expect(taken() == [.promise(Epoch(rawValue: 4))])
        election.promiseStored(Epoch(rawValue: 4), now: at(2_010), into: &directives)
        guard case .transact(let attempt, _)? = taken().first else { return #expect(Bool(false), "a transaction") }
        #expect(attempt.proposed.contains(stored.record.primary.member) == staysMember)
    }

    /// An offer that the arbiter did not answer in time is over: the primary goes on, and is followed.
    @Test mutating func anOfferEnds() {
        #expect(heard(3, at: 1_990) == true)
        election.takeOver(staysMember: true, now: at(2_000))
        election.tick(now: at(2_000), into: &directives)
        #expect(heard(3, at: 2_501) == true && election.phase == .following)
        _ = taken()
        read(stored, request: 1)
        #expect(taken() == [.follow(stored)], "a late answer begins no campaign")
    }

    /// Without an answer the same is asked again, and a record with its name means that it was applied.
    @Test mutating func aLostAnswerIsAskedForAgain() throws {
        let attempt = try campaign()
        election.tick(now: at(2_201), into: &directives)
        #expect(taken() == [.transact(attempt, request: 3)])
        election.refused(stored, request: 2, now: at(2_202), into: &directives)
        #expect(taken().isEmpty && election.phase == .campaigning, "it may still be applied")
        let applied = StoredRecord(attempt.proposed, revision: 11)
        election.refused(applied, request: 3, now: at(2_203), into: &directives)
        #expect(taken() == [.open(applied)])
    }

    /// A record that somebody else has written settles it: the promise is withdrawn, and he is followed.
    @Test mutating func whoLosesWithdrawsItsPromise() throws {
        _ = try campaign()
        #expect(heard(5, at: 2_050) == false)
        #expect(taken() == [.readRecord(request: 3)], "a reign settles nothing, the record does")
        let other = StoredRecord(stored.record.rewritten(attempt: AttemptID(rawValue: 8)), revision: 11)
        election.refused(other, request: 2, now: at(2_100), into: &directives)
        #expect(taken() == [.withdrawPromise(other), .follow(other)] && election.phase == .following)
        #expect(heard(3, at: 2_200) == true, "the old reign goes on")
    }

    /// The promise of an earlier life is withdrawn when the record has no place for the node: it may follow again.
    @Test mutating func thePromiseOfAnEarlierLifeIsWithdrawn() {
        election = ElectionStateMachine(
            .init(candidate: Self.own), promised: Epoch(rawValue: 9), memory: ArbiterMemory(), seed: 1, now: .zero)
        #expect(heard(3, at: 100) == false)
        let smaller = StoredRecord(stored.record.removing(Self.own.member, attempt: .none), revision: 11)
        election.tick(now: at(1_400), into: &directives)
        read(smaller, request: 1)
        #expect(taken() == [.readRecord(request: 1), .withdrawPromise(smaller), .follow(smaller)])
        #expect(heard(3, at: 2_100) == true)
    }

    /// Numbers that no record can have are nobody's, and end no process.
    @Test mutating func impossibleNumbersAreIgnored() {
        #expect(heard(.max, at: 100) == false)
        #expect(heard(UInt64(Int64.max), at: 100) == false)
        election.tick(now: at(1_400), into: &directives)
        read(stored, request: 1, known: .max)
        #expect(taken() == [.readRecord(request: 1)], "there is no epoch above that")
    }

    /// While a node that was reached knows a newer record, nobody campaigns.
    @Test mutating func aNewerRecordSomewhereIsWaitedFor() {
        election.tick(now: at(1_400), into: &directives)
        read(stored, request: 1, told: shown(numbers: 1))
        #expect(taken() == [.readRecord(request: 1)] && election.phase == .asking)
        read(stored, request: 1, told: shown(numbers: -1))
        #expect(taken() == [.promise(Epoch(rawValue: 4))])
    }

    /// A later reign that somebody knows of, or another one of the same epoch, is a newer record, whatever its number.
    @Test mutating func anotherReignSomewhereIsWaitedFor() {
        election.tick(now: at(1_400), into: &directives)
        _ = taken()
        read(stored, request: 1, told: shown(numbers: -1, epochs: 1))
        #expect(taken().isEmpty && election.phase == .asking)
        read(stored, request: 1, told: shown(numbers: -1, boot: BootID(rawValue: 77)))
        #expect(taken().isEmpty && election.phase == .asking)
    }

    /// Who was started asks another member what it was shown, be it the record's primary or not; after 3 s it goes on
    /// without: the arbiter may show what was before a reign that it slept through.
    @Test(arguments: [true, false]) mutating func whoWasStartedAsksAnotherMemberFirst(wasPrimary: Bool) {
        let own = wasPrimary ? ReplicationExample.primary(stored.record.primary.member, boot: 31) : Self.own
        for told in [shown(), [:]] {
            election = ElectionStateMachine(
                .init(candidate: own), promised: Epoch(rawValue: 3), memory: ArbiterMemory(), seed: 1, now: .zero)
            election.tick(now: at(1_400), into: &directives)
            _ = taken()
            read(stored, request: 1, hasFollowed: false, at: 1_401)
            #expect(taken().isEmpty && election.phase == .asking)
            election.tick(now: at(1_600), into: &directives)
            _ = taken()
            read(stored, request: 2, told: told, hasFollowed: false, at: 1_601)
            #expect(election.phase == (told.isEmpty ? .asking : .promising))
            read(stored, request: 2, told: told, hasFollowed: false, at: 4_400)
            #expect(election.phase == (told.isEmpty ? .asking : .promising))
            read(stored, request: 2, told: told, hasFollowed: false, at: 4_401)
            #expect(taken() == [.promise(Epoch(rawValue: 4))])
        }
    }

    /// Who was started leaves the post to a member that has told of a longer log, which campaigns itself, for 3 s.
    @Test mutating func whoWasStartedLeavesThePostToWhoHasMore() {
        let other = ReplicationExample.member(3).node
        election.tick(now: at(1_400), into: &directives)
        _ = taken()
        read(stored, request: 1, told: shown(), further: [other], hasFollowed: false, at: 1_401)
        read(stored, request: 1, told: shown(), further: [other], hasFollowed: false, at: 4_400)
        #expect(taken().isEmpty && election.phase == .asking)
        read(stored, request: 1, told: shown(), further: [other], hasFollowed: false, at: 4_401)
        #expect(election.phase == .promising)
    }

    /// Under the name of a member that has lost its disk there is another one, with an empty log: its word is none of
    /// the set's, but it counts that it was shown more.
    @Test mutating func whoHasLostItsDiskInformsNobody() {
        let other = ReplicationExample.member(3).node
        election.tick(now: at(1_400), into: &directives)
        _ = taken()
        read(stored, request: 1, told: shown(), empty: [other], hasFollowed: false, at: 1_401)
        #expect(taken().isEmpty && election.phase == .asking)
        read(stored, request: 1, told: shown(numbers: 1), empty: [other], hasFollowed: false, at: 4_401)
        #expect(taken().isEmpty && election.phase == .asking, "the arbiter was set back")
        read(stored, request: 1, told: shown(), empty: [other], hasFollowed: false, at: 4_401)
        #expect(election.phase == .promising, "it has had its time")
    }

    /// In a store that began with this epoch nobody has a log yet.
    @Test mutating func whoHasNothingInformsInANewStore() {
        var new = stored
        new.record.openedAfter = ReplicationExample.position(0)
        election.tick(now: at(1_400), into: &directives)
        _ = taken()
        let other = ReplicationExample.member(3).node
        read(new, request: 1, told: shown(), empty: [other], hasFollowed: false, at: 1_401)
        #expect(election.phase == .promising)
    }

    /// Who was cut off or stood still for 3 s asks others first, too, as if it had just been started.
    @Test mutating func whoWasAwayForLongAsksAnotherMemberFirst() {
        #expect(heard(3, at: 500))
        election.tick(now: at(3_600), into: &directives)
        _ = taken()
        read(stored, request: 1, at: 3_600)
        #expect(taken().isEmpty && election.phase == .asking)
        read(stored, request: 1, at: 6_599)
        #expect(election.phase == .asking)
        read(stored, request: 1, told: shown(), at: 6_599)
        #expect(election.phase == .promising)
    }

    /// Who is alone in the set need not ask anybody.
    @Test mutating func aRestartedPrimaryThatIsAloneGoesOn() {
        let alone = StoredRecord(ReplicationExample.record(members: 1, minimum: 1), revision: 10)
        let own = ReplicationExample.primary(alone.record.primary.member, boot: 31)
        election = ElectionStateMachine(
            .init(candidate: own), promised: Epoch(rawValue: 3), memory: ArbiterMemory(), seed: 1, now: .zero)
        election.tick(now: at(1_400), into: &directives)
        read(alone, request: 1, hasFollowed: false, at: 1_401)
        #expect(taken() == [.readRecord(request: 1), .promise(Epoch(rawValue: 4))])
    }

    /// An arbiter that shows less than it did is not believed.
    @Test mutating func anArbiterThatWasSetBackIsNotBelieved() {
        let newer = StoredRecord(stored.record.rewritten(attempt: .none), revision: 11)
        election.tick(now: at(1_400), into: &directives)
        _ = taken()
        read(newer, request: 1)
        _ = taken()
        election.tick(now: at(3_000), into: &directives)
        _ = taken()
        election.refused(stored, request: 2, now: at(3_001), into: &directives)
        #expect(taken() == [.regressed(stored)])
    }
}
