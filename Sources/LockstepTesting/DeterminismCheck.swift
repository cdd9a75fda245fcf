public import Lockstep
import LockstepCore

/// Checks that a reducer is a function of its arguments: the same log gives the same state, whoever replays it.
///
/// The actions run through the reactor once, as on a primary. The log of mutations that comes of it is then replayed
/// several times in this process and in other processes, which have other hash seeds, other addresses, another time zone
/// and another locale. The digests are compared after every entry.
///
/// ```swift
/// @Test func theReducerIsDeterministic() throws {
///     try checkDeterminism(of: Votes(), actions: [.vote("Ada"), .vote("Grace"), .vote("Ada")])
/// }
/// ```
///
/// It finds clocks, random numbers, hash values, the order of a `Set` or a `Dictionary` that reaches the state, global
/// variables, and fields that a mutation's or the state's coding loses. It tries what the actions reach, and no more:
/// give it actions that reach every case of the mutation. A clock that is read to the day differs only at midnight.
///
/// The other processes are this program's own file, started anew; nothing of it runs in them but the replay. They need
/// Linux; elsewhere the log is replayed in this process only. It takes about 0.1 s for each process.
///
/// - Parameters:
///   - reactor: The reactor; asked for its initial state several times.
///   - actions: What to do, in order. One that the reactor refuses is left out.
///   - processes: How many other processes replay the log; 0 is none.
///   - interval: How much of the log's time passes between two actions.
/// - Returns: What was compared.
/// - Throws: ``DeterminismError``.
@discardableResult
public func checkDeterminism<R: Reactor>(
    of reactor: R, actions: [R.Action], processes: Int = 3, interval: Duration = .milliseconds(100)
) throws(DeterminismError) -> DeterminismReport {
    precondition(processes >= 0, "a number of processes is not negative")
    let recording = try Recording(reactor, actions: actions, interval: interval)
    for replay in 1...2 {
        let name = "replay \(replay) in this process"
        try recording.compare(Replay.run(recording.log, from: reactor.initialState, as: R.self), name)
    }
    // A replica that joins from a snapshot goes on with a state that was written and read.
    let name = "replay through snapshots"
    try recording.compare(Replay.run(recording.log, from: reactor.initialState, as: R.self, isEncoded: true), name)
    #if os(Linux)
        try ReplayProcesses.run(processes, recording)
        let others = processes
    #else
        let others = 0
    #endif
    return DeterminismReport(
        actions: actions.count, rejections: recording.rejections.count, entries: recording.log.entries.count,
        replays: 3 + others, processes: others)
}

/// What a ``checkDeterminism(of:actions:processes:interval:)`` that found nothing has compared.
public struct DeterminismReport: Hashable, Sendable {
    /// The actions that were given.
    public let actions: Int
    /// Those that the reactor refused.
    public let rejections: Int
    /// The entries that were compared after each.
    public let entries: Int
    /// How often the log was replayed.
    public let replays: Int
    /// In how many other processes.
    public let processes: Int
}

/// Why a ``checkDeterminism(of:actions:processes:interval:)`` failed.
public enum DeterminismError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A replay came to another state.
    case differs(NondeterministicEntry)
    /// Nothing could be compared: no action changed anything, or something cannot be encoded.
    case nothingToCompare(String)
    /// The log could not be replayed in another process; the text says why, and what to do.
    case noReplay(String)

    /// What happened, for a reader.
    public var description: String {
        switch self {
        case .differs(let entry): entry.description
        case .nothingToCompare(let text): "nothing to compare: \(text)"
        case .noReplay(let text): "no replay in another process: \(text)"
        }
    }
}

/// The first entry after which a replay had another state.
public struct NondeterministicEntry: Hashable, Sendable, CustomStringConvertible {
    /// The entry's number, from 1; 0 is the initial state, before the first.
    public let entry: Int
    /// The entry's mutations in words.
    public let mutations: [String]
    /// Which replay differed, such as `replay in process 2`.
    public let replay: String
    /// The state's digest after the entry when the actions ran first, and in the replay.
    public let digests: [Digest]
    /// Where the states differ, at most 16 places.
    public let differences: [StateDifference]

    /// Everything, over several lines.
    public var description: String {
        let first = entry == 0 ? "the initial state differs" : "the state differs after entry \(entry)"
        var lines = ["not deterministic: \(first), in \(replay): \(digests.map { "\($0)" }.joined(separator: ", "))"]
        if !mutations.isEmpty { lines.append("  the entry: \(mutations.joined(separator: ", "))") }
        lines += differences.map { "  \($0)" }
        return lines.joined(separator: "\n")
    }
}
