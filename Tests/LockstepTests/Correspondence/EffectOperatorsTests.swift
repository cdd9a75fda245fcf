import Lockstep
import LockstepTesting
import Synchronization
import Testing

/// What can be done to an effect (SEMANTICS O3, O12, O13, O19, O23, O25, O29, O38, O52, O53).
@Suite(.timeLimit(.minutes(5))) struct EffectOperatorsTests {
    /// Does what a test says; its mutations are texts, which its state collects.
    struct Acts: Reactor {
        enum Action: String, Codable, Sendable { case go }
        typealias Mutation = String
        typealias Reply = Int
        let go: @Sendable () throws -> Effect<Acts>
        var initialState: [String] { [] }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> { try go() }

        static func reduce(into state: inout [String], _ mutation: String, _ context: ReduceContext) {
            state.append(mutation)
        }
    }

    struct Broken: Error, CustomStringConvertible { var description: String { "broken" } }

    private func store(_ effect: @escaping @Sendable () throws -> Effect<Acts>) -> TestStore<Acts> {
        TestStore(Acts(go: effect))
    }

    /// O12: it waits first, also if it ends at once otherwise.
    @Test func aDelayedEffectWaits() throws {
        let store = store { .emit("a", reply: 1).delayed(by: .seconds(2)) }
        let sent = store.send(.go)
        store.advance(by: .milliseconds(1_999))
        #expect(store.runningEffects.count == 1)
        store.advance(by: .milliseconds(1))
        store.receive("a") { $0 = ["a"] }
        #expect(try store.reply(to: sent) == 1)
        store.finish()
    }

    /// O12: while it waits it can be cancelled, and then it does nothing.
    @Test func aDelayIsCancellable() {
        let store = store { .emit("a", reply: 1).delayed(by: .seconds(2)) }
        let sent = store.send(.go)
        store.cancel(sent)
        store.advance(by: .seconds(2))
        guard case .cancelled = store.outcome(of: sent) else { return unexpected() }
        store.finish()
    }

    /// O13: it begins when something else has returned.
    @Test func anEffectStartsAfterAnother() {
        let clock = VirtualClock()
        let store = TestStore(
            Acts { .emit("a", reply: 1).startAfter { try await clock.sleep(for: .seconds(1)) } }, clock: clock)
        store.send(.go)
        store.advance(by: .seconds(1))
        store.receive("a") { $0 = ["a"] }
        store.finish()
    }

    /// O19, S11: after a failure, which is told besides, something may have been done, after a refusal nothing.
    @Test func failureAndRefusalAreTwoThings() {
        let failing = store { .fail(Broken()) }
        let sent = failing.send(.go)
        failing.receiveFailure("broken")
        guard case .failed("broken", _, _) = failing.outcome(of: sent) else { return unexpected() }
        failing.finish()
        let refusing = store { try .reject("no") }
        refusing.send(.go, rejected: "no")
        refusing.finish()
    }

    /// O23: mutations that are emitted together are one entry, from `mutate` and from an effect.
    @Test func whatIsEmittedTogetherIsOneEntry() {
        let atOnce = store { .emit(["a", "b"], reply: 1) }
        atOnce.send(.go, reply: 1) { $0 = ["a", "b"] }
        atOnce.finish()
        let later = store {
            .run { emit in
                try await emit(contentsOf: ["a", "b"])
                return 1
            }
        }
        later.send(.go)
        later.receive("a", "b") { $0 = ["a", "b"] }
        later.finish()
    }

    private func step(_ name: String, after seconds: Int, reply: Int) -> Effect<Acts> {
        .run { emit in
            try await emit.sleep(for: .seconds(seconds))
            try await emit(name)
            return reply
        }
    }

    /// O29: parts run side by side; the reply is the first argument's, whichever ends first.
    @Test func mergedEffectsRunSideBySide() throws {
        let store = store { .merge(step("slow", after: 2, reply: 1), step("fast", after: 1, reply: 2)) }
        let sent = store.send(.go)
        store.advance(by: .seconds(2))
        store.receive("fast") { $0 = ["fast"] }
        store.receive("slow") { $0.append("slow") }
        #expect(try store.reply(to: sent) == 1)
        store.finish()
    }

    /// O29: the first error ends the other parts.
    @Test func anErrorEndsAMerge() {
        let store = store { .merge(step("slow", after: 2, reply: 1), .fail(Broken())) }
        store.send(.go)
        store.receiveFailure("broken")
        store.advance(by: .seconds(2))
        store.finish()
    }

    /// O38: the number counts attempts, and what a failed attempt emitted stays.
    @Test func whatAFailedAttemptEmittedStays() throws {
        let attempts = Mutex(0)
        let store = store {
            .run { emit in
                let attempt = attempts.withLock { attempts in
                    attempts += 1
                    return attempts
                }
                try await emit("\(attempt)")
                guard attempt == 3 else { throw Broken() }
                return attempt
            }.retry(RetryPolicy(attempts: 3, backoff: .constant(.seconds(1)), jitter: 0))
        }
        let sent = store.send(.go)
        store.receive("1") { $0 = ["1"] }
        store.advance(by: .seconds(1))
        store.receive("2") { $0.append("2") }
        store.advance(by: .seconds(1))
        store.receive("3") { $0.append("3") }
        #expect(try store.reply(to: sent) == 3)
        store.finish()
    }

    /// O52, O3: too long is a failure with a name, which can be recovered from.
    @Test func tooLongIsAFailure() {
        let late = store { step("late", after: 10, reply: 1).timeout(.seconds(1)) }
        late.send(.go)
        late.advance(by: .seconds(1))
        late.receiveFailure("the effect did not end within 1.0 seconds")
        late.finish()
        let recovered = store {
            step("late", after: 10, reply: 1).timeout(.seconds(1)).recover { error, emit in
                #expect(error is EffectTimeout)
                emit.atEnd("recovered")
                return 2
            }
        }
        recovered.send(.go)
        recovered.advance(by: .seconds(10))
        recovered.receive("recovered") { $0 = ["recovered"] }
        recovered.finish()
    }

    /// O53: it fires once, together with the end; a restart lets the time begin anew.
    @Test func afterATimeItEmitsOnce() throws {
        let store = store { .after(.seconds(3), emit: "a", reply: 1) }
        let sent = store.send(.go)
        store.advance(by: .seconds(2))
        store.restart()
        store.advance(by: .seconds(2))
        store.advance(by: .seconds(1))
        store.receive("a") { $0 = ["a"] }
        #expect(try store.reply(to: sent) == 1)
        store.finish()
    }
}
