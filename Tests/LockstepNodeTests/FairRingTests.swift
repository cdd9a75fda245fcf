import LockstepCore
import LockstepNode
import Testing

/// The ring between the sockets of peers and the machines (PROTOCOL, R-54).
@Suite struct FairRingTests {
    private let greedy = Connection(rawValue: 1)
    private let modest = Connection(rawValue: 2)

    /// A frame that costs 1,000 bytes of a ring, with a number in it.
    private func frame(_ number: UInt8) -> WaitingFrame {
        .copied([number] + [UInt8](repeating: 0, count: 871))
    }

    private func append(_ numbers: ClosedRange<UInt8>, from connection: Connection, to ring: inout FairRing) -> [Bool] {
        numbers.map { ring.append(frame($0), from: connection) }
    }

    /// Goal: the lines take turns, and each keeps its order: who sends one frame waits for one frame of each other.
    @Test func connectionsTakeTurns() {
        var ring = FairRing(capacity: 100_000, share: 50_000)
        #expect(append(1...20, from: greedy, to: &ring).allSatisfy { $0 })
        #expect(append(101...102, from: modest, to: &ring) == [true, true])
        var seen: [UInt8] = []
        while let (frame, connection) = ring.popFirst() {
            seen.append(frame.bytes[0])
            #expect(connection == (frame.bytes[0] > 100 ? modest : greedy))
        }
        #expect(seen == [1, 101, 2, 102] + Array(3...20))
        #expect(ring.isEmpty && ring.byteCount == 0 && ring.dropped == 0)
    }

    /// Goal: who would have more than its share loses all that it had, and nobody else loses anything (PROTOCOL, R-54).
    @Test func whoTakesTooMuchLosesItsLine() {
        var ring = FairRing(capacity: 10_000, share: 4_000)
        #expect(append(101...101, from: modest, to: &ring) == [true])
        #expect(append(1...6, from: greedy, to: &ring) == [true, true, true, true, false, true])
        #expect(ring.dropped == 5 && ring.byteCount == 2_000)
        #expect(ring.popFirst()?.frame.bytes[0] == 101)
        #expect(ring.popFirst()?.frame.bytes[0] == 6)
        #expect(ring.popFirst() == nil)
    }

    /// Goal: a ring that is full for all refuses the newest frame, and ends nobody's connection.
    @Test func aFullRingRefusesTheNewest() {
        var ring = FairRing(capacity: 10_000, share: 4_000)
        for number in UInt64(10)..<22 {
            #expect(append(1...1, from: Connection(rawValue: number), to: &ring) == [true])
        }
        #expect(ring.dropped == 2 && ring.byteCount == 10_000)
        for number in UInt64(10)..<20 { #expect(ring.popFirst()?.from == Connection(rawValue: number)) }
        #expect(ring.isEmpty && ring.byteCount == 0)
    }
}
