import Lockstep
import LockstepNode
import LockstepTesting
import Testing

/// Who runs effects, feedback and sources (SEMANTICS F1, F3, F13, F18 to F20, T21, guarantee 7).
@Suite(.timeLimit(.minutes(5))) struct EffectsOnThePrimaryTests {
    private func studio(_ stage: Stage) -> Studio {
        var studio = Studio(stage: stage)
        studio.feeds = [
            ExternalSource("feed") { emit in
                stage.note("source")
                try await emit(.said("fed"))
            }
        ]
        studio.reactions = [
            .react("ask", to: { $0.asked }) { request, emit in
                stage.note("feedback \(request)")
                try await emit(.asked(nil))
            }
        ]
        return studio
    }

    /// Guarantee 7, T21: what a replica sends runs once, on the primary; the replica runs nothing while it catches up and
    /// nothing afterwards, and has the same state.
    @Test func aReplicaRunsNone() async throws {
        let (first, second) = (Stage(), Stage())
        let primary = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory))
        let store = try primary.store(studio(first), named: "studio")
        first.open("a")
        second.open("a")
        try await withRunning(primary) {
            _ = try await store.send(.ask("before"))
            await first.noted("feedback before")
            let replica = try Node(.replica(of: await primary.listening()))
            let copy = try replica.store(studio(second), named: "studio")
            try await withRunning(replica) {
                try await copy.whenReady()
                #expect(try await copy.send(.work("a", nil)).reply == 2)
                _ = try await copy.send(.ask("after"))
                await first.noted("feedback after")
                for await snapshot in copy.states where snapshot.state.asked == nil { break }
                let said = try await copy.read(.linearizable) { $0.said }
                #expect(said == ["fed", "a 0", "a 1"] && said == store.state.said)
            }
        }
        #expect(second.trace == [])
        #expect(first.trace.filter { $0.hasPrefix("begin a") }.count == 1)
    }

    /// F18: a request that comes and goes within one batch starts nothing.
    @Test func whatComesAndGoesAtOnceStartsNothing() async throws {
        let stage = Stage()
        let node = try Node(.local())
        var studio = Studio(stage: stage)
        studio.reactions = [
            .react("ask", to: { $0.asked }) { request, emit in
                stage.note("react \(request)")
                try await emit(.said("answer to \(request)"))
            }
        ]
        let store = try node.store(studio, named: "studio")
        try await withRunning(node) {
            _ = try await store.send(.say("begin"))
            _ = try await store.send(contentsOf: [.ask("gone"), .ask(nil), .ask("stays")])
            for await snapshot in store.states where snapshot.state.said.count == 2 { break }
            #expect(stage.trace == ["react stays"])
        }
    }

    /// F1, F14: what the state asks for begins in the order in which the feedbacks stand, then of their keys.
    @Test func feedbacksBeginInTheirOrder() {
        let store = TestStore(
            {
                var studio = Studio(stage: Stage())
                studio.reactions = ["one", "two"].map { name in
                    .react(name, toEach: { $0.wanted }) { request, emit in try await emit(.said("\(name) \(request)")) }
                }
                return studio
            }())
        store.exhaustivity = .off
        store.send(.want(["b", "c", "a"]))
        store.skipReceived()
        #expect(store.state.said == ["one a", "one b", "one c", "two a", "two b", "two c"])
        store.finish()
    }

    /// F1, F5, F6: a loop that answers at once goes round through the inbox, in order, and nests nothing.
    @Test func aLoopThatAnswersAtOnceDoesNotNest() async throws {
        let node = try Node(.local())
        var studio = Studio(stage: Stage())
        studio.reactions = [
            .react("loop", to: { $0.said.count < 1_000 ? $0.said.count : nil }) { count, emit in
                try await emit(.said("\(count)"))
            }
        ]
        let store = try node.store(studio, named: "studio")
        try await withRunning(node) {
            for await snapshot in store.states where snapshot.state.said.count == 1_000 {
                #expect(snapshot.state.said == (0..<1_000).map { "\($0)" })
                break
            }
        }
    }

    /// F3, F20: a feedback may itself send to another store, so systems stand inside each other.
    @Test func aFeedbackMaySendToAnotherStore() async throws {
        let node = try Node(.local())
        let inner = try node.store(Echo(), named: "inner")
        var studio = Studio(stage: Stage())
        studio.reactions = [
            .react("ask", to: { $0.asked }) { request, emit in
                let place = try await inner.send(Echo.Action(request)).place
                try await emit(.said("\(request) is entry \(place.sequence)"))
                try await emit(.asked(nil))
            }
        ]
        let outer = try node.store(studio, named: "outer")
        try await withRunning(node) {
            _ = try await outer.send(.ask("hello"))
            for await snapshot in outer.states where snapshot.state.said.count == 1 { break }
            #expect(try await inner.read { $0 } == ["hello"])
        }
    }
}
