import LockstepCore
import Testing

/// The streams of a primary's standbys: which acknowledgements are answered, and who comes and goes under load and
/// after a pause (PROTOCOL, R-77 and R-79).
@Suite struct PrimaryStreamTests {
    private typealias Example = PrimaryStandbyTests
    private static let first = Connection(rawValue: 50)
    private static let second = Connection(rawValue: 51)

    /// Opens a stream of the other member, which begins with nothing.
    private static func fetch(_ nonce: UInt64, on connection: Connection, _ harness: PrimaryHarness) {
        let fetch = Fetch(
            nonce: nonce, store: PrimaryHarness.store, member: Example.other, boot: BootID(rawValue: 2),
            promised: .zero, log: .empty(of: PrimaryHarness.store))
        harness.run { $0.replicationReceived(.fetch(fetch), epoch: Epoch(rawValue: 9), from: connection, &$1) }
    }

    /// Acknowledges everything through `end`; nil: all that the primary has sequenced.
    private static func acknowledge(
        _ nonce: UInt64, on connection: Connection, end: Position? = nil, primary: UInt128 = 1, epoch: UInt64 = 9,
        _ harness: PrimaryHarness
    ) {
        let end = end ?? harness.machine.log.position
        let acknowledge = Acknowledge(
            nonce: nonce, member: Example.other, boot: BootID(rawValue: 2), primaryBoot: BootID(rawValue: primary),
            end: end.sequence, hash: end.hash, mark: .init(sequence: .zero, digest: .none))
        harness.run {
            $0.replicationReceived(.acknowledge(acknowledge), epoch: Epoch(rawValue: epoch), from: connection, &$1)
        }
    }

    /// The connections on which a standby was told to begin again, in order.
    private static func resyncs(_ harness: PrimaryHarness) -> [Connection] {
        harness.replication.compactMap { directive in
            guard case .send(let frame, let connection) = directive else { return nil }
            let message = withBytes(of: frame) { try? Message.decode($0, rule: .any).message }
            return message == .resync ? connection : nil
        }
    }

    /// How many frames counted as stale.
    private static func stale(_ harness: PrimaryHarness) -> Int {
        harness.replication.count { if case .count(.staleFrames) = $0 { true } else { false } }
    }

    /// What was to be compared and set.
    private static func attempts(_ harness: PrimaryHarness) -> [RecordAttempt] {
        harness.replication.compactMap { if case .transact(let attempt, _) = $0 { attempt } else { nil } }
    }

    /// a FETCH that an older connection has held back takes the stream away, and that connection ends.
    ///
    /// The standby believes that it follows, and at rest nothing would tell it: its next acknowledgement is answered.
    @Test func anAcknowledgementInAStreamThatIsGoneIsAnswered() {
        let harness = Example.harness()
        harness.persist()
        Self.fetch(4, on: Self.first, harness)
        Self.fetch(5, on: Self.second, harness)
        Self.fetch(6, on: Self.first, harness)
        harness.replication = []
        Self.acknowledge(5, on: Self.second, harness)
        #expect(Self.resyncs(harness) == [Self.second])
        harness.run { $0.replicationDisconnected(Self.first, &$1) }
        harness.replication = []
        Self.acknowledge(5, on: Self.second, harness)
        #expect(Self.resyncs(harness) == [Self.second] && Self.stale(harness) == 1)
        #expect(harness.committed.isEmpty)
        Self.fetch(7, on: Self.second, harness)
        harness.replication = []
        Self.acknowledge(7, on: Self.second, harness)
        #expect(Self.resyncs(harness).isEmpty && harness.committed.count == 1)
    }

    /// What is wrong in a stream that is there, and what is of another reign, is only counted.
    @Test func aWrongAcknowledgementIsOnlyCounted() {
        let harness = Example.harness()
        harness.persist()
        Self.fetch(4, on: Self.first, harness)
        harness.replication = []
        var elsewhere = harness.machine.log.position
        elsewhere.hash = .none
        Self.acknowledge(4, on: Self.first, end: elsewhere, harness)
        Self.acknowledge(5, on: Self.first, epoch: 8, harness)
        Self.acknowledge(5, on: Self.first, primary: 2, harness)
        #expect(Self.resyncs(harness).isEmpty && Self.stale(harness) == 3 && harness.committed.isEmpty)
    }

    /// A standby that is told so says FETCH at once, and only once for all that was under way.
    @Test func whoIsToldToBeginAgainDoesSoOnce() {
        var standby = StandbyStateMachineTests.Standby()
        let nonce = standby.fetch()
        standby.plan(.tail, nonce)
        standby.run { $0.resyncReceived(now: $1, into: &$2) }
        guard case .fetch(let fetch)? = standby.said.first else { return #expect(Bool(false), "a FETCH") }
        #expect(standby.said.count == 1 && fetch.nonce != nonce)
        standby.run { $0.resyncReceived(now: $1, into: &$2) }
        #expect(standby.wanted.isEmpty)
        standby.plan(.tail, fetch.nonce)
        #expect(standby.machine.phase == .streaming(nonce: fetch.nonce))
    }

    /// a data node comes into the set under constant load, when what it has never is all that there is: it needs
    /// the end of the log at the heartbeat before.
    @Test func aLearnerComesUnderConstantLoad() {
        let harness = Example.harness(Example.record(members: 1))
        harness.persist()
        harness.hello(Example.client)
        Self.fetch(4, on: Self.first, harness)
        Self.acknowledge(4, on: Self.first, harness)
        var added: RecordAttempt?
        for number in 1...3 as ClosedRange<UInt64> where added == nil {
            harness.advance(milliseconds: 100)
            if harness.machine.isPersisting { harness.persist() }
            Self.acknowledge(4, on: Self.first, harness)
            harness.receive(PrimaryHarness.openMessage(client: UInt128(number), nonce: number), from: Example.client)
            harness.turn()
            harness.replication = []
            harness.tick()
            added = Self.attempts(harness).first
        }
        #expect(added?.proposed.contains(Example.other) == true)
    }

    /// time in which the primary stood still is none in which a member wrote nothing.
    @Test func aPauseMakesNobodyStuck() {
        let harness = Example.harness()
        harness.persist()
        harness.hello(Example.client)
        Self.fetch(4, on: Self.first, harness)
        Self.acknowledge(4, on: Self.first, harness)
        harness.pass(milliseconds: 100)
        let end = harness.machine.log.position
        harness.receive(PrimaryHarness.openMessage(), from: Example.client)
        harness.turn()
        harness.advance(milliseconds: 3_000)
        Self.acknowledge(4, on: Self.first, end: end, harness)
        harness.replication = []
        harness.tick()
        #expect(harness.machine.log.position != end && Self.attempts(harness).isEmpty)
    }
}
