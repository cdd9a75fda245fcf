import LockstepCore
import Testing

/// What a node and its commands refuse to an operator (PROTOCOL ).
@Suite struct OperatorRulesTests {
    private static let wall = LogTime(rawValue: 1_750_000_000_000_000)
    private static let store = StoreID(cluster: ClusterID(rawValue: 7), name: "rules")

    private static func known(_ epoch: UInt64, _ sequence: UInt64) -> KnownPosition {
        KnownPosition(
            position: Position(
                epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence),
                hash: BatchHash(rawValue: 9)),
            boot: BootID(rawValue: 4))
    }

    private static func verdict(_ epoch: UInt64, _ sequence: UInt64, reported: KnownPosition?) -> LossVerdict {
        LossVerdict(
            Epoch(rawValue: epoch), SequenceNumber(rawValue: sequence), reported: reported, wall: Self.wall)
    }

    /// Goal: a journal is served in the role that it notes, in any role if it notes none or its node was told to change
    /// it, and in no other (PROTOCOL R-49).
    @Test func aJournalIsServedInItsRole() {
        for role in JournalRole.allCases {
            let other: JournalRole = role == .primary ? .replica : .primary
            #expect(role.mayServe(noted: role, changesRole: false))
            #expect(role.mayServe(noted: nil, changesRole: false))
            #expect(!role.mayServe(noted: other, changesRole: false))
            #expect(role.mayServe(noted: other, changesRole: true))
        }
    }

    /// Goal: what the alarm of the last boot named may be given up, with its hash and boot, and nothing beside it
    /// (PROTOCOL R-41).
    @Test func onlyWhatTheAlarmNamedIsGivenUp() {
        let reported = Self.known(1_750_000_000_000, 40)
        #expect(Self.verdict(1_750_000_000_000, 40, reported: reported) == .accepted(reported))
        #expect(Self.verdict(1_750_000_000_000, 40, reported: nil) == .noAlarm)
        for (epoch, sequence) in [
            (1_750_000_000_000, 41), (1_750_000_000_000, 39), (1_749_999_999_999, 40), (1_750_000_000_001, 40),
        ] as [(UInt64, UInt64)] {
            #expect(Self.verdict(epoch, sequence, reported: reported) == .other(reported.position))
        }
    }

    /// Goal: an epoch more than a year above the clock is given up by nobody, since the next would be above it
    /// (PROTOCOL ).
    @Test func anImpossibleEpochIsNotGivenUp() {
        let year: UInt64 = 366 * 86_400_000
        let far = 1_750_000_000_000 + year
        #expect(Self.verdict(far, 3, reported: Self.known(far, 3)) == .accepted(Self.known(far, 3)))
        #expect(
            Self.verdict(far + 1, 3, reported: Self.known(far + 1, 3)) == .impossible(Epoch(rawValue: far + 1)))
    }

    // MARK: - The end that a demotion cuts

    private static let opening = Entry.epochOpen(node: "n", incarnation: .none, boot: BootID(rawValue: 1))
    private static let telling = Entry.sessionClose(SessionID(epoch: Epoch(rawValue: 1), sequence: .zero.next))
    private static let mark = Entry.digestMark(.none)

    /// The place after which a log of these entries, a batch each, ends with nothing that anybody was told.
    private static func cut(_ entries: [Entry], after start: Position = .start(of: store)) -> SequenceNumber? {
        var (position, end) = (start, EmptyEnd(after: start))
        for (index, entry) in entries.enumerated() {
            var builder = BatchBuilder(
                store: store, epoch: Epoch(rawValue: UInt64(index + 1)), after: position, time: wall)
            builder.append(entry)
            let batch = builder.sealed()
            end.saw(batch)
            position = batch.position
        }
        return end.start?.sequence
    }

    /// Goal: a demotion cuts whole epochs in which nobody was told anything, however many, and no entry that somebody was
    /// told of (PROTOCOL ).
    @Test func theEmptyEndIsFound() {
        #expect(Self.cut([]) == nil)
        #expect(Self.cut([Self.opening, Self.telling]) == nil)
        #expect(Self.cut([Self.opening, Self.telling, Self.mark]) == nil)
        #expect(Self.cut([Self.opening, Self.telling, Self.opening])?.rawValue == 2)
        #expect(
            Self.cut([Self.opening, Self.telling, Self.mark, Self.opening, Self.mark, Self.opening])?.rawValue == 3)
        #expect(Self.cut([Self.opening, Self.telling, Self.opening, Self.telling]) == nil)
        #expect(Self.cut([Self.opening, Self.mark])?.rawValue == 0)
        let snapshot = Position(
            epoch: .zero, sequence: SequenceNumber(rawValue: 40), hash: BatchHash(rawValue: 3))
        #expect(Self.cut([Self.mark, Self.opening], after: snapshot)?.rawValue == 41)
    }
}
