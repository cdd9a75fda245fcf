public import Lockstep
import LockstepCore
import Synchronization

/// A store without a node, for tests of what uses one: it records what is sent, and shows what the test pushes.
///
/// ```swift
/// let stub = StubStore<Votes>(state: Votes.State()) { _ in .reply(1) }
/// let view = VotesView(store: stub)          // takes some ReadableStore<Votes>
/// try await view.tapped("Ada")
/// #expect(stub.actions.count == 1)
/// stub.push { $0.votes["Ada"] = 1 }
/// ```
///
/// Nothing of the reactor runs. It can be used from any thread, and holds as much as was sent to it.
public final class StubStore<R: Reactor>: ReadableStore {
    let published: PublishedState<R.State>
    private let contents: Mutex<Contents>

    /// What becomes of an action that was sent.
    public enum Answer: Sendable {
        /// It commits and is replied to.
        case reply(R.Reply)
        /// The reactor refuses it.
        case rejected(String)
        /// It is accepted and its effect goes on until ``StubStore/end(_:with:)``.
        case accepted
        /// Nobody knows whether it took effect: the connection broke after it.
        case unknown
        /// Its time passed before it was sent.
        case timeout
        /// It waits for ``StubStore/answer(_:with:)``.
        case wait
    }

    private struct Contents {
        var answer: @Sendable (R.Action) -> Answer
        var actions: [Sent] = []
        var cancelled: [Int] = []
        var isConnected = true
        var isStopped = false
        var lastWaiter: UInt64 = 0
    }

    /// An action, what became of it, and who waits for that.
    private struct Sent {
        var action: R.Action
        var first: Result<Outcome<R.Reply>, LockstepError>?
        var end: Result<Outcome<R.Reply>, LockstepError>?
        var waiters: [(id: UInt64, isForEnd: Bool, CheckedContinuation<Outcome<R.Reply>, any Error>)] = []
    }

    /// Makes a store that shows a state.
    ///
    /// - Parameters:
    ///   - state: What it shows until the test pushes another.
    ///   - answer: What becomes of each action; called on the sender's thread.
    public init(state: R.State, answer: @escaping @Sendable (R.Action) -> Answer) {
        let place = Place(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))
        published = PublishedState(Snapshot(state: state, place: place, time: .zero))
        published.ownerBegan()
        contents = Mutex(Contents(answer: answer))
    }

    deinit { stop() }

    // MARK: - What the test sees and does

    /// What was sent so far, in order.
    public var actions: [R.Action] { contents.withLock { $0.actions.map(\.action) } }

    /// The actions, by their places in ``actions``, whose effects somebody asked to end.
    public var cancelled: [Int] { contents.withLock { $0.cancelled } }

    /// Shows a state.
    ///
    /// - Parameters:
    ///   - state: The state.
    ///   - place: Where it stands; the next place if not said otherwise. One further on, or of a later epoch, is what a
    ///     view sees of a replica that caught up.
    ///   - time: Its time; that of the state before if not said otherwise.
    public func push(_ state: R.State, at place: Place? = nil, time: LogTime? = nil) {
        let before = published.current()
        let next = Place(epoch: before.place.epoch, sequence: before.place.sequence.next)
        published.publish(Snapshot(state: state, place: place ?? next, time: time ?? before.time))
    }

    /// Shows the state with a change, at the next place.
    public func push(_ change: (inout R.State) -> Void) {
        var state = published.current().state
        change(&state)
        push(state)
    }

    /// Answers an action that waits, by its place in ``actions``.
    public func answer(_ index: Int, with answer: Answer) { resolve(index, answer) }

    /// Ends an action that was accepted.
    public func end(_ index: Int, with end: Ending) {
        let place = snapshot.place
        let outcome: Outcome<R.Reply> =
            switch end {
            case .reply(let reply): committed(reply, index, place)
            case .failed(let reason): .failed(reason: reason, emissions: 0, place: place)
            case .cancelled: .cancelled(emissions: 0, place: place)
            }
        finish(index, isEnd: true, .success(outcome))
    }

    /// How an accepted action ends.
    public enum Ending: Sendable {
        /// Its effect came to its end with a reply.
        case reply(R.Reply)
        /// Its effect failed.
        case failed(String)
        /// It was cancelled or superseded.
        case cancelled
    }

    /// Lets actions that are sent from now on wait, as they do while a node has no primary.
    public func disconnect() { contents.withLock { $0.isConnected = false } }

    /// Answers what has waited, and what is sent from now on.
    public func reconnect() {
        let (waiting, answer) = contents.withLock { contents in
            contents.isConnected = true
            let waiting = contents.actions.enumerated().filter { $0.element.first == nil }
            return (waiting.map { ($0.offset, $0.element.action) }, contents.answer)
        }
        for (index, action) in waiting { resolve(index, answer(action)) }
    }

    /// Ends: observers see no more, and senders get `stopped`.
    public func stop() {
        let (isFirst, waiting) = contents.withLock { contents in
            defer { contents.isStopped = true }
            return (!contents.isStopped, contents.actions.indices)
        }
        guard isFirst else { return }
        for index in waiting {
            finish(index, isEnd: false, .failure(Self.stopped))
            finish(index, isEnd: true, .failure(Self.stopped))
        }
        published.ownerEnded()
    }

    // MARK: - Reading

    /// What was pushed last.
    public var snapshot: Snapshot<R.State> { published.current() }
    /// The states that are pushed: the current one at once, then the newest whenever there is one.
    public var states: States<R.State> { States(published: published) }

    // MARK: - For the sender's side

    static var session: SessionID { SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1)) }
    private static var stopped: LockstepError { LockstepError(.stopped, "the stub was stopped") }

    /// Records an action and answers it, unless it has to wait; returns its place.
    func record(_ action: R.Action) -> Int {
        let (index, answer) = contents.withLock { contents in
            contents.actions.append(Sent(action: action))
            let isAnswered = contents.isConnected && !contents.isStopped
            return (contents.actions.count - 1, isAnswered ? contents.answer : nil)
        }
        if contents.withLock({ $0.isStopped }) { finish(index, isEnd: false, .failure(Self.stopped)) }
        if let answer { resolve(index, answer(action)) }
        return index
    }

    func noteCancelled(_ index: Int) { contents.withLock { $0.cancelled.append(index) } }

    private func committed(_ reply: R.Reply, _ index: Int, _ place: Place) -> Outcome<R.Reply> {
        .committed(Receipt(reply: reply, place: place, session: Self.session, number: RequestNumber(index + 1)))
    }

    private func resolve(_ index: Int, _ answer: Answer) {
        let place = snapshot.place
        let number = RequestNumber(index + 1)
        switch answer {
        case .wait: break
        case .reply(let reply): finish(index, isEnd: false, .success(committed(reply, index, place)))
        case .rejected(let reason): finish(index, isEnd: false, .success(.rejected(reason: reason, place: place)))
        case .accepted:
            finish(
                index, isEnd: false, .success(.accepted(RunID(session: Self.session, number: number), place: place)))
        case .unknown:
            let pending = PendingOutcome(session: Self.session, numbers: number...number)
            let error = LockstepError(.outcomeUnknown, "the stub lost the answer", pending: pending)
            finish(index, isEnd: false, .failure(error))
        case .timeout: finish(index, isEnd: false, .failure(LockstepError(.timeout, "the stub let the time pass")))
        }
    }

    private func finish(_ index: Int, isEnd: Bool, _ outcome: Result<Outcome<R.Reply>, LockstepError>) {
        let waiters = contents.withLock { contents in
            guard contents.actions.indices.contains(index) else {
                preconditionFailure("\(contents.actions.count) actions were sent, there is none at \(index)")
            }
            if isEnd {
                contents.actions[index].end = contents.actions[index].end ?? outcome
            } else {
                contents.actions[index].first = contents.actions[index].first ?? outcome
            }
            let waiters = contents.actions[index].waiters.filter { $0.isForEnd == isEnd }
            contents.actions[index].waiters.removeAll { $0.isForEnd == isEnd }
            return waiters
        }
        for waiter in waiters { waiter.2.resume(with: outcome.mapError { $0 as any Error }) }
    }

    /// Waits for what becomes of an action: its first answer, or the end of its effect.
    func outcome(of index: Int, isEnd: Bool) async throws -> Outcome<R.Reply> {
        let id = contents.withLock { contents in
            contents.lastWaiter += 1
            return contents.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known: Result<Outcome<R.Reply>, any Error>? = contents.withLock { contents in
                    let sent = contents.actions[index]
                    if let known = isEnd ? sent.end : sent.first { return known.mapError { $0 as any Error } }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    contents.actions[index].waiters.append((id, isEnd, continuation))
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            let waiter = contents.withLock { contents in
                contents.actions[index].waiters.firstIndex { $0.id == id }.map {
                    contents.actions[index].waiters.remove(at: $0)
                }
            }
            waiter?.2.resume(throwing: CancellationError())
        }
    }
}

extension StubStore where R.Reply == NoReply {
    /// Makes a store that shows a state and commits every action.
    public convenience init(state: R.State) { self.init(state: state) { _ in .reply(NoReply()) } }
}
