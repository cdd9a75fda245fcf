import Foundation
import GRDB
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// Who may open the journal of a data node, and what is in the file of one that never had the mark (PROTOCOL R-85).
@Suite(.timeLimit(.minutes(5)))
struct ArbitratedOpeningTests {
    let folder = JournalFolder()

    private func version() throws -> Int? {
        let database = try DatabaseQueue(path: folder.database)
        defer { try? database.close() }  // Nothing was written.
        return try database.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
    }

    private func arbitrated(_ count: Int = 2) async throws -> History {
        let journal = try folder.dataNodeJournal(create: true)
        _ = try journal.recovered()
        try await journal.done { journal.markArbitrated(completion: $0) }
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: count), committed: .zero)
        journal.close()
        return history
    }

    /// Goal: a node without an arbiter is refused the journal, with one line that says what to do, and nothing is changed;
    /// for a program of before data nodes it is of a newer version.
    @Test func anArbitratedJournalNeverOpensStatically() async throws {
        let history = try await arbitrated()
        let before = FileManager.default.contents(atPath: folder.database)
        let error = try #require(try folder.refusal())
        #expect(error.code == .wrongRole)
        #expect(error.message.contains(folder.database))
        #expect(error.message.contains("lockstep init --etcd"))
        #expect(!error.description.contains("\n"))
        #expect(throws: LockstepError.self) { try folder.journal(create: true) }
        #expect(FileManager.default.contents(atPath: folder.database) == before)
        #expect(try version() == 2)
        let journal = try folder.dataNodeJournal()
        #expect(try journal.recovered() == Recovered(tail: history.batches))
        try await journal.done { journal.removeArbitratedMark(completion: $0) }
        journal.close()
        #expect(try version() == 1)
        #expect(try folder.recovered() == Recovered(batches: history.batches))
    }

    /// Goal: a journal that never had the mark is the same file, byte by byte in its facts and version, whoever opened it
    /// and with whatever commit numbers: programs of before data nodes open it.
    @Test func aJournalWithoutTheMarkIsAsBefore() async throws {
        let plain = JournalFolder()
        let (one, other) = (try plain.emptyJournal(), try folder.dataNodeJournal(create: true))
        _ = try other.recovered()
        var history = History(store: folder.store)
        for _ in 0..<3 {
            let batch = try history.add()
            try await one.appended([batch])
            try await other.appended([batch], committed: batch.head.last)
        }
        try await other.done { other.store(commit: history.end.sequence, completion: $0) }
        let sizes = try [plain, folder].map { folder in
            try FileManager.default.attributesOfItem(atPath: folder.log)[.size] as? Int
        }
        #expect(sizes[0] == sizes[1], "an append writes what it wrote before")
        one.close()
        other.close()
        #expect(try version() == 1)
        let facts = try [plain, folder].map { folder -> [String] in
            let database = try DatabaseQueue(path: folder.database)
            defer { try? database.close() }  // Nothing was written.
            return try database.read { db in
                try String.fetchAll(db, sql: "SELECT key FROM meta UNION ALL SELECT sql FROM sqlite_master")
            }
        }
        #expect(facts[0] == facts[1])
        #expect(facts[0].contains("committed") == false)
    }

    /// Goal: the mark is not lost with the end of the write-ahead log, and neither are a promise and what the arbiter said;
    /// an older copy without the mark does not go with the newer side mark (PROTOCOL ).
    @Test func theMarkOutlivesTheWriteAheadLog() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 2))
        let before = try folder.copy()
        journal.close()
        let opened = try folder.dataNodeJournal()
        _ = try opened.recovered()
        try await opened.done { opened.markArbitrated(completion: $0) }
        try await opened.done { opened.promise(Epoch(rawValue: 9), completion: $0) }
        let memory = ArbiterMemory(revision: 4, number: 2, epoch: Epoch(rawValue: 9), boot: BootID(rawValue: 5))
        try await opened.done { opened.remember(memory, completion: $0) }
        let killed = try folder.copy()
        opened.close()
        try? FileManager.default.removeItem(atPath: killed.log)  // It may not be there.
        let reader = try SQLiteJournalReader(folder: killed.path, storeName: JournalFolder.storeName)
        #expect(reader.arbitration?.adopted == history.end && reader.arbitration?.arbiter == memory)
        #expect(reader.arbitration?.promised == Epoch(rawValue: 9))
        try reader.close()
        try FileManager.default.removeItem(atPath: before.mark)
        try FileManager.default.copyItem(atPath: killed.mark, toPath: before.mark)
        #expect(try before.refusal()?.code == .journalDamaged)
    }

    /// Goal: a crash between the mark's transaction and the side mark leaves a journal that opens, with the mark.
    @Test func aCrashAtTheAdoptionIsRecovered() async throws {
        let journal = try folder.dataNodeJournal(create: true)
        _ = try journal.recovered()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 2))
        let before = try folder.copy()
        try await journal.done { journal.markArbitrated(completion: $0) }
        let after = try folder.copy()
        journal.close()
        try FileManager.default.removeItem(atPath: after.mark)
        try FileManager.default.copyItem(atPath: before.mark, toPath: after.mark)
        let opened = try after.dataNodeJournal()
        #expect(try opened.recovered() == Recovered(batches: history.batches))
        #expect(opened.arbitration?.adopted == history.end)
        opened.close()
    }

    /// Goal: facts that contradict each other, the header or the log are damage, and never a longer or a shorter log.
    @Test(arguments: [
        "PRAGMA user_version = 1", "DELETE FROM meta WHERE key = 'arbitrated'",
        "UPDATE meta SET value = '9' WHERE key = 'committed'", "UPDATE meta SET sum = 0 WHERE key = 'promised'",
    ])
    func contradictionsAreDamage(sql: String) async throws {
        _ = try await arbitrated()
        let journal = try folder.dataNodeJournal()
        _ = try journal.recovered()
        try await journal.done { journal.promise(Epoch(rawValue: 3), completion: $0) }
        journal.close()
        try folder.tamper(sql)
        #expect(throws: LockstepError.self) { try folder.dataNodeJournal().recovered() }
        #expect(try folder.refusal() != nil)
    }

    /// Goal: a header that claims the mark is damage where the facts have none.
    @Test func aHeaderAloneIsNoMark() throws {
        try folder.emptyJournal().close()
        try folder.tamper("PRAGMA user_version = 2")
        #expect(try folder.refusal()?.code == .journalDamaged)
    }

    /// Goal: a commit number that names no batch's end, or a place after the log, is damage: something is missing.
    @Test func aCommitNumberMustBeThere() async throws {
        let history = try await arbitrated()
        try #require(history.batches[0].head.first < history.batches[0].head.last)
        for number in [history.end.sequence.rawValue + 1, history.batches[0].head.first.rawValue] {
            let copy = try folder.copy()
            var facts = JournalDecoding.fact("committed", String(number))
            guard case .integer(let sum) = facts.removeLast() else { return }
            try copy.tamper("UPDATE meta SET value = '\(number)', sum = \(sum) WHERE key = 'committed'")
            let error = #expect(throws: LockstepError.self) { try copy.dataNodeJournal().recovered() }
            #expect(error?.code == .journalDamaged)
        }
    }
}
