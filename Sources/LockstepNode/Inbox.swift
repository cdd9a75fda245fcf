internal import DequeModule
internal import LockstepCore
internal import Synchronization

/// Actions of one caller, or a part of them that fits a message.
package struct Submission: Sendable {
    /// Each action after its length.
    package var actions: [UInt8]
    package var count: Int
    package var waiter: Waiter

    /// The caller has this one action only.
    package var isSingle = false

    package init(actions: consuming [UInt8], count: Int, waiter: Waiter, isSingle: Bool = false) {
        self.isSingle = isSingle
        self.actions = actions
        self.count = count
        self.waiter = waiter
    }
}

/// Work of a caller for the node's thread: exactly one of the two is called, once.
package struct Errand: Sendable {
    package var run: @Sendable (StoreHost) -> Void
    /// Nil for what takes something back, a wait or an accepted action: it is taken however much else waits.
    package var refuse: (@Sendable (any Error) -> Void)?

    package init(
        run: @escaping @Sendable (StoreHost) -> Void, refuse: (@Sendable (any Error) -> Void)? = nil
    ) {
        self.run = run
        self.refuse = refuse
    }
}

/// What callers left for their store since the loop last looked.
package struct InboxContents: Sendable {
    /// The actions of callers that had one each, end to end, and where each ends.
    package var singles: [UInt8] = []
    package var singleEnds: [Int] = []
    package var singleWaiters: [Waiter] = []
    package var chunks: [Submission] = []
    /// Callers with a time limit, to be known before their actions are taken.
    package var timed: [Waiter] = []
    /// Callers that are not to wait any longer.
    package var leaving: [Waiter] = []
    /// Work to be done on the node's thread.
    package var errands: [Errand] = []

    package init() {}

    package var hasActions: Bool { !singleEnds.isEmpty || !chunks.isEmpty }
    package var isUrgent: Bool { !timed.isEmpty || !leaving.isEmpty || !errands.isEmpty }
    fileprivate var hasRoom: Bool { actionCount < Inbox.actionBound && byteCount < Inbox.byteBound }

    fileprivate var actionCount = 0
    fileprivate var byteCount = 0

    /// Forgets the actions and keeps the room.
    package mutating func removeActions() {
        singles.removeAll(keepingCapacity: true)
        singleEnds.removeAll(keepingCapacity: true)
        singleWaiters.removeAll(keepingCapacity: true)
        chunks.removeAll(keepingCapacity: true)
        actionCount = 0
        byteCount = 0
    }

    fileprivate mutating func exchangeActions(_ other: inout InboxContents) {
        swap(&singles, &other.singles)
        swap(&singleEnds, &other.singleEnds)
        swap(&singleWaiters, &other.singleWaiters)
        swap(&chunks, &other.chunks)
        swap(&actionCount, &other.actionCount)
        swap(&byteCount, &other.byteCount)
    }

    fileprivate mutating func exchangeUrgent(_ other: inout InboxContents) {
        swap(&timed, &other.timed)
        swap(&leaving, &other.leaving)
        swap(&errands, &other.errands)
    }

    fileprivate mutating func append(_ submission: Submission) {
        if submission.isSingle {
            singles.append(contentsOf: submission.actions)
            singleEnds.append(singles.count)
            singleWaiters.append(submission.waiter)
        } else {
            chunks.append(submission)
        }
        actionCount += submission.count
        byteCount += submission.actions.count
    }
}

/// Where callers on any thread leave work for the loop; the lock is held for a few appends, never while code of the
/// user runs.
///
/// The loop takes everything with one exchange of two buffers, so nothing is allocated in the long run. It takes more
/// only when all that it took is submitted; so what is here is bounded by ``actionBound`` and ``byteBound``, and callers
/// beyond wait in a second line, which moves up with each exchange. The line is bounded too: callers beyond it are told
/// `unavailable`. Of those who have left, few keep a place in it.
package final class Inbox: Sendable {
    private let contents = Mutex(Guarded())
    private let signaller: NodeEventLoop.Signaller

    /// Two credits: one on its way, one ready to follow.
    package static let actionBound = 2 * Limits.creditActions
    package static let byteBound = 2 * Limits.creditBytes
    /// Submissions in the second line.
    package static let lineBound = 1 << 20
    package static let errandBound = Limits.waitingReads

    private struct Guarded: Sendable {
        var contents = InboxContents()
        var line: Deque<Submission> = []
        /// Actions of callers who have left since the line was looked through.
        var gone = 0
        /// Errands that the loop has taken and not yet done, or given back: they count against the bound.
        var errandsUnderWay = 0
        var refused: UInt64 = 0
        var closed: LockstepError?

        var errands: Int { contents.errands.count + errandsUnderWay }

        /// Takes those who have left out of the line, when they may be an eighth of it: it costs a look at eight places
        /// for each of them at most.
        mutating func sweep() {
            guard gone > 0, 8 * gone >= line.count else { return }
            gone = 0
            line.removeAll { $0.waiter.isDone }
        }
    }

    /// How full it is.
    package struct Load: Hashable, Sendable {
        package var actions: Int
        /// Submissions in the second line.
        package var submissions: Int
        package var errands: Int
        /// Callers that found no room, since the start.
        package var refused: UInt64
    }

    package init(signaller: NodeEventLoop.Signaller) { self.signaller = signaller }

    /// Leaves the parts of one caller's actions, in order; resumes the caller at once if that cannot be.
    package func put(_ parts: [Submission]) {
        guard let waiter = parts.first?.waiter else { return }
        let refusal: (any Error)? = contents.withLock { guarded in
            if let closed = guarded.closed { return closed }
            if waiter.hasLeft { return CancellationError() }
            guard guarded.line.count < Self.lineBound else {
                guarded.refused += 1
                return Self.overloaded
            }
            waiter.isHere = true
            if waiter.deadline != .never { guarded.contents.timed.append(waiter) }
            for part in parts {
                if guarded.line.isEmpty, guarded.contents.hasRoom {
                    guarded.contents.append(part)
                } else {
                    guarded.line.append(part)
                }
            }
            return nil
        }
        if let refusal { waiter.fail(refusal) } else { signaller.signal() }
    }

    /// Asks the loop to resume a caller that was cancelled.
    package func leave(_ waiter: Waiter) {
        let isHere = contents.withLock { guarded in
            if waiter.isHere { guarded.contents.leaving.append(waiter) } else { waiter.hasLeft = true }
            return waiter.isHere
        }
        if isHere { signaller.signal() }
    }

    /// Leaves work for the node's thread; refuses it at once when the node has stopped, or too much work waits.
    package func ask(_ errand: Errand) {
        let refusal: LockstepError? = contents.withLock { guarded in
            if let closed = guarded.closed { return closed }
            if errand.refuse != nil, guarded.errands >= Self.errandBound {
                guarded.refused += 1
                return Self.overloaded
            }
            guarded.contents.errands.append(errand)
            return nil
        }
        if let refusal { errand.refuse?(refusal) } else { signaller.signal() }
    }

    private static var overloaded: LockstepError {
        LockstepError(
            .unavailable, "too many callers wait for this store; the action was not submitted: try again later")
    }

    // MARK: - The loop's side

    /// How full it is now.
    package var load: Load {
        contents.withLock { guarded in
            Load(
                actions: guarded.contents.actionCount, submissions: guarded.line.count,
                errands: guarded.errands, refused: guarded.refused)
        }
    }

    /// Whether the loop would find something.
    package func isWaiting(withActions: Bool) -> Bool {
        contents.withLock { $0.contents.isUrgent || (withActions && $0.contents.hasActions) }
    }

    /// Exchanges what is here for `taken`, whose parts to be exchanged must be empty.
    ///
    /// The actions are exchanged only `withActions`, and then the second line moves up; the rest always. `gone` is how
    /// many actions of callers who have left since the last call were not submitted: while no actions are taken, the
    /// line would be full of what nobody waits for. What is in front of the line stays, since it has a bound in bytes.
    package func exchange(_ taken: inout InboxContents, withActions: Bool, gone: Int = 0) {
        var other = consume taken
        contents.withLock { guarded in
            guarded.contents.exchangeUrgent(&other)
            guarded.errandsUnderWay = other.errands.count
            guarded.gone += gone
            guarded.sweep()
            guard withActions else { return }
            guarded.contents.exchangeActions(&other)
            while guarded.contents.hasRoom, let next = guarded.line.popFirst() { guarded.contents.append(next) }
        }
        taken = consume other
    }

    /// The errands that were taken are done, except these, for which the turn had no time.
    ///
    /// They stay in front of what came since.
    package func giveBack(_ errands: ArraySlice<Errand>) {
        contents.withLock { guarded in
            guarded.errandsUnderWay = 0
            guarded.contents.errands.insert(contentsOf: errands, at: 0)
        }
    }

    /// Refuses everything from now on; what is here stays to be taken.
    package func close(_ error: LockstepError) {
        contents.withLock { $0.closed = $0.closed ?? error }
    }

    /// Refuses everything from now on, and all that is here.
    ///
    /// A caller whose first actions have numbers learns that their outcome is not known. On the node's thread, if the
    /// node runs.
    package func end(_ error: LockstepError) {
        close(error)
        let (waiters, errands) = contents.withLock { guarded in
            let waiters =
                guarded.contents.chunks.map(\.waiter) + guarded.contents.singleWaiters + guarded.line.map(\.waiter)
            let errands = guarded.contents.errands
            guarded.contents = InboxContents()
            guarded.line.removeAll()
            return (waiters, errands)
        }
        for waiter in waiters {
            waiter.failAll(waiter.pending.map { CallerDesk.unknown($0, "the node stopped") } ?? error)
        }
        for errand in errands { errand.refuse?(error) }
    }
}
