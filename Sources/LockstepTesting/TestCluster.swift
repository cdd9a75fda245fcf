public import Lockstep
import LockstepCore
import LockstepSimulator

/// A cluster of your own reactor in one thread, with virtual time and the faults that you ask for: one primary with
/// replicas, or data nodes of which any may be the primary.
///
/// Everything but the network, the disks and the clocks is the real thing: sessions, journal recovery, joins, repair.
/// The same calls with the same seed give the same run, to the frame. Time passes in ``send(_:from:within:)``,
/// ``run(for:)`` and their like only, and costs nothing: a minute of virtual time takes milliseconds.
///
/// ```swift
/// @Test func aVoteSurvivesThePrimarysDeath() throws {
///     let cluster = TestCluster(Votes(), replicas: 2)
///     #expect(try cluster.send(.vote("Ada")) == 1)
///     cluster.kill(.primary)
///     cluster.restart(.primary)
///     #expect(try cluster.send(.vote("Ada")) == 2)
///     try cluster.settle()
///     #expect(try cluster.state(of: .replica(2)).votes["Ada"] == 2)
/// }
/// ```
///
/// With `dataNodes:` several nodes hold every acknowledged action, and an arbiter says who leads, as etcd does. When the
/// primary dies, another takes over by itself:
///
/// ```swift
/// @Test func anotherNodeTakesOver() throws {
///     let cluster = TestCluster(Votes(), dataNodes: 3)
///     #expect(try cluster.send(.vote("Ada")) == 1)
///     cluster.kill(.primary)
///     #expect(try cluster.send(.vote("Ada")) == 2)
///     try cluster.settle()
///     #expect(try cluster.state(of: .dataNode(2)).votes["Ada"] == 2)
/// }
/// ```
///
/// Beside what the test expects, every promise of Lockstep is checked at each step: agreement of the logs, exactly once,
/// answers that stay, equal digests at equal places. A reducer that gives another state on a replica than on the primary
/// is found at the entry where it does. The first ``failure`` ends the run, and the next call that can throw throws it.
///
/// The primary, also one that takes over, runs its effects, feedback and sources, as a node does. They run on the calling thread, between two events
/// of the simulation, so give dependencies that wait ``clock``, or use ``Emitter/sleep(for:)``. A kill cuts them off, and
/// the next life begins again what the log has. What waits for a thread, or for real time, is no part of the simulation:
/// the cluster does not wait for it, and such a run is not the same each time.
public final class TestCluster<R: Reactor> {
    /// How many replicas there are; 0 in a cluster of data nodes.
    public let replicas: Int
    /// How many data nodes there are; 0 in a cluster of one primary and its replicas.
    public let dataNodes: Int
    /// How many clients there are.
    public let clients: Int
    /// What the run is drawn from.
    public let seed: UInt64
    /// What effects sleep on: it follows the virtual time, as far as the primary lives and is not paused.
    public let clock: VirtualClock
    /// The first broken promise; `nil` as long as all hold.
    public private(set) var failure: BrokenPromise?

    let simulation: any SteeredCluster
    private let effects: ClusterEffects
    /// How the cluster was made, for a reader.
    private let making: String

    init(
        _ simulation: any SteeredCluster, effects: ClusterEffects, seed: UInt64, replicas: Int = 0, dataNodes: Int = 0,
        clients: Int, making: String
    ) {
        (self.simulation, self.effects, self.seed) = (simulation, effects, seed)
        (self.replicas, self.dataNodes, self.clients, self.making) = (replicas, dataNodes, clients, making)
        clock = effects.clock
        simulation.startAll()
        simulation.pass(10 * Span.second) { simulation.isSettled }
    }

    deinit { effects.close() }

    // MARK: - Actions

    /// Sends an action and lets virtual time pass until it is answered, and its effect has ended.
    ///
    /// - Parameters:
    ///   - action: What to do.
    ///   - sender: Who sends it: a client; a replica and the one primary have a sender of their own, data nodes have none.
    ///   - limit: How much virtual time may pass.
    /// - Returns: The reactor's reply.
    /// - Throws: ``TestClusterError``.
    @_disfavoredOverload
    @discardableResult
    public func send(
        _ action: R.Action, from sender: ClusterProcess = .client(1), within limit: Duration = .seconds(30)
    ) throws(TestClusterError) -> R.Reply {
        try reply(to: begin(action, from: sender), within: limit)
    }

    /// Sends an action and lets virtual time pass until it is answered with the reply that it promises.
    ///
    /// - Throws: ``TestClusterError``; `refused` for a reply that was not promised.
    @discardableResult
    public func send<Reply>(
        _ action: TypedAction<R, Reply>, from sender: ClusterProcess = .client(1), within limit: Duration = .seconds(30)
    ) throws(TestClusterError) -> Reply {
        let reply = try send(action.action, from: sender, within: limit)
        guard let typed = action.value(of: reply) else {
            throw .refused("\(action.action) was replied to with \(reply), which it does not promise")
        }
        return typed
    }

    /// Sends an action without waiting; no virtual time passes.
    ///
    /// What becomes of it is asked with ``reply(to:within:)``, or ``outcome(of:)``.
    public func begin(_ action: R.Action, from sender: ClusterProcess = .client(1)) -> PendingReply<R> {
        let bytes: [UInt8]
        do {
            bytes = try R.actionCoding.encoded(action)
        } catch {
            return PendingReply(sender: sender, call: .unsent(.rejected("the action cannot be encoded: \(error)")))
        }
        if let problem = TestText.problem(withSize: bytes.count) {
            return PendingReply(sender: sender, call: .unsent(.rejected("the action cannot be sent: \(problem)")))
        }
        return PendingReply(sender: sender, call: make(.action(bytes), on: sender))
    }

    /// Lets virtual time pass until a pending action is answered, and its effect has ended, and returns the reply.
    ///
    /// - Throws: ``TestClusterError``; if the time ran out, the action may still be answered later.
    @discardableResult
    public func reply(
        to pending: PendingReply<R>, within limit: Duration = .seconds(30)
    ) throws(TestClusterError) -> R.Reply {
        try wait(for: pending.call, within: limit)
        guard let outcome = outcome(of: pending) else {
            throw .notAnswered("\(pending.sender) waited \(limit); \(simulation.whatIsOpen)")
        }
        return try outcome.get()
    }

    /// What became of a pending action, or `nil` while it is open or its effect goes on; no virtual time passes.
    public func outcome(of pending: PendingReply<R>) -> Result<R.Reply, TestClusterError>? {
        let index: Int
        switch pending.call {
        case .unsent(let error): return .failure(error)
        case .record(let record): index = record
        }
        let record = simulation.record(index)
        switch record.outcome {
        case .pending: return nil
        case .answered(.committed, let bytes):
            return Result { try R.replyCoding.decoded(bytes) }.mapError { .refused("the reply cannot be read: \($0)") }
        case .answered(.rejected, let bytes): return .failure(.rejected(String(decoding: bytes, as: UTF8.self)))
        case .answered(.accepted, _): return record.end.map { ended(pending, index, $0) }
        case .answered, .read: return .failure(.withoutEffect("\(pending.sender) never got it to the primary"))
        case .unknown:
            let place = simulation.placeInLog(of: index).map { "\($0.epoch):\($0.sequence)" }
            let log = place.map { "the log has the action at \($0)" } ?? "the log does not have the action so far"
            return .failure(.outcomeUnknown("\(pending.sender) lost its session; \(log)"))
        }
    }

    private func ended(
        _ pending: PendingReply<R>, _ index: Int, _ end: CallRecord.End
    ) -> Result<R.Reply, TestClusterError> {
        switch end {
        case .told(.rejected, let bytes): return .failure(.failed(String(decoding: bytes, as: UTF8.self)))
        case .told(.void, _): return .failure(.cancelled("the action that \(pending.sender) sent, or a newer one"))
        case .told(_, let bytes):
            return Result { try R.replyCoding.decoded(bytes) }.mapError { .refused("the reply cannot be read: \($0)") }
        case .lost:
            let place = simulation.endInLog(of: index).map { "\($0.epoch):\($0.sequence), \($0.status)" }
            let log = place.map { "the log has its end at \($0)" } ?? "the log does not have its end so far"
            return .failure(.outcomeUnknown("\(pending.sender) lost its session after the acceptance; \(log)"))
        }
    }

    /// Asks for the end of an action's effect, as its sender can; no virtual time passes.
    ///
    /// What became of it ``outcome(of:)`` tells: it may have ended by itself before. Without effect for an action that
    /// was not sent yet.
    public func cancel(_ pending: PendingReply<R>) {
        if case .record(let index) = pending.call { simulation.cancelRun(of: index) }
    }

    /// What failed beside the log so far: feedback and sources, and effects of actions, whose senders learn it too.
    public var failures: [EffectFailure] { effects.failed.all }

    /// The entry that a committed, rejected or accepted action became, once its sender knows.
    public func place(of pending: PendingReply<R>) -> Place? {
        guard case .record(let index) = pending.call else { return nil }
        let record = simulation.record(index)
        return record.sequence > .zero ? Place(epoch: record.epoch, sequence: record.sequence) : nil
    }

    // MARK: - Questions

    /// Asks a query and lets virtual time pass until it is answered.
    ///
    /// A node answers from its own state, as ``Store`` does; a client asks the primary. Of data nodes only clients ask; see
    /// ``state(of:)``.
    ///
    /// - Throws: ``TestClusterError``.
    @_disfavoredOverload
    public func ask(
        _ query: R.Query, _ consistency: ReadConsistency = .session, from reader: ClusterProcess = .client(1),
        within limit: Duration = .seconds(30)
    ) throws(TestClusterError) -> R.Answer {
        let bytes: [UInt8]
        do {
            bytes = try R.queryCoding.encoded(query)
        } catch {
            throw .refused("the query cannot be encoded: \(error)")
        }
        let call = make(.read(bytes, consistency.level), on: reader)
        try wait(for: call, within: limit)
        guard case .record(let index) = call else { throw .notRunning(reader) }
        switch simulation.record(index).outcome {
        case .pending: throw .notAnswered("\(reader) waited \(limit); \(simulation.whatIsOpen)")
        case .read(let bytes):
            do {
                return try R.answerCoding.decoded(bytes)
            } catch {
                throw .refused("the answer cannot be read: \(error)")
            }
        case .answered, .unknown: throw .refused("\(reader) got no answer to \(query)")
        }
    }

    /// Asks a query and lets virtual time pass until it is answered with what it promises.
    ///
    /// - Throws: ``TestClusterError``; `refused` for an answer that was not promised.
    public func ask<Answer>(
        _ query: TypedQuery<R, Answer>, _ consistency: ReadConsistency = .session,
        from reader: ClusterProcess = .client(1), within limit: Duration = .seconds(30)
    ) throws(TestClusterError) -> Answer {
        let answer = try ask(query.query, consistency, from: reader, within: limit)
        guard let typed = query.value(of: answer) else {
            throw .refused("\(query.query) was answered with \(answer), which it does not promise")
        }
        return typed
    }

    // MARK: - Time

    /// Virtual time since the cluster was made.
    public var now: Duration { .nanoseconds(simulation.virtualTime) }

    /// Lets virtual time pass.
    ///
    /// - Throws: ``TestClusterError/broken(_:)`` if a promise is broken.
    public func run(for time: Duration) throws(TestClusterError) {
        simulation.pass(time.wholeNanoseconds) { false }
        try check()
    }

    /// Lets virtual time pass until `isDone`, which is asked before each event.
    ///
    /// - Throws: ``TestClusterError/notAnswered(_:)`` after `limit`, and ``TestClusterError/broken(_:)``.
    public func run(until isDone: () -> Bool, within limit: Duration = .seconds(30)) throws(TestClusterError) {
        let isOver = simulation.pass(limit.wholeNanoseconds, until: isDone)
        try check()
        if !isOver { throw .notAnswered("what was waited for did not happen within \(limit)") }
    }

    /// Heals all faults, starts what is down, and runs until nothing is open: all is answered, all nodes are equal.
    ///
    /// Then it checks all that happened once more.
    ///
    /// - Throws: ``TestClusterError/notSettled(_:)`` with what is open, or ``TestClusterError/broken(_:)``.
    public func settle(within limit: Duration = .seconds(60)) throws(TestClusterError) {
        heal()
        for process in 0..<processCount where !simulation.isUp(process) { simulation.restart(process) }
        let isSettled = simulation.pass(limit.wholeNanoseconds) { self.simulation.isSettled }
        try check()
        guard isSettled else { throw .notSettled("after \(limit): \(simulation.whatIsOpen)") }
        simulation.checkSettled()
        try check()
    }

    // MARK: - For the parts

    private func make(_ call: Call, on process: ClusterProcess) -> PendingReply<R>.Call {
        if dataNodes > 0, index(of: process) < dataNodes || process == .arbiter {
            preconditionFailure("\(process) has no sender of its own in \(self): send and ask from .client(1)")
        }
        guard let record = simulation.call(call, on: index(of: process)) else { return .unsent(.notRunning(process)) }
        return .record(record)
    }

    private func wait(for call: PendingReply<R>.Call, within limit: Duration) throws(TestClusterError) {
        guard case .record(let index) = call else { return }
        simulation.pass(limit.wholeNanoseconds) { !self.simulation.record(index).isOpen }
        try check()
    }

    func check() throws(TestClusterError) {
        look()
        if let failure { throw .broken(failure) }
    }

    /// Takes over what the checkers found, with what the states can tell of it while nothing moves.
    func look() {
        guard failure == nil else { return }
        simulation.checkPrimary()
        guard let violation = simulation.violation else { return }
        let (entry, differences) = explanation
        failure = BrokenPromise(
            promise: violation.promise.rawValue, text: violation.text, entry: entry, differences: differences,
            repetition: "the same calls on \(making)")
    }
}

/// An action that was sent with ``TestCluster/begin(_:from:)``.
public struct PendingReply<R: Reactor>: Sendable {
    /// Who sent it.
    public let sender: ClusterProcess
    let call: Call

    enum Call: Sendable {
        case record(Int)
        case unsent(TestClusterError)
    }
}

@available(*, unavailable)
extension TestCluster: Sendable {}

extension Duration {
    /// In nanoseconds; what does not fit becomes the longest time that does.
    var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 4 / Span.second else { return .max / 4 }
        return max(0, seconds * Span.second + attoseconds / 1_000_000_000)
    }
}
