import Foundation
import Lockstep
import LockstepCore
import Testing

/// The bytes are a format (golden), come back as the value, and whatever else comes is refused without a trap.
@Suite struct WireCodableTests {
    private func check<Value: WireCodable & Equatable & Sendable>(
        _ value: Value, _ golden: [UInt8], sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let coding = Coding<Value>.wire
        #expect(try coding.encoded(value) == golden, sourceLocation: sourceLocation)
        #expect(try coding.decoded(golden) == value, sourceLocation: sourceLocation)
        #expect(throws: WireError.self, sourceLocation: sourceLocation) { try coding.decoded(golden + [0]) }
        for end in golden.indices {
            #expect(throws: WireError.self, sourceLocation: sourceLocation) {
                try coding.decoded(Array(golden[..<end]))
            }
        }
        for index in golden.indices {
            for bit in 0..<8 {
                var bytes = golden
                bytes[index] ^= 1 << bit
                _ = try? coding.decoded(bytes)  // any value or error will do; a trap will not
            }
        }
    }

    @Test func scalarsHaveTheirGoldenBytes() throws {
        try check(true, [1])
        try check(false, [0])
        try check(0, [0])
        try check(-1, [1])
        try check(64, [0x80, 1])
        try check(Int64.min, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1])
        try check(Int8.max, [0xFE, 1])
        try check(UInt16(300), [0xAC, 2])
        try check(UInt64.max, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1])
        try check(1.5, [0, 0, 0, 0, 0, 0, 0xF8, 0x3F])
        try check(Float(-2), [0, 0, 0, 0xC0])
        try check(UInt128(0x0102), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
        try check("", [0])
        try check("aé", [3, 0x61, 0xC3, 0xA9])
        try check(LogTime(rawValue: -1), [1])
        try check(SequenceNumber(rawValue: 7), [7])
    }

    @Test func timesHaveTheirGoldenBytes() throws {
        let zeros = [UInt8](repeating: 0, count: 15)
        try check(Duration.zero, zeros + [0])
        try check(Duration(secondsComponent: 0, attosecondsComponent: 7), zeros + [7])
        try check(Duration.seconds(1), [UInt8](zeros.prefix(8)) + [0x0D, 0xE0, 0xB6, 0xB3, 0xA7, 0x64, 0, 0])
        try check(
            Duration(secondsComponent: 0, attosecondsComponent: -1), [UInt8](repeating: 0xFF, count: 16))
        try check(Duration(attoseconds: .min), [0x80] + zeros)
        try check(Duration(attoseconds: .max), [0x7F] + [UInt8](repeating: 0xFF, count: 15))
        try check(Date(timeIntervalSinceReferenceDate: 1.5), [0, 0, 0, 0, 0, 0, 0xF8, 0x3F])
        try check(Date(timeIntervalSinceReferenceDate: -0.1), [0x9A, 0x99, 0x99, 0x99, 0x99, 0x99, 0xB9, 0xBF])
    }

    @Test func containersHaveTheirGoldenBytes() throws {
        try check(Int?.none, [0])
        try check(Int?.some(2), [1, 4])
        try check([1, 2, 3], [3, 2, 4, 6])
        try check(Set(["b", "a"]), [2, 1, 0x61, 1, 0x62])
        try check([2: "b", 1: "a"], [2, 2, 1, 0x61, 4, 1, 0x62])
        try check(["a": [true]], [1, 1, 0x61, 1, 1])
    }

    /// Numbers outside a type's range, elements that come twice, counts that cannot be, and no UTF-8.
    @Test func whatNoWriterWritesIsRefused() {
        #expect(throws: WireError.self) { try Coding<UInt8>.wire.decoded([0x80, 2]) }
        #expect(throws: WireError.self) { try Coding<Int8>.wire.decoded([0x80, 2]) }
        #expect(throws: WireError.self) { try Coding<Bool>.wire.decoded([2]) }
        #expect(throws: WireError.self) { try Coding<Set<Int>>.wire.decoded([2, 2, 2]) }
        #expect(throws: WireError.self) { try Coding<[Int: Int]>.wire.decoded([2, 2, 2, 2, 4]) }
        #expect(throws: WireError.self) { try Coding<[NoReply]>.wire.decoded([0xFF, 0xFF, 0xFF, 0x7F]) }
        #expect(throws: WireError.self) { try Coding<String>.wire.decoded([1, 0xC3]) }
    }

    /// A type that is both takes its own bytes; one that is not takes JSON with sorted keys.
    @Test func theCodingFollowsFromTheType() throws {
        #expect(Echo.actionCoding.name == "wire" && Echo.mutationCoding.name == "wire")
        #expect(Echo.stateCoding.name == "wire" && Echo.replyCoding.name == "wire")
        #expect(Ledger.actionCoding.name == "json" && Ledger.replyCoding.name == "wire")
        let json = try Ledger.actionCoding.encoded(.putAll(["b": 1, "a": 2]))
        #expect(String(decoding: json, as: UTF8.self) == #"{"putAll":{"_0":{"a":2,"b":1}}}"#)
        #expect(throws: WireError.self) {
            try withBytes(of: [0x7B]) { (span) throws(WireError) in try Ledger.actionCoding.decodeChecked(span, 0..<1) }
        }
    }
}
