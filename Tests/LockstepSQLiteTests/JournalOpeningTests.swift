import Foundation
import GRDB
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// What opens, what is made, and what is refused.
@Suite(.timeLimit(.minutes(5)))
struct JournalOpeningTests {
    let folder = JournalFolder()

    /// Goal: what was appended comes back, byte by byte and in order (PROTOCOL R-7, R-46).
    @Test func batchesComeBackAfterReopening() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        try await journal.appended(try history.add(count: 20, bytes: 3_000))
        try await journal.appended([try history.add(bytes: 40_000, epoch: 2)])
        #expect(journal.sizes.batches == history.batches.reduce(0) { $0 + $1.bytes.count })
        #expect(journal.head == history.end)
        let incarnation = journal.identity.incarnation
        journal.close()

        let reopened = try folder.journal()
        #expect(try reopened.recovered() == Recovered(batches: history.batches))
        #expect(reopened.identity.incarnation == incarnation)
        #expect(reopened.identity.channel == Channel(rawValue: 3))
        #expect(reopened.head == history.end)
        try await reopened.appended([try history.add()])
        reopened.close()
        #expect(try folder.recovered().batches == history.batches)
    }

    /// Goal: a node never starts empty because a path was wrong (PROTOCOL R-2; a journal is made on request only).
    @Test func aMissingJournalIsNotMade() throws {
        #expect(try folder.refusal()?.code == .journalMissing)
        #expect(!FileManager.default.fileExists(atPath: folder.path))
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        #expect(try folder.refusal()?.code == .journalMissing)
        #expect(!FileManager.default.fileExists(atPath: folder.database))
    }

    /// Goal: creation makes a private folder, and is harmless when there is a journal already.
    @Test func creatingAnExistingJournalOpensIt() throws {
        let first = try folder.journal(create: true)
        let identity = first.identity
        first.close()
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        let second = try folder.journal(create: true)
        #expect(second.identity == identity)
        second.close()
    }

    /// Goal: a crash while the file was being made leaves nothing that is in the way.
    @Test func anInterruptedCreationIsMadeAnew() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try Data().write(to: URL(fileURLWithPath: folder.database))
        #expect(try folder.refusal()?.code == .journalMissing)
        let journal = try folder.emptyJournal()
        journal.close()
        #expect(try folder.recovered() == Recovered())
    }

    /// Goal: a configured cluster must be the journal's (PROTOCOL R-1); none takes the journal's.
    @Test func anotherClustersJournalIsRefused() throws {
        try folder.journal(create: true).close()
        let other = folder.request(cluster: ClusterID(rawValue: 0xC2))
        let error = #expect(throws: LockstepError.self) {
            try SQLiteJournal(folder: folder.path, request: other, create: true)
        }
        #expect(error?.code == .journalForeign)
        var open = folder.request()
        open.cluster = nil
        let journal = try SQLiteJournal(folder: folder.path, request: open, create: false)
        #expect(journal.identity.cluster == folder.cluster)
        journal.close()
    }

    /// Goal: a crash between SQLite's own steps of making a file, which leaves a rollback journal beside it, is in nobody's
    /// way either, and is named for what it is.
    @Test func anInterruptedCreationWithARollbackJournalIsMadeAnew() throws {
        let other = folder.path + "-half"
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: other) }  // What is left does not matter to the next test.
        let half = try DatabaseQueue(path: other + "/counters.sqlite")
        try half.writeWithoutTransaction { db in
            // A page that does not fit into the cache goes to the file before its transaction has ended.
            try db.execute(sql: "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; CREATE TABLE other(x)")
            try db.execute(sql: "INSERT INTO other VALUES (zeroblob(100000))")
            for name in ["counters.sqlite", "counters.sqlite-journal"] {
                try FileManager.default.copyItem(atPath: "\(other)/\(name)", toPath: "\(folder.path)/\(name)")
            }
            try db.execute(sql: "ROLLBACK")
        }
        try half.close()
        #expect(try folder.refusal()?.code == .journalMissing)
        try folder.emptyJournal().close()
        #expect(try folder.recovered() == Recovered())
    }

    /// Goal: nothing is made in the place of a journal that is gone, or was emptied, while its mark says that commits
    /// returned (PROTOCOL R-47).
    @Test(arguments: [false, true]) func aLostJournalIsNotMadeAnew(isEmptied: Bool) async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        journal.close()
        if isEmptied {
            try Data().write(to: URL(fileURLWithPath: folder.database))
        } else {
            try FileManager.default.removeItem(atPath: folder.database)
        }
        for create in [true, false] {
            let error = #expect(throws: LockstepError.self) { try folder.journal(create: create).close() }
            #expect(error?.code == .journalDamaged)
            #expect(error?.message.contains("\(history.end)") == true)
        }
    }

    /// Goal: files that are not ours are left alone and named.
    @Test func foreignFilesAreRefused() throws {
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let text = Data(String(repeating: "not a database ", count: 100).utf8)
        try text.write(to: URL(fileURLWithPath: folder.database))
        #expect(throws: LockstepError.self) { try folder.journal(create: true) }
        #expect(try folder.refusal()?.code == .journalForeign)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.database)) == text)
        try FileManager.default.removeItem(atPath: folder.database)
        try folder.tamper("CREATE TABLE other(x)")
        #expect(try folder.refusal()?.code == .journalForeign)
    }

    /// Goal: a journal under another store's name is refused (PROTOCOL R-3).
    @Test func aRenamedJournalIsRefused() throws {
        try folder.journal(create: true).close()
        try FileManager.default.moveItem(atPath: folder.database, toPath: folder.path + "/other.sqlite")
        let request = JournalRequest(cluster: nil, storeName: "other", nodeName: "node-1")
        let error = #expect(throws: LockstepError.self) {
            try SQLiteJournal(folder: folder.path, request: request, create: false)
        }
        #expect(error?.code == .journalForeign)
    }

    /// Goal: a program does not touch what a newer one wrote.
    @Test func aNewerSchemaIsRefused() throws {
        try folder.journal(create: true).close()
        try folder.tamper("PRAGMA user_version = 3")
        #expect(try folder.refusal()?.code == .journalNewer)
    }

    /// Goal: one process, and one node, has a folder; the message names who.
    @Test func aSecondOpenerIsRefused() throws {
        let journal = try folder.journal(create: true)
        #expect(try folder.refusal()?.code == .journalInUse)
        let otherNode = JournalRequest(cluster: folder.cluster, storeName: "other", nodeName: "node-2")
        let error = #expect(throws: LockstepError.self) {
            try SQLiteJournal(folder: folder.path, request: otherNode, create: true)
        }
        #expect(error?.code == .journalInUse)
        #expect(throws: LockstepError.self) {
            try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        }
        // A second store of the same node shares the folder.
        let second = JournalRequest(cluster: folder.cluster, storeName: "other", nodeName: "node-1")
        try SQLiteJournal(folder: folder.path, request: second, create: true).close()
        journal.close()
        #expect(try folder.refusal() == nil)
    }

    /// Goal: a reader needs no room: it makes no index of the write-ahead log beside the journal, which on a full disk
    /// fails or ends the process; and it leaves a log that is damaged as it is.
    @Test(arguments: ["counters", "with % and ? and #"]) func aReaderLeavesNothingBehind(_ name: String) async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 3))
        let killed = try folder.copy(named: name)
        journal.close()
        let before = try FileManager.default.contentsOfDirectory(atPath: killed.path)
        #expect(before.contains("counters.sqlite-wal"))
        let reader = try SQLiteJournalReader(folder: killed.path, storeName: JournalFolder.storeName)
        #expect(try reader.end() == history.end)
        // A second one beside it.
        let other = try SQLiteJournalReader(folder: killed.path, storeName: JournalFolder.storeName)
        #expect(try other.end() == history.end)
        try reader.close()
        try other.close()
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: killed.path)) == Set(before))
        var log = try Data(contentsOf: URL(fileURLWithPath: killed.log))
        log.replaceSubrange(0..<40, with: [UInt8](repeating: 0, count: 40))
        try log.write(to: URL(fileURLWithPath: killed.log))
        let error = try killed.refusal()
        #expect(error?.code == .journalDamaged)
        #expect(try Data(contentsOf: URL(fileURLWithPath: killed.log)) == log)
    }

    /// Goal: the lock of another process is seen, and its number is in the message.
    ///
    /// Method: a lock of our own on a second descriptor, which the operating system treats as it does another
    /// process's.
    @Test func anotherProcessIsNamed() throws {
        try folder.journal(create: true).close()
        let descriptor = open(folder.path + "/node.lock", O_RDWR)
        defer { _ = close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let text = Array("process 4711, node other\n".utf8)
        #expect(pwrite(descriptor, text, text.count, 0) == text.count)
        let error = try folder.refusal()
        #expect(error?.code == .journalInUse)
        #expect(error?.message.contains("process 4711") == true)
    }

    /// Goal: a store's name cannot lead out of the folder.
    @Test(arguments: ["", "../x", "a/b", ".hidden", "a b"])
    func aStoreNameThatIsNoFileNameIsRefused(name: String) throws {
        let request = JournalRequest(cluster: nil, storeName: name, nodeName: "node-1")
        let error = #expect(throws: LockstepError.self) {
            try SQLiteJournal(folder: folder.path, request: request, create: true)
        }
        #expect(error?.code == .invalidConfiguration)
    }

    /// Goal: the configuration's source makes a journal that works, and says how much room it has.
    @Test func theSourceOpensAJournal() throws {
        let journal = try JournalSource.sqlite(at: folder.path, create: true).open(folder.request())
        #expect(!journal.isVolatile)
        #expect(try #require(journal.freeBytes()) > 0)
        journal.close()
        #expect(throws: LockstepError.self) { try JournalSource.sqlite(at: folder.path + "x").open(folder.request()) }
    }
}
