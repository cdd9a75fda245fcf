import Counters
import Foundation
import Lockstep
import LockstepTesting
import Testing

/// The log is replayed here and in other processes, and each defect is found where it is.
@Suite(.timeLimit(.minutes(5))) struct DeterminismTests {
    private static let texts = ["a", "b", "c", "d", "e", "f"]

    private func finding<N: Notes>(_ reactor: N, processes: Int = 2) throws -> NondeterministicEntry {
        let error = #expect(throws: DeterminismError.self) {
            try checkDeterminism(of: reactor, actions: Self.texts, processes: processes)
        }
        guard case .differs(let entry)? = error else { throw try #require(error) }
        return entry
    }

    @Test func whatIsRightPasses() throws {
        let report = try checkDeterminism(of: RightNotes(), actions: Self.texts)
        #expect(report.actions == 6)
        #expect(report.entries == 6)
        #expect(report.replays == 6)
        #expect(report.processes == 3)
        try checkDeterminism(of: Dice(), actions: Array(repeating: .roll, count: 20))
        let votes = try checkDeterminism(of: Votes(), actions: [.vote("Ada"), .vote(""), .vote("Ada")])
        #expect(votes.rejections == 1)
        #expect(votes.entries == 2)
    }

    @Test func countersPass() throws {
        let actions = (0..<200).flatMap { number -> [Counters.Action] in
            let name = "n\(number % 17)"
            return [
                .add(name, by: Int64(number)), .set("s\(number % 3)", to: Int64(number)), .reset("s\(number % 5)"),
                .bound("b", Counters.Bounds(lowest: -5, highest: 5)), .add("b", by: 1), .unbound("b"),
                .defineBucket("d", TokenBucket.Rate(capacity: 9, refill: 2)), .take("d", 4),
            ]
        }
        let report = try checkDeterminism(of: Counters(), actions: actions)
        #expect(report.entries > 1_000)
    }

    @Test func aClockIsFound() throws {
        let entry = try finding(ClockNotes())
        #expect(entry.entry == 1)
        #expect(entry.differences.map(\.path) == ["notes[0]"])
    }

    @Test func aRandomNumberIsFoundWhereItIs() throws {
        let entry = try finding(RandomNotes())
        #expect(entry.entry == 3)
        #expect(entry.mutations == ["c"])
        #expect(entry.digests.count == 2)
        #expect(entry.differences.map(\.path) == ["notes[2]"])
        #expect(entry.replay == "replay 1 in this process")
        #expect(entry.description.contains("after entry 3"))
    }

    @Test func aGlobalVariableIsFound() throws { #expect(try finding(GlobalNotes()).entry >= 1) }

    @Test func theOrderOfASetIsFound() throws {
        let entry = try finding(SetOrderNotes())
        #expect(entry.entry >= 2)
        #expect(entry.differences.allSatisfy { $0.path.hasPrefix("notes[") })
    }

    /// One process cannot find it: that is what the others are for.
    @Test func aHashValueIsFoundByOtherProcesses() throws {
        try checkDeterminism(of: HashNotes(), actions: Self.texts, processes: 0)
        let entry = try finding(HashNotes())
        #expect(entry.entry == 1)
        #expect(entry.replay == "process 1")
    }

    @Test func theTimeZoneIsFoundByOtherProcesses() throws {
        try checkDeterminism(of: TimeZoneNotes(), actions: Self.texts, processes: 0)
        #expect(try finding(TimeZoneNotes()).entry == 1)
    }

    @Test func aFieldThatIsNotEncodedIsFound() throws {
        let error = #expect(throws: DeterminismError.self) {
            try checkDeterminism(of: ForgetfulCounter(), actions: [1, 2, 3])
        }
        guard case .differs(let entry)? = error else { Issue.record("\(error as Any)"); return }
        #expect(entry.entry == 2)
        #expect(entry.replay == "replay through snapshots")
    }

    /// The actions go through the middleware first, as on a primary.
    @Test func whatMiddlewareMakesOfAnActionIsPerformed() throws {
        let report = try checkDeterminism(of: Doubled(), actions: [1, 2, 3], processes: 0)
        #expect(report.entries == 3)
    }

    /// It takes only what its middleware has made even.
    private struct Doubled: Reactor {
        typealias Action = Int
        typealias Mutation = Int
        var initialState: Int { 0 }
        var middleware: [Middleware<Self>] { [Middleware { action, _ in 2 * action }] }
        func mutate(_ action: Int, _ context: Context) throws -> Effect<Self> {
            guard action % 2 == 0 else { throw Rejection("odd") }
            return .emit(action)
        }
        static func reduce(into state: inout Int, _ mutation: Int, _ context: ReduceContext) { state += mutation }
    }

    @Test func actionsThatChangeNothingAreNoCheck() {
        #expect(throws: DeterminismError.self) { try checkDeterminism(of: Votes(), actions: [.vote("")]) }
        #expect(throws: DeterminismError.self) { try checkDeterminism(of: Votes(), actions: []) }
    }

    private struct PrivateNotes: Notes {
        static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
            ["\(text.hashValue)"]
        }
    }

    /// A type without a name that can be looked up is found by its place.
    @Test func privateAndLocalReactorsWorkToo() throws {
        struct LocalNotes: Notes {
            static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] { [text] }
        }
        #expect(try checkDeterminism(of: LocalNotes(), actions: Self.texts).processes == 3)
        #expect(try finding(PrivateNotes()).replay == "process 1")
    }

    private struct GenericNotes<Value: Sendable>: Notes {
        static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] { [text] }
    }

    /// What cannot be found says so, and can be checked in one process.
    @Test func aPrivateGenericReactorSaysWhatToDo() throws {
        let error = #expect(throws: DeterminismError.self) {
            try checkDeterminism(of: GenericNotes<Int>(), actions: Self.texts)
        }
        guard case .noReplay(let text)? = error else { Issue.record("\(error as Any)"); return }
        #expect(text.contains("processes: 0"))
        try checkDeterminism(of: GenericNotes<Int>(), actions: Self.texts, processes: 0)
    }

    struct Trap: Notes {
        static func note(_ text: String, in state: NotesState, _ context: ReduceContext) -> [String] {
            // In the other process only.
            precondition(ProcessInfo.processInfo.environment["LOCKSTEP_REPLAY_ORDER"] == nil, "this reducer traps")
            return [text]
        }
    }

    @Test func aTrapInAnotherProcessIsReported() throws {
        let error = #expect(throws: DeterminismError.self) {
            try checkDeterminism(of: Trap(), actions: Self.texts, processes: 1)
        }
        guard case .noReplay(let text)? = error else { Issue.record("\(error as Any)"); return }
        #expect(text.contains("by signal"))
        #expect(text.contains("this reducer traps"))
    }
}
