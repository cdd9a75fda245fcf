import LockstepCore
import Testing

/// What a primary waits for when it starts (PROTOCOL R-48).
@Suite struct PrimaryAwaitingTests {
    let one = Connection(rawValue: 1)
    let two = Connection(rawValue: 2)

    /// A primary that begins a second boot with an audience; its journal holds `durable`.
    private func open(
        _ audience: [String], durable: [SealedBatch] = [], isVolatile: Bool = false, milliseconds: Int64 = 5_000
    ) -> PrimaryHarness {
        let primary = PrimaryHarness(
            durable: durable, boot: 2, isVolatile: isVolatile, audience: audience, audienceMilliseconds: milliseconds)
        primary.start()
        primary.persist()
        primary.turn()
        return primary
    }

    /// Goal: nothing is admitted before each of them has said HELLO, and at once when the last has (PROTOCOL R-48).
    @Test func itWaitsForEachOfItsReplicas() {
        let first = PrimaryHarness.open()
        let session = first.session(one)
        let end = first.machine.committed
        let primary = open(["r1", "r2"], durable: first.durable)
        #expect(primary.machine.phase == .awaiting)
        #expect(primary.machine.status.awaited == ["r1", "r2"])
        #expect(primary.awaited == [["r1", "r2"]] && primary.openings.isEmpty)
        primary.hello(one)
        primary.receive(.resume(Resume(session: session, openNonce: 1, connectionNonce: 1, ackedThrough: 0)), from: one)
        primary.forget()
        primary.submit(session, 1, [1], from: one)
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.notAdmitting])
        primary.read(1, .linearizable, from: one)
        #expect(primary.sent.compactMap(\.readResult).map(\.status) == [.unavailable])
        primary.receive(PrimaryHarness.openMessage(client: 9, nonce: 9), from: one)
        // A client is no replica, whatever its name.
        primary.hello(two, node: "r1")
        primary.hello(two, role: .replica, known: end, node: "r1")
        primary.turn()
        #expect(primary.machine.phase == .awaiting)
        primary.hello(Connection(rawValue: 3), role: .replica, known: end, node: "r2")
        primary.turn()
        #expect(primary.machine.phase == .admitting)
        #expect(primary.openings == [.init()])
        primary.submit(session, 1, [1], from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [1])
        #expect(primary.alarms.isEmpty)
    }

    /// Goal: an old copy that was put back says PRIMARY_BEHIND before it acknowledges anything (PROTOCOL ).
    @Test func anOldCopyAcknowledgesNothing() {
        let first = PrimaryHarness.open()
        let old = first.durable
        let session = first.session(one)
        first.submit(session, 1, [1], from: one)
        first.commit()
        let primary = open(["r1"], durable: old)
        primary.pass(milliseconds: 1_000)
        primary.hello(two, role: .replica, known: first.machine.committed, node: "r1")
        primary.turn()
        #expect(primary.machine.phase == .behind)
        primary.pass(milliseconds: 10_000)
        #expect(primary.machine.phase == .behind)
        #expect(primary.alarms.count == 1)
    }

    /// Goal: a primary that is behind and stops answers reads no more than before; nor does one that stops before its
    /// replicas were heard, or learns while it stops that it is behind (PROTOCOL ).
    @Test func theEndIsNoReasonToAnswer() {
        let first = PrimaryHarness.open()
        let old = first.durable
        let session = first.session(one)
        first.submit(session, 1, [1], from: one)
        first.commit()
        func status(of level: ReadLevel, at primary: PrimaryHarness) -> ReadStatus? {
            primary.forget()
            primary.read(1, level, from: one)
            return primary.sent.compactMap(\.readResult).map(\.status).first
        }
        let behind = open(["r1"], durable: old)
        behind.hello(one)
        behind.hello(two, role: .replica, known: first.machine.committed, node: "r1")
        behind.run { machine, _ in machine.stop() }
        #expect(status(of: .local, at: behind) == .unavailable)
        #expect(behind.machine.isDrained)

        let awaiting = open(["r1"], durable: old)
        awaiting.hello(one)
        awaiting.run { machine, _ in machine.stop() }
        #expect(awaiting.machine.phase == .stopping)
        #expect(status(of: .linearizable, at: awaiting) == .unavailable)
        #expect(status(of: .local, at: awaiting) == .answered)
        awaiting.hello(two, role: .replica, known: first.machine.committed, node: "r1")
        #expect(status(of: .local, at: awaiting) == .unavailable)

        let new = PrimaryHarness()
        new.start()
        new.run { machine, _ in machine.stop() }
        #expect(new.machine.readRefusal == .opening)
    }

    /// Goal: the wait has a bound, which is told; there is none where nobody is known, nothing outlives the process, or
    /// the bound is zero (PROTOCOL R-48).
    @Test(arguments: [200, 5_000, 600_000] as [Int64]) func theWaitHasABound(milliseconds: Int64) {
        let primary = open(["r1"], milliseconds: milliseconds)
        primary.pass(milliseconds: milliseconds - 100)
        #expect(primary.machine.phase == .awaiting)
        primary.pass(milliseconds: 200)
        #expect(primary.machine.phase == .admitting)
        #expect(open(["r1"], milliseconds: 0).machine.phase == .admitting)
        #expect(open([]).machine.phase == .admitting)
        #expect(open(["r1"], isVolatile: true).machine.phase == .admitting)
    }

    /// Goal: the names are kept when they change: a replica comes, says goodbye, or is silent for an hour; 64 at most
    /// (PROTOCOL R-48).
    @Test func theNamesAreKept() {
        let primary = PrimaryHarness.open()
        primary.hello(one, role: .replica, node: "r1")
        primary.hello(one, role: .replica, node: "r1")
        primary.hello(two, role: .replica, node: "r2")
        primary.hello(Connection(rawValue: 3), node: "client")
        #expect(primary.audiences == [["r1"], ["r1", "r2"]])
        primary.receive(.close(.none), from: one)
        #expect(primary.audiences.last == ["r2"])
        for number in 10..<80 {
            primary.hello(Connection(rawValue: UInt64(number)), role: .replica, node: "n\(number)")
        }
        #expect(primary.audiences.last?.count == Limits.audience)
        primary.checksEvents = false
        primary.pass(milliseconds: 3_602_000)
        #expect(primary.audiences.last == [])
    }

    /// A replica that stops on purpose is not there and not lost, also where it was lost before, until it comes again
    /// (PROTOCOL R-48).
    @Test func whoLeavesInOrderIsNotLost() {
        let primary = PrimaryHarness.open()
        func listed() -> [[String]] {
            let list = primary.machine.listPeers(now: primary.now, limit: 10)
            return [list.live.map(\.node), list.lost.map(\.node)]
        }
        primary.hello(one, role: .replica, node: "r1")
        primary.pass(milliseconds: 31_000)
        #expect(listed() == [[], ["r1"]])
        primary.hello(two, role: .replica, node: "r1")
        primary.receive(.close(.none), from: two)
        #expect(listed() == [[], []])
        primary.pass(milliseconds: 31_000)
        #expect(listed() == [[], []])
        primary.hello(two, role: .replica, node: "r1")
        #expect(listed() == [["r1"], []])
    }

    /// Goal: what a replica says in HELLO leaves out an end that tells nothing: openings of epochs and marks; so a folder
    /// that was served as a primary for a moment stops nobody (PROTOCOL ).
    @Test func anEmptyEpochStopsNobody() throws {
        let first = PrimaryHarness.open()
        let session = first.session(one)
        first.submit(session, 1, [1], from: one)
        first.commit()
        let shared = first.durable
        // The replica's folder is served as a primary for a moment, with a mark at its end.
        let mistaken = PrimaryHarness(durable: shared, boot: 7)
        mistaken.advance(milliseconds: 60_000)
        mistaken.start()
        mistaken.persist()
        let replica = ReplicaStateMachine.recovered(mistaken.durable)
        #expect(replica.known == mistaken.machine.committed)
        #expect(replica.told == first.machine.committed)
        first.hello(two, role: .replica, known: replica.told, node: "r1")
        #expect(first.machine.phase == .admitting)
        #expect(first.alarms.isEmpty)
        // As soon as somebody was told something in that epoch, it is a history that the primary lacks.
        _ = mistaken.session(one, client: 5, nonce: 5)
        let told = ReplicaStateMachine.recovered(mistaken.durable).told
        #expect(told == mistaken.machine.committed)
        first.hello(two, role: .replica, known: told, node: "r1")
        #expect(first.machine.phase == .behind)
    }
}

extension ReplicaStateMachine {
    /// A replica that starts with these batches in its journal.
    fileprivate static func recovered(_ batches: [SealedBatch]) -> ReplicaStateMachine {
        var log = LogState(store: PrimaryHarness.store)
        var window = ResendWindow()
        let state = CountingState()
        for batch in batches {
            do { _ = try log.apply(batch, to: state) } catch { preconditionFailure("recovery failed: \(error)") }
            window.append(batch)
        }
        return ReplicaStateMachine(
            configuration: ReplicaConfiguration(
                storeName: PrimaryHarness.storeName, node: "r1", cluster: PrimaryHarness.cluster,
                boot: BootID(rawValue: 0xAA), incarnation: Incarnation(rawValue: 0xAB),
                channel: PrimaryHarness.channel, hasJournal: true, bulkEndpoint: "", seed: 1),
            recovered: log, window: window)
    }
}
