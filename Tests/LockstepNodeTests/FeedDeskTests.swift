import LockstepCore
import LockstepNode
import Testing

@Suite(.timeLimit(.minutes(5)))
struct FeedDeskTests {
    /// A batch for each of `count` entries of an epoch.
    private static func batches(
        _ count: Int, epoch: UInt64, after start: Position = .start(of: FeedDeskTests.store)
    ) -> [SealedBatch] {
        var position = start
        return (0..<count).map { _ in
            var batch = BatchBuilder(store: store, epoch: Epoch(rawValue: epoch), after: position, time: .zero)
            batch.append(.epochOpen(node: "n", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 2)))
            let sealed = batch.sealed()
            position = sealed.position
            return sealed
        }
    }

    private static let store = StoreID(rawValue: 9)

    private static func place(_ sequence: UInt64, epoch: UInt64? = nil, generation: UInt64? = nil) -> FeedPlace {
        FeedPlace(
            sequence: SequenceNumber(rawValue: sequence), epoch: epoch.map { Epoch(rawValue: $0) },
            generation: generation)
    }

    private static func position(_ sequence: UInt64, epoch: UInt64 = 0) -> Position {
        Position(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence), hash: .none)
    }

    private static func isTooOld(_ outcome: Result<FeedAnswer, any Error>?) -> Bool {
        guard case .failure(let error)? = outcome else { return false }
        return (error as? LockstepError)?.code == .positionTooOld
    }

    /// Goal: a snapshot may bring another history, so every consumer that waits is told to begin again, also one that
    /// waits at the snapshot's own place or after it (PROTOCOL ).
    @Test(arguments: [3, 5, 9] as [UInt64])
    func aSnapshotEndsAllWaits(after place: UInt64) throws {
        var desk = FeedDesk()
        desk.begin(ResendWindow(), at: Self.position(place))
        var outcome: Result<FeedAnswer, any Error>?
        desk.request(1, after: Self.place(place)) { outcome = $0 }
        #expect(outcome == nil, "nothing follows yet")
        desk.restart(at: Self.position(5))
        #expect(Self.isTooOld(outcome))
        let stillWaits = desk.cancel(1)
        #expect(!stillWaits)
    }

    /// Goal: who was busy when its log was replaced is told when it comes back, however long the new log is: it neither
    /// waits for its old number nor goes on behind it (PROTOCOL R-43).
    @Test(arguments: [0, 3, 5, 8])
    func whoWasBusyAtASnapshotIsTold(newLog: Int) throws {
        var desk = FeedDesk()
        desk.append(Self.batches(5, epoch: 1))
        var outcome: Result<FeedAnswer, any Error>?
        desk.request(1, after: Self.place(0)) { outcome = $0 }
        let answer = try #require(try outcome?.get())
        #expect(answer.batches.count == 5)
        desk.restart(at: Self.position(0))
        // Of the same epoch, so that only the generation tells.
        if newLog > 0 { desk.append(Self.batches(newLog, epoch: 1)) }
        outcome = nil
        desk.request(2, after: Self.place(5, generation: answer.generation)) { outcome = $0 }
        #expect(Self.isTooOld(outcome))
    }

    /// Goal: who begins at a state of a log that is gone is told, as soon as the new log shows that it has no such
    /// entry.
    @Test(arguments: [3, 8])
    func aPlaceOfAnOlderLogIsTold(newLog: Int) {
        var desk = FeedDesk()
        desk.append(Self.batches(5, epoch: 1))
        desk.restart(at: Self.position(0))
        var early: Result<FeedAnswer, any Error>?
        var late: Result<FeedAnswer, any Error>?
        desk.request(1, after: Self.place(5, epoch: 1)) { early = $0 }
        #expect(early == nil, "nothing is known of the new log yet")
        desk.append(Self.batches(newLog, epoch: 2))
        desk.request(2, after: Self.place(5, epoch: 1)) { late = $0 }
        #expect(Self.isTooOld(early) && Self.isTooOld(late))
    }

    /// Goal: a snapshot says of which epoch its last entry is, so a state of an older log is known at that number, too.
    @Test func aPlaceAtTheEndOfASnapshotIsTold() {
        var desk = FeedDesk()
        desk.restart(at: Self.position(600, epoch: 8))
        for (sequence, epoch, isOld) in [(600, 7, true), (900, 7, true), (600, 8, false)] as [(UInt64, UInt64, Bool)] {
            var outcome: Result<FeedAnswer, any Error>?
            desk.request(1, after: Self.place(sequence, epoch: epoch)) { outcome = $0 }
            #expect(Self.isTooOld(outcome) == isOld, "\(sequence) of \(epoch)")
            _ = desk.cancel(1)
        }
    }

    /// Goal: nobody is sent away whose entry is in the log, or may come: not at the change of an epoch, and not ahead of
    /// a node that lags.
    @Test func whoStandsInTheLogGoesOn() throws {
        var desk = FeedDesk()
        let first = Self.batches(3, epoch: 1)
        let middle = try #require(first.last).position
        let second = Self.batches(3, epoch: 2, after: middle)
        desk.append(first + second)
        for (sequence, epoch, count) in [(2, 1, 4), (3, 1, 3), (4, 2, 2)] as [(UInt64, UInt64, Int)] {
            var outcome: Result<FeedAnswer, any Error>?
            desk.request(1, after: Self.place(sequence, epoch: epoch)) { outcome = $0 }
            #expect(try outcome?.get().batches.count == count)
        }
        for ahead in [Self.place(6, epoch: 2), Self.place(7, epoch: 2), Self.place(7, epoch: 3), Self.place(7)] {
            var outcome: Result<FeedAnswer, any Error>?
            desk.request(1, after: ahead) { outcome = $0 }
            #expect(outcome == nil)
            let waits = desk.cancel(1)
            #expect(waits)
        }
    }

    /// Goal: the cursor of a stream brings the generation, so that a consumer of the store is told.
    @Test func aStreamOfAReplacedLogEnds() async throws {
        let node = try Node(.local())
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            _ = try await port.add([1, 2, 3])
            var batches = port.batches(after: .zero).makeAsyncIterator()
            _ = try await batches.next()
            port.inbox.ask(Errand(run: { $0.feed.restart(at: Self.position(0)) }))
            _ = try await port.add([4])
            let end = try await port.status().commit
            var code: LockstepError.Code?
            do {
                while let batch = try await batches.next(), batch.head.last.rawValue < end {}
            } catch let error as LockstepError {
                code = error.code
            }
            #expect(code == .positionTooOld)
        }
    }
}
