import LockstepChecking
import LockstepLaboratory
import Testing

/// The judge of data nodes' journals passes what a run leaves, and finds each mistake that is planted in it (PROTOCOL,
///
@Suite struct DataNodeJournalsTests {
    private static func journal(
        _ folder: String, first: UInt64 = 1, _ committed: [UInt64: String], tail: [UInt64: String] = [:]
    ) -> JournalLog {
        JournalLog(folder: folder, store: "counters", first: first, committed: committed, tail: tail)
    }

    private static func place(_ sequence: UInt64) -> LogPlace { LogPlace(epoch: 1, sequence: sequence) }

    /// Three nodes that were equal through 9.
    ///
    /// `a` opened an epoch that did not commit, `b` does not know yet that the last
    /// batch did, `c` began with a snapshot after 4.
    private static let honest = [
        journal("a", [2: "h2", 4: "h4", 7: "h7", 9: "h9"], tail: [10: "x10"]),
        journal("b", [2: "h2", 4: "h4", 7: "h7"], tail: [9: "h9"]),
        journal("c", first: 5, [7: "h7", 9: "h9"]),
    ]

    @Test func trueJournalsPass() {
        let journals = DataNodeJournals(Self.honest)
        #expect(journals.differences().findings == [])
        #expect(journals.differences().checked == 6)
        #expect(journals.lacking([Self.place(3), Self.place(9)]).findings == [])
        #expect(journals.lacking([Self.place(9)]).checked == 3)
    }

    @Test func aJournalThatLacksAnAcknowledgedEntryIsFound() {
        var logs = Self.honest
        logs[1] = Self.journal("b", [2: "h2", 4: "h4", 7: "h7"])
        let lacking = DataNodeJournals(logs).lacking([Self.place(9)]).findings
        #expect(lacking.count == 1)
        #expect(lacking.allSatisfy { $0.hasPrefix("b, counters: it ends at 7") })
    }

    /// All have it on disk, but none that it was committed: who starts next could cut it off.
    @Test func anAcknowledgedEntryThatNobodyCommittedIsFound() {
        let logs = ["a", "b", "c"].map { Self.journal($0, [2: "h2", 4: "h4"], tail: [7: "h7"]) }
        #expect(DataNodeJournals(logs).lacking([Self.place(4)]).findings == [])
        #expect(DataNodeJournals(logs).lacking([Self.place(7)]).findings.count == 1)
    }

    @Test(arguments: [[2: "h2", 4: "other", 7: "other7"], [2: "h2", 6: "h6"]] as [[UInt64: String]])
    func twoJournalsThatDifferAreFound(committed: [UInt64: String]) {
        var logs = Self.honest
        logs[1] = Self.journal("b", committed)
        let findings = DataNodeJournals(logs).differences().findings
        #expect(findings.count == 1)
        #expect(findings.allSatisfy { $0.hasPrefix("b and ") })
    }

    /// A tail may go on where nobody's log is committed, but not differ where another's is.
    @Test func aTailThatDiffersFromWhatIsCommittedIsFound() {
        var logs = Self.honest
        logs[1] = Self.journal("b", [2: "h2", 4: "h4", 7: "h7"], tail: [9: "other9"])
        #expect(DataNodeJournals(logs).differences().findings.count == 1)
    }

    /// Where the node that knows most began with a snapshot, another one's journal says what came before.
    @Test func theWholeLogIsReadFromAsManyJournalsAsItTakes() {
        let logs = [Self.honest[1], Self.journal("c", first: 5, [7: "h7", 9: "h9"])]
        #expect(DataNodeJournals(logs).covering.map(\.folder) == ["c", "b"])
        #expect(DataNodeJournals(Self.honest).covering.map(\.folder) == ["a"])
        // What lies between is lost to the judge, who says so by where the log begins.
        let apart = [Self.journal("b", [2: "h2"]), Self.journal("c", first: 5, [7: "h7"])]
        #expect(DataNodeJournals(apart).covering.map(\.folder) == ["c"])
    }
}
