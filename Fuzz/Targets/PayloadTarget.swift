import Counters
import Lockstep
import LockstepCore

/// Users' types in the wire form: refused, or values that come back; and actions, mutations and queries that a hostile
/// peer made, on a reactor's state.
enum PayloadTarget {
    enum Mode: UInt8, CaseIterable {
        case action, mutation, reply, query, answer, state, containers, numbers
        case perform, apply, ask
    }

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let mode = Mode(rawValue: input.byte() % UInt8(Mode.allCases.count)) ?? .action
        switch mode {
        case .action: try check(Coding<Counters.Action>.wire, input.rest(), checks)
        case .mutation: try check(Coding<Counters.Mutation>.wire, input.rest(), checks)
        case .reply: try check(Coding<Counters.Reply>.wire, input.rest(), checks)
        case .query: try check(Coding<Counters.Query>.wire, input.rest(), checks)
        case .answer: try check(Coding<Counters.Answer>.wire, input.rest(), checks)
        case .state: try check(Coding<Counters.State>.wire, isCanonical: false, input.rest(), checks)
        case .containers: try check(Coding<[[String: Set<Int16>]?]>.wire, isCanonical: false, input.rest(), checks)
        case .numbers: try check(Coding<Numbers>.wire, input.rest(), checks)
        case .perform: try ReactorRuns.perform(&input, checks)
        case .apply: try ReactorRuns.apply(&input, checks)
        case .ask: try ReactorRuns.ask(&input, checks)
        }
    }

    /// Every number, for the forms that the counters do not use.
    struct Numbers: WireCodable, Hashable, Sendable {
        var small: [Int8]
        var word: UInt
        var wide: UInt128
        var flag: Bool
        var float: UInt32
        var double: UInt64
        var short: UInt16?

        func encode(into writer: inout ByteWriter) {
            small.encode(into: &writer)
            word.encode(into: &writer)
            wide.encode(into: &writer)
            flag.encode(into: &writer)
            Float(bitPattern: float).encode(into: &writer)
            Double(bitPattern: double).encode(into: &writer)
            short.encode(into: &writer)
        }

        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            small = try [Int8](from: bytes, &reader)
            word = try UInt(from: bytes, &reader)
            wide = try UInt128(from: bytes, &reader)
            flag = try Bool(from: bytes, &reader)
            float = try Float(from: bytes, &reader).bitPattern
            double = try Double(from: bytes, &reader).bitPattern
            short = try UInt16?(from: bytes, &reader)
        }
    }

    static func check<Value: Equatable & Sendable>(
        _ coding: Coding<Value>, isCanonical: Bool = true, _ bytes: [UInt8], _ checks: Checks
    ) throws(FuzzFinding) {
        guard let value = try? coding.decoded(bytes) else { return }  // Refused, which is an answer.
        do {
            let again = try coding.encoded(value)
            if isCanonical { try checks.same(again, bytes, "\(Value.self) in \(coding.name) that was encoded again") }
            try checks.same(try coding.decoded(again), value, "\(Value.self) in \(coding.name) that came back")
        } catch let finding as FuzzFinding {
            throw finding
        } catch {
            throw FuzzFinding(description: "\(Value.self) in \(coding.name) does not come back: \(error)")
        }
    }
}
