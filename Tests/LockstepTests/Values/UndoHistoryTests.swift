import Foundation
import Lockstep
import LockstepCore
import Testing

/// A bounded history inside the state (SEMANTICS S17, T12).
@Suite struct UndoHistoryTests {
    /// The counter with history: limits, undo as a mutation, clearing.
    private struct Counter: Reactor {
        enum Action: Codable, Sendable { case set(Int), reset, undo, clear }
        struct State: Codable, Hashable, Sendable {
            var value = 0
            var history = UndoHistory<Int>(limit: 3)
        }
        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .set(let value) where !(0...10).contains(value): throw Rejection("the limit is reached")
            case .undo where context.state.history.isEmpty: throw Rejection("there is nothing to undo")
            default: .emit(action)
            }
        }

        static func reduce(into state: inout State, _ action: Action, _ context: ReduceContext) {
            switch action {
            case .set(let value):
                state.history.record("set", at: context.time, before: state.value)
                state.value = value
            case .reset:
                state.history.record("reset", at: context.time, before: state.value)
                state.value = 0
            case .undo:
                if let value = state.history.undo() { state.value = value }
            case .clear:
                state.history.clear()
            }
        }
    }

    @Test func undoIsAMutationLikeAnyOther() throws {
        let reactor = Counter()
        var state = reactor.initialState
        var sequence = SequenceNumber.zero
        func send(_ action: Counter.Action) throws {
            sequence = sequence.next
            let time = LogTime(rawValue: Int64(sequence.rawValue) * 10)
            let context = Counter.Context(
                state: state, time: time, session: SessionID(epoch: .zero, sequence: .zero), request: RequestNumber(1))
            for mutation in try reactor.mutate(action, context).emitted {
                Counter.reduce(
                    into: &state, mutation, ReduceContext(time: time, epoch: .zero, sequence: sequence))
            }
        }
        #expect(throws: Rejection("there is nothing to undo")) { try send(.undo) }
        for value in [4, 5, 9, 10] { try send(.set(value)) }
        #expect(throws: Rejection("the limit is reached")) { try send(.set(11)) }
        try send(.reset)
        #expect(state.history.records.map(\.value) == [5, 9, 10] && state.history.records.map(\.name).last == "reset")
        #expect(state.history.last?.time == LogTime(rawValue: 70) && state.history.dropped == 2)
        try send(.undo)
        #expect(state.value == 10)
        try send(.set(3))
        for value in [10, 9, 5] {
            try send(.undo)
            #expect(state.value == value)
        }
        #expect(throws: Rejection("there is nothing to undo")) { try send(.undo) }
        try send(.set(1))
        try send(.clear)
        #expect(state.history == UndoHistory(limit: 3) && state.value == 1)
    }

    /// Random writes against an array; kept copies are unchanged, and both codings give an equal history back.
    @Test(arguments: 1...6) func itBehavesLikeABoundedArray(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let limit = Int(random.next(below: 12))
        var history = UndoHistory<String>(limit: limit)
        var model: [UndoRecord<String>] = []
        var kept: [(history: UndoHistory<String>, model: [UndoRecord<String>])] = []
        for step in 0..<600 {
            switch random.next(below: 20) {
            case 0...11:
                let record = UndoRecord(name: "n\(step)", time: LogTime(rawValue: Int64(step)), value: "v\(step)")
                history.record(record.name, at: record.time, before: record.value)
                model = (model + [record]).suffix(max(1, limit))
            case 12...18: #expect(history.undo() == model.popLast()?.value)
            default:
                history.clear()
                model = []
            }
            #expect(history.last == model.last && history.count == model.count && history.isEmpty == model.isEmpty)
            if step.isMultiple(of: 20) { kept.append((history, model)) }
        }
        for (history, model) in kept {
            #expect(history.records == model)
            let json = try JSONDecoder().decode(UndoHistory<String>.self, from: try JSONEncoder().encode(history))
            let coding = Coding<UndoHistory<String>>.wire
            let wire = try coding.decoded(try coding.encoded(history))
            for back in [json, wire] {
                #expect(back == history && back.hashValue == history.hashValue)
                #expect(back.contentDigest == history.contentDigest)
            }
        }
    }

    /// Bytes of no possible history are refused.
    @Test(arguments: [
        #"{"limit":0,"dropped":0,"records":[]}"#,
        #"{"limit":1,"dropped":0,"records":[{"name":"","time":1,"value":1},{"name":"","time":1,"value":1}]}"#,
        #"{"limit":1,"dropped":18446744073709551615,"records":[{"name":"","time":1,"value":1}]}"#,
    ])
    func impossibleBytesAreRefused(json: String) {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(UndoHistory<Int>.self, from: Data(json.utf8))
        }
    }
}
