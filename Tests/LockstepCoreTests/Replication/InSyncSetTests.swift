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

    /// Without an attempt, any other record than the confirmed one ends the reign.
    @Test mutating func anUnexpectedRecordEndsTheReign() {
        #expect(set.found(set.confirmed) == .open)
        #expect(set.found(StoredRecord(set.confirmed.record.rewritten(attempt: id(8)), revision: 11)) == .over)
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
        var kept = ArbiterMemory(revision: memory.revision, number: memory.number, epoch: memory.epoch)
        #expect(kept.judge(old, request: kept.ask()) == .regressed)
        // Revisions may have grown again meanwhile; the number tells.
        #expect(kept.judge(StoredRecord(old.record, revision: 400), request: kept.ask()) == .regressed)
        // An operator has said that it holds.
        memory.rebound(to: old)
        #expect(memory.judge(old, request: memory.ask()) == .newest)
    }
}
