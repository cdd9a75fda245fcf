import Lockstep
import LockstepTesting
import Testing

/// The code of Values.md; what has the macro is in LockstepMacrosTests.
@Suite(.timeLimit(.minutes(5))) struct ValuesPage {
    struct Auction: Reactor {
        enum Action: Codable, Sendable {
            case open(String, for: Duration)
            case bid(String, by: String, Int)
        }
        enum Mutation: Codable, Sendable {
            case opened(String, for: Duration)
            case bid(String, by: String, Int)
            case due(String, LogTime)
            case gone(String)
        }
        enum Query: Codable, Sendable {
            case isOpen(String)
            case present
        }
        enum Answer: Codable, Sendable, Equatable {
            case isOpen(Bool, at: Place)
            case present([String])
        }

        struct Lot: Codable, Sendable, Digestible {
            var endsAt: LogTime
            var best = 0
            var bidder: String?
            var isOver = false
        }

        struct State: Codable, Sendable {
            var lots: ReplicatedMap<String, Lot> = [:]
            var closing = Timers<String, String>()
            var present = ExpiringMap<String, String>()
        }

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .open(let lot, let open): return .emit(.opened(lot, for: open))
            case .bid(let lot, let bidder, let amount):
                guard let found = context.state.lots[lot], context.time < found.endsAt, amount > found.best else {
                    throw Rejection("too late, or too little")
                }
                return .emit(.bid(lot, by: bidder, amount))
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .opened(let lot, let open):
                state.lots[lot] = Lot(endsAt: context.time.advanced(by: open))
                state.closing.schedule(lot, at: context.time.advanced(by: open), "the time is over")
            case .bid(let lot, let bidder, let amount):
                state.lots[lot]?.best = amount
                state.lots[lot]?.bidder = bidder
                state.present.set(bidder, forKey: bidder, expiresAt: context.time.advanced(by: .seconds(600)))
            case .due(let lot, let deadline):
                // Cancelled or put off meanwhile: then there is nothing to do.
                if state.closing.fired(lot, deadline: deadline) { state.lots[lot]?.isOver = true }
            case .gone(let bidder): state.present.removeExpired([bidder], at: context.time)
            }
        }

        static func nextDue(in state: State) -> LogTime? {
            [state.closing.next, state.present.next].compactMap(\.self).min()
        }

        static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
            let closing = state.closing.due(at: time, limit: limit).map { Mutation.due($0.id, $0.deadline) }
            let gone = state.present.expired(at: time, limit: limit - closing.count).map { Mutation.gone($0) }
            return closing + gone
        }

        static func answer(_ query: Query, in state: State, _ context: AnswerContext) throws -> Answer {
            switch query {
            case .isOpen(let lot):
                guard let lot = state.lots[lot] else { throw Rejection("there is no such lot") }
                return .isOpen(!lot.isOver && context.time < lot.endsAt, at: context.place)
            case .present: return .present(state.present.sorted(at: context.time).map(\.value))
            }
        }
    }

    struct Notebook: Reactor {
        struct Note: Codable, Sendable, Identifiable, Equatable {
            var id: UInt64
            var text: String
        }
        enum Action: Codable, Sendable {
            case write(String)
            case moveToFront(UInt64)
            case remove(UInt64)
            case undo
        }
        struct State: Codable, Sendable {
            var notes: IdentifiedList<Note> = []
            var history = UndoHistory<IdentifiedList<Note>>(limit: 20)
            @Pulse var alert: String?
        }

        var initialState: State { State() }

        /// An action is the mutation too.
        static func reduce(into state: inout State, _ action: Action, _ context: ReduceContext) {
            if case .undo = action {
                guard let notes = state.history.undo() else { return state.alert = "there is nothing to undo" }
                return state.notes = notes
            }
            state.history.record("\(action)", at: context.time, before: state.notes)
            switch action {
            case .write(let text): state.notes.append(Note(id: context.sequence.rawValue, text: text))
            case .moveToFront(let id):
                if !state.notes.move(id, to: 0) { state.alert = "the note has gone" }
            case .remove(let id):
                if state.notes.remove(id) == nil { state.alert = "the note has gone" }
            case .undo: break
            }
        }
    }

    /// Each timer fires once, by the log's time, and what has expired is gone for readers and then from memory.
    @Test func lotsCloseAndBiddersGo() throws {
        let store = TestStore(Auction())
        store.exhaustivity = .off
        store.send(.open("vase", for: .seconds(60)))
        store.send(.bid("vase", by: "Ada", 5))
        let bid = try #require(store.state.lots["vase"])
        #expect(bid.bidder == "Ada" && !bid.isOver)
        #expect(store.state.present["Ada", at: bid.endsAt] == "Ada")
        store.advance(by: .seconds(60))
        store.skipReceived()
        #expect(store.state.lots["vase"]?.isOver == true && store.state.closing.isEmpty)
        store.send(.bid("vase", by: "Grace", 6), rejected: "too late, or too little")
        let later = bid.endsAt.advanced(by: .seconds(541))
        #expect(store.state.present["Ada", at: later] == nil)
        #expect(store.state.present.count == 1)
        store.advance(by: .seconds(600))
        store.skipReceived()
        #expect(store.state.present.isEmpty)
        store.finish()
    }

    /// An answer depends on the log's time and on nothing else.
    @Test func answersHaveATime() throws {
        let start = LogTime(rawValue: 1_000)
        var state = Auction().initialState
        let reducing = ReduceContext(time: start, epoch: .zero, sequence: .zero)
        Auction.reduce(into: &state, .opened("vase", for: .seconds(1)), reducing)
        Auction.reduce(into: &state, .bid("vase", by: "Ada", 1), reducing)
        func answer(_ query: Auction.Query, after time: Duration) throws -> Auction.Answer {
            try Auction.answer(query, in: state, AnswerContext(place: .start, time: start.advanced(by: time)))
        }
        #expect(try answer(.isOpen("vase"), after: .milliseconds(999)) == .isOpen(true, at: .start))
        #expect(try answer(.isOpen("vase"), after: .seconds(1)) == .isOpen(false, at: .start))
        #expect(try answer(.present, after: .seconds(599)) == .present(["Ada"]))
        #expect(try answer(.present, after: .seconds(600)) == .present([]))
        #expect(throws: Rejection.self) { try answer(.isOpen("bowl"), after: .zero) }
    }

    @Test func notesAreOrderedUndoneAndAlerted() throws {
        let store = TestStore(Notebook())
        store.exhaustivity = .off
        store.send(.write("a"))
        store.send(.write("b"))
        let ids = store.state.notes.ids
        store.send(.moveToFront(ids[1]))
        #expect(store.state.notes.elements.map(\.text) == ["b", "a"])
        store.send(.undo)
        #expect(store.state.notes.elements.map(\.text) == ["a", "b"])
        var pulse = PulseBaseline(store.state.$alert)
        store.send(.remove(99))
        #expect(pulse.event(of: store.state.$alert) == PulseEvent(value: "the note has gone", assignments: 1))
        store.send(.remove(99))
        #expect(pulse.event(of: store.state.$alert) == PulseEvent(value: "the note has gone", assignments: 1))
        store.finish()
    }
}
