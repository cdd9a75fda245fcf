import LockstepCore
import LockstepNode
import Testing

/// What a session read must include.
@Suite struct AcknowledgedPlaceTests {
    private static let first = Incarnation(rawValue: 1)
    private static let second = Incarnation(rawValue: 2)

    /// 100 numbers of epoch 5, in a session that the first primary opened.
    private var place: AcknowledgedPlace {
        var place = AcknowledgedPlace()
        place.opened(Self.session(5, 3), by: Self.first)
        place.note(Epoch(rawValue: 5), SequenceNumber(rawValue: 100))
        return place
    }

    private static func session(_ epoch: UInt64, _ sequence: UInt64) -> SessionID {
        SessionID(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence))
    }

    /// Goal: within a history it only grows: with a later answer, with an earlier one that comes again, with another
    /// session, and with another primary that has the same log (PROTOCOL ).
    @Test func itGrowsWithItsHistory() {
        var place = place
        #expect(place.sequence.rawValue == 100)
        place.note(Epoch(rawValue: 5), SequenceNumber(rawValue: 40))
        place.note(Epoch(rawValue: 4), SequenceNumber(rawValue: 20))
        #expect(place.sequence.rawValue == 100)
        place.welcomed(isVolatile: true, Self.first)
        place.welcomed(isVolatile: false, Self.second)
        #expect(place.sequence.rawValue == 100)
        place.opened(Self.session(6, 102), by: Self.second)
        #expect(place.sequence.rawValue == 102)
        place.note(Epoch(rawValue: 5), SequenceNumber(rawValue: 101))
        #expect(place.sequence.rawValue == 102)
    }

    /// Goal: a later epoch with a lower number shows that a shorter log is there, as after an accepted loss.
    @Test func aLaterEpochWithALowerNumberTakesItsPlace() {
        var place = place
        place.opened(Self.session(6, 90), by: Self.first)
        #expect(place.sequence.rawValue == 90)
        place.note(Epoch(rawValue: 6), SequenceNumber(rawValue: 91))
        #expect(place.sequence.rawValue == 91)
    }

    /// Goal: a volatile primary that is not the one before has nothing of its log, whatever its clock says (PROTOCOL
    ///
    @Test func ofAVolatilePrimaryThatIsGoneNothingCounts() {
        var place = place
        place.welcomed(isVolatile: true, Self.second)
        #expect(place.sequence == .zero)
        place.opened(Self.session(4, 2), by: Self.second)
        #expect(place.sequence.rawValue == 2)
    }
}
