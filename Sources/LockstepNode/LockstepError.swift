public import LockstepCore

/// What went wrong, as a user of Lockstep sees it: a code to decide by and a message that says what to do next.
public struct LockstepError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure; new kinds may be added, so compare it and have a branch for the rest.
    public let code: Code
    /// One line: what happened, and what to do about it.
    public let message: String
    /// The error that caused this one, if there is one.
    public let underlying: (any Error)?
    /// What to ask again about: with ``Code-swift.struct/outcomeUnknown``, and with ``Code-swift.struct/timeout`` of
    /// such a question.
    public let pending: PendingOutcome?
    /// The accepted action that goes on; only with ``Code-swift.struct/unfinished``.
    public let run: RunID?
    /// The source file that made the error, as `Module/File.swift`.
    public let fileID: String
    /// The line of ``fileID``.
    public let line: Int

    /// Makes an error; the place of the call is taken if none is given.
    public init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, pending: PendingOutcome? = nil,
        run: RunID? = nil, fileID: String = #fileID, line: Int = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        self.pending = pending
        self.run = run
        self.fileID = fileID
        self.line = line
    }

    /// Code and message in one line.
    public var description: String {
        let text = "\(code): \(message)"
        return String(text.map { $0.isNewline ? " " : $0 })
    }
}

/// Actions whose outcome a caller did not learn; the numbers can be asked for again in the same session.
public struct PendingOutcome: Hashable, Sendable {
    /// The session that the actions belong to.
    public var session: SessionID
    /// Their request numbers.
    public var numbers: ClosedRange<RequestNumber>

    /// Names the unanswered numbers of a session.
    public init(session: SessionID, numbers: ClosedRange<RequestNumber>) {
        self.session = session
        self.numbers = numbers
    }
}

extension LockstepError {
    /// The kind of a failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String, Hashable, Sendable {
            case invalidConfiguration, journalMissing, journalExists, journalDamaged, journalInUse, journalForeign
            case journalUnwritable, journalNewer, diskFull, journalFailed, rejected, outcomeUnknown, sessionEnded
            case notPrimary, unavailable, primaryBehind, ahead, diverged, tooLarge, refused, timeout, stopped
            case positionTooOld, clockRefused, addressInUse, administration, failed, cancelled, wrongRole
            case denied, unfinished, unreadable
        }

        private let value: Value

        private init(_ value: Value) { self.value = value }

        /// The name of the code, as it is written in Swift.
        public var description: String { value.rawValue }

        /// A configuration contradicts itself, or holds a value outside its range.
        public static let invalidConfiguration = Code(.invalidConfiguration)
        /// There is no journal where the configuration says; it is made by `lockstep init` only.
        public static let journalMissing = Code(.journalMissing)
        /// There is a journal already where one should be created.
        public static let journalExists = Code(.journalExists)
        /// The journal's bytes are not what was written; the message names the sequence number.
        public static let journalDamaged = Code(.journalDamaged)
        /// Another process has the journal open.
        public static let journalInUse = Code(.journalInUse)
        /// The file is no journal of Lockstep, or belongs to another cluster or store.
        public static let journalForeign = Code(.journalForeign)
        /// The journal's folder or files cannot be written.
        public static let journalUnwritable = Code(.journalUnwritable)
        /// The journal was written by a newer version of this program.
        public static let journalNewer = Code(.journalNewer)
        /// There is no room left where the journal writes.
        public static let diskFull = Code(.diskFull)
        /// The journal could not be read or written; what was under way has an unknown outcome.
        public static let journalFailed = Code(.journalFailed)
        /// The reactor, or a limit, refused the action; it is certainly without effect.
        public static let rejected = Code(.rejected)
        /// The access list allows the sender no actions of this kind; it is certainly without effect.
        public static let denied = Code(.denied)
        /// The action was accepted and its effect failed; the message has its reason, and what it had emitted stays.
        public static let failed = Code(.failed)
        /// The action was accepted and its effect was cancelled or superseded; what it had emitted stays.
        public static let cancelled = Code(.cancelled)
        /// The action was accepted, and its effect goes on: wait for the end of ``LockstepError/run``, or cancel it.
        public static let unfinished = Code(.unfinished)
        /// The action took effect, and its reply cannot be read by this version of the program.
        public static let unreadable = Code(.unreadable)
        /// Whether the action took effect is not known; see ``LockstepError/pending``.
        public static let outcomeUnknown = Code(.outcomeUnknown)
        /// The session has ended, so its numbers can no longer be asked for.
        public static let sessionEnded = Code(.sessionEnded)
        /// The node that was asked is not the primary.
        public static let notPrimary = Code(.notPrimary)
        /// The node cannot serve this now; trying again later may succeed.
        public static let unavailable = Code(.unavailable)
        /// The primary's log is behind what others have seen of it; an operator must decide.
        public static let primaryBehind = Code(.primaryBehind)
        /// This replica is ahead of its primary; an operator must decide.
        public static let ahead = Code(.ahead)
        /// The states or the histories of two nodes differ.
        public static let diverged = Code(.diverged)
        /// An action, a query or an answer is larger than its limit.
        public static let tooLarge = Code(.tooLarge)
        /// The other side refused; the message has its reason.
        public static let refused = Code(.refused)
        /// The time that was given has passed; of `send`: the action is without effect.
        public static let timeout = Code(.timeout)
        /// The node or the client has stopped, or is stopping.
        public static let stopped = Code(.stopped)
        /// What was asked for at a position is no longer held.
        public static let positionTooOld = Code(.positionTooOld)
        /// The journal is the other role's, or was last served with an arbiter; an operator must change it.
        public static let wrongRole = Code(.wrongRole)
        /// The clock is too far from the log's time; an operator must accept it.
        public static let clockRefused = Code(.clockRefused)
        /// Another process listens on the address.
        public static let addressInUse = Code(.addressInUse)
        /// An administrator's request cannot be carried out.
        public static let administration = Code(.administration)
    }
}
