import Foundation
import LockstepCore
import Testing

/// The unusual ways of the machines: when they are taken, and that each does what it says.
@Suite struct BuggifyTests {
    /// Production never takes one, and notes none.
    @Test func offNeverFires() {
        var off = Buggify.off
        for site in Buggify.Site.allCases {
            for _ in 0..<100 { #expect(!off(site)) }
        }
        #expect(off.fired == 0)
        #expect(off == .off)
    }

    /// A run is replayed from its seed.
    @Test(arguments: 0..<50 as Range<UInt64>) func theSameSeedGivesTheSameAnswers(seed: UInt64) {
        var first = Buggify(seed: seed)
        var second = Buggify(seed: seed)
        for _ in 0..<20 {
            for site in Buggify.Site.allCases { #expect(first(site) == second(site)) }
        }
        #expect(first == second)
        #expect(first.firedSites.allSatisfy { first.isOn($0) })
    }

    /// Over many seeds each site is on in about a quarter of the runs, and fires about every fourth time.
    @Test func aboutAQuarterOfTheSitesIsOnAndFires() {
        var on = [Buggify.Site: Int]()
        var fired = 0
        var asked = 0
        for seed in 0..<1_000 as Range<UInt64> {
            var buggify = Buggify(seed: seed)
            for site in Buggify.Site.allCases where buggify.isOn(site) {
                on[site, default: 0] += 1
                asked += 4
                for _ in 0..<4 where buggify(site) { fired += 1 }
            }
        }
        for site in Buggify.Site.allCases { #expect((180...320).contains(on[site] ?? 0), "\(site)") }
        #expect((asked / 5...asked * 3 / 10).contains(fired))
    }

    /// The sites that a test names are on, and no other.
    @Test func exactlyTheNamedSitesAreOn() {
        var buggify = Buggify(seed: 1, sites: [.tinyBatch, .holdsNothing], oneIn: 1)
        #expect(Buggify.Site.allCases.filter { buggify($0) } == [.tinyBatch, .holdsNothing])
        #expect(buggify.firedSites == [.tinyBatch, .holdsNothing])
    }

    /// A site that nobody asks about would count as tested and is not there.
    @Test func everySiteStandsInTheSources() throws {
        #expect(Buggify.Site.allCases.count <= 64)
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Sources/LockstepCore")
        let walker = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        var code = ""
        for case let file as URL in walker where file.pathExtension == "swift" {
            code += try String(contentsOf: file, encoding: .utf8)
        }
        for site in Buggify.Site.allCases { #expect(code.contains("(.\(site))"), "\(site)") }
    }
}

/// Sites of the primary, each forced on.
@Suite struct BuggifyPrimaryTests {
    private func primary(_ sites: Set<Buggify.Site>) -> PrimaryHarness {
        .open(buggify: Buggify(seed: 1, sites: sites, oneIn: 1))
    }

    /// A batch ends with the entry with which it reaches 256 bytes (PROTOCOL R-11).
    @Test func tinyBatchesAreCutEarly() {
        let primary = primary([.tinyBatch])
        let session = primary.session(Connection(rawValue: 1))
        let before = primary.durable.count
        primary.submit(session, 1, [UInt8](repeating: 1, count: 500), from: Connection(rawValue: 1))
        primary.commit()
        #expect(primary.durable.count - before > 5)
        #expect(primary.durable.allSatisfy { $0.bytes.count < 400 })
        #expect(primary.answers.map(\.number) == Array(1...500))
    }

    /// Whatever is broadcast is a head that replicas fetch (PROTOCOL R-33), and every batch has its mark.
    @Test func headsAndMarksComeWithoutNeed() {
        let primary = primary([.headOnly, .extraMark])
        let session = primary.session(Connection(rawValue: 1))
        primary.submit(session, 1, [1, 2, 3], from: Connection(rawValue: 1))
        primary.commit()
        for sent in primary.published {
            guard case .batch(_, let isHeadOnly) = sent.message else { continue }
            #expect(isHeadOnly)
        }
        #expect(primary.machine.log.mark?.sequence == primary.machine.log.position.sequence)
    }

    /// SUBMIT gets BUSY and takes no number (PROTOCOL R-26).
    @Test func busyComesWithoutCause() {
        let primary = primary([.busyWithoutCause])
        let session = primary.session(Connection(rawValue: 1))
        primary.submit(session, 1, [1], from: Connection(rawValue: 1))
        #expect(primary.sent.compactMap(\.busy).map(\.expected) == [1])
        #expect(primary.machine.log.sessions[session]?.last == 0)
    }

    /// WELCOME grants one action, OPENED the smallest windows that every chunk fits (PROTOCOL ).
    @Test func creditAndWindowsAreSmall() throws {
        let primary = primary([.creditOfOne, .smallWindowNumbers, .smallWindowBytes])
        primary.hello(Connection(rawValue: 1))
        primary.receive(PrimaryHarness.openMessage(), from: Connection(rawValue: 1))
        primary.commit()
        let welcome = try #require(primary.sent.compactMap(\.welcome).first)
        #expect(welcome.creditActions == 1)
        let opened = try #require(primary.sent.compactMap(\.opened).first)
        #expect(opened.windowNumbers == 1)
        #expect(opened.windowBytes == Limits.smallestWindowBytes)
    }

    /// HELLO and OPEN are refused as unavailable, and a known peer is forgotten.
    @Test func refusalsComeWithoutCause() {
        let refusing = primary([.refusesHello])
        refusing.hello(Connection(rawValue: 1))
        #expect(refusing.sent.compactMap(\.refused).map(\.reason) == [.unavailable])
        let closed = primary([.refusesOpen])
        closed.hello(Connection(rawValue: 1))
        closed.receive(PrimaryHarness.openMessage(), from: Connection(rawValue: 1))
        #expect(closed.sent.compactMap(\.refused).map(\.reason) == [.unavailable])
        let forgetful = primary([.forgetsPeer])
        forgetful.hello(Connection(rawValue: 1))
        forgetful.receive(PrimaryHarness.openMessage(), from: Connection(rawValue: 1))
        #expect(forgetful.kinds == [.welcome, .resync])
    }

    /// An answer that is lost is sent when its number is submitted again (PROTOCOL R-21).
    @Test func lostAnswersComeWhenAskedFor() {
        let primary = PrimaryHarness.open()
        let session = primary.session(Connection(rawValue: 1))
        primary.machine.buggify = Buggify(seed: 1, sites: [.losesAnswer], oneIn: 1)
        primary.submit(session, 1, [7], from: Connection(rawValue: 1))
        primary.commit()
        #expect(primary.answers.isEmpty)
        primary.submit(session, 1, [7], from: Connection(rawValue: 1))
        #expect(primary.answers.map(\.number) == [1])
    }

    /// A snapshot is taken as soon as something was written, in chunks of 1 KiB, and only once for each writing.
    @Test func snapshotsComeEarly() {
        let primary = primary([.earlySnapshot, .tinyChunks])
        let session = primary.session(Connection(rawValue: 1))
        primary.submit(session, 1, [1], from: Connection(rawValue: 1))
        primary.commit()
        #expect(primary.images.count == 1)
        #expect(primary.machine.snapshotChunkBytes == 1_024)
        let position = primary.machine.log.position
        primary.commit()
        #expect(primary.machine.log.position == position)
    }

    /// What is sequenced waits for the deadline that the machine names, and goes on then.
    @Test func aHandOverIsHeldBackForAMoment() {
        let primary = PrimaryHarness.open()
        let session = primary.session(Connection(rawValue: 1))
        primary.machine.buggify = Buggify(seed: 1, sites: [.lateHandOver], oneIn: 1)
        primary.submit(session, 1, [1], from: Connection(rawValue: 1))
        primary.turn()
        #expect(!primary.machine.isPersisting)
        #expect(primary.machine.nextDeadline <= primary.now.advanced(byMilliseconds: 2))
        primary.advance(milliseconds: 2)
        primary.tick()
        primary.turn()
        #expect(primary.machine.isPersisting)
    }

    /// A joiner is told BUSY, or to take a snapshot, although the window holds its tail (PROTOCOL R-32).
    @Test func joinersAreSentAway() throws {
        for site in [Buggify.Site.busyJoin, .snapshotInsteadOfTail] {
            let primary = primary([site])
            _ = primary.session(Connection(rawValue: 1))
            let sync = Sync(
                nonce: 1, store: PrimaryHarness.store, node: "joiner", have: .none, firstFrame: .zero.next,
                wantsSnapshot: false)
            primary.receiveBulk(primary.stamp.frame(.sync(sync)), from: Connection(rawValue: 2))
            let plan = try #require(primary.bulk.compactMap(\.syncPlan).first)
            guard case .busy = plan.decision else {
                Issue.record("\(plan.decision)")
                continue
            }
            primary.turn()
            #expect(primary.images.isEmpty == (site == .busyJoin))
        }
    }
}

/// Sites of replica and client, each forced on.
@Suite struct BuggifyPeerTests {
    private func replica(_ sites: Set<Buggify.Site>, hasJournal: Bool = false) -> ReplicaHarness {
        let replica = ReplicaHarness(hasJournal: hasJournal)
        replica.join()
        replica.machine.buggify = Buggify(seed: 1, sites: sites, oneIn: 1)
        return replica
    }

    /// A hole is repaired at once (PROTOCOL R-36), and only in pieces of one batch in an event.
    @Test func repairsAreAskedForAtOnceAndAppliedSlowly() {
        let replica = replica([.repairAtOnce, .drainOne])
        let lost = replica.publisher.write()
        for _ in 0..<3 { replica.broadcast(replica.publisher.write()) }
        #expect(replica.count(.repairs) > 0)
        replica.settle()
        #expect(replica.machine.log.position.sequence >= lost.head.last)
        #expect(!replica.isAtHead)
        replica.tick()
        replica.tick()
        #expect(replica.isAtHead)
    }

    /// A beacon raises a doubt, and a mark a snapshot; both go on as before (PROTOCOL ).
    @Test func doubtsAndSnapshotsComeWithoutCause() {
        let replica = replica([.doubtsBeacon, .snapshotAtMark, .tinyChunks], hasJournal: true)
        replica.now = replica.now.advanced(byMilliseconds: 2_000)
        let directives = replica.beacon()
        #expect(directives.phases == [.joining])
        replica.settle()
        replica.beacon()
        #expect(replica.machine.phase == .live)
        let marked = replica.broadcast(replica.publisher.write([1], mark: true))
        #expect(marked.contains { if case .captureSnapshot = $0 { true } else { false } })
        #expect(replica.machine.snapshotChunkBytes == 1_024)
    }

    /// A frame holds one action, and what is unanswered is sent again without cause (PROTOCOL R-21).
    @Test func aClientSendsSingleActionsAndRepeatsItself() throws {
        var script = ClientScript(
            buggify: Buggify(seed: 1, sites: [.oneActionFrame, .holdsNothing, .submitsAgain], oneIn: 1))
        try script.open()
        script.submit(6)
        #expect(script.submits.map { [$0[0], $0[1]] } == (1...6).map { [$0, 1] })
        script.answer(1...2)
        #expect(script.submits.map { $0[0] } == [3, 4, 5, 6])
    }

    /// A credit of one, as WELCOME may grant it, lets one chunk out at a time (PROTOCOL R-25).
    @Test func aCreditOfOneLetsAChunkOut() throws {
        var script = ClientScript()
        script.primary.creditActions = 1
        try script.open()
        #expect(script.submit(3) == 1)
        #expect(script.submit(1) == nil)
        script.answer(1...3)
        #expect(script.submit(1) == 4)
    }
}
