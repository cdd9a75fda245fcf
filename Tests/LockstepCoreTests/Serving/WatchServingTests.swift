import LockstepCore
import Testing

/// What the machines of a primary and a replica tell those who watch (PROTOCOL R-16, R-37, R-53, R-56, R-57).
@Suite struct WatchServingTests {
    private let peer = Connection(rawValue: 21)

    private func watch(_ number: UInt64 = 1, has: UInt128 = 0) -> Message {
        .watch(
            WatchRequest(
                id: WatchID(client: ClientKey(rawValue: 9), number: number), interval: 100_000, has: has, query: 0..<0))
    }

    /// The answers in frames to the peer: status, sum and place.
    private func told(_ frames: [[UInt8]]) -> [String] {
        frames.compactMap { frame in
            withBytes(of: frame) { bytes in
                guard case .watchResult(let result)? = try? Message.decode(bytes, rule: .any).message else {
                    return nil
                }
                guard result.status == .answered else { return String(decoding: frame[result.answer], as: UTF8.self) }
                var reader = ByteReader(offset: result.answer.lowerBound, end: result.answer.upperBound)
                let sum = (try? reader.readVarint(from: bytes)) ?? 0
                return "\(sum)@\(result.sequence)"
            }
        }
    }

    // MARK: - The primary

    private func told(_ harness: PrimaryHarness) -> [String] {
        defer { harness.forget() }
        return told(harness.sent.filter { $0.connection == peer }.map(\.frame))
    }

    /// Goal: a primary tells what has committed, and nothing before that.
    @Test func aPrimaryTellsWhatHasCommitted() {
        let harness = PrimaryHarness.open()
        let session = harness.session(Connection(rawValue: 2))
        harness.hello(peer)
        harness.forget()
        harness.receive(watch(), from: peer)
        harness.pass(milliseconds: 10)
        #expect(told(harness) == ["0@2"])
        harness.submit(session, 1, [5], from: Connection(rawValue: 2))
        harness.turn()
        harness.pass(milliseconds: 1_000)
        #expect(told(harness).isEmpty, "it is at the journal")
        harness.persist()
        harness.pass(milliseconds: 200)
        #expect(told(harness) == ["5@3"])
        harness.receive(.unwatch(WatchID(client: ClientKey(rawValue: 9), number: 1)), from: peer)
        harness.submit(session, 2, [6], from: Connection(rawValue: 2))
        harness.commit()
        harness.pass(milliseconds: 1_000)
        #expect(told(harness).isEmpty)
    }

    /// Goal: under load the view that a watch needs is taken at the end of its interval, and no later.
    @Test func aPrimaryUnderLoadTellsInTime() {
        let harness = PrimaryHarness.open()
        let session = harness.session(Connection(rawValue: 2), windowNumbers: 100_000)
        harness.hello(peer)
        harness.receive(watch(), from: peer)
        harness.pass(milliseconds: 10)
        harness.forget()
        var number: RequestNumber = 1
        var places: [String] = []
        for _ in 0..<200 {
            harness.submit(
                session, number, Array(repeating: 1, count: 100), acked: number - 1, from: Connection(rawValue: 2))
            number += 100
            harness.turn()
            harness.pass(milliseconds: 5)
            harness.persist()
            harness.turn()
            places += told(harness)
        }
        // A second has ten intervals; the view is up to a fourth of one older.
        #expect((7...10).contains(places.count), "\(places)")
    }

    /// Goal: a primary that is behind its audience answers no watch, and says why (PROTOCOL R-41).
    @Test func aPrimaryThatIsBehindSaysSo() {
        let harness = PrimaryHarness.open()
        harness.hello(peer)
        harness.receive(watch(), from: peer)
        harness.pass(milliseconds: 10)
        harness.forget()
        let known = KnownPosition(
            position: Position(
                epoch: harness.machine.epoch, sequence: SequenceNumber(rawValue: 90), hash: BatchHash(rawValue: 4)),
            boot: BootID(rawValue: 77))
        harness.hello(Connection(rawValue: 3), role: .replica, known: known)
        harness.turn()
        harness.pass(milliseconds: 200)
        #expect(told(harness) == [ReadRefusal.behind.text])
    }

    // MARK: - The replica

    private func told(_ directives: [ReplicaDirective]) -> [String] {
        told(directives.compactMap { if case .send(let frame, peer) = $0 { frame } else { nil } })
    }

    private func receive(_ harness: ReplicaHarness, _ message: Message) -> [ReplicaDirective] {
        let frame = harness.publisher.stamp.frame(message)
        return harness.event { machine, directives in
            withBytes(of: frame) {
                machine.ingressReceived($0, from: peer, now: harness.now, state: harness.state, into: &directives)
            }
        }
    }

    private func pass(_ harness: ReplicaHarness, _ milliseconds: Int64) -> [String] {
        let before = harness.trace.count
        harness.pass(milliseconds)
        return told(Array(harness.trace[before...]))
    }

    /// Goal: a replica tells what it has applied, and a lost answer again.
    @Test func aReplicaTellsWhatItApplied() {
        let harness = ReplicaHarness()
        harness.join()
        _ = receive(harness, watch())
        #expect(pass(harness, 200).map { $0.prefix(2) } == ["0@"])
        harness.broadcast(harness.publisher.write([5]))
        #expect(pass(harness, 200).map { $0.prefix(2) } == ["5@"])
        _ = receive(harness, watch(has: 1))
        #expect(pass(harness, 200).map { $0.prefix(2) } == ["5@"])
        #expect(pass(harness, 1_000).isEmpty)
    }

    /// Goal: where the memory of a volatile primary is gone, and its clock was set back, a replica tells what the new log
    /// answers, at lower places (PROTOCOL R-43, R-57).
    @Test func aReplicaOfAnotherMemoryBeginsAnew() {
        var publisher = TestPublisher()
        publisher.isVolatile = true
        let harness = ReplicaHarness(publisher)
        harness.join()
        _ = receive(harness, watch())
        #expect(pass(harness, 200).map { $0.prefix(2) } == ["0@"])
        harness.broadcast(harness.publisher.write([5]))
        #expect(pass(harness, 200).map { $0.prefix(2) } == ["5@"])
        harness.publisher.restart(epoch: 500, losingEverything: true)
        harness.welcome()
        harness.beacon()
        harness.settle()
        let anew = pass(harness, 2_000)
        #expect(harness.machine.phase == .live)
        #expect(anew.last?.prefix(2) == "0@", "\(anew)")
    }

    /// Goal: a replica that was never live, and one that found its state wrong, say so, and answer when they can.
    @Test func aReplicaThatMustNotBeReadSaysSo() {
        let harness = ReplicaHarness(channel: TestPublisher().channel)
        harness.welcome()
        _ = receive(harness, watch())
        #expect(told(harness.tick()) == [ReadRefusal.neverLive.text])
        harness.beacon()
        harness.settle()
        #expect(pass(harness, 1_000).map { $0.prefix(2) } == ["0@"])
        harness.broadcast(harness.publisher.write([1], forgedMark: Digest(rawValue: 1)))
        #expect(harness.machine.phase == .quarantined)
        #expect(told(harness.tick(after: 200)) == [ReadRefusal.quarantined.text])
    }
}
