import LockstepCore
import Testing

/// Whose word counts while a change of the set is under way, and what the arbiter's answers mean.
@Suite struct InSyncSetTests {
    private var set = ReplicationExample.set(members: 2, minimum: 1)
    private let members = (1...3).map(ReplicationExample.member)
    private func id(_ number: UInt128) -> AttemptID { AttemptID(rawValue: number) }

    /// Who is proposed is required at once.
    @Test mutating func whoIsProposedIsRequiredAtOnce() {
        let attempt = set.propose(.adds(members[2]), attempt: id(7))
        set.checkInvariants()
        #expect(set.required == members)
        #expect(set.found(attempt.compared) == .open && set.required == members, "it may still be applied")
        #expect(set.applied(id(7), revision: 11) == .changed(.adds(members[2])))
        #expect(set.required == members && set.confirmed.revision == 11 && !set.isChanging)
    }

    /// Who is to leave is required until it is known that it left.
    @Test mutating func whoLeavesIsRequiredUntilItLeft() {
        _ = set.propose(.removes(members[1]), attempt: id(7))
        #expect(set.required == Array(members.prefix(2)))
        #expect(set.applied(id(6), revision: 11) == .open, "an answer to another attempt")
        #expect(set.applied(id(7), revision: 11) == .changed(.removes(members[1])))
        #expect(set.required == [members[0]])
    }

    /// A proposal whose first asking was applied fails its own comparison when it is asked again: the record that is
    /// shown then has its name.
    @Test mutating func aLostAnswerIsFoundInTheRecord() {
        let attempt = set.propose(.adds(members[2]), attempt: id(7))
        #expect(set.found(StoredRecord(attempt.proposed, revision: 11)) == .changed(.adds(members[2])))
        #expect(set.confirmed.record.contains(members[2]))
    }

    /// A record of the same reign refuses the proposal and replaces the set; one of another ends the reign.
    @Test mutating func whoElseHasWrittenDecides() {
        _ = set.propose(.adds(members[2]), attempt: id(7))
        var other = set
        let rewritten = StoredRecord(set.confirmed.record.rewritten(attempt: id(8)), revision: 11)
        #expect(set.found(rewritten) == .refused && set.required == Array(members.prefix(2)))
        #expect(set.confirmed == rewritten)
        let won = other.confirmed.record.campaign(
            ReplicationExample.primary(members[1], boot: 12), above: .zero, after: ReplicationExample.position(5),
            attempt: id(9))
        guard let won else {
            Issue.record("a member may campaign")
            return
        }
        #expect(other.found(StoredRecord(won, revision: 11)) == .over)
    }

    /// Without an attempt, a later record of the same reign is an operator's, and replaces the set; any other ends the
    /// reign.
    @Test mutating func anOperatorMayTakeAMemberOut() throws {
        #expect(set.found(set.confirmed) == .open)
        var other = set
        let removed = StoredRecord(
            set.confirmed.record.removing(members[1], minimum: 1, attempt: id(8)), revision: 11)
        #expect(set.found(removed) == .open && set.required == [members[0]])
        set.checkInvariants()
        #expect(set.found(other.confirmed) == .over, "one of a lower number")
        let promoted = other.confirmed.record.promoting(
            ReplicationExample.primary(members[1], boot: 0), above: .zero, after: ReplicationExample.position(5),
            minimum: nil, attempt: id(9))
        #expect(other.found(StoredRecord(try #require(promoted), revision: 11)) == .over)
    }

    /// Another minimum of the same reign holds as soon as it is read; a proposal that was made before it is refused
    ///
    @Test mutating func anOperatorMayChangeTheMinimum() {
        let raised = StoredRecord(set.confirmed.record.requiring(2, attempt: id(8)), revision: 11)
        var other = set
        #expect(set.canLose(members[1]) && set.found(raised) == .open)
        #expect(set.minimum == 2 && set.hasMinimum && !set.canLose(members[1]))
        set.checkInvariants()
        _ = other.propose(.removes(members[1]), attempt: id(9))
        #expect(other.found(raised) == .refused && other.required == Array(members.prefix(2)) && other.minimum == 2)
        other.checkInvariants()
    }

    /// Only an older answer to what was asked afterwards says that the arbiter was set back.
    @Test func anArbiterThatWasSetBackIsNoticed() {
        let old = set.confirmed
        let new = StoredRecord(old.record.rewritten(attempt: id(8)), revision: 11)
        var memory = ArbiterMemory()
        let (first, second) = (memory.ask(), memory.ask())
        #expect(memory.judge(new, request: second) == .newest)
        #expect(memory.judge(old, request: first) == .late)
        let third = memory.ask()
        #expect(memory.judge(new, request: third) == .newest)
        #expect(memory.judge(old, request: third) == .regressed)
        // The same after a restart, with what the journal has kept.
        var kept = memory.stored
        #expect(kept.judge(old, request: kept.ask()) == .regressed)
        // Revisions may have grown again meanwhile; the number tells.
        #expect(kept.judge(StoredRecord(old.record, revision: 400), request: kept.ask()) == .regressed)
    }

    /// A record of an epoch that is another process's says that the arbiter was set back, at any number.
    ///
    /// What an older journal kept does not say whose the epoch is.
    @Test func anEpochThatWasGivenTwiceIsNoticed() {
        var memory = ArbiterMemory()
        #expect(memory.judge(set.confirmed, request: memory.ask()) == .newest)
        var other = set.confirmed.record
        other.primary.boot = BootID(rawValue: 77)
        other.number += 50
        let again = StoredRecord(other, revision: set.confirmed.revision + 50)
        #expect(memory.judge(again, request: memory.ask()) == .regressed)
        var old = ArbiterMemory(
            revision: memory.revision, number: memory.number, epoch: memory.epoch, boot: .none)
        #expect(old.judge(again, request: old.ask()) == .newest && old.boot == BootID(rawValue: 77))
    }

    /// A record that an operator has bound to the arbiter again is newer than all that was known, at any revision; what
    /// the arbiter showed before is not believed any more.
    @Test func anOperatorBindsTheArbiterAgain() throws {
        let old = set.confirmed
        var memory = ArbiterMemory(revision: 400, number: 30, epoch: Epoch(rawValue: 50), boot: .none)
        let candidate = ReplicationExample.primary(members[1], boot: 0)
        let bound = try #require(
            old.record.rebinding(
                candidate, aboveNumber: 30, above: Epoch(rawValue: 50), after: ReplicationExample.position(5),
                minimum: 1, attempt: id(9)))
        #expect(bound.problem == nil && bound.bindings == 1 && bound.number > 30)
        #expect(bound.inSync == [candidate.member] && bound.epoch > Epoch(rawValue: 1_000) && !bound.isUnclean)
        _ = RecordAttempt(replacing: old, with: bound)
        #expect(memory.judge(StoredRecord(bound, revision: 7), request: memory.ask()) == .newest)
        #expect(memory.judge(StoredRecord(old.record, revision: 500), request: memory.ask()) == .regressed)
        let next = StoredRecord(bound.rewritten(attempt: id(10)), revision: 8)
        #expect(next.record.bindings == 1)
        #expect(memory.judge(next, request: memory.ask()) == .newest)
        // A second time, from the old copy again.
        let again = try #require(
            old.record.rebinding(
                candidate, aboveNumber: memory.number, above: memory.epoch, after: ReplicationExample.position(5),
                minimum: nil, attempt: id(11)))
        #expect(again.bindings == 2 && again.epoch > bound.epoch)
        #expect(memory.judge(StoredRecord(again, revision: 7), request: memory.ask()) == .newest)
    }
}
