public import Lockstep
import LockstepCore

/// Begins a specification of what a reactor decides and reduces, without a store: given a state, when actions come, then
/// these mutations, this reply, this state.
///
/// ```swift
/// spec(Votes())
///     .given(Votes.State(votes: ["Ada": 1]))
///     .when(.vote("Ada"))
///     .then(.emits(.counted("Ada")), .replies(2), .state { $0.votes["Ada"] = 2 })
/// ```
///
/// Middleware, `mutate` and `reduce` run, on the calling thread. An effect that goes on is seen as such
/// (``SpecExpectation/defers``) and is not run; ``TestStore`` runs it.
///
/// - Parameters:
///   - reactor: What is specified.
///   - reporter: Where failures go: to the running test of swift-testing if not said otherwise.
/// - Returns: What to say `given`, `when` and `then` to.
public func spec<R: Reactor>(_ reactor: R, reporter: TestReporter = .issue) -> ReactorSpec<R> {
    ReactorSpec(reactor: reactor, reporter: reporter, state: reactor.initialState)
}

/// A specification in the making; see ``spec(_:reporter:)``.
public struct ReactorSpec<R: Reactor> {
    let reactor: R
    let reporter: TestReporter
    var state: R.State
    var time = LogTime(rawValue: 1_750_000_000_000_000)
    var actions: [R.Action] = []

    /// Begins with this state, instead of the initial one.
    public func given(_ state: R.State) -> Self {
        var spec = self
        spec.state = state
        return spec
    }

    /// Begins with the state changed in this way.
    public func given(_ change: (inout R.State) -> Void) -> Self {
        var spec = self
        change(&spec.state)
        return spec
    }

    /// Lets log time stand here.
    public func at(_ time: LogTime) -> Self {
        var spec = self
        spec.time = time
        return spec
    }

    /// Performs these actions in order; expectations are about the last one, those before are only to be taken.
    public func when(_ actions: R.Action...) -> Self {
        var spec = self
        spec.actions += actions
        return spec
    }

    /// Checks what the last action did.
    ///
    /// That it is rejected, and that it has an effect which goes on, must be among the expectations if it is so; the rest
    /// is checked as far as it is named.
    public func then(
        _ expectations: SpecExpectation<R>..., fileID: String = #fileID, filePath: String = #filePath,
        line: Int = #line, column: Int = #column
    ) {
        let place = CallSite(fileID, filePath, line, column)
        guard let last = actions.last else { return fail("there is no action: say when(_:)", at: place) }
        var state = state
        for (index, action) in actions.dropLast().enumerated() {
            let step = perform(action, in: state, number: index + 1)
            if let reason = step.rejection { return fail("\(action) was rejected: \(reason)", at: place) }
            state = step.after
        }
        let step = perform(last, in: state, number: actions.count)
        let isRejectionExpected = expectations.contains { if case .rejects = $0.kind { true } else { false } }
        if let reason = step.rejection, !isRejectionExpected {
            return fail("\(last) was rejected: \(reason)", at: place)
        }
        let isDeferralExpected = expectations.contains { if case .defers = $0.kind { true } else { false } }
        if step.deferred?.isDeferred == true, !isDeferralExpected {
            fail("\(last) has an effect that goes on, which was not expected: add .defers", at: place)
        }
        for expectation in expectations {
            if let problem = expectation.problem(step) { fail("\(last) \(problem)", at: place) }
        }
    }

    private func fail(_ text: String, at place: CallSite) { reporter.report(TestFailure(text, at: place)) }

    private func perform(_ action: R.Action, in state: R.State, number: Int) -> SpecStep<R> {
        let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))
        let context = R.Context(state: state, time: time, session: session, request: RequestNumber(number))
        var step = SpecStep<R>(before: state, after: state)
        do {
            let taken = try reactor.middleware.reduce(action) { try $1.transform($0, context) }
            let effect = try reactor.mutate(taken, context)
            if let problem = effect.deferred?.problem { throw Rejection(problem) }
            step.deferred = effect.deferred
            step.reply = effect.reply
            step.emitted = effect.isDeferred ? [] : effect.emitted
        } catch {
            step.rejection = (error as? Rejection)?.reason ?? String(describing: error)
        }
        let reducing = ReduceContext(
            time: time, epoch: session.epoch, sequence: SequenceNumber(rawValue: UInt64(number) + 1))
        for mutation in step.emitted { R.reduce(into: &step.after, mutation, reducing) }
        return step
    }
}

/// What an action did.
struct SpecStep<R: Reactor> {
    let before: R.State
    var after: R.State
    var emitted: [R.Mutation] = []
    var reply: R.Reply?
    var rejection: String?
    var deferred: DeferredEffect<R>?
}

/// What an action is expected to do; see ``ReactorSpec/then(_:fileID:filePath:line:column:)``.
public struct SpecExpectation<R: Reactor> {
    enum Kind {
        case emits([R.Mutation])
        case replies(R.Reply)
        case state((inout R.State) throws -> Void)
        case unchanged
        case rejects(String)
        case defers(EffectPolicy?)
        case cancels(EffectID)
    }

    let kind: Kind

    /// It emits exactly these mutations at once, in this order; none if none are given.
    public static func emits(_ mutations: R.Mutation...) -> Self { Self(kind: .emits(mutations)) }

    /// It replies this at once.
    public static func replies(_ reply: R.Reply) -> Self { Self(kind: .replies(reply)) }

    /// The state after it is the one before, changed in this way.
    public static func state(_ change: @escaping (inout R.State) throws -> Void) -> Self { Self(kind: .state(change)) }

    /// The state after it is the one before.
    public static var unchanged: Self { Self(kind: .unchanged) }

    /// It is rejected for this reason.
    public static func rejects(_ reason: String) -> Self { Self(kind: .rejects(reason)) }

    /// It has an effect that goes on.
    public static var defers: Self { Self(kind: .defers(nil)) }

    /// It has an effect that goes on, with this policy among its policies.
    public static func defers(_ policy: EffectPolicy) -> Self { Self(kind: .defers(policy)) }

    /// It cancels what runs under this name.
    public static func cancels(_ id: EffectID) -> Self { Self(kind: .cancels(id)) }

    /// What is not so.
    func problem(_ step: SpecStep<R>) -> String? {
        switch kind {
        case .emits(let expected):
            let same = expected.map { StateDigest.digest(of: $0) } == step.emitted.map { StateDigest.digest(of: $0) }
            return same ? nil : "emits \(step.emitted), expected \(expected)"
        case .replies(let expected):
            guard let reply = step.reply, step.deferred?.isDeferred != true else {
                return "has no reply at once, expected \(expected)"
            }
            return TestText.difference(expected: expected, found: reply).map {
                "has another reply than the expected one\n\($0)"
            }
        case .state(let change):
            var expected = step.before
            do { try change(&expected) } catch { return "was not checked, the closure threw: \(error)" }
            return TestText.difference(expected: expected, found: step.after).map {
                "leads to another state than the expected one\n\($0)"
            }
        case .unchanged:
            return TestText.changes(from: step.before, to: step.after).map {
                "changed the state, no change was expected\n\($0)"
            }
        case .rejects(let reason):
            guard let found = step.rejection else { return "was not rejected, expected \"\(reason)\"" }
            return found == reason ? nil : "was rejected with \"\(found)\", expected \"\(reason)\""
        case .defers(let policy):
            guard let deferred = step.deferred, deferred.isDeferred else { return "has no effect that goes on" }
            guard let policy else { return nil }
            let limits = deferred.plan.limits
            guard !limits.contains(policy.limit) else { return nil }
            let found = limits.map { "\($0.policy) of \"\($0.group)\"" }.joined(separator: ", ")
            return limits.isEmpty ? "has no policy" : "has another policy: \(found)"
        case .cancels(let id):
            let names = step.deferred?.cancels ?? []
            return names.contains(id.name) ? nil : "cancels \(names), expected \"\(id)\""
        }
    }
}
