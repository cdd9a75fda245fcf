import Dispatch
import Lockstep
import LockstepNode
import Synchronization
import Testing

/// Effects that go on, on a running node without network (SEMANTICS K9 to K14, K25).
@Suite(.timeLimit(.minutes(5))) struct EffectTests {
    private func withStudio(
        _ studio: Studio, _ body: @escaping @Sendable (Store<Studio>, Stage) async throws -> Void
    ) async throws {
        let node = try Node(.local())
        let store = try node.store(studio, named: "studio")
        try await withRunning(node) { try await body(store, studio.stage) }
    }

    /// K11, guarantee 4: an emission returns when it has committed, and the effect reads its own writes; K14: the end is
    /// the second answer.
    @Test func anEffectReadsItsOwnWrites() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            stage.open("a")
            let receipt = try await store.send(.work("a", nil))
            #expect(receipt.reply == 2)
            let snapshot = try await store.snapshot(.session)
            #expect(snapshot.state.said == ["a 0", "a 1"] && snapshot.place >= receipt.place)
        }
    }

    /// K10: effects without a policy run side by side, and other actions pass meanwhile.
    @Test func effectsRunSideBySide() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            let a = try store.submit(.work("a", nil))
            let b = try store.submit(.work("b", nil))
            await stage.noted("at a")
            await stage.noted("at b")
            #expect(try await store.send(.say("between")).reply == 3)
            stage.open("b")
            guard case .committed(let second) = try await b.finished() else { return unexpected() }
            stage.open("a")
            guard case .committed(let first) = try await a.finished() else { return unexpected() }
            #expect(second.place < first.place)
            guard case .accepted(let run, _) = try await a.accepted() else { return unexpected() }
            #expect(run.number == first.number)
        }
    }

    /// What was accepted and goes on is not without effect: neither a time that is over nor the end of the node says so.
    @Test func anEffectThatGoesOnIsUnfinished() async throws {
        let stage = Stage()
        let node = try Node(.local())
        let store = try node.store(Studio(stage: stage), named: "studio")
        let (runs, run) = AsyncStream.makeStream(of: RunID.self)
        try await withRunning(node) {
            // The session is open then.
            _ = try await store.send(.say("before"))
            let late = await #expect(throws: LockstepError.self) {
                try await store.send(.work("a", nil), timeout: .seconds(3))
            }
            #expect(late?.code == .unfinished && late?.pending == nil)
            let first = try #require(late?.run)
            let again = await #expect(throws: LockstepError.self) {
                try await store.end(of: first, timeout: .milliseconds(5))
            }
            #expect(again?.code == .unfinished && again?.run == first)
            stage.open("a")
            #expect(try await store.end(of: first, timeout: nil).get().number == first.number)
            let second = try store.submit(.work("b", nil))
            let outcome = try await second.accepted()
            guard case .accepted(let id, _) = outcome else { return unexpected() }
            let accepted = #expect(throws: LockstepError.self) { try outcome.get() }
            #expect(accepted?.code == .unfinished && accepted?.run == id)
            Task {
                let stopped = await #expect(throws: LockstepError.self) { try await second.finished() }
                #expect(stopped?.code == .unfinished)
                if let id = stopped?.run { run.yield(id) }
                run.finish()
            }
            await stage.noted("at b")
        }
        var found: [RunID] = []
        for await id in runs { found.append(id) }
        #expect(found.count == 1)
    }

    /// K12, guarantee 9: a failure is its sender's outcome and a report; what was emitted stays, and the store goes on.
    @Test func aFailureIsAnOutcomeAndAReport() async throws {
        try await withStudio(Studio(stage: Stage())) { store, _ in
            var failures = store.failures().makeAsyncIterator()
            let error = await #expect(throws: LockstepError.self) { try await store.send(.fail("a")) }
            #expect(error?.code == .failed && error?.message == "the string broke")
            guard case .value(let failure) = await failures.next() else { return unexpected() }
            #expect(failure.description.contains("the string broke"))
            let reply = try await store.send(.say("on")).reply
            let said = try await store.read { $0.said }
            #expect(reply == 2 && said == ["a 0", "on"])
        }
    }

    /// O22, guarantee 8: a newer one supersedes; nothing of the older is committed after its acceptance.
    @Test func theLatestSupersedes() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            let old = try store.submit(.work("old", .latest))
            await stage.noted("at old")
            let new = try store.submit(.work("new", .latest))
            guard case .cancelled = try await old.finished() else { return unexpected() }
            stage.open("old")
            stage.open("new")
            guard case .committed(let receipt) = try await new.finished() else { return unexpected() }
            #expect(receipt.reply == 2)
            #expect(try await store.read { $0.said } == ["old 0", "new 0", "new 1"])
        }
    }

    /// The policy `first`: while one is under way the next is rejected and runs nothing.
    @Test func theFirstStays() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            let first = try store.submit(.work("a", .first))
            await stage.noted("at a")
            let error = await #expect(throws: LockstepError.self) { try await store.send(.work("b", .first)) }
            #expect(error?.code == .rejected && error?.message.contains("under way") == true)
            stage.open("a")
            _ = try await first.finished()
            stage.open("c")
            #expect(try await store.send(.work("c", .first)).reply == 2)
            #expect(!stage.trace.contains { $0.hasPrefix("begin b") })
        }
    }

    /// O6: one at a time, in the order of acceptance, with a bound on those that wait.
    @Test func aSerialPolicyKeepsTheOrder() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            let names = ["a", "b", "c"]
            let actions = try names.map { try store.submit(.work($0, .serial)) }
            await stage.noted("at a")
            for action in actions { _ = try await action.accepted() }
            let error = await #expect(throws: LockstepError.self) { try await store.send(.work("d", .serial)) }
            #expect(error?.code == .rejected)
            for name in names.reversed() { stage.open(name) }
            for action in actions { _ = try await action.finished() }
            let said = try await store.read { $0.said }
            #expect(said == ["a 0", "a 1", "b 0", "b 1", "c 0", "c 1"])
        }
    }

    /// O21: at most so many at a time; the rest wait in order.
    @Test func mergeHasABound() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            let actions = try ["a", "b", "c"].map { try store.submit(.work($0, .merge2)) }
            await stage.noted("at ", count: 2)
            for action in actions { _ = try await action.accepted() }
            #expect(!stage.trace.contains { $0.hasPrefix("begin c") })
            stage.open("a")
            _ = try await actions[0].finished()
            await stage.noted("begin c")
            for name in ["b", "c"] { stage.open(name) }
            for action in actions { _ = try await action.finished() }
        }
    }

    /// K25: by name, by a later action, and by the sender's handle; the end says so and nothing follows.
    @Test func anEffectIsCancelledInThreeWays() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            let byName = try store.submit(.work("a", .cancellable))
            await stage.noted("at a")
            _ = try await store.send(.stop("one"))
            guard case .cancelled = try await byName.finished() else { return unexpected() }
            let byAction = try store.submit(.work("b", .byAction))
            await stage.noted("at b")
            _ = try await store.send(.stopByAction)
            guard case .cancelled = try await byAction.finished() else { return unexpected() }
            let byHandle = try store.submit(.work("c", nil))
            await stage.noted("at c")
            await byHandle.cancel()
            guard case .cancelled = try await byHandle.finished() else { return unexpected() }
            for name in ["a", "b", "c"] { stage.open(name) }
            #expect(
                try await store.read { $0.said } == ["a 0", "stop", "b 0", "stop by action", "c 0"])
        }
    }

    /// K25: the handle cancels also in a task that was cancelled itself, which can wait for no answer.
    @Test func aCancelledTaskCancelsByTheHandle() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            // Of its two stages the end has this time, which nothing uses up.
            let action = try store.submit(.work("a", nil), timeout: .seconds(60))
            await stage.noted("at a")
            _ = try await action.accepted()
            await Self.cancelInACancelledTask(action)
            guard case .cancelled = try await action.finished() else { return unexpected() }
        }
    }

    /// K25: an action that has a number and no answer yet is cancelled when it is accepted, although its sender has
    /// left.
    ///
    /// The primary holds it in its middleware until then.
    @Test(arguments: [false, true]) func whatIsNotAnsweredYetIsCancelledLater(isTaskCancelled: Bool) async throws {
        let (stage, gate) = (Stage(), DispatchSemaphore(value: 0))
        var studio = Studio(stage: stage)
        studio.hooks = [
            Middleware { action, _ in
                stage.note("deciding")
                gate.wait()
                return action
            }
        ]
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        _ = try primary.store(studio, named: "studio")
        try await withRunning(primary) {
            let client = try Node(.client(of: await primary.listening()))
            let store = try client.remote(Studio.self, named: "studio")
            try await withRunning(client) {
                let action = try store.submit(.work("a", nil))
                await stage.noted("deciding")
                if isTaskCancelled { await Self.cancelInACancelledTask(action) } else { await action.cancel() }
                let left = await #expect(throws: LockstepError.self) { try await action.accepted() }
                gate.signal()
                let pending = try #require(left?.pending)
                let run = RunID(session: pending.session, number: pending.numbers.lowerBound)
                let end = try await store.end(of: run, timeout: .seconds(60))
                guard case .cancelled = end else { return unexpected() }
            }
        }
    }

    private static func cancelInACancelledTask(_ action: SubmittedAction<Studio>) async {
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask { await action.cancel() }
        }
    }

    /// O5: parts follow each other; the last one's mutation is committed with the end.
    @Test func partsFollowEachOther() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            stage.open("a")
            let reply = try await store.send(.parts("a")).reply
            let said = try await store.read { $0.said }
            #expect(reply == 7 && said == ["a first", "a 0", "a 1", "a last"])
        }
    }

    /// O8: emitting after the end is refused.
    @Test func nothingIsEmittedAfterTheEnd() async throws {
        try await withStudio(Studio(stage: Stage())) { store, stage in
            _ = try await store.send(.emitLate)
            let emitter = Studio.Late.emitter.withLock { $0 }
            await #expect(throws: CancellationError.self) { try await emitter?(.said("late")) }
            #expect(try await store.read { $0.said } == [])
        }
    }

    /// O54: a resource is released when the effect ends, fails, and is cancelled, and when the node stops.
    @Test func resourcesAreReleasedOnEveryPath() async throws {
        let stage = Stage()
        try await withStudio(Studio(stage: stage)) { store, stage in
            stage.open("ends")
            _ = try await store.send(.resource("ends", fails: false))
            stage.open("fails")
            _ = try? await store.send(.resource("fails", fails: true))
            let cancelled = try store.submit(.resource("cancelled", fails: false))
            await stage.noted("at cancelled")
            await cancelled.cancel()
            _ = try await cancelled.finished()
            _ = try store.submit(.resource("stopped", fails: false))
            await stage.noted("at stopped")
        }
        for name in ["ends", "fails", "cancelled", "stopped"] {
            #expect(stage.trace.filter { $0 == "release \(name)" }.count == 1, "\(name)")
        }
    }

    /// Guarantee 15, K24: when the node stops, effects are cancelled and their senders are told that they are not at their
    /// end, also who asks later.
    @Test func aStopEndsEverything() async throws {
        let stage = Stage()
        let node = try Node(.local())
        let store = try node.store(Studio(stage: stage), named: "studio")
        let box = Box<SubmittedAction<Studio>>()
        try await withRunning(node) {
            let action = try store.submit(.work("a", nil))
            await stage.noted("at a")
            _ = try await action.accepted()
            box.value = action
        }
        let error = await #expect(throws: LockstepError.self) { try await box.value?.finished() }
        #expect(error?.code == .unfinished && error?.run != nil)
        #expect(store.state.said == ["a 0"])
    }
}

/// Carries a value out of a closure.
final class Box<Value: Sendable>: @unchecked Sendable {
    var value: Value?
}
