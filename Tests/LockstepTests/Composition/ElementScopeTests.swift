import Lockstep
import LockstepCore
import LockstepNode
import Testing

/// A reactor for each element of a list or a map, on a running node without network (SEMANTICS S3).
@Suite(.timeLimit(.minutes(5))) struct ElementScopeTests {
    private func withBoard(_ body: @escaping @Sendable (Store<Board>, Stage) async throws -> Void) async throws {
        let node = try Node(.local())
        let stage = Stage()
        let store = try node.store(Board(stage: stage), named: "board")
        try await withRunning(node) { try await body(store, stage) }
    }

    /// Actions are routed by id; one for an element that is not there is rejected.
    @Test func actionsAreRoutedByID() async throws {
        try await withBoard { store, _ in
            for id in [3, 1, 2] { _ = try await store.send(.add(id)) }
            _ = try await store.send(.name("n"))
            _ = try await store.send(.item(1, .set("one")))
            _ = try await store.send(.named("n", .set("new")))
            let state = try await store.read { $0 }
            #expect(state.items.elements.map(\.text) == ["", "one", ""])
            #expect(state.names["n"]?.text == "new")
            for action: Board.Action in [.item(7, .set("x")), .named("m", .set("x"))] {
                let missing = await #expect(throws: LockstepError.self) { try await store.send(action) }
                #expect(missing?.code == .rejected && missing?.message.hasPrefix("there is no ") == true)
            }
        }
    }

    /// Effects of elements have policies of their own; those of one that goes end as cancelled, whatever takes it away,
    /// and nothing of them is committed afterwards.
    @Test(arguments: [false, true])
    func effectsEndWithTheirElement(isAtOnce: Bool) async throws {
        try await withBoard { store, stage in
            for id in [1, 2] { _ = try await store.send(.add(id)) }
            let one = try store.submit(.item(1, .search("one")))
            let two = try store.submit(.item(2, .search("two")))
            await stage.noted("at one")
            await stage.noted("at two")
            let removal = try await store.send(.remove(1, endingEffects: isAtOnce)).place
            let end = try await one.finished()
            guard case .cancelled(_, let place) = end else {
                Issue.record("\(end) is not the end of an effect whose element has gone")
                return
            }
            // By name it ends in the step that removes it, else when the state is looked at.
            #expect(place > removal)
            stage.open("one")
            stage.open("two")
            let other = try await two.finished()
            guard case .committed(let receipt) = other else {
                Issue.record("\(other) is not the end of an effect whose element is there")
                return
            }
            #expect(receipt.reply == 2)
            for try await entry in store.entries(after: removal.sequence) {
                for case .item(1, let mutation) in entry.mutations { Issue.record("\(mutation) comes later") }
                if entry.place == receipt.place { break }
            }
        }
    }

    /// Guarantee 8: an emission that was under way when its element went is refused by the state before it,
    /// whatever took the element away and whether anybody has noticed.
    @Test func anEmissionForARemovedElementIsRefused() async throws {
        let stage = Stage()
        stage.open("a")
        let reactor = Board(stage: stage)
        let published = PublishedState(Snapshot(state: reactor.initialState, place: .start, time: .zero))
        let runtime = EffectRuntime(reactor, published: published, clock: ContinuousClock())
        let performing = Performing(reactor, published, runtime)
        try performing.perform(.add(1))
        let run = try #require(try performing.perform(.item(1, .search("a"))))
        let port = WaitingPort()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await runtime.run(on: port) }
            runtime.begin(RunStart(id: run, attempt: 1, emissions: 0))
            var emissions = port.emissions.makeAsyncIterator()
            let (cause, ticket) = try #require(await emissions.next())
            #expect(performing.state.isLive(cause, ticket: ticket))
            try performing.perform(.remove(1, endingEffects: false))
            #expect(!performing.state.isLive(cause, ticket: ticket))
            try performing.perform(.add(2))
            #expect(!performing.state.isLive(cause, ticket: ticket))
            // The effect gives up then, and ends as cancelled.
            runtime.emission(ticket, .dropped)
            var ends = port.ends.makeAsyncIterator()
            let item = try #require(await ends.next())
            #expect(item.first == 2)
            runtime.runEnd(run, .committed(.zero, .zero))
            group.cancelAll()
        }
    }

    /// F9: each element's feedback runs as long as it is there and asks.
    @Test func feedbackIsKeyedByTheElement() async throws {
        try await withBoard { store, stage in
            for id in [1, 2] {
                _ = try await store.send(.add(id))
                _ = try await store.send(.item(id, .want("w\(id)")))
            }
            await stage.noted("at w1")
            await stage.noted("at w2")
            _ = try await store.send(.remove(1, endingEffects: false))
            stage.open("w1")
            stage.open("w2")
            for await snapshot in store.states where snapshot.state.items[id: 2]?.found.isEmpty == false {
                #expect(snapshot.state.items[id: 2]?.found == ["w2 by feedback of 2"])
                #expect(snapshot.state.items[id: 1] == nil)
                break
            }
        }
    }

    /// Timers of elements fire in the order of their deadlines.
    @Test func timersOfElementsAreInOrder() {
        var state = Board.State()
        for (id, time) in [(1, Int64(30)), (2, 10), (3, 20), (4, 99)] {
            var element = Searching.State(id: id)
            element.timers.schedule("timer", at: LogTime(rawValue: time), "")
            state.items.append(element)
        }
        #expect(Board.items.nextDue(in: state) == LogTime(rawValue: 10))
        let due = Board.items.mutationsDue(in: state, at: LogTime(rawValue: 30), limit: 8)
        let ids = due.map { if case .item(let id, _) = $0 { id } else { 0 } }
        #expect(ids == [2, 3, 1])
        #expect(Board.items.mutationsDue(in: state, at: LogTime(rawValue: 30), limit: 2).count == 2)
    }

    /// A mutation for a missing element or part does nothing and traps nowhere, as on a replica that replays.
    @Test func mutationsForMissingPartsDoNothing() {
        var state = Board.State()
        let context = ReduceContext(time: .zero, epoch: .zero, sequence: .zero)
        #expect(!Board.items.reduce(into: &state, 1, .set("x"), context))
        #expect(!Board.names.reduce(into: &state, "x", .set("x"), context))
        #expect(!Board.edit.reduce(into: &state, .set("x"), context))
        #expect(!Board.page.reduce(into: &state, .set("x"), context))
        #expect(Board.left.reduce(into: &state, .set("x"), context))
        #expect(state.left.text == "x" && state.items.isEmpty && state.names.isEmpty)
    }
}

/// Shows what effects bring, and answers nothing by itself.
private final class WaitingPort: EffectPort {
    let name = "board"
    let emissions: AsyncStream<(EffectCause, UInt64)>
    let ends: AsyncStream<[UInt8]>
    private let emission: AsyncStream<(EffectCause, UInt64)>.Continuation
    private let end: AsyncStream<[UInt8]>.Continuation

    init() {
        (emissions, emission) = AsyncStream.makeStream()
        (ends, end) = AsyncStream.makeStream()
    }

    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) { emission.yield((cause, ticket)) }
    func finishRun(_ id: RunID, item: [UInt8]) { end.yield(item) }
    func waitUntilShown(_ sequence: SequenceNumber) async throws {}
}

/// Performs one action at a time as a primary does, and accepts what goes on.
private final class Performing {
    let state: ReactorState<Board>
    private let session = SessionID(epoch: .zero, sequence: SequenceNumber(rawValue: 1))
    private var number: RequestNumber = 0
    private let published: PublishedState<Board.State>

    init(_ reactor: Board, _ published: PublishedState<Board.State>, _ runtime: EffectRuntime<Board>) {
        self.published = published
        state = ReactorState(reactor, published: published, runtime: runtime)
    }

    /// The run that the action began, if it did.
    @discardableResult
    func perform(_ action: Board.Action) throws -> RunID? {
        number += 1
        var writer = ByteWriter()
        writer.writeBytes(try Board.actionCoding.encoded(action))
        let sequence = SequenceNumber(rawValue: number)
        var batch = BatchBuilder(
            store: StoreID(rawValue: 9), epoch: .zero, after: .start(of: StoreID(rawValue: 9)), time: .zero)
        batch.beginSeries(session: session, first: number, ackedThrough: 0)
        var reader = ByteReader(offset: 0, end: writer.count)
        let context = PerformContext(
            session: session, firstNumber: number, epoch: .zero, firstSequence: sequence, time: .zero)
        _ = withBytes(of: writer.bytes) { state.perform($0, &reader, count: 1, context: context, into: &batch) }
        state.capture(at: sequence, epoch: .zero, time: .zero)
        state.publish(through: sequence)
        guard let request = state.takeRequest(), request.plan != nil else { return nil }
        let run = RunID(session: session, number: number)
        state.runAccepted(run)
        return run
    }
}
