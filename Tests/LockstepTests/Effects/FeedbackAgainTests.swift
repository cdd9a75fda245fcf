import Lockstep
import LockstepCore
import LockstepNode
import LockstepTesting
import Testing

/// Requests that go and come back faster than anybody looks, and effects of feedback that are run again (SEMANTICS F8,
/// F9, F11).
@Suite(.timeLimit(.minutes(5))) struct FeedbackAgainTests {
    /// Its changed parts are written behind, each by an effect that takes it out of the state.
    private struct WriteBehind: Reactor {
        enum Action: Codable, Sendable { case change(Int) }
        enum Mutation: Codable, Sendable { case changed(Int), stored(Int) }
        struct State: Codable, Sendable {
            var toStore: Set<Int> = []
            var changes = 0
        }

        var initialState: State { State() }
        var feedback: [Feedback<Self>] {
            [.react("store", toEach: { $0.toStore }) { part, emit in try await emit(.stored(part)) }]
        }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .change(let part): .emit(.changed(part))
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .changed(let part):
                state.toStore.insert(part)
                state.changes += 1
            case .stored(let part): state.toStore.remove(part)
            }
        }
    }

    /// F8, F11: however a change meets the emission that stores the part, the part is stored in the end.
    @Test func whatIsChangedWhileItIsStoredIsStoredAgain() async throws {
        let node = try Node(.local())
        let store = try node.store(WriteBehind(), named: "parts")
        try await withRunning(node) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<500 { _ = try await store.send(.change(7)) }
                    }
                }
                try await group.waitForAll()
            }
            for await snapshot in store.states where snapshot.state.changes == 1_000 {
                if snapshot.state.toStore.isEmpty { break }
            }
        }
    }

    /// F8, F11: an effect whose emission took its request away is over, and what asks for the same again begins
    /// another, though one state is shown for both.
    ///
    /// A state from before the emission ends nothing.
    @Test func aFulfilledRequestThatIsBackIsBegunAgain() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("want", toEach: { $0.wanted }) { request, emit in
                stage.note("begun \(request)")
                try await emit(.said(request))
            }
        ]
        let primary = Primary(studio)
        let port = WaitingPort()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [runtime = primary.runtime] in await runtime.run(on: port) }
            primary.runtime.opened()
            var emissions = port.emissions.makeAsyncIterator()
            try primary.reduce(.wanted(["a"]))
            primary.show()
            let (cause, ticket) = try #require(await emissions.next())
            // 1. Somebody else asks for b; a view is taken.
            try primary.reduce(.wanted(["a", "b"]))
            primary.capture()
            let older = primary.sequence
            // 2. The emission of a's effect is let through; its entry takes a away.
            #expect(primary.state.isLive(cause, ticket: ticket))
            try primary.reduce(.wanted(["b"]))
            let fulfilment = primary.sequence
            // 3. Before the hand-over a is asked for again; it is not for the effect that is over.
            try primary.reduce(.wanted(["a", "b"]))
            #expect(!primary.state.isLive(cause, ticket: ticket))
            // 4. The older view is shown: b begins, and nothing else.
            primary.state.publish(through: older)
            _ = try #require(await emissions.next())
            #expect(stage.trace == ["begun a", "begun b"])
            // 5. The newer one is shown.
            primary.runtime.emission(ticket, .committed(.zero, fulfilment))
            primary.show()
            let (_, another) = try #require(await emissions.next())
            #expect(another != ticket)
            #expect(stage.trace == ["begun a", "begun b", "begun a"])
            group.cancelAll()
        }
    }

    /// Notes each request with its payload, and emits.
    private static func tuning(_ stage: Stage) -> Studio {
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("tune", toEach: { $0.tuned }) { id, payload, _, emit in
                stage.note("\(id) \(payload)")
                try await emit(.said(id))
            }
        ]
        return studio
    }

    /// F9: an effect that is run again, because the state refused its emission, begins with the newest payload.
    @Test func anEffectThatIsRunAgainBeginsWithTheNewestPayload() async throws {
        let stage = Stage()
        let studio = Self.tuning(stage)
        let primary = Primary(studio)
        let port = WaitingPort()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [runtime = primary.runtime] in await runtime.run(on: port) }
            primary.runtime.opened()
            var emissions = port.emissions.makeAsyncIterator()
            try primary.reduce(.tuned(["a": 1]))
            primary.show()
            let (_, ticket) = try #require(await emissions.next())
            // That b has begun shows that a's new payload was passed on.
            try primary.reduce(.tuned(["a": 2, "b": 0]))
            primary.show()
            _ = try #require(await emissions.next())
            primary.runtime.emission(ticket, .dropped)
            _ = try #require(await emissions.next())
            #expect(stage.trace == ["a 1", "b 0", "a 2"])
            group.cancelAll()
        }
    }

    /// F9: before an effect is run again, the node is asked what is current.
    ///
    /// Nothing but the state stops the effect while it waits for the answer.
    @Test func anEffectThatIsRunAgainWaitsForACurrentState() throws {
        let stage = Stage()
        let studio = Self.tuning(stage)
        let primary = Primary(studio)
        let port = KeepingPort(current: { try await stage.pass("current") })
        let executor = TestStoreExecutor()
        let task = executor.start { [runtime = primary.runtime] in await runtime.run(on: port) }
        defer {
            task.cancel()
            _ = executor.drain()
        }
        primary.runtime.opened()
        try primary.reduce(.tuned(["a": 1]))
        primary.show()
        #expect(executor.drain())
        let ticket = try #require(port.tickets.first)
        try primary.reduce(.tuned(["a": 2]))
        primary.show()
        #expect(executor.drain())
        primary.runtime.emission(ticket, .dropped)
        #expect(executor.drain())
        #expect(stage.trace == ["a 1", "at current"])
        stage.open("current")
        #expect(executor.drain())
        #expect(stage.trace == ["a 1", "at current", "a 2"])
        #expect(port.tickets.count == 2 && primary.runtime.liveFeedback == ["tune for a"])
    }

    /// F11, F12: an effect that cancels a child task in the middle of an emission, because another child failed, has
    /// failed: it is reported once and not run again.
    @Test func aFailureThatCancelsAnEmissionIsAFailure() {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("want", toEach: { $0.wanted }) { request, emit in
                stage.note("begun \(request)")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try await emit(.said("on its way")) }
                    group.addTask { throw Studio.Failure() }
                    // The first error ends the loop, and cancels the other child.
                    for try await _ in group {}
                }
            }
        ]
        let store = TestStore(studio)
        store.send(.want(["a"])) { $0.wanted = ["a"] }
        store.receiveFailure("the string broke")
        #expect(stage.trace == ["begun a"])
        store.finish()
    }
}

/// A primary's state without its machine: what is reduced is shown when the test says so.
private final class Primary {
    let state: ReactorState<Studio>
    let runtime: EffectRuntime<Studio>
    private(set) var sequence = SequenceNumber.zero

    init(_ studio: Studio) {
        let published = PublishedState(Snapshot(state: studio.initialState, place: .start, time: .zero))
        runtime = EffectRuntime(studio, published: published, clock: ContinuousClock())
        state = ReactorState(studio, published: published, runtime: runtime)
    }

    /// An entry with one mutation.
    func reduce(_ mutation: Studio.Mutation) throws {
        sequence = sequence.next
        var writer = ByteWriter()
        writer.writeBytes(try Studio.mutationCoding.encoded(mutation))
        let range = 0..<writer.count
        try withBytes(of: writer.bytes) { bytes throws(WireError) in
            try state.apply(bytes, mutations: range, count: 1, at: (.zero, sequence), time: .zero)
        }
    }

    /// Takes a view of what was reduced so far.
    func capture() { state.capture(at: sequence, epoch: .zero, time: .zero) }

    /// Takes a view, and shows it.
    func show() {
        capture()
        state.publish(through: sequence)
    }
}

/// Shows what effects bring, and answers nothing by itself.
private final class WaitingPort: EffectPort {
    let name = "studio"
    let emissions: AsyncStream<(EffectCause, UInt64)>
    private let emission: AsyncStream<(EffectCause, UInt64)>.Continuation

    init() { (emissions, emission) = AsyncStream.makeStream() }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) { emission.yield((cause, ticket)) }
    func finishRun(_ id: RunID, item: [UInt8]) {}
    func waitUntilShown(_ sequence: SequenceNumber) async throws {}
}
