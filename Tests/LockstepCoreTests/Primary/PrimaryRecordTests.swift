import LockstepCore
import Testing

/// What a primary makes of the records that the arbiter shows it, and of reigns that it does not know (PROTOCOL, R-27,
///
@Suite struct PrimaryRecordTests {
    private typealias Example = PrimaryStandbyTests
    private static let replica = Connection(rawValue: 8)

    private static func confirmed(_ harness: PrimaryHarness) throws -> ConfigurationRecord {
        try #require(harness.machine.replication?.inSync.confirmed.record)
    }

    /// what a record allows commits when the journal has that record: no answer leaves before.
    @Test func whatARecordAllowsWaitsForTheJournal() throws {
        let harness = LyingPeersTests.admitting()
        harness.receive(PrimaryHarness.openMessage(), from: Example.client)
        harness.turn()
        harness.persist()
        #expect(harness.committed.isEmpty, "the standby does not have it")
        harness.keepsMemory = false
        let alone = try Self.confirmed(harness).removing(Example.other, attempt: AttemptID(rawValue: 9))
        harness.run { $0.recordFound(StoredRecord(alone, revision: 6), request: 1, &$1) }
        #expect(harness.machine.replication?.isSole == true)
        #expect(harness.committed.isEmpty && harness.sent.isEmpty)
        harness.keepMemory()
        #expect(!harness.committed.isEmpty && harness.kinds == [.opened])
    }

    /// the same holds for the batch that opens the epoch.
    @Test func anOpeningWaitsForTheJournalToo() throws {
        let won = try Self.confirmed(Example.harness()).removing(Example.other, attempt: AttemptID(rawValue: 9))
        let stored = StoredRecord(won, revision: 6)
        var memory = ArbiterMemory()
        memory.wrote(stored)
        let harness = PrimaryHarness(reign: Reign(won: stored, member: Example.own, memory: memory, seed: 3))
        harness.keepsMemory = false
        harness.start()
        harness.persist()
        #expect(harness.machine.phase == .opening && harness.committed.isEmpty)
        harness.keepMemory()
        #expect(harness.machine.phase == .admitting && harness.committed.count == 1)
    }

    /// who is deposed says nothing more, and names the store in no heartbeat.
    @Test func whoIsDeposedHasNoPulse() throws {
        let harness = LyingPeersTests.admitting()
        let before = harness.machine.pulse(writingSince: .never, now: harness.now)
        #expect(before?.epoch == harness.machine.epoch)
        let next = try #require(
            try Self.confirmed(harness).campaign(
                .init(member: Example.other, boot: BootID(rawValue: 2), endpoints: []), above: Epoch(rawValue: 9),
                after: harness.machine.log.position, attempt: AttemptID(rawValue: 8)))
        harness.run { $0.recordFound(StoredRecord(next, revision: 6), request: 1, &$1) }
        #expect(harness.machine.phase == .deposed)
        let after = harness.machine.pulse(writingSince: .never, now: harness.now)
        #expect(after == nil)
    }

    private static func ask(_ harness: PrimaryHarness, epoch: UInt64) -> [QueryStatus] {
        harness.forget()
        let session = SessionID(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: 5))
        harness.receive(.query(Query(session: session, number: 1)), from: Example.client)
        return harness.sent.compactMap(\.queryStatus)
    }

    /// a primary does not say of a session of a later reign that it is unknown: it may be deposed, and reads the
    /// record.
    @Test func aSessionOfALaterReignIsNotUnknown() {
        let harness = LyingPeersTests.admitting()
        #expect(Self.ask(harness, epoch: 8) == [.sessionUnknown])
        #expect(harness.replication.isEmpty)
        #expect(Self.ask(harness, epoch: 10) == [.pending])
        #expect(harness.replication.contains { if case .readRecord = $0 { true } else { false } })
    }

    /// nor does one that is behind, since it may lack the whole history of the session.
    @Test func aPrimaryThatIsBehindCallsNoSessionUnknown() {
        let harness = PrimaryHarness.open()
        harness.hello(Example.client)
        #expect(Self.ask(harness, epoch: 8) == [.sessionUnknown])
        var known = harness.machine.committed
        known.position.sequence = known.position.sequence.next
        harness.hello(Self.replica, role: .replica, known: known, node: "r1")
        #expect(harness.machine.phase == .behind)
        #expect(Self.ask(harness, epoch: 8) == [.pending])
    }
}
