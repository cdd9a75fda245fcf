import Lockstep
import LockstepTesting
import Testing

/// The code of Concurrency.md.
@Suite(.timeLimit(.minutes(5))) struct ConcurrencyPage {
    struct Lamp: Reactor {
        enum Action: Codable, Sendable { case toggle }
        struct State: Codable, Sendable {
            var isOn = false
            var switches = 0
        }

        var initialState: State { State() }

        static func reduce(into state: inout State, _ mutation: Action, _ context: ReduceContext) {
            state.isOn.toggle()
            state.switches += 1
        }
    }

    @MainActor final class LampView {
        var text = ""
        var history: [Bool] = []

        func follow(_ lamp: some ReadableStore<Lamp>) async {
            for await isOn in lamp.select(\.isOn) {
                text = isOn ? "on" : "off"  // on the main actor, the newest value only
                history.append(isOn)
            }
        }

        func tapped(_ lamp: some ReadableStore<Lamp>) async throws {
            _ = try await lamp.send(.toggle)
        }
    }

    func log(_ lamp: Store<Lamp>) async throws {
        for try await commit in lamp.commits() {
            print("\(commit.place) \(commit.cause): \(commit.before.isOn) to \(commit.after.isOn)")
        }
    }

    func show(_ lamps: [Store<Lamp>], in view: LampView) async {
        let binding = Binding<Store<Lamp>> { lamp in await view.follow(lamp) }
        await withDiscardingTaskGroup { group in
            group.addTask { await binding.run() }
            for lamp in lamps { binding.attach(lamp) }  // the one before has ended when the next begins
            binding.attach(nil)
            group.cancelAll()
        }
    }

    /// K22, K43, K53, F2, S14: the store is given to the view, and values cross to the view's isolation.
    @MainActor @Test func aViewFollowsOnItsOwnActor() async throws {
        let stub = StubStore<Lamp>(state: Lamp.State())
        let view = LampView()
        try await view.tapped(stub)
        #expect(stub.actions.count == 1)
        let following = Task { await view.follow(stub) }
        while view.text != "off" { await Task.yield() }
        stub.push { $0.isOn = true }
        while view.text != "on" { await Task.yield() }
        following.cancel()
        await following.value
        #expect(view.history == [false, true])
    }

    /// F16, F17: what is bound ends with its scope, so nothing has to be held weakly.
    @MainActor @Test func whatIsBoundEndsWithItsScope() async throws {
        let node = try Node(.local())
        let lamps = try ["hall", "cellar"].map { try node.store(Lamp(), named: $0) }
        weak var last: LampView?
        do {
            let view = LampView()
            last = view
            try await withRunning(node) { await show(lamps, in: view) }
        }
        #expect(last == nil)
    }
}
