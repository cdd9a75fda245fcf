import Lockstep
import LockstepCore
import Synchronization
import Testing

/// Memory is asked for before it is needed, and nothing depends on it (PROTOCOL R-50).
@Suite struct PrefetchTests {
    /// It takes any keys of any map.
    @Test(arguments: [0, 1, 31, 64, 65, 5_000]) func nothingChanges(count: Int) {
        let map = ReplicatedMap((0..<count).map { ("key \($0)", $0) })
        let before = (map, map.digest)
        map.prefetch((0..<count + 10).map { "key \($0)" })
        map.prefetch(["e\u{301}", "", String(repeating: "long ", count: 100)])
        map.prefetch([])
        #expect(map == before.0 && map.digest == before.1)
    }

    /// A reactor is told of all small actions and of all mutations, in order, a few at a time, before they have effect.
    @Test func aReactorIsToldAhead() throws {
        let large = String(repeating: "x", count: 2_000)
        let texts = (0..<100).map { "\($0)" } + [large] + (100..<150).map { "\($0)" }
        let run = Run(Listener())
        _ = try run.perform(texts.map(Listener.Action.init))
        let actions = Listener.actions.withLock { $0 }
        #expect(actions.joined().map(\.self) == texts.filter { $0 != large })
        #expect(actions.allSatisfy { $0.count <= 32 } && actions.contains { $0.count == 32 })
        let replica = makeReplica(Listener())
        try apply(run.batches, to: replica)
        let mutations = Listener.mutations.withLock { $0 }
        #expect(mutations.joined().map(\.self) == texts)
        #expect(mutations.allSatisfy { $0.count <= 32 } && mutations.contains { $0.count == 32 })
        #expect(replica.workingState == run.state.workingState && replica.workingState.count == texts.count)
    }

    /// Together or one by one, a run's items have the same effect, and each its own sequence number.
    @Test func itemsMayBeAppliedOneByOne() throws {
        let run = Run(Ledger())
        _ = try run.perform(
            (0..<40).flatMap { [.put("a\($0)", $0), .stamp, .putAll(["b": 1, "c\($0)": 2]), .nothing, .refuse] })
        let together = makeReplica(Ledger())
        try apply(run.batches, to: together)
        let single = makeReplica(Ledger())
        for batch in run.batches {
            try withBytes(of: batch.bytes) { (bytes) throws(WireError) in
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                guard case .actions(let actions) = try Entry(from: bytes, &reader) else { return }
                var items = ByteReader(offset: actions.items.lowerBound, end: actions.items.upperBound)
                for index in 0..<actions.count {
                    let item = try Item(from: bytes, &items)
                    try single.apply(
                        bytes, mutations: item.mutations, count: item.mutationCount,
                        at: (batch.head.epoch, batch.head.first.advanced(by: index)), time: batch.head.time)
                }
            }
        }
        #expect(together.workingState == single.workingState && together.digest == single.digest)
        #expect(together.workingState == run.state.workingState)
    }
}

/// Notes what it is told ahead; of use to one test only.
private struct Listener: Reactor {
    struct Action: Codable, Sendable, WireCodable {
        var text: String
        init(_ text: String) { self.text = text }
        func encode(into writer: inout ByteWriter) { text.encode(into: &writer) }
        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            text = try String(from: bytes, &reader)
        }
    }
    typealias State = [String]

    static let actions = Mutex<[[String]]>([])
    static let mutations = Mutex<[[String]]>([])

    var initialState: State { [] }

    static func prefetch(actions: [Action], in state: State) {
        Self.actions.withLock { $0.append(actions.map(\.text)) }
    }

    static func prefetch(mutations: [Action], in state: State) {
        Self.mutations.withLock { $0.append(mutations.map(\.text)) }
    }

    static func reduce(into state: inout State, _ mutation: Action, _ context: ReduceContext) {
        state.append(mutation.text)
    }
}
