import Counters
import Foundation
import Lockstep
import LockstepCore

/// Bytes of one value: the types' own form, which an action takes on its way, and JSON, which types without one have.
enum CodingCases {
    private static let count = 1_024

    static let all: [Case] =
        coding("action", actions, wire: Counters.actionCoding, json: .json)
        + coding("mutation", mutations, wire: Counters.mutationCoding, json: .json)
        + coding("reply", replies, wire: Counters.replyCoding, json: .json)
        + [longName]

    private static func actions() -> [Counters.Action] {
        var picks = Workload.Picks()
        return (0..<count).map { _ in .add(picks.next(), by: 1) }
    }

    private static func mutations() -> [Counters.Mutation] {
        var picks = Workload.Picks()
        return (0..<count).map { _ in .added(picks.next(), 1) }
    }

    private static func replies() -> [Counters.Reply] { (0..<count).map { .value(1_000 + Int64($0)) } }

    private static func coding<Value: Sendable>(
        _ name: String, _ values: @escaping @Sendable () -> [Value], wire: Coding<Value>, json: Coding<Value>
    ) -> [Case] {
        let (encoded, decoded) = (encoding(values, wire), decoding(values, wire))
        return [
            Case("encode/\(name)", unit: name, rounds: 40, baseline: .copy(16), body: encoded),
            Case("decode/\(name)", unit: name, rounds: 40, baseline: .copy(16), body: decoded),
            Case(
                "encode/\(name)-json", unit: name, rounds: 40, baseline: Baseline("its own bytes", body: encoded),
                body: encoding(values, json)),
            Case(
                "decode/\(name)-json", unit: name, rounds: 40, baseline: Baseline("its own bytes", body: decoded),
                body: decoding(values, json)),
        ]
    }

    private static func encoding<Value: Sendable>(
        _ values: @escaping @Sendable () -> [Value], _ coding: Coding<Value>
    ) -> @Sendable (inout Meter) throws -> Void {
        { meter in
            let values = values()
            var writer = ByteWriter(capacity: 256 * count)
            while meter.goesOn {
                writer.removeAll()
                try meter.measure(count) {
                    for value in values { try writer.writeMeasured { try coding.encode(value, &$0) } }
                }
                keep(writer.bytes)
            }
        }
    }

    private static func decoding<Value: Sendable>(
        _ values: @escaping @Sendable () -> [Value], _ coding: Coding<Value>
    ) -> @Sendable (inout Meter) throws -> Void {
        { meter in
            var writer = ByteWriter()
            for value in values() { try writer.writeMeasured { try coding.encode(value, &$0) } }
            let bytes = writer.bytes
            while meter.goesOn { try meter.measure(count) { try decodeAll(bytes, coding) } }
        }
    }

    private static func decodeAll<Value>(_ bytes: [UInt8], _ coding: Coding<Value>) throws {
        try withBytes(of: bytes) { span in
            Result {
                var reader = ByteReader(span)
                for _ in 0..<count { keep(try coding.decode(span, try reader.readRange(from: span))) }
            }
        }.get()
    }

    /// A name that does not fit into the text itself.
    private static var longName: Case {
        Case("decode/action-long-name", unit: "action", rounds: 40, baseline: .copy(32)) { meter in
            var picks = Workload.Picks(.long)
            let bytes = try picks.increments(count)
            while meter.goesOn { try meter.measure(count) { try decodeAll(bytes, Counters.actionCoding) } }
        }
    }
}
