import LockstepCore
import Testing

/// HELLO, peers that know more than the log, and bad frames.
@Suite struct PrimaryAudienceTests {
    let one = Connection(rawValue: 1)
    let two = Connection(rawValue: 2)

    private func known(_ primary: PrimaryHarness, _ change: (inout KnownPosition) -> Void) -> KnownPosition {
        var known = primary.machine.committed
        change(&known)
        return known
    }

    /// Goal: each way in which a replica can know more stops admission with one alarm (PROTOCOL ).
    @Test(arguments: 0..<5) func aReplicaThatKnowsMoreStopsAdmission(way: Int) {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let reported = known(primary) { known in
            switch way {
            case 0: known.position.epoch = Epoch(rawValue: known.position.epoch.rawValue + 1)
            case 1: known.boot = BootID(rawValue: 99)
            case 2: known.position.sequence = known.position.sequence.next
            case 3: known.position.hash = BatchHash(rawValue: 1)
            default:
                known.boot = BootID(rawValue: 99)
                known.position.sequence = .zero
            }
        }
        primary.hello(two, role: .replica, known: reported, node: "r1")
        primary.hello(two, role: .replica, known: reported, node: "r1")
        #expect(primary.machine.phase == .behind)
        #expect(primary.alarms == [.primaryBehind(own: primary.machine.committed, reported: reported, by: "r1")])
        primary.submit(session, 1, [1], from: one)
        #expect(primary.sent.compactMap(\.busy).map(\.reason) == [.notAdmitting])
        primary.read(1, .linearizable, from: one)
        #expect(primary.sent.compactMap(\.readResult).map(\.status) == [.unavailable])
        primary.pass(milliseconds: 200_000)
        #expect(primary.machine.log.sessions.count == 1)
    }

    /// Goal: a primary that is behind may lack what was acknowledged, so it answers no reads of any level, those that wait
    /// included, and says why (PROTOCOL R-41).
    @Test func aPrimaryThatIsBehindAnswersNoRead() {
        let primary = PrimaryHarness.open()
        _ = primary.session(one)
        primary.read(1, .session, minimum: 1_000, from: one)
        #expect(primary.sent.compactMap(\.readResult).isEmpty)
        let reported = known(primary) { $0.position.sequence = $0.position.sequence.next }
        primary.hello(two, role: .replica, known: reported, node: "r1")
        #expect(primary.machine.readRefusal == .behind)
        #expect(primary.sent.compactMap(\.readResult).map(\.status) == [.unavailable])
        for (id, level) in [(2, .local), (3, .session), (4, .linearizable)] as [(UInt64, ReadLevel)] {
            primary.read(id, level, from: one)
        }
        #expect(primary.sent.compactMap(\.readResult).map(\.id) == [1, 2, 3, 4])
        #expect(primary.sent.compactMap(\.readResult).allSatisfy { $0.status == .unavailable && !$0.answer.isEmpty })
        #expect(ReadRefusal.behind.text.contains("PRIMARY_BEHIND"))
    }

    /// Goal: a request on another store's channel is answered by RESYNC (PROTOCOL ).
    @Test func aForeignChannelIsAnswered() {
        let primary = PrimaryHarness.open()
        _ = primary.session(one)
        primary.forget()
        var stamp = primary.stamp
        stamp.channel = Channel(rawValue: 99)
        primary.receive(stamp.frame(.query(Query(session: .none, number: 1))), from: one)
        #expect(primary.kinds == [.resync])
    }

    /// Goal: a volatile primary is behind nobody: who remembers an earlier log of its store learns that from WELCOME, and
    /// a SYNC that comes before that WELCOME must not end admission (PROTOCOL R-43).
    @Test func aVolatilePrimaryIsBehindNobody() {
        let primary = PrimaryHarness(isVolatile: true)
        primary.start()
        primary.persist()
        let session = primary.session(one)
        let reported = known(primary) { $0.position.sequence = SequenceNumber(rawValue: 1_000) }
        let sync = Sync(
            nonce: 1, store: PrimaryHarness.store, node: "r1", have: reported, firstFrame: .zero, wantsSnapshot: false)
        primary.receiveBulk(primary.stamp.frame(.sync(sync)), from: two)
        #expect(primary.alarms == [])
        primary.submit(session, 1, [1], from: one)
        primary.commit()
        #expect(primary.answers.map(\.number) == [1])
    }

    /// Goal: at rest a beacon leaves every 300 ms; a commit, a replica that comes and one that asks for a plan have them
    /// every 100 ms for a second, the first within 100 ms; a HELLO that is a ping, or a client's, does not (PROTOCOL R-30).
    @Test func beaconsAreFewerAtRest() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        func beacons(in milliseconds: Int64) -> Int {
            primary.forget()
            primary.pass(milliseconds: milliseconds)
            return primary.published.compactMap(\.beacon).count
        }
        func becomesLively(_ event: () -> Void) {
            primary.pass(milliseconds: 1_500)
            #expect(beacons(in: 3_000) == 10)
            primary.advance(milliseconds: 10)
            event()
            #expect(beacons(in: 100) >= 1)
            #expect(beacons(in: 800) == 8)
        }
        becomesLively {
            primary.submit(session, 1, [1], from: one)
            primary.commit()
        }
        becomesLively { primary.hello(two, role: .replica) }
        becomesLively {
            let sync = Sync(
                nonce: 1, store: PrimaryHarness.store, node: "r1", have: .none, firstFrame: .zero,
                wantsSnapshot: false)
            primary.receiveBulk(primary.stamp.frame(.sync(sync)), from: two)
        }
        primary.pass(milliseconds: 1_500)
        primary.hello(two, role: .replica)
        primary.hello(Connection(rawValue: 77))
        #expect(beacons(in: 3_000) == 10)
    }

    /// Goal: a client that knows more is refused with an alarm, and the others go on (PROTOCOL R-41).
    @Test func aClientThatKnowsMoreIsRefused() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let reported = known(primary) { known in
            known.position.sequence = SequenceNumber(rawValue: 1_000)
            (known.position.hash, known.boot) = (.none, .none)
        }
        primary.hello(two, known: reported)
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.primaryBehind])
        #expect(primary.alarms.count == 1)
        #expect(primary.machine.phase == .admitting)
        primary.submit(session, 1, [1], from: one)
        primary.submit(session, 2, [1], from: two)
        #expect(primary.kinds == [.refused, .resync])
    }

    /// Goal: after an operator accepted the loss, those who know of what was lost are welcome (PROTOCOL R-41).
    @Test func anAcceptedLossIsNoReasonToRefuse() {
        let lost = KnownPosition(
            position: Position(
                epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 500), hash: BatchHash(rawValue: 5)),
            boot: BootID(rawValue: 77))
        let primary = PrimaryHarness(lossAccepted: lost)
        primary.start()
        primary.persist()
        primary.forget()
        primary.hello(one, known: KnownPosition(position: lost.position, boot: .none))
        primary.hello(two, role: .replica, known: lost)
        #expect(primary.kinds == [.welcome, .welcome])
        #expect(primary.alarms.isEmpty)
        var more = lost
        more.position.sequence = more.position.sequence.next
        primary.hello(two, role: .replica, known: more)
        #expect(primary.machine.phase == .behind)
    }

    /// Goal: what is known is no reason for an alarm: old places, ends of epochs, a client's places inside batches
    /// (PROTOCOL ).
    @Test func placesOfThisLogAreNoReasonForAnAlarm() {
        let before = PrimaryHarness.open()
        let session = before.session(one)
        before.submit(session, 1, [1, 2, 3, 4], from: one)
        before.commit()
        let end = before.machine.committed
        let primary = PrimaryHarness.open(durable: before.durable, boot: 2)
        primary.hello(one, role: .replica, known: end)
        let inside = Position(epoch: end.position.epoch, sequence: SequenceNumber(rawValue: 4), hash: .none)
        primary.hello(two, known: KnownPosition(position: inside, boot: .none))
        primary.hello(two, role: .replica, known: .none)
        #expect(primary.kinds == [.welcome, .welcome, .welcome])
        #expect(primary.alarms.isEmpty)
        // The same place under another epoch is another history.
        let forged = Position(epoch: primary.machine.epoch, sequence: SequenceNumber(rawValue: 4), hash: .none)
        primary.hello(two, role: .replica, known: KnownPosition(position: forged, boot: .none))
        #expect(primary.machine.phase == .behind)
    }

    /// Goal: a HELLO of another cluster, version or store is refused with its reason; other frames of that kind are
    /// only counted (PROTOCOL ).
    @Test func onlyAHelloIsRefusedByAnswer() {
        let primary = PrimaryHarness.open()
        let hello = Hello(
            nonce: 42, role: .client, node: "c", incarnation: .none, boot: .none, store: "counters", known: .none)
        var foreign = primary.stamp
        foreign.clusterHash = 5
        primary.receive(foreign.frame(.hello(hello)), from: one)
        primary.receive(foreign.frame(.close(.none)), from: one)
        var later = primary.stamp.frame(.hello(hello))
        later[4] = 2
        primary.receive(later, from: one)
        later[5] = MessageKind.close.rawValue
        primary.receive(later, from: one)
        primary.receive(Array(later[..<33]), from: one)
        var elsewhere = hello
        elsewhere.store = "others"
        primary.receive(primary.stamp.frame(.hello(elsewhere)), from: one)
        let refused = primary.sent.compactMap(\.refused)
        #expect(refused.map(\.reason) == [.wrongCluster, .wrongVersion, .unknownStore])
        #expect(refused.map(\.nonce) == [42, 42, 42])
        #expect(primary.kinds.count == 3)
        #expect(primary.counts[.framesRefused] == 5)
        // One that does not know its cluster yet is welcome.
        foreign.clusterHash = 0
        primary.receive(foreign.frame(.hello(hello)), from: one)
        #expect(primary.kinds.last == .welcome)
    }

    /// Goal: a connection that was silent for long is forgotten, told so, and taken again (PROTOCOL R-29; I17).
    @Test func aForgottenConnectionStartsOverWithHello() {
        let primary = PrimaryHarness.open()
        let session = primary.session(one, timeToLive: 600_000_000)
        primary.pass(milliseconds: 31_000)
        #expect(primary.machine.listPeers(now: primary.now, limit: 10).liveCount == 0)
        primary.forget()
        primary.submit(session, 1, [1], from: one)
        primary.hello(one)
        primary.submit(session, 1, [1], from: one)
        primary.commit()
        #expect(primary.kinds == [.resync, .welcome, .result])
    }

    /// Goal: an operator sees which replica was lost, and when, also when its connection is long forgotten; one that comes
    /// back is no longer lost (PROTOCOL R-29).
    @Test func aSilentReplicaIsListedAsLost() {
        let primary = PrimaryHarness.open()
        primary.hello(one, role: .replica, node: "r1")
        primary.hello(two, role: .client, node: "c1")
        var list = primary.machine.listPeers(now: primary.now, limit: 10)
        #expect(list.live.map(\.node) == ["r1", "c1"] && list.lost.isEmpty)
        let heard = primary.now
        primary.pass(milliseconds: 6_000)
        list = primary.machine.listPeers(now: primary.now, limit: 10)
        #expect(list.liveCount == 0)
        #expect(list.lost.map(\.node) == ["r1"] && list.lost.map(\.lastHeard) == [heard])
        primary.pass(milliseconds: 60_000)
        list = primary.machine.listPeers(now: primary.now, limit: 10)
        #expect(list.lost.map(\.node) == ["r1"] && list.lost.map(\.lastHeard) == [heard])
        primary.hello(Connection(rawValue: 3), role: .replica, node: "r1")
        list = primary.machine.listPeers(now: primary.now, limit: 10)
        #expect(list.live.map(\.node) == ["r1"] && list.lost.isEmpty)
    }

    /// Goal: lists for an operator are bounded, whoever comes (PROTOCOL R-10).
    @Test func listsOfPeersAreBounded() {
        let primary = PrimaryHarness.open()
        for number in 0..<200 {
            primary.hello(
                Connection(rawValue: UInt64(1_000 + number)), role: number % 2 == 0 ? .replica : .client,
                node: "n\(number)")
        }
        let list = primary.machine.listPeers(now: primary.now, limit: 10)
        #expect(list.liveCount == 200 && list.live.count == 10)
        #expect(list.live.allSatisfy { $0.role == .replica })
        primary.pass(milliseconds: 40_000)
        #expect(primary.machine.listPeers(now: primary.now, limit: 1_000).lost.count == 64)
    }

    /// Goal: a joiner is served only what has committed; one that is ahead is told so, and its SYNC alone, which anybody
    /// can make up, stops nobody (PROTOCOL ).
    @Test func joinersAreServedWhatHasCommitted() throws {
        let primary = PrimaryHarness.open()
        let session = primary.session(one)
        let committed = primary.machine.committed
        primary.submit(session, 1, [5], from: one)
        primary.turn()
        func sync(_ have: KnownPosition, nonce: UInt64) {
            let sync = Sync(
                nonce: nonce, store: PrimaryHarness.store, node: "r\(nonce)", have: have, firstFrame: .zero,
                wantsSnapshot: false)
            primary.receiveBulk(primary.stamp.frame(.sync(sync)), from: two)
        }
        sync(committed, nonce: 1)
        let plan = try #require(primary.bulk.last?.syncPlan)
        #expect(plan.decision == .tail)
        #expect(plan.commit == committed.position)
        let repair = RepairRequest(
            nonce: 2, after: committed.position, through: SequenceNumber(rawValue: .max), largestReply: 1 << 20)
        primary.receiveBulk(primary.stamp.frame(.repairRequest(repair)), from: two)
        guard case .repair(let answer) = primary.bulk.last?.message else { throw Missing() }
        #expect(answer.status == .unavailable)
        primary.persist()
        sync(primary.machine.committed, nonce: 3)
        #expect(primary.machine.phase == .admitting)
        var ahead = primary.machine.committed
        ahead.position.sequence = ahead.position.sequence.next
        sync(ahead, nonce: 4)
        #expect(primary.bulk.last?.syncPlan?.decision == .ahead)
        #expect(primary.machine.phase == .admitting)
        #expect(primary.alarms.isEmpty)
        primary.hello(two, role: .replica, known: ahead, node: "r4")
        #expect(primary.machine.phase == .behind)
    }

    /// Goal: an epoch that no clock can have led to is refused and stops nobody (PROTOCOL R-41).
    @Test func anImpossibleEpochIsRefused() {
        let primary = PrimaryHarness.open()
        let reported = known(primary) { $0.position.epoch = Epoch(rawValue: 1 << 60) }
        primary.hello(two, role: .replica, known: reported)
        #expect(primary.sent.compactMap(\.refused).map(\.reason) == [.protocolViolation])
        #expect(primary.machine.phase == .admitting)
        #expect(primary.alarms.isEmpty)
    }

    /// Goal: an acceptance covers one history: not the same epoch of another boot, not another end at its place; and what
    /// is written from then on has a higher epoch (PROTOCOL R-41).
    @Test func anAcceptanceCoversOneHistory() {
        let lost = KnownPosition(
            position: Position(
                epoch: Epoch(rawValue: 1_800_000_000_500), sequence: SequenceNumber(rawValue: 500),
                hash: BatchHash(rawValue: 5)), boot: BootID(rawValue: 77))
        func phase(_ change: (inout KnownPosition) -> Void) -> PrimaryStateMachine.Phase {
            let primary = PrimaryHarness(lossAccepted: lost)
            primary.start()
            primary.persist()
            #expect(primary.machine.epoch > lost.position.epoch)
            var reported = lost
            change(&reported)
            primary.hello(two, role: .replica, known: reported)
            return primary.machine.phase
        }
        #expect(phase { _ in } == .admitting)
        #expect(phase { $0.position.sequence = SequenceNumber(rawValue: 400) } == .admitting)
        #expect(phase { $0.boot = BootID(rawValue: 78) } == .behind)
        #expect(phase { $0.position.hash = BatchHash(rawValue: 6) } == .behind)
        #expect(phase { $0.position.sequence = SequenceNumber(rawValue: 501) } == .behind)
    }

    struct Missing: Error {}
}
