/// What ``Reactor/mutate(_:_:)`` sees: the state after everything accepted before, and whose action it is.
///
/// It is of use during the call only and cannot leave the node's thread.
public struct MutateContext<R: Reactor> {
    /// Where the state lies.
    @usableFromInline let box: StateBox<R>
    /// The time of the entry that the action becomes; it never goes back (PROTOCOL, R-15).
    public let time: LogTime
    /// The session of the client that sent the action.
    public let session: SessionID
    /// The action's number in its session: with ``session`` it names the action for ever.
    public internal(set) var request: RequestNumber
    /// 1; higher for an accepted action whose effect a former primary did not bring to its end (PROTOCOL, R-62).
    public internal(set) var attempt: Int

    /// Who sent the action: the name that the access list has for its key; nil where there are no keys.
    ///
    /// The sender proved that it has the key, and the log keeps the name (PROTOCOL, R-71). Of a caller in the primary's
    /// own process it is the name of the primary's key. For an accepted action that a later primary performs anew it is
    /// nil if its session has ended meanwhile.
    public let sender: String?

    init(
        box: StateBox<R>, time: LogTime, session: SessionID, request: RequestNumber, attempt: Int = 1,
        sender: String? = nil
    ) {
        self.box = box
        self.sender = sender
        self.time = time
        self.session = session
        self.request = request
        self.attempt = attempt
    }

    /// Makes a context over a state of its own, to call `mutate` in a test; without a `sender` nobody is named.
    public init(
        state: R.State, time: LogTime, session: SessionID, request: RequestNumber, sender: String? = nil
    ) {
        self.init(box: StateBox(state), time: time, session: session, request: request, sender: sender)
    }

    /// The state, read where it lies: looking into it copies nothing.
    ///
    /// Keep no copy of it, or of a large container in it, beyond the call: the next write would have to copy too.
    @inlinable
    public var state: R.State {
        _read { yield box.state }
    }
}

@available(*, unavailable)
extension MutateContext: Sendable {}

/// The place of the state, so that it can be read without being copied.
@usableFromInline
final class StateBox<R: Reactor> {
    // Unchecked: the node's thread alone reaches the box. `mutate` has read access only, through the context, and
    // `reduce` is static and gets nothing but the state itself, so no read can overlap a write.
    @exclusivity(unchecked)
    @usableFromInline var state: R.State

    @usableFromInline let middleware: [Middleware<R>]
    /// What the last action asks for besides its mutations.
    ///
    /// Unchecked, as whether anybody watches is: nothing runs while they are read or set.
    @exclusivity(unchecked)
    @usableFromInline var deferred: DeferredEffect<R>?
    /// Runs that end with an action for which the question is answered with true.
    var watchers: [(run: RunID, isEnding: @Sendable (R.Action) -> Bool)] = [] {
        didSet { isWatched = !watchers.isEmpty }
    }
    @exclusivity(unchecked)
    @usableFromInline private(set) var isWatched = false
    /// Runs that the last action ends in this way.
    private(set) var ended: [RunID] = []

    init(_ state: R.State, middleware: [Middleware<R>] = []) {
        self.state = state
        self.middleware = middleware
    }

    /// Passes an action through the middleware.
    @usableFromInline
    func transformed(_ action: R.Action, _ context: R.Context) throws -> R.Action {
        try middleware.reduce(action) { try $1.transform($0, context) }
    }

    /// Notes which runs the action ends.
    @usableFromInline
    func watch(_ action: R.Action) {
        ended += watchers.filter { $0.isEnding(action) }.map(\.run)
    }

    func takeEnded() -> [RunID] {
        defer { ended = [] }
        return ended
    }
}

/// What ``Reactor/reduce(into:_:_:)`` sees beside the state: the place and the time of the entry.
public struct ReduceContext: Hashable, Sendable {
    /// The entry's time, the same on every node.
    public let time: LogTime
    /// The entry's epoch.
    public let epoch: Epoch
    /// The entry's sequence number.
    public let sequence: SequenceNumber

    /// Makes a context, to call a reducer in a test.
    @inlinable
    public init(time: LogTime, epoch: Epoch, sequence: SequenceNumber) {
        self.time = time
        self.epoch = epoch
        self.sequence = sequence
    }
}

/// What ``Reactor/answer(_:in:_:)`` sees beside the state: the place and the time of the last entry that the state
/// includes.
///
/// Both are the log's, so every node gives the same answer at the same place. The time is not now: it stands still while
/// nothing is logged.
public struct AnswerContext: Hashable, Sendable {
    /// The place of the state.
    public let place: Place
    /// The time of the entry there.
    public let time: LogTime

    /// Makes a context, to call `answer` in a test.
    public init(place: Place, time: LogTime) {
        self.place = place
        self.time = time
    }

    /// The context of a state.
    package init(_ snapshot: Snapshot<some Sendable>) { self.init(place: snapshot.place, time: snapshot.time) }
}
