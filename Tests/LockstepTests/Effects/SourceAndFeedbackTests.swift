import Lockstep
import LockstepNode
import Testing

/// What the state asks for, what comes from outside, and what time brings (SEMANTICS F7 to F14, K17, K18, K20).
@Suite(.timeLimit(.minutes(5))) struct SourceAndFeedbackTests {
    private func withStudio(
        _ studio: Studio, _ body: @escaping @Sendable (Store<Studio>, Stage) async throws -> Void
    ) async throws {
        let node = try Node(.local())
        let store = try node.store(studio, named: "studio")
        try await withRunning(node) { try await body(store, studio.stage) }
    }

    private func until(
        _ store: Store<Studio>, _ isReached: @escaping @Sendable (Studio.State) -> Bool
    ) async -> Studio.State {
        for await snapshot in store.states where isReached(snapshot.state) { return snapshot.state }
        return store.state
    }

    /// F7: appears, stays, changes, disappears.
    @Test func oneRequestBeginsChangesAndEnds() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("ask", to: { $0.asked }) { request, emit in
                stage.note("react \(request)")
                do { try await stage.pass(request) } catch {
                    stage.note("gone \(request)")
                    throw error
                }
                try await emit(.said("answer to \(request)"))
            }
        ]
        try await withStudio(studio) { store, stage in
            _ = try await store.send(.ask("a"))
            await stage.noted("at a")
            // An equal request leaves the effect alone; F11: an end does not begin it again.
            _ = try await store.send(.ask("a"))
            stage.open("a")
            _ = await until(store) { $0.said == ["answer to a"] }
            _ = try await store.send(.say("x"))
            _ = try await store.send(.ask("b"))
            await stage.noted("at b")
            _ = try await store.send(.ask("c"))
            await stage.noted("gone b")
            await stage.noted("at c")
            _ = try await store.send(.ask(nil))
            await stage.noted("gone c")
            #expect(stage.trace.filter { $0.hasPrefix("react") } == ["react a", "react b", "react c"])
            #expect(try await store.read { $0.said } == ["answer to a", "x"])
        }
    }

    /// F8, F12, F14: one for each element, begun in order; one that fails is reported and concerns nobody else.
    @Test func eachElementHasItsOwnEffect() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("want", toEach: { $0.wanted }) { request, emit in
                if request == "bad" { throw Studio.Failure() }
                try await stage.pass(request)
                try await emit(.said(request))
            }
        ]
        try await withStudio(studio) { store, stage in
            var failures = store.failures().makeAsyncIterator()
            _ = try await store.send(.want(["c", "a", "bad", "b"]))
            await stage.noted("at ", count: 3)
            guard case .value(let failure) = await failures.next() else { return unexpected() }
            #expect(failure.origin == .feedback("want", request: "bad"))
            _ = try await store.send(.want(["a", "b", "d"]))
            await stage.noted("at d")
            for name in ["a", "b", "c", "d"] { stage.open(name) }
            let state = await until(store) { $0.said.count == 3 }
            #expect(Set(state.said) == ["a", "b", "d"])
            #expect(stage.trace.filter { $0 == "at a" }.count == 1)
        }
    }

    /// F9: a changed payload goes to the effect that runs; a vanished identity ends it.
    @Test func aChangedPayloadIsForwarded() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("tune", toEach: { $0.tuned }) { id, first, updates, emit in
                try await emit(.said("\(id) \(first)"))
                for await next in updates { try await emit(.said("\(id) \(next)")) }
                stage.note("end \(id)")
            }
        ]
        try await withStudio(studio) { store, stage in
            _ = try await store.send(.tune(["a": 1]))
            _ = await until(store) { $0.said == ["a 1"] }
            _ = try await store.send(.tune(["a": 2]))
            _ = await until(store) { $0.said == ["a 1", "a 2"] }
            _ = try await store.send(.tune([:]))
            await stage.noted("end a")
        }
    }

    /// K18, K13: a source is merged once, begins again when it fails, and ends nothing but itself.
    @Test func aSourceIsMergedOnceAndBegunAgain() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.feeds = [
            ExternalSource("feed", retry: RetryPolicy(attempts: 2, backoff: .constant(.zero))) { emit in
                stage.note("feed")
                try await emit(.said("fed"))
                throw Studio.Failure()
            }
        ]
        try await withStudio(studio) { store, stage in
            let state = await until(store) { $0.said.count == 2 }
            #expect(state.said == ["fed", "fed"])
            let reply = try await store.send(.say("on")).reply
            #expect(reply == 3)
            #expect(stage.trace.filter { $0 == "feed" }.count == 2)
        }
    }

    /// F7, F8, K18: the key for other systems names the store, and what in it asks; two stores never share one.
    @Test func keysBeginWithTheNameOfTheStore() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("ask", to: { $0.asked }) { _, emit in stage.note("key \(emit.idempotencyKey)") },
            .react("want", toEach: { $0.wanted }) { _, emit in stage.note("key \(emit.idempotencyKey)") },
        ]
        studio.feeds = [ExternalSource("feed") { emit in stage.note("key \(emit.idempotencyKey)") }]
        let node = try Node(.local())
        let stores = [try node.store(studio, named: "one"), try node.store(studio, named: "two")]
        try await withRunning(node) {
            for store in stores {
                _ = try await store.send(.ask("x"))
                _ = try await store.send(.want(["a", "b"]))
            }
            await stage.noted("key ", count: 8)
        }
        let keys = ["ask/0", "feed", "want/a", "want/b"]
        #expect(stage.trace.sorted() == keys.map { "key one/\($0)" } + keys.map { "key two/\($0)" })
    }

    /// PROTOCOL R-65: timers fire once, in the order of deadline and name, not before their time; cancelled ones do not.
    @Test func timersFireInOrderAndOnce() async throws {
        try await withStudio(Studio(stage: Stage())) { store, _ in
            _ = try await store.send(contentsOf: [
                .wake("c", 30_000), .wake("b", 20_000), .wake("a", 20_000), .wake("never", 25_000), .quiet("never"),
            ])
            let state = await until(store) { $0.said.count == 3 }
            #expect(state.said.last == "timer c" && Set(state.said.prefix(2)) == ["timer a", "timer b"])
            #expect(state.timers.isEmpty && state.firedAt.allSatisfy { $0 >= .zero })
        }
    }

    /// K17, K20: middleware in order, then mutate, then reduce; a refusal runs nothing after it.
    @Test func theHooksRunInTheirOrder() async throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.hooks = [
            Middleware { action, _ in
                stage.note("one \(action)")
                guard case .say(let text) = action else { return action }
                return .say(text + "!")
            },
            .reject { action, _ in
                stage.note("two \(action)")
                return action == .say("no!") ? "not that" : nil
            },
        ]
        try await withStudio(studio) { store, stage in
            _ = try await store.send(.say("hi"))
            let error = await #expect(throws: LockstepError.self) { try await store.send(.say("no")) }
            #expect(error?.code == .rejected && error?.message == "not that")
            #expect(
                stage.trace == [
                    "one say(\"hi\")", "two say(\"hi!\")", "one say(\"no\")", "two say(\"no!\")",
                ])
            #expect(try await store.read { $0.said } == ["hi!"])
        }
    }
}
