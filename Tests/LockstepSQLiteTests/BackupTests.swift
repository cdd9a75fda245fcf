import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// Backups of a journal, increments, and what a restore makes of them (decision 0027).
@Suite(.timeLimit(.minutes(5)))
struct BackupTests {
    /// Goal: what was backed up comes back with the same log and snapshot, in a journal with a life of its own
    /// (PROTOCOL R-2), which says its role and whom its primary waits for.
    @Test(arguments: [false, true]) func aJournalComesBack(hasSnapshot: Bool) async throws {
        let backups = try BackupFolder()
        try await backups.write(3, snapshot: hasSnapshot)
        let place = backups.history.end
        try await backups.write(4)
        let journal = try backups.folder.journal()
        try journal.openForRepair()
        try journal.setNote(.audience, to: "node-2,node-3")
        journal.close()
        let manifest = try backups.backUp("full")
        let store = try #require(manifest.store(named: JournalFolder.storeName))
        #expect(store.end.position == backups.history.end && store.isWhole && store.audience == ["node-2", "node-3"])
        #expect(store.snapshot?.position == (hasSnapshot ? place : nil) && store.batches == (hasSnapshot ? 4 : 7))

        let restored = try backups.restored(["full"])
        let reader = try SQLiteJournalReader(folder: restored.path, storeName: JournalFolder.storeName)
        #expect(reader.identity.incarnation != Incarnation(hexadecimal: store.incarnation))
        #expect(reader.identity.channel.rawValue == store.channel && reader.identity.cluster == restored.cluster)
        #expect(reader.note(.role) == "primary" && reader.note(.audience) == "node-2,node-3")
        #expect(reader.note(.recovering) == nil && reader.mark?.position == backups.history.end)
        try reader.close()
        #expect(try restored.recovered() == backups.folder.recovered())
        // As a replica it waits for nobody.
        let replica = try backups.restored(["full"], role: .replica)
        let other = try SQLiteJournalReader(folder: replica.path, storeName: JournalFolder.storeName)
        #expect(other.note(.role) == "replica" && other.note(.audience) == nil)
        try other.close()
    }

    /// Goal: an increment holds the batches after the one before it, also over a snapshot and over epochs; one with
    /// nothing in it is one too.
    @Test func incrementsGoOnFromEachOther() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        try backups.backUp("full")
        try await backups.write(2, snapshot: true)
        let first = try backups.backUp("one", since: "full")
        try backups.backUp("empty", since: "one")
        let journal = try backups.folder.journal()
        _ = try journal.recovered()
        try await journal.appended(try backups.history.add(count: 2, epoch: 9))
        journal.close()
        try backups.backUp("two", since: "empty")
        #expect(first.stores[0].batches == 2 && first.stores[0].snapshot == nil && !first.stores[0].isWhole)
        for (names, count) in [(["full"], 3), (["full", "one"], 5), (["full", "one", "empty", "two"], 7)] {
            let found = try backups.restored(names).recovered()
            #expect(found.batches == Array(backups.history.batches.prefix(count)) && found.snapshot == nil)
        }
        // All increments since the full backup may also be one.
        try backups.backUp("all", since: "full")
        #expect(try backups.restored(["full", "all"]).recovered().batches == backups.history.batches)
    }

    /// Goal: where retention has taken the batches, an increment has the whole store, and says so.
    @Test func anIncrementIsWholeWhereBatchesAreGone() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        try backups.backUp("full")
        for _ in 0..<4 { try await backups.write(10, bytes: 2_000, snapshot: true) }
        let manifest = try backups.backUp("one", since: "full")
        #expect(manifest.stores[0].isWhole && manifest.since != nil)
        try await backups.write(1)
        try backups.backUp("two", since: "one")
        #expect(try backups.restored(["full", "one", "two"]).recovered() == backups.folder.recovered())
    }

    /// Goal: files that do not belong together, or stand in another order, are refused in one line that names them.
    @Test func filesThatDoNotBelongTogetherAreRefused() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        try backups.backUp("full")
        try await backups.write(1)
        try backups.backUp("one", since: "full")
        try await backups.write(1)
        try backups.backUp("two", since: "one")
        try backups.backUp("later")
        let strange = try BackupFolder()
        try await strange.write(3)
        try FileManager.default.copyItem(atPath: backups.path("full"), toPath: strange.path("full"))
        try strange.backUp("own")
        try strange.backUp("one", since: "own")
        let cases: [([String], String)] = [
            (["one"], "is an increment"), (["full", "two"], "one between them is missing"),
            (["full", "two", "one"], "does not follow"), (["full", "one", "one"], "does not follow"),
            (["full", "later"], "is a full backup"), (["full", "full"], "is a full backup"),
        ]
        for (names, text) in cases {
            let refusal = try BackupFolder.refusal { _ = try BackupSeries(names.map(backups.path)) }
            #expect(refusal?.code == .refused && refusal?.text.contains(text) == true, "\(names): \(refusal as Any)")
            #expect(refusal?.text.contains("\n") == false)
        }
        let other = try BackupFolder.refusal { _ = try BackupSeries([backups.path("full"), strange.path("one")]) }
        #expect(other?.code == .refused && other?.text.contains("does not follow") == true)
        // An increment of another cluster or store is refused by that, whatever it says that it follows.
        for (cluster, text) in [
            (ClusterID(rawValue: 9), "is of cluster"), (backups.folder.cluster, "do not have that store"),
        ] {
            let name = "made-\(cluster)"
            let writer = try BackupWriter(path: backups.path(name))
            let log = LogState(store: StoreID(cluster: cluster, name: "votes"))
            writer.begin("votes", since: log.position)
            try writer.end(at: log, channel: Channel(rawValue: 3), incarnation: .none, audience: [])
            let full = try BackupReader(path: backups.path("full")).manifest.id
            _ = try writer.seal(BackupFolder.manifest(since: full, cluster: cluster))
            try writer.publish()
            let refusal = try BackupFolder.refusal { _ = try BackupSeries(["full", name].map(backups.path)) }
            #expect(refusal?.code == .refused && refusal?.text.contains(text) == true, "\(refusal as Any)")
        }
    }

    /// Goal: an increment of a log that was cut and goes on otherwise is refused, and nothing is left of it.
    @Test(arguments: [0, 1, 3]) func anotherHistoryIsRefused(written: Int) async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        let place = backups.history.end
        let before = backups.history
        try await backups.write(2)
        try backups.backUp("full")
        let journal = try backups.folder.journal()
        try journal.openForRepair()
        _ = try journal.quarantine(after: place, reason: "test")
        backups.history = before
        if written > 0 {
            try journal.appendRecovered(try backups.history.add(count: written, bytes: 300, epoch: 5))
        }
        journal.close()
        let refusal = try BackupFolder.refusal { try backups.backUp("one", since: "full") }
        #expect(refusal?.code == .refused && refusal?.text.contains("make a full backup") == true, "\(refusal as Any)")
        #expect(!FileManager.default.fileExists(atPath: backups.path("one.part")))
        try backups.backUp("again")
        #expect(try backups.restored(["again"]).recovered().batches == backups.history.batches)
    }

    /// Goal: what a running node sends is kept as it comes; a snapshot that comes after batches, because those that
    /// follow are no longer held, takes their place.
    @Test func aSnapshotTakenMeanwhileTakesThePlaceOfBatches() async throws {
        let backups = try BackupFolder()
        let start = LogState(store: backups.folder.store)
        let writer = try BackupWriter(path: backups.path("full"))
        var recording = BackupRecording(of: JournalFolder.storeName, from: start, since: nil, into: writer)
        try recording.execute(.continueFrom(start.position))
        try recording.execute(.append(try backups.history.add(count: 5)))
        let common = backups.history.end
        _ = try backups.history.add(count: 5)
        let (place, bytes) = (backups.history.end, backups.history.snapshot(bytes: 3 << 20))
        try recording.execute(.replace(RecoverySnapshot(common: common, position: place, encoded: bytes)))
        try recording.execute(.append(try backups.history.add(count: 2)))
        try writer.end(at: backups.history.log, channel: Channel(rawValue: 3), incarnation: .none, audience: [])
        let manifest = try writer.seal(BackupFolder.manifest(cluster: backups.folder.cluster))
        try writer.publish()
        #expect(manifest.stores[0].snapshot?.position == place && manifest.stores[0].batches == 2)
        let found = try backups.restored(["full"]).recovered()
        #expect(found.snapshot == place && found.batches == Array(backups.history.batches.suffix(2)))
        // An older place that both know is no place to go on from.
        var late = BackupRecording(
            of: JournalFolder.storeName, from: backups.history.log, since: "full",
            into: try BackupWriter(path: backups.path("one")))
        let refusal = try BackupFolder.refusal { try late.execute(.continueFrom(place)) }
        #expect(refusal?.code == .refused)
    }

    /// Goal: a file that is there is not overwritten unless that is said; what a killed command left is; two commands
    /// do not write one file.
    @Test func aFileIsNotOverwritten() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        try backups.backUp("full")
        let whole = try Data(contentsOf: URL(fileURLWithPath: backups.path("full")))
        #expect(try BackupFolder.refusal { try backups.backUp("full") }?.code == .journalExists)
        #expect(try Data(contentsOf: URL(fileURLWithPath: backups.path("full"))) == whole)
        try Data("left over".utf8).write(to: URL(fileURLWithPath: backups.path("next.part")))
        let writer = try BackupWriter(path: backups.path("next"))
        #expect(try BackupFolder.refusal { _ = try BackupWriter(path: backups.path("next")) }?.code == .journalInUse)
        _ = try writer.seal(BackupFolder.manifest(cluster: backups.folder.cluster))
        try writer.publish()
        #expect(try BackupReader(path: backups.path("next")).manifest.stores == [])
        let replacing = try BackupWriter(path: backups.path("full"), overwrites: true)
        _ = try replacing.seal(BackupFolder.manifest(cluster: backups.folder.cluster))
        try replacing.publish()
        #expect(try BackupReader(path: backups.path("full")).manifest.stores == [])
        #expect(!FileManager.default.fileExists(atPath: backups.path("full.part")))
        let nowhere = try BackupFolder.refusal { _ = try BackupWriter(path: backups.path("no/such")) }
        #expect(nowhere?.code == .journalUnwritable)
    }

    /// Goal: a command that has opened the file in whose place another one puts its backup does not empty that backup.
    ///
    /// 1. Both open the part of one file; the first has its lock.
    /// 2. The first gives it its name, and ends.
    /// 3. The second gets the lock.
    @Test func aBackupThatWasJustWrittenIsNotEmptied() throws {
        let backups = try BackupFolder()
        var first: BackupWriter? = try BackupWriter(path: backups.path("full"))
        _ = try first?.seal(BackupFolder.manifest(cluster: backups.folder.cluster))
        let refusal = try BackupFolder.refusal {
            _ = try BackupWriter(path: backups.path("full"), overwrites: true) {
                try first?.publish()
                first = nil
            }
        }
        #expect(refusal?.code == .journalInUse && refusal?.text.contains("has just written") == true)
        #expect(try BackupReader(path: backups.path("full")).manifest.stores == [])
    }

    /// Goal: what a backup goes back to is known by its ID, under whichever name.
    ///
    /// Of a file from before that was noted, the one before it is known.
    @Test func whatABackupGoesBackToIsKnown() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        let full = try backups.backUp("full")
        let one = try backups.backUp("one", since: "full")
        try backups.backUp("two", since: "one")
        let two = try BackupReader(path: backups.path("two"))
        #expect(two.manifest.chain == nil && two.manifest.needed == [one.id, two.manifest.id])
        #expect(two.needed(at: backups.path("one")) == backups.path("one"))
        #expect(two.needed(at: backups.path("full")) == nil)

        let writer = try BackupWriter(path: backups.path("three"))
        var manifest = BackupFolder.manifest(since: two.manifest.id, cluster: backups.folder.cluster)
        manifest.chain = [full.id] + two.manifest.needed
        _ = try writer.seal(manifest)
        try writer.publish()
        let three = try BackupReader(path: backups.path("three"))
        for name in ["full", "one", "two", "three"] {
            #expect(three.needed(at: backups.path(name)) == backups.path(name))
        }
        try FileManager.default.copyItem(atPath: backups.path("full"), toPath: backups.path("copy.part"))
        #expect(three.needed(at: backups.path("copy")) == backups.path("copy.part"))
        #expect(three.needed(at: backups.path("none")) == nil)
    }

    /// Goal: a full disk is said, and leaves neither the file nor a part of it.
    @Test func aFullDiskLeavesNothing() async throws {
        let backups = try BackupFolder()
        do {
            let writer = try BackupWriter(path: backups.path("full"))
            try writer.limitPages(20)
            writer.begin(JournalFolder.storeName, since: nil)
            let refusal = try BackupFolder.refusal {
                for _ in 0..<200 { try writer.append(try backups.history.add(count: 1, bytes: 4_000)) }
            }
            #expect(refusal?.code == .diskFull && refusal?.text.contains("There is no room") == true)
        }
        #expect(!FileManager.default.fileExists(atPath: backups.path("full")))
        #expect(!FileManager.default.fileExists(atPath: backups.path("full.part")))
    }

    /// Goal: a journal that is damaged is not backed up.
    @Test func aDamagedJournalIsRefused() async throws {
        let backups = try BackupFolder()
        try await backups.write(5)
        try backups.folder.tamper(
            "UPDATE batches SET hash = zeroblob(16) WHERE first = (SELECT max(first) FROM batches)")
        #expect(try BackupFolder.refusal { try backups.backUp("full") }?.code == .journalDamaged)
        #expect(!FileManager.default.fileExists(atPath: backups.path("full")))
    }

    /// Goal: a restore that did not come to its end leaves a journal that no node starts with.
    @Test func anInterruptedRestoreIsRefusedByAStart() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        try backups.backUp("full")
        try await backups.write(3)
        try backups.backUp("one", since: "full")
        try backups.tamper("one", "UPDATE parts SET hash = zeroblob(16) WHERE id = 2")
        let target = JournalFolder(named: "-restored")
        let restore = JournalRestore(
            try BackupSeries(["full", "one"].map(backups.path)), to: target.path, node: "node-1",
            cluster: backups.folder.cluster, role: .primary)
        let refusal = try BackupFolder.refusal { _ = try restore.make(JournalFolder.storeName, state: nil) }
        #expect(refusal?.code == .journalDamaged && refusal?.text.contains(backups.path("one")) == true)
        #expect(try target.refusal()?.code == .journalDamaged)
    }

    /// Goal: a data node's journal that was restored has a life of its own, counts all that it has as committed, and is
    /// opened by no node without an arbiter (PROTOCOL ).
    @Test func aDataNodesJournalIsRestoredAsOne() async throws {
        let backups = try BackupFolder()
        try await backups.write(3)
        let manifest = try backups.backUp("full")
        let target = JournalFolder(named: "-restored")
        var restore = JournalRestore(
            try BackupSeries([backups.path("full")]), to: target.path, node: "node-1", cluster: backups.folder.cluster,
            role: nil, isDataNode: true)
        let end = try restore.make(JournalFolder.storeName, state: nil)
        let reader = try SQLiteJournalReader(folder: target.path, storeName: JournalFolder.storeName)
        #expect(try reader.arbitration?.adopted == end && reader.commitNumber() == end.sequence)
        #expect("\(reader.identity.incarnation)" != manifest.stores[0].incarnation)
        try reader.checkStart()
        try reader.close()
        #expect(try target.refusal()?.code == .wrongRole)
        // The same without the mark.
        let plain = JournalFolder(named: "-restored-plain")
        (restore.folder, restore.isDataNode) = (plain.path, false)
        _ = try restore.make(JournalFolder.storeName, state: nil)
        #expect(try plain.refusal() == nil)
    }
}
