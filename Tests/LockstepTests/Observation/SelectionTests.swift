import Lockstep
import LockstepNode
import Testing

/// What views take out of states (SEMANTICS K19, K33, K42, O4, O15, guarantee 13).
@Suite(.timeLimit(.minutes(5))) struct SelectionTests {
    struct Alerts: Reactor {
        struct State: Codable, Sendable, Equatable {
            @Pulse var alert: String?
            var count = 0
        }
        enum Action: Codable, Sendable { case alert(String?), count }
        var initialState: State { State() }
        static func reduce(into state: inout State, _ mutation: Action, _ context: ReduceContext) {
            switch mutation {
            case .alert(let alert): state.alert = alert
            case .count: state.count += 1
            }
        }
    }

    private func snapshot(_ alerts: [String?], count: Int = 0, at sequence: UInt64) -> Snapshot<Alerts.State> {
        var state = Alerts.State()
        for alert in alerts { state.alert = alert }
        state.count = count
        return Snapshot(
            state: state, place: Place(epoch: .zero, sequence: SequenceNumber(rawValue: sequence)), time: .zero)
    }

    /// K33, guarantee 13: equal values fire again, several assignments between two states are one event that says so,
    /// a change elsewhere fires nothing, and history before the subscription is not told.
    @Test func pulsesFireOncePerAssignment() async throws {
        let published = PublishedState(snapshot(["old", "older"], at: 2))
        published.ownerBegan()
        let pulses = Pulses(
            states: States(published: published), pulse: { $0.$alert },
            baseline: PulseBaseline(published.current().state.$alert))
        var iterator = pulses.makeAsyncIterator()
        published.publish(snapshot(["old", "older"], count: 1, at: 3))
        published.publish(snapshot(["old", "older", "older"], at: 4))
        #expect(await iterator.next() == PulseEvent(value: "older", assignments: 1))
        published.publish(snapshot(["old", "older", "older", "a", "b"], at: 6))
        #expect(await iterator.next() == PulseEvent(value: "b", assignments: 2))
        published.ownerEnded()
        #expect(await iterator.next() == nil)
    }

    /// K33: on a node, by the dollar name; the current value comes first for whoever asks for it.
    @Test func pulsesOfAStore() async throws {
        let node = try Node(.local())
        let store = try node.store(Alerts(), named: "alerts")
        try await withRunning(node) {
            _ = try await store.send(.alert("before"))
            _ = try await store.snapshot(.session)
            var later = store.pulses(\.$alert).makeAsyncIterator()
            var current = store.pulses(\.$alert, includingCurrent: true).makeAsyncIterator()
            #expect(await current.next() == PulseEvent(value: "before", assignments: 1))
            _ = try await store.send(.count)
            _ = try await store.send(.alert("before"))
            #expect(await later.next() == PulseEvent(value: "before", assignments: 1))
        }
    }

    /// Guarantee 13: who listens before the store is live is not told of what its journal brings; the current value
    /// comes for whoever asks for it.
    @Test func pulsesBeforeTheStoreIsLiveAreNotTold() async throws {
        let published = PublishedState(snapshot([], at: 0), isShown: false)
        published.ownerBegan()
        let loop = try NodeEventLoop(name: "test-pulses")
        let port = StorePort(name: "alerts", inbox: Inbox(signaller: loop.signaller))
        let store = Store<Alerts>(port: port, published: published)
        let pulses = store.pulses(\.$alert)
        var current = store.pulses(\.$alert, includingCurrent: true).makeAsyncIterator()
        let alerts: [String?] = ["1", "2", "3", "4", "5"]
        published.publish(snapshot(alerts, at: 5))
        #expect(await current.next() == PulseEvent(value: "5", assignments: 1))
        let seen = CurrentValue<PulseEvent<String?>?>(nil)
        let listener = Task {
            for await event in pulses {
                seen.accept(event)
                break
            }
        }
        // The loop takes the state that was shown, and asks for another.
        while !published.isWanted, seen.value == nil { await Task.yield() }
        published.publish(snapshot(alerts + ["6"], at: 6))
        await listener.value
        #expect(seen.value == PulseEvent(value: "6", assignments: 1))
        // Now there is a state to begin with.
        var later = store.pulses(\.$alert).makeAsyncIterator()
        published.publish(snapshot(alerts + ["6", "7"], at: 7))
        #expect(await later.next() == PulseEvent(value: "7", assignments: 1))
        published.ownerEnded()
        #expect(await later.next() == nil)
    }

    /// K42, O15: `select` compares values or keys with their neighbours; `selectAll` keeps repeated ones.
    @Test func selectionsRemoveNeighboursOrKeepThem() async throws {
        let published = PublishedState(snapshot([nil], count: 10, at: 1))
        published.ownerBegan()
        let node = try Node(.local())
        let store = try node.store(Alerts(), named: "alerts")
        // The store's own state is not what is looked at here, but the sequences that it makes of states.
        var all = States(published: published).map { $0.state.count }.makeAsyncIterator()
        var keyed = KeyedValues(states: States(published: published), value: { $0.count }, key: { $0 / 10 })
            .makeAsyncIterator()
        #expect(await all.next() == 10)
        #expect(await keyed.next() == 10)
        published.publish(snapshot(["x"], count: 10, at: 2))
        #expect(await all.next() == 10)
        published.publish(snapshot(["x"], count: 11, at: 3))
        #expect(await all.next() == 11)
        let next = Task { () -> Int? in
            var keyed = keyed
            return await keyed.next()
        }
        published.publish(snapshot(["x"], count: 25, at: 4))
        #expect(await next.value == 25)
        try await withRunning(node) {
            var selected = store.selectAll { $0.count }.makeAsyncIterator()
            #expect(await selected.next() == 0)
        }
        published.ownerEnded()
    }

    /// K19: a projection passes the initial state as well, is applied once for each state that its view takes, and the
    /// next state is made from the state and not from the projection.
    @Test func aProjectionIsTheViewsAlone() async throws {
        let node = try Node(.local())
        let store = try node.store(Echo(), named: "echo")
        let view = store.project { state in state + ["marker"] }
        #expect(view.current == ["marker"])
        try await withRunning(node) {
            _ = try await store.send(Echo.Action("a"))
            _ = try await store.send(Echo.Action("b"))
            for await snapshot in view.states where snapshot.state.count == 3 {
                #expect(snapshot.state == ["a", "b", "marker"] && snapshot.place == store.place)
                break
            }
            #expect(try await store.read { $0 } == ["a", "b"])
            for await last in view.select({ $0.last }) {
                #expect(last == "marker")
                break
            }
        }
    }

    /// O4: a combination begins with the states as they are, goes on when one of them does, and keeps each one's place.
    @Test func combinedStatesKeepTheirPlaces() async throws {
        let node = try Node(.local())
        let echo = try node.store(Echo(), named: "echo")
        let alerts = try node.store(Alerts(), named: "alerts")
        let ledger = try node.store(Ledger(), named: "ledger")
        try await withRunning(node) {
            let place = try await echo.send(Echo.Action("a")).place
            for await (one, two) in combine(echo, alerts) where one.state == ["a"] {
                #expect(one.place >= place && two.state.count == 0)
                break
            }
            let counted = try await alerts.send(.count).place
            for await (one, two, three) in combine(echo, alerts, ledger) where two.state.count == 1 {
                #expect(one.state == ["a"] && two.place >= counted && three.state.amounts.isEmpty)
                break
            }
        }
    }

    /// O4, guarantee 16: it begins when each of its stores has shown a state, and never shows an initial one.
    @Test func combinedStatesBeginWhenAllAreShown() async {
        let one = PublishedState(snapshot([], at: 0), isShown: false)
        let two = PublishedState(snapshot([], count: 7, at: 1))
        for part in [one, two] { part.ownerBegan() }
        let combined = CombinedStates<Int>(waits: [one.isNewer, two.isNewer]) {
            let (a, b) = (one.currentVersion(), two.currentVersion())
            return (a.snapshot.state.count * 10 + b.snapshot.state.count, [a.version, b.version])
        }
        let first = Task { () -> Int? in
            for await sum in combined { return sum }
            return nil
        }
        while !one.isWanted { await Task.yield() }
        one.publish(snapshot([], count: 4, at: 2))
        #expect(await first.value == 47)
        for part in [one, two] { part.ownerEnded() }
    }

    /// Guarantee 16: a combination of stores that were never live shows nothing, and ends with the node.
    @Test func whatWasNeverLiveIsNotCombined() async throws {
        let node = try Node(.replica(of: "tcp://127.0.0.1:9"))
        let echo = try node.store(Echo(), named: "echo")
        let alerts = try node.store(Alerts(), named: "alerts")
        let first = Task { () -> Int? in
            for await (one, two) in combine(echo, alerts) { return one.state.count + two.state.count }
            return nil
        }
        try await withRunning(node) {}
        #expect(await first.value == nil, "the loop ends with the node, and no state came")
    }

    /// O4: it ends when all of its stores have, and not before.
    @Test func combinedStatesEndWithTheLast() async throws {
        let (one, two) = (PublishedState(snapshot([], at: 1)), PublishedState(snapshot([], at: 1)))
        for part in [one, two] { part.ownerBegan() }
        let combined = CombinedStates<Int>(waits: [one.isNewer, two.isNewer]) {
            let (a, b) = (one.currentVersion(), two.currentVersion())
            return (a.snapshot.state.count * 10 + b.snapshot.state.count, [a.version, b.version])
        }
        var iterator = combined.makeAsyncIterator()
        #expect(await iterator.next() == 0)
        one.ownerEnded()
        two.publish(snapshot([], count: 2, at: 2))
        #expect(await iterator.next() == 2)
        two.ownerEnded()
        #expect(await iterator.next() == nil)
    }
}
