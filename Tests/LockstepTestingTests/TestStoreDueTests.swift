import Lockstep
import LockstepTesting
import Testing

/// Virtual time, and what is more than one entry has at a time (PROTOCOL R-65).
@Suite(.timeLimit(.minutes(5))) struct TestStoreDueTests {
    /// Numbers that come together and go together, all in one mutation or each in its own.
    struct Crowd: Reactor {
        enum Action: Codable, Sendable {
            case come(Int, together: Bool)
            case stay(Int)
        }
        enum Mutation: Codable, Sendable {
            case came(Int, together: Bool, stays: Bool)
            case gone([Int])
        }
        struct State: Codable, Sendable {
            var present = ExpiringMap<Int, Int>()
            var isTogether = true
            var stays = false
            var departures = 0
        }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) -> Effect<Self> {
            switch action {
            case .come(let count, let together): .emit(.came(count, together: together, stays: false))
            case .stay(let count): .emit(.came(count, together: true, stays: true))
            }
        }

        static func nextDue(in state: State) -> LogTime? { state.present.next }

        static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
            let gone = state.present.expired(at: time, limit: limit)
            guard state.isTogether else { return gone.map { .gone([$0]) } }
            return gone.isEmpty ? [] : [.gone(gone)]
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .came(let count, let together, let stays):
                let end = context.time.advanced(by: .seconds(1))
                for number in 0..<count { state.present.set(number, forKey: number, expiresAt: end) }
                state.isTogether = together
                state.stays = stays
            case .gone(let numbers):
                state.departures += 1
                if !state.stays { state.present.removeExpired(numbers, at: context.time) }
            }
        }
    }

    /// With a mutation for each, a crowd of one deadline goes at its time, in as many entries as it takes.
    @Test func aCrowdGoesAtOnceIfEachHasAMutation() {
        let store = TestStore(Crowd())
        store.exhaustivity = .off
        store.send(.come(2_500, together: false))
        store.advance(by: .seconds(1))
        store.skipReceived()
        #expect(store.state.present.isEmpty && store.state.departures == 2_500)
        store.finish()
    }

    /// The rest of a mutation that named as many as it may is held for a second, and is no failure.
    @Test func theRestOfACrowdComesAfterASecond() {
        let store = TestStore(Crowd())
        store.exhaustivity = .off
        store.send(.come(2_500, together: true))
        store.advance(by: .seconds(1))
        store.skipReceived()
        #expect(store.state.present.count == 1_500)
        store.advance(by: .milliseconds(100))
        store.skipReceived()
        #expect(store.state.present.count == 1_500)
        store.advance(by: .seconds(3))
        store.skipReceived()
        #expect(store.state.present.isEmpty && store.state.departures == 3)
        store.finish()
    }

    /// A reducer that changes the state and leaves what was due in place is still found.
    @Test func whatStaysFails() {
        let collected = CollectedFailures()
        let store = TestStore(Crowd(), reporter: collected.reporter)
        store.exhaustivity = .off
        store.send(.stay(3))
        store.advance(by: .seconds(4))
        store.skipReceived()
        #expect(store.state.departures > 0 && store.state.present.count == 3)
        #expect(collected.texts.count == 1)
        #expect(collected.texts.first?.hasPrefix("the state still waits for a time that has come") == true)
        store.finish()
    }
}
