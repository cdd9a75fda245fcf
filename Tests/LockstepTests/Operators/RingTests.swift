import Lockstep
import Testing

/// `Ring` (SEMANTICS T12, O37).
@Suite struct RingTests {
    private func number(_ value: UInt64) -> SequenceNumber { SequenceNumber(rawValue: value) }

    /// SEMANTICS T12: replay from a number gives all after it.
    @Test func replayGivesAllAfterANumber() {
        var ring = Ring<String>(capacity: 3)
        #expect(ring.replay(after: .zero) == .elements([]))
        #expect(["a", "b", "c"].map { ring.append($0) } == [1, 2, 3].map(number))
        #expect(ring.replay(after: .zero) == .elements(["a", "b", "c"]))
        #expect(ring.replay(after: number(2)) == .elements(["c"]))
        #expect(ring.replay(after: number(3)) == .elements([]))
    }

    /// SEMANTICS T12: what is too old, and what is not there yet, has a name.
    @Test func tooOldAndAheadAreNamed() {
        var ring = Ring<Int>(capacity: 2, after: number(10))
        for value in 11...14 { ring.append(value) }
        #expect(ring.oldest == number(13))
        #expect(ring.replay(after: number(11)) == .tooOld(oldest: number(12)))
        #expect(ring.replay(after: number(12)) == .elements([13, 14]))
        #expect(ring.replay(after: number(15)) == .ahead(newest: number(14)))
    }

    /// After a reset it goes on after the given number, and knows nothing older.
    @Test func aResetForgets() {
        var ring = Ring<Int>(capacity: 2)
        ring.append(1)
        ring.reset(after: number(7))
        #expect(ring.oldest == nil)
        #expect(ring.replay(after: number(1)) == .tooOld(oldest: number(7)))
        #expect(ring.append(8) == number(8))
        #expect(ring.replay(after: number(7)) == .elements([8]))
    }

    /// SEMANTICS T12: against the plain list, for every capacity, length and number: the answer is exact, and the bound
    /// holds.
    @Test(arguments: 1...6) func itAgreesWithTheWholeList(capacity: Int) {
        for length in 0...15 {
            var ring = Ring<Int>(capacity: capacity)
            for value in 0..<length { ring.append(value + 1) }
            #expect(ring.count == min(length, capacity))
            for after in 0...length {
                let isHeld = length - after <= capacity
                let expected: Ring<Int>.Replay =
                    isHeld
                    ? .elements(Array((after..<length).map { $0 + 1 }))
                    : .tooOld(oldest: number(UInt64(length - capacity)))
                #expect(ring.replay(after: number(UInt64(after))) == expected)
            }
        }
    }
}
