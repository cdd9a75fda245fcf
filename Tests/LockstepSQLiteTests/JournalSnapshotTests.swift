import Foundation
import LockstepCore
import LockstepNode
import LockstepSQLite
import Synchronization
import Testing

/// Snapshots, and what retention lets go of.
@Suite(.timeLimit(.minutes(5)))
struct JournalSnapshotTests {
    let folder = JournalFolder()

    /// Goal: a start gets the newest snapshot and the batches after it only (PROTOCOL R-46).
    @Test func aStartBeginsAtTheNewestSnapshot() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 5))
        let place = history.end
        let bytes = history.snapshot(bytes: 30_000)
        try await journal.saved(bytes, at: place)
        #expect(journal.sizes == (batches: 0, snapshot: bytes.count))
        let tail = try history.add(count: 3)
        try await journal.appended(tail)
        #expect(journal.sizes.batches == tail.reduce(0) { $0 + $1.bytes.count })
        let sizes = journal.sizes
        journal.close()
        let reopened = try folder.journal()
        #expect(try reopened.recovered() == Recovered(snapshot: place, state: try state(bytes), batches: tail))
        #expect(reopened.sizes == sizes)
        reopened.close()
    }

    /// Goal: a snapshot never takes the room that is kept for batches (PROTOCOL R-45), and is refused before it writes.
    @Test func aSnapshotLeavesBatchesTheirReserve() async throws {
        try folder.emptyJournal().close()
        var tuning = JournalFolder.smallTuning
        tuning.reservedBytes = .max
        let journal = try folder.journal(tuning: tuning)
        _ = try journal.recovered()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 5))
        let place = history.end
        let size = try FileManager.default.attributesOfItem(atPath: folder.log)[.size] as? Int
        let error = await #expect(throws: JournalFailure.self) {
            try await journal.saved(history.snapshot(bytes: 30_000), at: place)
        }
        #expect(error == .diskFull)
        #expect(try FileManager.default.attributesOfItem(atPath: folder.log)[.size] as? Int == size)
        try await journal.appended(try history.add(count: 5))
        // What a replica is fed anew takes the place of its batches.
        try await journal.replaced(history.snapshot(bytes: 30_000), at: history.end)
        journal.close()
        #expect(try folder.recovered().snapshot == history.end)
    }

    /// Goal: neither does one for which there was room at its beginning (PROTOCOL R-45).
    ///
    /// Method: after three chunks only the reserve is free. Each chunk asks for its room, so the fourth is not written.
    @Test func aSnapshotEndsWhenOthersTakeItsRoom() async throws {
        try folder.emptyJournal().close()
        let asked = Mutex(0)
        var tuning = JournalFolder.smallTuning
        tuning.reservedBytes = 1 << 20
        tuning.freeBytes = {
            asked.withLock { count -> Int64 in
                count += 1
                return count > 3 ? 1 << 20 : 1 << 30
            }
        }
        let journal = try folder.journal(tuning: tuning)
        _ = try journal.recovered()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 5))
        let error = await #expect(throws: JournalFailure.self) {
            try await journal.saved(history.snapshot(bytes: 30_000), at: history.end)
        }
        #expect(error == .diskFull)
        #expect(asked.withLock { $0 } == 4)
        // What was written is taken away again, and appends go on.
        try await journal.appended(try history.add(count: 5))
        journal.close()
        #expect(try folder.recovered() == Recovered(batches: history.batches))
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        #expect(try reader.verifyAll() == [])
        try reader.close()
    }

    /// Goal: two snapshots stay, the batches since the older one, and at least as many bytes as are to be retained;
    /// the file does not grow for ever.
    @Test func retentionKeepsTwoSnapshotsAndEnoughBatches() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        var places: [SequenceNumber] = []
        var fileSizes: [Int] = []
        for _ in 0..<12 {
            try await journal.appended(try history.add(count: 10, bytes: 1_000))
            try await journal.saved(history.snapshot(bytes: 20_000), at: history.end)
            places.append(history.end.sequence)
            let size = try FileManager.default.attributesOfItem(atPath: folder.database)[.size] as? Int
            fileSizes.append(try #require(size))
        }
        journal.close()
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        #expect(try reader.snapshots().map(\.position.sequence) == places.suffix(2).reversed())
        var kept: [SealedBatch] = []
        try reader.batches(after: .zero) { kept.append($0) }
        let bytes = kept.reduce(0) { $0 + $1.bytes.count }
        #expect(kept == history.batches.suffix(kept.count))
        #expect(try #require(kept.first).head.first <= places[10].next)
        #expect((20_000..<24_000).contains(bytes))
        #expect(try reader.verifyAll() == [])
        try reader.close()
        #expect(fileSizes[11] <= fileSizes[6] + 65_536)
    }

    /// Goal: appends are served while a large snapshot is being written, and the two do not disturb each other.
    @Test func appendsAreServedDuringASave() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        let bytes = history.snapshot(bytes: 400_000)
        let place = history.end
        let order = Mutex<[String]>([])
        try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
            journal.save(snapshot: bytes, at: place) { result in
                order.withLock { $0.append("saved") }
                done.resume(with: result.mapError { $0 })
            }
            for index in 0..<3 {
                // The history cannot fail to grow: its batches are its own.
                guard let batch = try? history.add() else { continue }
                journal.append([batch]) { _ in order.withLock { $0.append("appended \(index)") } }
            }
        }
        #expect(order.withLock { $0 } == ["appended 0", "appended 1", "appended 2", "saved"])
        journal.close()
        let found = try folder.recovered()
        #expect(found == Recovered(snapshot: place, state: try state(bytes), batches: Array(history.batches.suffix(3))))
    }

    /// Goal: a snapshot is read back before anything older goes.
    ///
    /// Method: a trigger spoils each chunk as it is stored.
    @Test func aSnapshotThatWasNotStoredWellReplacesNothing() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended(try history.add(count: 10, bytes: 1_000))
        try await journal.saved(history.snapshot(), at: history.end)
        let first = history.end
        let tail = try history.add(count: 30, bytes: 1_000)
        try await journal.appended(tail)
        journal.close()
        try folder.tamper(
            """
            CREATE TRIGGER spoil AFTER INSERT ON chunks BEGIN
            UPDATE chunks SET bytes = zeroblob(9) WHERE id = new.id; END
            """)
        let spoiled = try folder.journal()
        _ = try spoiled.recovered()
        let error = await #expect(throws: JournalFailure.self) {
            try await spoiled.saved(history.snapshot(), at: history.end)
        }
        #expect(error != .diskFull)
        // The journal cannot be trusted after that, so it takes nothing more (PROTOCOL R-44).
        let next = try history.add()
        await #expect(throws: JournalFailure.self) { try await spoiled.appended([next]) }
        spoiled.close()
        let found = try folder.recovered()
        #expect(found.snapshot == first)
        #expect(found.batches == tail)
    }

    /// Goal: a kill in the middle of a save leaves the journal as it was, and the left-overs go with the next save.
    @Test func aSaveThatDidNotEndLeavesNothing() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        try await journal.appended([try history.add()])
        journal.close()
        try folder.tamper("INSERT INTO chunks(id, hash, bytes) VALUES (1, x'00', x'00'), (2, x'00', zeroblob(9000))")
        let reopened = try folder.journal()
        #expect(try reopened.recovered() == Recovered(batches: history.batches))
        let bytes = history.snapshot()
        try await reopened.saved(bytes, at: history.end)
        reopened.close()
        #expect(try folder.recovered() == Recovered(snapshot: history.end, state: try state(bytes)))
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        #expect(try reader.verifyAll() == [])
        try reader.close()
    }

    /// Goal: a replica that was fed anew begins with the snapshot, at a lower place of another history too, and a kill
    /// between that commit and the side mark is no damage (PROTOCOL ).
    @Test func aReplacementForgetsTheLogBefore() async throws {
        let journal = try folder.emptyJournal()
        var before = History(store: folder.store)
        try await journal.appended(try before.add(count: 20))
        let oldMark = try Data(contentsOf: URL(fileURLWithPath: folder.mark))
        var history = History(store: folder.store)
        _ = try history.add(count: 4, bytes: 700, epoch: 9)
        let bytes = history.snapshot()
        let place = history.end
        try await journal.replaced(bytes, at: place)
        #expect(journal.head == place)
        let killed = try folder.copy()
        try oldMark.write(to: URL(fileURLWithPath: killed.mark))
        let next = try history.add()
        try await journal.appended([next])
        journal.close()
        #expect(try killed.recovered() == Recovered(snapshot: place, state: try state(bytes)))
        #expect(try folder.recovered() == Recovered(snapshot: place, state: try state(bytes), batches: [next]))
    }

    /// Goal: a copy of the files between any two writes opens with exactly what was acknowledged.
    @Test func aCopyBetweenWritesOpens() async throws {
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        for round in 0..<12 {
            try await journal.appended(try history.add(count: 3, bytes: 2_000, epoch: UInt64(round / 4 + 1)))
            if round % 5 == 4 { try await journal.saved(history.snapshot(bytes: 9_000), at: history.end) }
            let found = try folder.copy().recovered()
            let last = found.batches.last?.position ?? found.snapshot
            #expect(last == history.end)
        }
        journal.close()
    }

    private func state(_ snapshot: [UInt8]) throws -> [UInt8] { try SnapshotContent(snapshot).state }
}
