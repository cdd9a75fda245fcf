import LockstepCore
import Testing

/// What leaves when, what a journal's failures do, marks and snapshots.
@Suite struct PrimaryCommitTests {
    let one = Connection(rawValue: 1)
    let two = Connection(rawValue: 2)

    /// Goal: nothing is said in an epoch before its `epochOpen` is durable, also by a node that stops, and no deadline
    /// lies in the past meanwhile (PROTOCOL ).
    @Test(arguments: [false, true]) func nothingIsSaidBeforeTheEpochIsDurable(stops: Bool) {
        let primary = PrimaryHarness()
        primary.start()
        if stops { primary.run { machine, _ in machine.stop() } }
        primary.hello(one)
        primary.turn()
        primary.advance(milliseconds: 500)
        primary.tick()
        #expect(primary.machine.nextDeadline > primary.now)
        primary.advance(milliseconds: 5_000)
        primary.tick()
        #expect(primary.machine.nextDeadline > primary.now)
        #expect(primary.order == ["persist"])
        primary.persist()
        primary.hello(one)
        #expect(primary.order == ["persist", "publish batch", "committed", "send welcome"])
        #expect(primary.machine.phase == (stops ? .stopping : .admitting))
    }

    /// Goal: the new epoch is above every epoch known, and its first entry closes the one before (PROTOCOL ).
    @Test func eachBootOpensAHigherEpochAndKeepsTheEndOfTheOneBefore() {
        let first = PrimaryHarness.open()
        _ = first.session(one)
        let end = first.machine.committed.position
        let second = PrimaryHarness.open(durable: first.durable, boot: 2)
        #expect(second.machine.epoch.rawValue == first.machine.epoch.rawValue + 1)
        #expect(second.machine.log.epochEnds.map(\.sequence) == [end.sequence])
        #expect(second.machine.log.epochEnds.map(\.hash) == [end.hash])
        #expect(second.machine.log.epochEnds.map(\.boot) == [BootID(rawValue: 1)])
    }

    /// Goal: a commit is broadcast, then answered, then told to observers (PROTOCOL R-17).
    @Test func aCommitIsBroadcastThenAnsweredThenObserved() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5], from: one)
        primary.turn()
        primary.submit(session, 2, [6], from: one)
        primary.turn()
        #expect(primary.order == ["persist"])
        #expect(primary.state.published.sum == 0)
        primary.persist()
        #expect(primary.order == ["persist", "publish batch", "send result", "committed"])
        #expect(primary.state.published.sum == 5)
        #expect(primary.answers.map(\.number) == [1])
        primary.turn()
        #expect(primary.atJournal.count == 1)
    }

    /// Goal: the beacon and WELCOME name only what has committed (PROTOCOL; I8).
    @Test func beaconsAndWelcomesNameOnlyWhatHasCommitted() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let before = primary.machine.committed.position
        primary.pass(milliseconds: 1_100)
        primary.submit(session, 1, [5], from: one)
        primary.turn()
        primary.submit(session, 2, [5], from: one)
        primary.forget()
        primary.pass(milliseconds: 500)
        primary.hello(two, role: .replica)
        #expect(!primary.published.compactMap(\.beacon).isEmpty)
        #expect(primary.published.compactMap(\.beacon).allSatisfy { $0.commit == before })
        #expect(primary.published.compactMap(\.beacon).allSatisfy { $0.markSequence <= before.sequence })
        #expect(primary.sent.compactMap(\.welcome).map(\.commit) == [before])
    }

    /// Goal: the beacon's mark is the newest that has committed, also when a newer one is always on its way
    /// (PROTOCOL ).
    @Test func aSlowJournalDoesNotHideTheMarksThatHaveCommitted() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        for number in 1...5 as ClosedRange<UInt64> {
            primary.advance(milliseconds: 1_500)
            primary.submit(session, number, [UInt8](repeating: 255, count: 1), from: one)
            if primary.machine.isPersisting {
                let mark = primary.atJournal.last?.head.last
                primary.persist()
                #expect(primary.machine.committedMark?.sequence == mark)
            }
            primary.turn()
        }
    }

    /// Goal: a mark ends its batch and has the digest of that place, about once a second, and the last writes
    /// before a rest get one; a rest writes nothing (PROTOCOL R-53).
    @Test func marksEndTheirBatchesAndARestGetsOne() throws {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5], from: one)
        primary.commit()
        for _ in 0..<100 {
            primary.pass(milliseconds: 100)
            primary.commit()
        }
        let quiet = primary.machine.committed.position.sequence
        primary.pass(milliseconds: 3_000)
        primary.commit()
        #expect(primary.machine.committed.position.sequence == quiet)
        var log = LogState(store: PrimaryHarness.store)
        let state = CountingState()
        var marks: [LogState.Mark] = []
        for batch in primary.durable {
            if let mark = try log.apply(batch, to: state) {
                #expect(mark.sequence == batch.head.last)
                #expect(mark.digest == state.digest + log.digest)
                marks.append(mark)
            }
        }
        #expect(marks.count == 1)
        #expect(marks.last?.sequence == quiet)
        #expect(primary.machine.committedMark == marks.last)
    }

    /// Goal: an OPEN that a full disk refuses is counted like a SUBMIT that gets BUSY, so that an operator sees it grow
    /// (PROTOCOL ).
    @Test func anOpenThatAFullDiskRefusesIsCounted() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.run { $0.freeSpaceChanged(isLow: true, &$1) }
        primary.forget()
        primary.receive(PrimaryHarness.openMessage(client: 77, nonce: 5), from: one)
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.unavailable])
        #expect(primary.counts[.busyAnswers] == 1)
        primary.submit(session, 1, [5], from: one)
        #expect(primary.counts[.busyAnswers] == 2)
        primary.run { $0.freeSpaceChanged(isLow: false, &$1) }
        primary.receive(PrimaryHarness.openMessage(client: 77, nonce: 5), from: one)
        primary.commit()
        #expect(primary.counts[.busyAnswers] == 2 && primary.sent.last?.opened != nil)
    }

    /// Goal: a full disk keeps the sealed batches and tries them again, unchanged; new actions get BUSY, kept replies
    /// are still given, and the alarm comes once (PROTOCOL ).
    @Test func aFullDiskIsTriedAgainUnchanged() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5], from: one)
        primary.commit()
        primary.submit(session, 2, [6], from: one)
        primary.turn()
        primary.submit(session, 3, [7], from: one)
        primary.forget()
        for _ in 0..<4 {
            primary.fail(isDiskFull: true)
            #expect(primary.machine.nextDeadline <= primary.now.advanced(byMilliseconds: 250))
            primary.submit(session, 4, [8], from: one)
            primary.submit(session, 1, [9], from: one)
            primary.turn()
            primary.pass(milliseconds: 250)
        }
        #expect(primary.order.filter { $0 == "persist" }.count == 4)
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == Array(repeating: .diskFull, count: 4))
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == Array(repeating: 4, count: 4))
        #expect(primary.answers.map(\.number) == [1, 1, 1, 1])
        primary.run { $0.freeSpaceChanged(isLow: true, &$1) }
        #expect(primary.alarms == [.diskFull])
        primary.commit()
        #expect(primary.answers.map(\.number) == [1, 1, 1, 1, 2, 3])
        primary.submit(session, 4, [8], from: one)
        #expect(primary.sent.last?.busy?.reason == .diskFull)
        primary.run { $0.freeSpaceChanged(isLow: false, &$1) }
        #expect(primary.alarms == [.diskFull, .diskHasRoom])
        primary.submit(session, 4, [8], from: one)
        primary.commit()
        #expect(primary.answers.last?.number == 4)
    }

    /// Goal: any other failure at commit halts, and nothing is said or tried again (PROTOCOL R-44).
    @Test func anotherFailureHaltsForGood() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5], from: one)
        primary.turn()
        primary.forget()
        primary.fail(isDiskFull: false)
        #expect(primary.halts == [.journalFailed("input/output error")])
        primary.submit(session, 1, [5], from: one)
        primary.hello(two)
        primary.turn()
        primary.advance(milliseconds: 5_000)
        primary.tick()
        #expect(primary.order.isEmpty)
        #expect(primary.machine.nextDeadline == .never)
        #expect(primary.machine.isDrained)
    }

    /// Goal: one who stops takes nothing more and commits what it has (PROTOCOL R-26).
    @Test func oneWhoStopsCommitsWhatItHas() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5], from: one)
        primary.run { machine, _ in machine.stop() }
        primary.submit(session, 2, [6], from: one)
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.notAdmitting])
        #expect(!primary.machine.isDrained)
        primary.commit()
        #expect(primary.answers.map(\.number) == [1])
    }

    /// Goal: a snapshot is of one place only: image, log and digest agree, also when a batch fills in the middle of a
    /// SUBMIT, and it is encoded only after the commit of that place (PROTOCOL ).
    @Test func aSnapshotIsOfOnePlaceOnly() throws {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [1], from: one)
        primary.turn()
        primary.run { machine, _ in machine.snapshotDue() }
        primary.submit(session, 2, [UInt8](repeating: 1, count: Limits.submitActions), from: one)
        primary.turn()
        #expect(primary.images.isEmpty)
        primary.persist()
        primary.turn()
        let (number, image) = try #require(primary.images.first)
        #expect(primary.encoding.isEmpty)
        var shadow = LogState(store: PrimaryHarness.store)
        let state = CountingState()
        for batch in primary.durable + primary.atJournal { _ = try shadow.apply(batch, to: state) }
        #expect(try state.image().encoded() == image.state)
        #expect(shadow == image.log)
        #expect(state.digest + shadow.digest == image.digest)
        #expect(shadow.mark?.digest == image.digest)
        primary.persist()
        #expect(primary.encoding == [number])
        // One asked for meanwhile is served by this one.
        primary.run { machine, _ in machine.snapshotDue() }
        let info = SnapshotInfo(
            id: number, position: image.log.position, boot: image.log.boot, digest: image.digest, byteCount: 10,
            chunkSize: 1_024, root: 1)
        primary.run { $0.snapshotEncoded(number, info: info, &$1) }
        primary.commit()
        #expect(primary.saved == [number])
        #expect(primary.images.count == 1)
        #expect(primary.dropped.isEmpty)
        primary.pass(milliseconds: 29_000)
        #expect(primary.dropped.isEmpty)
        primary.pass(milliseconds: 2_000)
        #expect(primary.dropped == [number])
        let content = SnapshotContent(log: image.log, digest: image.digest, state: image.state)
        #expect(try SnapshotContent(content.encoded()).log == image.log)
        // A mark after the position belongs to another log; its sequence number stands at byte 96.
        var strange = content.encoded()
        #expect(UInt64(strange[96]) == (image.log.mark?.sequence.rawValue ?? 0) & 0xFF)
        strange[103] = 1
        #expect(throws: WireError.self) { try SnapshotContent(strange) }
    }

    /// Goal: a snapshot that cannot be encoded is dropped, and the next one is made (PROTOCOL R-32).
    @Test func aFailedSnapshotIsDroppedAndMadeAgain() throws {
        let primary = PrimaryHarness.open()
        for number in 1...3 as ClosedRange<SnapshotNumber> {
            primary.run { machine, _ in machine.snapshotDue() }
            primary.commit()
            #expect(primary.encoding.last == number)
            primary.run { $0.snapshotFailed(number, &$1) }
        }
        #expect(primary.dropped == [1, 2, 3])
        #expect(primary.saved.isEmpty)
    }

    /// Goal: a snapshot that only a joiner asked for is not written to the journal; one that is due meanwhile is
    /// (PROTOCOL R-32).
    @Test(arguments: [false, true]) func aSnapshotForAJoinerIsSavedOnlyIfOneIsDue(isDue: Bool) throws {
        let primary = PrimaryHarness.open()
        primary.hello(one)
        let sync = Sync(
            nonce: 1, store: PrimaryHarness.store, node: "r", have: .none, firstFrame: .zero, wantsSnapshot: true)
        primary.receiveBulk(primary.stamp.frame(.sync(sync)), from: one)
        primary.commit()
        let number = try #require(primary.encoding.last)
        if isDue { primary.run { machine, _ in machine.snapshotDue() } }
        let (_, image) = try #require(primary.images.first)
        let info = SnapshotInfo(
            id: number, position: image.log.position, boot: image.log.boot, digest: image.digest, byteCount: 10,
            chunkSize: 1_024, root: 1)
        primary.run { $0.snapshotEncoded(number, info: info, &$1) }
        #expect(primary.saved == (isDue ? [number] : []))
    }

    /// Goal: a linearizable read sees everything acknowledged before it, and no read sees what has not committed
    /// (PROTOCOL; I8, I20).
    @Test func readsSeeWhatHasCommittedAndNothingElse() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        primary.submit(session, 1, [5], from: one)
        primary.commit()
        primary.submit(session, 2, [6], from: one)
        primary.turn()
        primary.forget()
        let committed = primary.machine.committed.position.sequence.rawValue
        primary.read(1, .linearizable, from: one)
        primary.read(2, .local, minimum: 99, from: one)
        primary.read(3, .session, minimum: committed + 1, from: one)
        primary.read(4, .linearizable, isIndexOnly: true, from: one)
        primary.read(5, .session, minimum: committed + 50, isIndexOnly: true, from: one)
        #expect(primary.sent.compactMap(\.readResult).map(\.id) == [1, 2, 4])
        #expect(primary.sent.compactMap(\.readResult).allSatisfy { $0.sequence.rawValue == committed })
        primary.commit()
        #expect(primary.sent.compactMap(\.readResult).map(\.id) == [1, 2, 4, 3])
        primary.pass(milliseconds: 5_000)
        #expect(primary.sent.compactMap(\.readResult).map(\.status).last == .unavailable)
        #expect(primary.sent.compactMap(\.readResult).map(\.id).last == 5)
    }

    /// Goal: a reader that waits gets its view soon although the log never rests (PROTOCOL R-16).
    @Test func aWaitingReadIsAnsweredUnderLoad() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        var next: RequestNumber = 1
        func load() {
            primary.submit(session, next, [UInt8](repeating: 1, count: 200), from: one)
            next += 200
        }
        load()
        primary.turn()
        for _ in 0..<20 {
            load()
            primary.persist()
            primary.turn()
            primary.advance(milliseconds: 1)
        }
        let wanted = primary.machine.committed.position.sequence
        primary.read(1, .linearizable, from: one)
        for _ in 0..<14 {
            load()
            primary.persist()
            primary.turn()
            primary.advance(milliseconds: 1)
        }
        let result = primary.sent.compactMap(\.readResult).last
        #expect(result?.id == 1)
        #expect((result?.sequence ?? .zero) >= wanted)
    }
}
