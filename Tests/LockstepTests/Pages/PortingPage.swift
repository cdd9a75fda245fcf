import Lockstep
import LockstepTesting
import Synchronization
import Testing

/// The code of Porting.md.
@Suite(.timeLimit(.minutes(5))) struct PortingPage {
    // MARK: - From ReactorKit

    struct Counter: Reactor {
        enum Action: Codable, Sendable { case increase, decrease }
        enum Mutation: Codable, Sendable {
            case began
            case changed(by: Int, alert: String)
        }
        struct State: Codable, Sendable {
            var value = 0
            var isLoading = false
            @Pulse var alert: String?
        }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .increase: change(by: 1, alert: "increased!")
            case .decrease: change(by: -1, alert: "decreased!")
            }
        }

        private func change(by step: Int, alert: String) -> Effect<Self> {
            .run { emit in
                try await emit(.began)
                try await emit.sleep(for: .milliseconds(500))
                emit.atEnd(.changed(by: step, alert: alert))
            }
            .policy(.first("change"))
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .began: state.isLoading = true
            case .changed(let step, let alert):
                state.value += step
                state.isLoading = false
                state.alert = alert
            }
        }
    }

    @MainActor final class CounterScreen {
        var label = ""
        var isSpinning = false
        var alerts: [String] = []

        func bind(_ counter: Store<Counter>) async {
            async let value: Void = showValue(counter)
            async let loading: Void = showLoading(counter)
            async let alerts: Void = showAlerts(counter)
            _ = await (value, loading, alerts)
        }

        private func showValue(_ counter: Store<Counter>) async {
            for await value in counter.select(\.value) { label = "\(value)" }
        }

        private func showLoading(_ counter: Store<Counter>) async {
            for await isLoading in counter.select(\.isLoading) { isSpinning = isLoading }
        }

        private func showAlerts(_ counter: Store<Counter>) async {
            for await pulse in counter.pulses(\.$alert) { if let alert = pulse.value { alerts.append(alert) } }
        }

        func send(_ taps: AsyncStream<Counter.Action>, to counter: some ActionTarget<Counter>) async throws {
            for await action in taps.throttled(for: .milliseconds(500), trailing: false) {
                _ = try counter.submit(action)
            }
        }
    }

    /// K10, K32: the reactor keeps the behaviour of the ported one, and a tap while it is busy is turned away.
    @Test func aTapCountsAfterHalfASecond() {
        let store = TestStore(Counter())
        store.send(.increase)
        store.receive(.began) { $0.isLoading = true }
        store.send(.decrease, rejected: "ignored: change is under way")
        store.advance(by: .milliseconds(500))
        store.receive(.changed(by: 1, alert: "increased!")) {
            $0.value = 1
            $0.isLoading = false
            $0.alert = "increased!"
        }
        store.finish()
    }

    /// K33, K42: the label shows the value, and the alert is shown once.
    @MainActor @Test func theScreenShowsWhatTheStateSays() async throws {
        let clock = VirtualClock()
        let node = try Node(.local())
        let counter = try node.store(Counter(), named: "counter", clock: clock)
        let screen = CounterScreen()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await node.run() }
            let submitted = try counter.submit(.increase)
            let binding = Task { await screen.bind(counter) }
            await clock.waitForSleepers(1)
            while screen.label != "0" || !screen.isSpinning { await Task.yield() }
            clock.advance(by: .milliseconds(500))
            _ = try await submitted.finished()
            while screen.label != "1" || screen.alerts != ["increased!"] { await Task.yield() }
            binding.cancel()
            await binding.value
            group.cancelAll()
        }
    }

    // MARK: - From RxFeedback

    struct PlayCatch: Reactor {
        enum Player: String, Codable, Sendable { case human, machine }
        enum Action: Codable, Sendable { case throwBall }
        enum Mutation: Codable, Sendable { case thrown(by: Player) }
        struct State: Codable, Sendable { var holder = Player.human }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            guard context.state.holder == .human else { throw Rejection("the machine has the ball") }
            return .emit(.thrown(by: .human))
        }

        var feedback: [Feedback<Self>] {
            [
                .react("machine", to: { $0.holder == .machine ? true : nil }) { _, emit in
                    try await emit.sleep(for: .seconds(1))
                    try await emit(.thrown(by: .machine))
                }
            ]
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .thrown(let player): state.holder = player == .human ? .machine : .human
            }
        }
    }

    /// F7, F19: the request is found in the state, also by the primary that was started again.
    @Test func theMachineThrowsBackAlsoAfterARestart() {
        let store = TestStore(PlayCatch())
        store.send(.throwBall) { $0.holder = .machine }
        store.advance(by: .milliseconds(900))
        store.restart()
        store.send(.throwBall, rejected: "the machine has the ball")
        store.advance(by: .seconds(1))
        store.receive(.thrown(by: .machine)) { $0.holder = .human }
        store.finish()
    }

    // MARK: - From RxStateFlow

    struct Tally: Reactor {
        enum Action: Codable, Sendable { case step(Int), set(Int), reset, undo, clearHistory }
        enum Mutation: Codable, Sendable {
            case changed(String, to: Int)
            case undone, cleared
        }
        struct State: Codable, Sendable {
            var value = 0
            var history = UndoHistory<Int>(limit: 100)
        }
        typealias Reply = Int

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            let value = context.state.value
            switch action {
            case .step(let step):
                guard (-10...10).contains(step) else { throw Rejection("a step is from -10 to 10") }
                return try change("step", to: value + step)  // cannot overflow, which would end the primary
            case .set(let new): return try change("set", to: new)
            case .reset: return try change("reset", to: 0)
            case .undo:
                guard let last = context.state.history.last else { throw Rejection("there is nothing to undo") }
                return .emit(.undone, reply: last.value)
            case .clearHistory: return .emit(.cleared, reply: value)
            }
        }

        private func change(_ name: String, to new: Int) throws -> Effect<Self> {
            guard new <= 10 else { throw Rejection("the maximum is reached") }
            guard new >= 0 else { throw Rejection("the minimum is reached") }
            return .emit(.changed(name, to: new), reply: new)
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .changed(let name, let new):
                state.history.record(name, at: context.time, before: state.value)
                state.value = new
            case .undone: if let value = state.history.undo() { state.value = value }
            case .cleared: state.history.clear()
            }
        }
    }

    func tapped(_ tally: Store<Tally>) async -> String? {
        do {
            _ = try await tally.send(.step(1))
            return nil
        } catch {
            return (error as? LockstepError)?.message ?? "\(error)"  // an alert of this user alone
        }
    }

    func log(_ tally: Store<Tally>) async throws {
        let observers = tally.observers()
        observers.add(CommitLogger<Tally>())
        try await observers.run()
    }

    /// S8: the primary decides, so of two that step at 9 one is turned away.
    @Test func oneOfTwoStepsAtNineIsTurnedAway() async throws {
        let node = try Node(.local())
        let tally = try node.store(Tally(), named: "tally")
        try await withRunning(node) {
            _ = try await tally.send(.set(9))
            async let one = tapped(tally)
            async let other = tapped(tally)
            let answers = await [one, other].compactMap { $0 }
            #expect(answers == ["the maximum is reached"])
            #expect(try await tally.send(.undo).reply == 9)
        }
    }

    /// S8: any client may send any step, and none ends the primary.
    @Test func noStepOverflows() {
        spec(Tally()).when(.set(1), .step(.max)).then(.rejects("a step is from -10 to 10"))
        spec(Tally()).when(.step(.min)).then(.rejects("a step is from -10 to 10"), .unchanged)
    }

    /// S17: undo is a mutation, and brings back what was recorded.
    @Test func undoIsDecidedByThePrimary() {
        spec(Tally()).when(.undo).then(.rejects("there is nothing to undo"))
        spec(Tally()).when(.set(4), .step(1), .undo).then(.emits(.undone), .replies(4))
        spec(Tally()).when(.step(-1)).then(.rejects("the minimum is reached"), .unchanged)
    }
}
