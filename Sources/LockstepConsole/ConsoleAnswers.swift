internal import Foundation
internal import Lockstep
internal import LockstepHTTP
internal import LockstepNode

// What the routes below /api answer, as JSON. Numbers of entries, bytes and the like are numbers; times are microseconds
// since 1970. The JSON of states and mutations is a text within the JSON, since it may have numbers that a browser
// would round.

/// `/api/status`, and the event `status`: the node, and what the console keeps of its stores.
struct StatusAnswer: Encodable {
    /// Milliseconds since 1970, by the node's host.
    var at: Double
    var node: NodeStatus
    /// What the node that this one follows says of itself and of the stores of which it is the primary; nil if there is
    /// none, and while it does not answer.
    var primary: NodeStatus?
    var kept: [KeptEntries]
    var runs: [RunsAnswer]
    /// How many pages are open.
    var readers: Int
}

/// What the console keeps of a store.
package struct KeptEntries: Encodable, Equatable {
    package var store: String
    /// Whether commits are followed: not before somebody looks, and not before the store has a state.
    package var isFollowed = false
    /// The first and the last sequence number at which a state is kept; nil if none is.
    package var firstState: UInt64?
    package var lastState: UInt64?
    /// How many states are kept at most.
    package var mostStates = 0
    /// How many lines of entries are kept.
    package var lines = 0
    /// Sequence numbers that were passed over because they came faster than the console follows.
    package var missed: UInt64 = 0
}

/// Accepted actions of a store that have not ended.
struct RunsAnswer: Encodable {
    var store: String
    var count: Int
    var oldest: [UnfinishedRun]
}

/// An entry in one line.
package struct EntryLine: Encodable, Equatable {
    package var epoch: UInt64
    package var sequence: UInt64
    package var time: Int64
    /// `action`, `acceptance`, `effect`, `end`, `source`, `feedback` or `time`.
    package var kind: String
    /// The same with its session, name or the like.
    package var cause: String
    /// How many mutations it has.
    package var mutations: Int
    /// The beginning of the first mutation's JSON; empty without one.
    package var text: String
    /// Why it was rejected, or why its effect failed.
    package var rejection: String?
    /// Sequence numbers before it that were passed over.
    package var missed: UInt64 = 0
}

/// `/api/entries`: lines, the newest first.
package struct EntryPage: Encodable, Equatable {
    package var entries: [EntryLine]
    /// Whether older ones are kept.
    package var hasOlder: Bool

    package init(entries: [EntryLine], hasOlder: Bool) {
        self.entries = entries
        self.hasOlder = hasOlder
    }
}

/// The event `entries`: what came since the last one.
struct EntryNews: Encodable, Equatable {
    var store: String
    /// The newest of them, the newest first.
    var entries: [EntryLine]
    /// How many came, with those that are not in `entries`.
    var count: UInt64
    /// All that were counted since the store is followed.
    var total: UInt64
}

/// `/api/entry`: an entry in full.
struct EntryAnswer: Encodable {
    var line: EntryLine
    /// The JSON of each mutation.
    var mutations: [String]
    /// Whether some of it was left out.
    var isCut: Bool
    /// What it changed; nil if the state before it is not kept.
    var difference: DifferenceAnswer?
    /// How to get what was left out.
    var rest: String
}

/// `/api/state`: a state as JSON.
struct StateAnswer: Encodable {
    var epoch: UInt64
    var sequence: UInt64
    var time: Int64
    var json: String
    var cuts: [BoundedJSON.Cut]
    /// How to get what was left out.
    var rest: String
}

/// `/api/difference`: what changed between two states.
struct DifferenceAnswer: Encodable {
    var from: UInt64
    var to: UInt64
    var changes: [Change]
    /// How many more changes there are.
    var omitted: Int
    /// The states are too large to be compared here.
    var isTooLarge: Bool
    /// How to get what was left out.
    var rest: String

    struct Change: Encodable, Equatable {
        var path: String
        /// What was there, in at most 200 characters; nil for nothing.
        var before: String?
        /// What is there now; nil for nothing.
        var after: String?
    }
}

/// `/api/values`: a number of the state over the entries.
struct ValuesAnswer: Encodable {
    var path: String
    var points: [ValuePoint]
}

/// A number after an entry; nil where the path led to none.
struct ValuePoint: Encodable, Equatable {
    var sequence: UInt64
    var time: Int64
    var value: Double?
}

/// Why there is no answer, in one line that says what to do.
struct ConsoleProblem: Error, Encodable {
    let status: Int
    let problem: String

    init(_ status: Int, _ problem: String) {
        self.status = status
        self.problem = problem
    }

    /// What an error means for whoever asked.
    init(describing error: any Error) {
        if let problem = error as? ConsoleProblem {
            self = problem
        } else if let error = error as? LockstepError {
            let status =
                switch error.code {
                case .positionTooOld: 404
                case .stopped: 503
                default: 404
                }
            self.init(status, error.message)
        } else {
            self.init(500, "\(error)")
        }
    }

    private enum CodingKeys: CodingKey { case problem }
}

extension HTTPAnswer {
    /// JSON in one line.
    static func json(_ value: some Encodable, status: Int = 200) -> HTTPAnswer {
        do {
            return .text(try value.jsonLine(), status: status, as: "application/json")
        } catch {
            return .text("{\"problem\":\"the answer cannot be encoded\"}", status: 500, as: "application/json")
        }
    }
}

extension Encodable {
    /// Its JSON in one line, with sorted keys.
    func jsonLine() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // A number of a state may be none that JSON has.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
