import Foundation
import Lockstep
import LockstepCore
import LockstepNode
import LockstepSQLite
import Testing

/// A journal that is folded through a reactor (SEMANTICS S17).
@Suite(.timeLimit(.minutes(5))) struct JournalReplayTests {
    struct Notes: Reactor {
        enum Action: Codable, Sendable { case note(String), work(String) }
        enum Mutation: Codable, Sendable { case noted(String) }
        struct State: Codable, Sendable, Equatable { var notes: [String] = [] }

        /// Nobody may run an effect.
        var isReplaying = false

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            precondition(!isReplaying, "a replay decides nothing")
            switch action {
            case .note(let text): return .emit(.noted(text))
            case .work(let text):
                return .run { emit in
                    try await emit(.noted("\(text) 0"))
                    emit.atEnd(.noted("\(text) end"))
                }
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            switch mutation {
            case .noted(let text): state.notes.append(text)
            }
        }
    }

    /// Runs a primary in the folder and returns the places of its actions.
    private func write(_ actions: [Notes.Action], to folder: JournalFolder) async throws -> [Place] {
        let node = try Node(.primary(listen: nil, journal: .sqlite(at: folder.path, create: true)))
        let store = try node.store(Notes(), named: "notes")
        return try await withThrowingTaskGroup(of: [Place]?.self) { group in
            group.addTask {
                try await node.run()
                return nil
            }
            group.addTask {
                var places: [Place] = []
                for action in actions { places.append(try await store.send(action).place) }
                return places
            }
            var places: [Place] = []
            for try await result in group {
                places = result ?? places
                group.cancelAll()
            }
            return places
        }
    }

    private func replay(_ folder: JournalFolder) throws -> JournalReplay<Notes> {
        try JournalReplay(Notes(isReplaying: true), folder: folder.path, store: "notes")
    }

    /// S17: the state after each action is found, effects' emissions included, without running anything; and the end.
    @Test func theStateAfterEachActionIsFound() async throws {
        let folder = JournalFolder()
        let places = try await write([.note("a"), .work("b"), .note("c")], to: folder)
        let replay = try replay(folder)
        let counts = try places.map { try replay.state(at: $0.sequence).state.notes.count }
        #expect(counts == [1, 3, 4])
        for place in places {
            let then = try replay.state(at: place.sequence)
            #expect(then.place == place && then.time > .zero)
        }
        let end = try replay.state()
        #expect(end.state.notes == ["a", "b 0", "b end", "c"])
        #expect(try replay.end() == end.place)
        #expect(try replay.state(at: .zero).state.notes.isEmpty)
        try replay.close()
    }

    /// S17: commits come in order with their causes and states, from any entry on.
    @Test func commitsAreReplayedFromAnyEntryOn() async throws {
        let folder = JournalFolder()
        let places = try await write([.note("a"), .work("b"), .note("c")], to: folder)
        let replay = try replay(folder)
        var causes: [String] = []
        var last: [String] = []
        let end = try replay.forEachCommit { commit in
            #expect(commit.before.notes == last)
            last = commit.after.notes
            causes.append(String(commit.cause.description.prefix { $0 != " " && !$0.isNumber }))
        }
        #expect(causes == ["action", "acceptance", "effect", "", "action"] && end.state.notes == last)
        var rest: [String] = []
        try replay.forEachCommit(after: places[1].sequence) { rest += $0.after.notes }
        #expect(rest == ["a", "b 0", "b end", "c"])
        struct Enough: Error {}
        #expect(throws: Enough.self) { try replay.forEachCommit { _ in throw Enough() } }
    }

    /// S17: snapshots are begun from, and what they replaced is found as well as long as it is kept.
    @Test func aRestartedNodeWithASnapshotIsReplayed() async throws {
        let folder = JournalFolder()
        let many = (0..<300).map { Notes.Action.note("\($0) " + String(repeating: "x", count: 2_000)) }
        let first = try await write(many, to: folder)
        let second = try await write([.note("last")], to: folder)
        let replay = try replay(folder)
        for (index, place) in first.enumerated() where index % 60 == 0 {
            let then = try replay.state(at: place.sequence)
            #expect(then.state.notes.count == index + 1 && then.place == place)
        }
        let end = try replay.state(at: second[0].sequence)
        #expect(end.state.notes.count == 301 && end.place.epoch > first[0].epoch)
    }

    /// S17: a place before all that is kept has no state, least of all the initial one.
    @Test func aPlaceThatIsNoLongerKeptIsRefused() async throws {
        let folder = JournalFolder()
        let journal = try folder.emptyJournal()
        var history = History(store: folder.store)
        // The first batch has the epoch's entry, too.
        _ = try history.add(count: 99)
        #expect(history.end.sequence.rawValue == 100)
        let state = try Notes.stateCoding.encoded(Notes.State(notes: ["a"]))
        let content = SnapshotContent(log: history.log, digest: Digest(rawValue: 7), state: state)
        try journal.replaceRecovered(withSnapshot: content.encoded(), at: history.end)
        try await journal.appended(try history.add(count: 20))
        journal.close()
        let replay = try JournalReplay(
            Notes(isReplaying: true), folder: folder.path, store: JournalFolder.storeName)
        for place: UInt64 in [1, 50, 99] {
            let error = #expect(throws: LockstepError.self) { try replay.state(at: SequenceNumber(rawValue: place)) }
            #expect(error?.code == .positionTooOld)
            #expect(error?.message.contains("has no state at \(place): it begins at 100") == true)
            #expect(throws: LockstepError.self) {
                try replay.forEachCommit(after: SequenceNumber(rawValue: place)) { _ in }
            }
        }
        for place: UInt64 in [100, 110, 120] {
            let then = try replay.state(at: SequenceNumber(rawValue: place))
            #expect(then.state.notes == ["a"] && then.place.sequence.rawValue == place)
        }
        #expect(try replay.state(at: .zero).state.notes.isEmpty)
        try replay.close()
    }

    /// S17: a log and its copy are the same as far as both reach; after a fork the first difference is named.
    @Test func twoLogsAreCompared() async throws {
        let folder = JournalFolder()
        _ = try await write([.note("a")], to: folder)
        let other = try folder.copy()
        let mine = try await write([.note("mine")], to: folder)
        let same = try replay(folder).comparison(with: replay(other))
        #expect(same.difference == nil && same.commonEnd != nil)
        _ = try await write([.note("theirs")], to: other)
        let forked = try replay(folder).comparison(with: replay(other))
        let difference = try #require(forked.difference)
        #expect(difference.own?.contains("mine") == true && difference.other?.contains("theirs") == true)
        #expect(difference.sequence == mine[0].sequence && (forked.commonEnd ?? .zero) < difference.sequence)
    }

    /// A folder without a journal is refused by name.
    @Test func aMissingJournalIsRefused() throws {
        let folder = JournalFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let error = #expect(throws: LockstepError.self) { try replay(folder) }
        #expect(error?.code == .journalMissing)
    }
}
