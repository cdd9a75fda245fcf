public import Lockstep

/// Why a call of a ``TestCluster`` gave no reply.
///
/// Compare with the case that a test expects:
///
/// ```swift
/// #expect(throws: TestClusterError.rejected("nobody was named")) { try cluster.send(.vote("")) }
/// ```
public enum TestClusterError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reactor, or a limit, refused the action, for this reason; it is certainly without effect.
    case rejected(String)
    /// The effect of the accepted action failed, for this reason; what it had emitted stays.
    case failed(String)
    /// The effect of the accepted action was cancelled, or superseded; what it had emitted stays.
    case cancelled(String)
    /// The action never reached the log: its sender was killed before, for example. It is certainly without effect.
    case withoutEffect(String)
    /// Whether the action took effect, or how it ended, its sender will never learn; the text says what the log has.
    case outcomeUnknown(String)
    /// There was no answer within the virtual time that was given; the text says what stands in the way.
    case notAnswered(String)
    /// A query was refused, or an answer cannot be read.
    case refused(String)
    /// The process that was to be called, or looked at, is down.
    case notRunning(ClusterProcess)
    /// The healed cluster did not come to rest in time; the text says what is open.
    case notSettled(String)
    /// A promise of Lockstep was broken, nearly always because the reducer is no function of its arguments.
    case broken(BrokenPromise)

    /// What happened, for a reader.
    public var description: String {
        switch self {
        case .rejected(let reason): "rejected: \(reason)"
        case .failed(let reason): "failed: \(reason)"
        case .cancelled(let text): "cancelled: \(text)"
        case .withoutEffect(let text): "without effect: \(text)"
        case .outcomeUnknown(let text): "outcome unknown: \(text)"
        case .notAnswered(let text): "not answered: \(text)"
        case .refused(let text): "refused: \(text)"
        case .notRunning(let process): "\(process) is down"
        case .notSettled(let text): "not settled: \(text)"
        case .broken(let promise): promise.description
        }
    }
}

/// The first promise that the checkers of a ``TestCluster`` saw broken.
public struct BrokenPromise: Hashable, Sendable, CustomStringConvertible {
    /// The promise's name: `digest` for nodes whose states differ, `agreement`, `exactlyOnce`, `durability`, and
    /// others.
    public let promise: String
    /// What was seen, with the node and the sequence number.
    public let text: String
    /// The entry at which it was seen, in words, if the promise is about a state.
    public let entry: String?
    /// Where the states differ, at most 16 places.
    public let differences: [StateDifference]
    /// How to run it again.
    public let repetition: String

    /// Everything, over several lines.
    public var description: String {
        var lines = ["broken promise, \(promise): \(text)"]
        if let entry { lines.append("  the entry: \(entry)") }
        for difference in differences { lines.append("  \(difference)") }
        lines.append("  again: \(repetition)")
        return lines.joined(separator: "\n")
    }
}
