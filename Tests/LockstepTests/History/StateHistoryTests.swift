import Lockstep
import LockstepNode
import Testing

/// Time travel in memory, the logger, and commands under a condition (SEMANTICS S9, S16, S17).
@Suite(.timeLimit(.minutes(5))) struct StateHistoryTests {
    private func commit(_ text: String, after snapshot: Snapshot<[String]>, at sequence: UInt64) -> Commit<Echo> {
        Commit(
            LoggedEntry(
                place: Place(epoch: .zero, sequence: SequenceNumber(rawValue: sequence)), time: .zero,
                cause: .source("test"), mutations: [Echo.Action(text)]),
            before: snapshot.state)
    }

    /// S17: the ring has a bound and a named answer on either side; a number between two commits is the former's state.
    @Test func theRingHasABound() async throws {
        let start = Snapshot(state: [String](), place: .start, time: .zero)
        let history = StateHistory<Echo>(start: start, capacity: 3)
        #expect(try history.state(at: .zero).state == [])
        var last = start
        for (index, sequence) in [2, 3, 7, 8, 9].enumerated() {
            let commit = commit("\(index)", after: last, at: UInt64(sequence))
            await history.didCommit(commit)
            last = commit.snapshot
        }
        #expect(history.range.lowerBound.sequence.rawValue == 3 && history.range.upperBound == last.place)
        for (sequence, count) in [(3, 2), (4, 2), (6, 2), (7, 3), (8, 4), (9, 5)] {
            let found = try history.state(at: SequenceNumber(rawValue: UInt64(sequence)))
            #expect(found.state.count == count && found.place.sequence.rawValue <= UInt64(sequence))
        }
        let old = #expect(throws: LockstepError.self) { try history.state(at: SequenceNumber(rawValue: 2)) }
        #expect(old?.code == .positionTooOld)
        let early = #expect(throws: LockstepError.self) { try history.state(at: SequenceNumber(rawValue: 10)) }
        #expect(early?.code == .unavailable)
    }

    /// What was passed over is answered as not kept, and not with the state before it.
    @Test func statesOfAGapAreNotKept() async throws {
        let start = Snapshot(state: [String](), place: .start, time: .zero)
        let history = StateHistory<Echo>(start: start, capacity: 4)
        let first = commit("a", after: start, at: 3)
        await history.didCommit(first)
        let far = commit("b", after: first.snapshot, at: 50)
        history.passOver(to: far.snapshot)
        await history.didCommit(commit("c", after: far.snapshot, at: 52))
        func state(_ sequence: UInt64) throws -> [String] {
            try history.state(at: SequenceNumber(rawValue: sequence)).state
        }
        #expect(try state(3) == ["a"] && state(50) == ["a", "b"] && state(51) == ["a", "b"])
        for sequence in [UInt64(4), 49] {
            let error = #expect(throws: LockstepError.self) { try state(sequence) }
            #expect(error?.code == .positionTooOld && error?.message.contains("too many to follow") == true)
        }
        #expect(history.snapshots.map(\.place.sequence.rawValue) == [0, 3, 50, 52])
    }

    /// S17: on a node, the state after each receipt is found again, and looking back changes nothing.
    @Test func statesOfAStoreAreFoundAgain() async throws {
        let node = try Node(.local())
        let store = try node.store(Ledger(), named: "ledger")
        let history = StateHistory(store, capacity: 64)
        try await withRunning(node) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await history.run() }
                // It begins with the first state of the cluster.
                while history.range.upperBound == .start { await Task.yield() }
                var places: [Place] = []
                for amount in 1...20 { places.append(try await store.send(.put("a", amount)).place) }
                let last = places.last ?? .start
                while history.range.upperBound < last { await Task.yield() }
                for (index, place) in places.enumerated() {
                    let then = try history.state(at: place.sequence)
                    #expect(then.place == place && then.state.amounts["a"] == Double(index + 1))
                }
                #expect(try await store.read { $0.amounts["a"] } == 20)
                group.cancelAll()
            }
        }
    }

    /// S16: cause, each mutation, and the difference that it made alone; a rejection with its reason.
    @Test func theLoggerSaysWhatEachMutationDid() throws {
        let entry = LoggedEntry<Ledger>(
            place: Place(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 17)), time: .zero,
            cause: .action(SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2)), 5),
            mutations: [.put("a", 1), .put("a", 2), .tag("t"), .tag("t")])
        let text = CommitLogger.text(of: Commit(entry, before: Ledger().initialState))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.first == "1:17 action 1:2#5")
        #expect(lines.count { $0.hasPrefix("  put(") || $0.hasPrefix("  tag(") } == 4)
        #expect(
            lines.filter { $0.hasPrefix("    amounts") } == [
                "    amounts[\"a\"]: added 1.0", "    amounts[\"a\"]: 1.0 -> 2.0",
            ])
        #expect(lines.last == "    nothing changed")
        let rejected = LoggedEntry<Ledger>(
            place: entry.place, time: .zero, cause: .time, mutations: [], rejection: "no")
        #expect(CommitLogger.text(of: Commit(rejected, before: Ledger().initialState)) == "1:17 time: no")
    }

    /// S16: nothing is computed while it is not enabled.
    @Test func theLoggerCostsNothingWhileItIsOff() async {
        let start = Snapshot(state: [String](), place: .start, time: .zero)
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        for isEnabled in [false, true] {
            let logger = CommitLogger<Echo>(isEnabled: { isEnabled }, write: { line.yield($0) })
            await logger.didCommit(commit("a", after: start, at: isEnabled ? 2 : 1))
        }
        line.finish()
        var all: [String] = []
        for await line in lines { all.append(line) }
        #expect(all.count == 1 && all.first?.hasPrefix("0:2 source test") == true)
    }
}

/// Titles that may be changed only by who has seen the last one.
struct Titles: Reactor {
    enum Command: Codable, Sendable, Equatable { case rename(String), count }
    typealias Action = Guarded<Command>
    enum Mutation: Codable, Sendable { case renamed(String), counted }

    struct State: Codable, Sendable {
        var title = Versioned("", version: 0)
        var changed = Place.start
        var count = 0
    }

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action.action {
        case .rename:
            guard case .rename(let title) = try action.get(context.state.changed, "the title") else { return .none }
            try action.condition?.check(context.state.title)
            return .emit(.renamed(title))
        case .count: return .emit(.counted)
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .renamed(let title):
            state.title = Versioned(title, at: context.sequence)
            state.changed = context.place
        case .counted: state.count += 1
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct UnchangedTests {
    /// S8, S9: of two that saw the same, one gets through; a change elsewhere does not matter; whoever looks again may.
    @Test func ofTwoThatSawTheSameOneGetsThrough() async throws {
        let node = try Node(.local())
        let store = try node.store(Titles(), named: "titles")
        try await withRunning(node) {
            _ = try await store.send(Guarded(.rename("first")))
            let seen = try await store.snapshot(.session)
            _ = try await store.send(Guarded(.count))
            let condition = Unchanged(since: seen)
            let actions = ["a", "b"].map { Guarded(Titles.Command.rename($0), onlyIf: condition) }
            let outcomes = Array(try await store.send(contentsOf: actions))
            let winner = try outcomes[0].get()
            guard case .rejected(let reason, _) = outcomes[1] else { return #expect(Bool(false)) }
            #expect(reason.contains("the title was changed at \(winner.place)") && reason.contains("\(seen.place)"))
            let again = try await store.snapshot(.session)
            #expect(again.state.title.value == "a" && again.state.count == 1)
            _ = try await store.send(Guarded(.rename("c"), onlyIf: Unchanged(since: again)))
            #expect(try await store.read { $0.title.value } == "c")
        }
    }

    /// S9: a later epoch counts as a change, and a value's own version is compared as well.
    @Test func placesAndVersionsAreCompared() throws {
        let seen = Unchanged(since: Place(epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 9)))
        try seen.check(.start)
        try seen.check(Place(epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 9)))
        #expect(throws: Rejection.self) {
            try seen.check(Place(epoch: Epoch(rawValue: 3), sequence: SequenceNumber(rawValue: 1)))
        }
        try seen.check(Versioned(1, at: SequenceNumber(rawValue: 9)))
        #expect(throws: Rejection.self) { try seen.check(Versioned(1, at: SequenceNumber(rawValue: 10))) }
    }
}
