import LockstepCore
import Testing

/// Peers that ask for a place among the joins again and again and never fetch, and one that joins.
@Suite struct JoinLineTests {
    /// A server with one snapshot, and the time as a test lets it pass.
    private struct Scene {
        var publisher = TestPublisher()
        var now = Tick(rawValue: 1_000_000_000)
        var loops = 0

        init() {
            publisher.fatten(byMegabytes: 2)
            publisher.makeSnapshot(now: now)
        }

        private var log: JoinLog {
            JoinLog(
                stamp: publisher.stamp, store: publisher.log.store, committed: publisher.log.known,
                epochEnds: publisher.log.epochEnds, window: publisher.window)
        }

        mutating func send(_ request: BulkRequest, _ connection: UInt64) -> [ServeAction] {
            var actions: [ServeAction] = []
            publisher.joins.received(
                request, from: Connection(rawValue: connection), now: now, log: log, into: &actions)
            publisher.joins.checkInvariants()
            return actions
        }

        /// SYNC; the answer is SNAPSHOT, or how long to wait in microseconds.
        mutating func sync(_ node: String, _ connection: UInt64) -> UInt32? {
            let sync = Sync(
                nonce: 1, store: publisher.log.store, node: node, have: .none, firstFrame: .zero, wantsSnapshot: true)
            for case .frame(let frame, _) in send(.sync(sync), connection) {
                guard case .syncPlan(let plan)? = decoded(frame) else { continue }
                if case .busy(let wait) = plan.decision { return wait }
            }
            return nil
        }

        mutating func chunk(_ index: UInt32, _ connection: UInt64) -> Bool {
            send(.chunkRequest(ChunkRequest(snapshot: 1, index: index, window: 1)), connection).contains {
                if case .chunks = $0 { true } else { false }
            }
        }

        /// Twenty peers ask, and 100 ms pass.
        mutating func loop(newNames: Bool = false, newConnections: Bool = false) {
            for peer in 0..<20 as Range<UInt64> {
                let name = newNames ? "l\(loops)-\(peer)" : "l\(peer)"
                _ = sync(name, 100 + peer + (newConnections ? UInt64(loops) * 20 : 0))
            }
            loops += 1
            var actions: [ServeAction] = []
            for _ in 0..<100 {
                now = now.advanced(byMilliseconds: 1)
                publisher.joins.ticked(now: now, into: &actions)
            }
        }
    }

    /// Goal: twenty peers that were served and did not fetch keep nobody out: a joiner gets a place at its first SYNC,
    /// and keeps it while it fetches (PROTOCOL R-32).
    @Test(arguments: [(false, false), (true, false), (false, true)])
    func whoDidNotFetchGivesWayAtOnce(changes: (names: Bool, connections: Bool)) {
        var scene = Scene()
        for _ in 0..<200 { scene.loop(newNames: changes.names, newConnections: changes.connections) }
        let wait = scene.sync("honest", 1)
        #expect(wait == nil)
        for second in 0..<20 as Range<UInt32> {
            let isSent = scene.chunk(second % 8, 1)
            #expect(isSent, "after \(second) s")
            for _ in 0..<10 { scene.loop(newNames: changes.names, newConnections: changes.connections) }
        }
    }

    /// Goal: who repeats one request for a chunk renews its reservation and still keeps nobody out for more than 12 s and
    /// a turn (PROTOCOL R-32).
    @Test func whoRepeatsOneRequestGivesWay() {
        var scene = Scene()
        for peer in 10..<14 as Range<UInt64> {
            let wait = scene.sync("p\(peer)", peer)
            #expect(wait == nil)
        }
        let began = scene.now
        var waited: Int64 = .max
        while waited == .max, scene.now - began < Tick.milliseconds(60_000) {
            for peer in 10..<14 as Range<UInt64> { _ = scene.chunk(0, peer) }
            if scene.sync("honest", 1) == nil { waited = (scene.now - began) / Tick.milliseconds(1) }
            scene.now = scene.now.advanced(byMilliseconds: 500)
        }
        #expect((10_000...13_000).contains(waited), "\(waited) ms")
    }

    /// Goal: where twenty peers came first, each has one turn of a second, four at a time: a joiner that comes after
    /// them has its place within 6 s (PROTOCOL R-32).
    @Test func whoComesLastHasItsTurn() {
        var scene = Scene()
        scene.loop()
        scene.loop()
        let began = scene.now
        var next = scene.now
        var place: Tick?
        while place == nil, scene.now - began < Tick.milliseconds(60_000) {
            if scene.now >= next {
                guard let wait = scene.sync("honest", 1) else {
                    place = scene.now
                    break
                }
                next = scene.now.advanced(byMicroseconds: Int64(wait))
            }
            scene.loop()
        }
        let waited = place.map { ($0 - began) / Tick.milliseconds(1) } ?? .max
        #expect(waited <= 6_000, "it waited for \(waited) ms")
        let isSent = scene.chunk(0, 1)
        #expect(isSent)
    }

    /// Goal: peers that come once under ever new names over ever new connections hold places for a second, and none
    /// that is kept for a joiner that comes again (PROTOCOL R-32).
    @Test func whoNeverComesAgainHoldsNoPlaceInTheLine() {
        var scene = Scene()
        for _ in 0..<50 { scene.loop(newNames: true, newConnections: true) }
        let began = scene.now
        var next = scene.now
        var waited: Int64 = .max
        for _ in 0..<200 {
            if scene.now >= next {
                guard let wait = scene.sync("honest", 1) else {
                    waited = (scene.now - began) / Tick.milliseconds(1)
                    break
                }
                next = scene.now.advanced(byMicroseconds: Int64(wait))
            }
            scene.loop(newNames: true, newConnections: true)
        }
        #expect(waited <= 3_000, "it waited for \(waited) ms")
    }

    /// Goal: a joiner whose plan was lost, and which asks again, keeps its place for 2.5 s in all (PROTOCOL R-32).
    @Test func whoAsksAgainKeepsItsPlace() {
        var scene = Scene()
        let slow = scene.sync("slow", 1)
        #expect(slow == nil)
        for other in 2...4 as ClosedRange<UInt64> {
            let wait = scene.sync("n\(other)", other)
            #expect(wait == nil)
            let isSent = scene.chunk(0, other)
            #expect(isSent)
        }
        let waiting = scene.sync("waiting", 9)
        #expect(waiting != nil)
        scene.now = scene.now.advanced(byMilliseconds: 900)
        let again = scene.sync("slow", 1)
        #expect(again == nil)
        let first = scene.chunk(0, 1)
        scene.now = scene.now.advanced(byMilliseconds: 2_000)
        let second = scene.chunk(1, 1)
        #expect(first && second)
        let stillWaiting = scene.sync("waiting", 9)
        #expect(stillWaiting != nil)
    }
}
