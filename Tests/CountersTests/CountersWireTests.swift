import Counters
import Foundation
import Lockstep
import Testing

/// The bytes of the counters' types are a format; every value also goes through JSON.
@Suite struct CountersWireTests {
    private func bytes(_ value: some WireCodable) -> [UInt8] {
        var writer = ByteWriter()
        value.encode(into: &writer)
        return writer.bytes
    }

    private func decode<Value: WireCodable>(_ type: Value.Type, _ bytes: [UInt8]) throws(WireError) -> Value {
        try withBytes(of: bytes) { (span) throws(WireError) in
            var reader = ByteReader(span)
            let value = try Value(from: span, &reader)
            try reader.finish()
            return value
        }
    }

    private func check<Value: WireCodable & Codable & Equatable>(
        _ value: Value, _ golden: [UInt8]? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let bytes = bytes(value)
        if let golden { #expect(bytes == golden, sourceLocation: sourceLocation) }
        #expect(try decode(Value.self, bytes) == value, sourceLocation: sourceLocation)
        let json = try JSONEncoder().encode(value)
        #expect(try JSONDecoder().decode(Value.self, from: json) == value, sourceLocation: sourceLocation)
        for end in bytes.indices {
            #expect(throws: WireError.self, sourceLocation: sourceLocation) {
                try decode(Value.self, Array(bytes[..<end]))
            }
            for bit in 0..<8 {
                var changed = bytes
                changed[end] ^= 1 << bit
                _ = try? decode(Value.self, changed)  // any value or error will do; a trap will not
            }
        }
    }

    private let rate = TokenBucket.Rate(capacity: 10, refill: 5, every: .milliseconds(1))

    @Test func actionsHaveTheirGoldenBytes() throws {
        try check(Counters.Action.add("ab", by: 3), [1, 2, 0x61, 0x62, 6])
        try check(Counters.Action.set("a", to: -1), [2, 1, 0x61, 1])
        try check(Counters.Action.reset("a"), [3, 1, 0x61])
        try check(Counters.Action.bound("a", Counters.Bounds(lowest: 0, highest: 10)), [4, 1, 0x61, 0, 20])
        try check(Counters.Action.unbound("a"), [5, 1, 0x61])
        try check(Counters.Action.defineBucket("a", rate), [6, 1, 0x61, 20, 10, 0xD0, 0x0F])
        try check(Counters.Action.removeBucket("a"), [7, 1, 0x61])
        try check(Counters.Action.take("a", 2), [8, 1, 0x61, 4])
        #expect(bytes(Counters.Action.add("page:123456", by: 1)).count == 14)
    }

    @Test func mutationsHaveTheirGoldenBytes() throws {
        try check(Counters.Mutation.added("a", 1), [1, 1, 0x61, 2])
        try check(Counters.Mutation.set("a", 1), [2, 1, 0x61, 2])
        try check(Counters.Mutation.removed("a"), [3, 1, 0x61])
        try check(Counters.Mutation.bounded("a", nil), [4, 1, 0x61, 0])
        try check(Counters.Mutation.bounded("a", Counters.Bounds()))
        try check(Counters.Mutation.bucket("a", nil), [5, 1, 0x61, 0])
        try check(Counters.Mutation.taken("a", level: 2), [6, 1, 0x61, 4])
    }

    @Test func repliesQueriesAndAnswersHaveTheirGoldenBytes() throws {
        try check(Counters.Reply.value(-1), [1, 1])
        try check(Counters.Reply.granted(remaining: 3), [2, 6])
        try check(Counters.Reply.denied(until: LogTime(rawValue: 64)), [3, 0x80, 1])
        try check(Counters.Reply.done, [4])
        try check(Counters.Query.get("a"), [1, 1, 0x61])
        try check(Counters.Query.list(prefix: "", limit: 5), [2, 0, 10])
        try check(Counters.Query.top(5), [3, 10])
        try check(Counters.Query.sum(prefix: "a"), [4, 1, 0x61])
        try check(Counters.Answer.value(nil), [1, 0])
        try check(Counters.Answer.value(2), [1, 1, 4])
        try check(Counters.Answer.list([Counters.Counter(name: "a", value: 1)]), [2, 1, 1, 0x61, 2])
    }

    @Test func aStateComesBackEqual() throws {
        var state = Counters.State()
        let context = ReduceContext(time: .zero, epoch: .zero, sequence: .zero)
        for number in 0..<20 { Counters.reduce(into: &state, .added("c\(number)", Int64(number)), context) }
        Counters.reduce(into: &state, .bounded("c1", Counters.Bounds(lowest: 0)), context)
        let back = try decode(Counters.State.self, bytes(state))
        #expect(back == state)
        #expect(StateDigest.digest(of: back) == StateDigest.digest(of: state))
        let json = try JSONDecoder().decode(Counters.State.self, from: try JSONEncoder().encode(state))
        #expect(json == state)
    }

    /// A rate that divides by nothing or overflows cannot come in, by either coding.
    @Test func aBucketWithAnImpossibleRateIsRefused() throws {
        for rate: [Int64] in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [.max, 1, 2], [-1, -1, -1]] {
            var writer = ByteWriter()
            for number in rate + [5, 0] { number.encode(into: &writer) }
            #expect(throws: WireError.self) { try decode(TokenBucket.self, writer.bytes) }
            let json = """
                {"rate":{"capacity":\(rate[0]),"refill":\(rate[1]),"period":\(rate[2])},"level":5,"updated":0}
                """
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(TokenBucket.self, from: Data(json.utf8)) }
        }
    }
}
