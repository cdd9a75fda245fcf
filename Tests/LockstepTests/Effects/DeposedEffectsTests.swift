import Lockstep
import LockstepCore
import LockstepNode
import LockstepTesting
import Testing

/// Effects of a primary that is deposed, and may reign again (PROTOCOL, R-62, R-89).
@Suite(.timeLimit(.minutes(5))) struct DeposedEffectsTests {
    /// Answers nothing.
    private final class SilentPort: EffectPort {
        let name = "studio"
        let tickets: AsyncStream<UInt64>
        private let ticket: AsyncStream<UInt64>.Continuation

        init() { (tickets, ticket) = AsyncStream.makeStream() }

        func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) { self.ticket.yield(ticket) }
        func finishRun(_ id: RunID, item: [UInt8]) {}
        func waitUntilShown(_ sequence: SequenceNumber) async throws {}
    }

    /// What a source brought and nobody answered ends with the reign; the next one begins it again, once it is over.
    @Test func aSourceEndsWithTheReign() async {
        let stage = Stage()
        var studio = Studio(stage: stage)
        studio.feeds = [
            ExternalSource("feed") { emit in
                stage.note("begun")
                do { try await emit(.said("fed")) } catch {
                    stage.note("ended")
                    throw error
                }
            }
        ]
        let published = PublishedState(Snapshot(state: studio.initialState, place: .start, time: .zero))
        let runtime = EffectRuntime(studio, published: published, clock: ContinuousClock())
        let port = SilentPort()
        await withDiscardingTaskGroup { group in
            group.addTask { await runtime.run(on: port) }
            var tickets = port.tickets.makeAsyncIterator()
            runtime.opened()
            _ = await tickets.next()
            #expect(stage.trace == ["begun"])
            runtime.closed()
            runtime.opened()
            _ = await tickets.next()
            #expect(stage.trace == ["begun", "ended", "begun"])
            group.cancelAll()
        }
    }

    /// An order that waits until its reign is over begins nothing: what the next reign keeps is for its own order.
    @Test func anOrderEndsWithItsReign() throws {
        let stage = Stage()
        var studio = Studio(stage: stage)
        // It does not react to its cancellation; so later orders wait.
        studio.feeds = [ExternalSource("deaf") { _ in await stage.noted("let go") }]
        let published = PublishedState(Snapshot(state: studio.initialState, place: .start, time: .zero))
        let runtime = EffectRuntime(studio, published: published, clock: ContinuousClock())
        let state = ReactorState(studio, published: published, runtime: runtime)
        let port = KeepingPort()
        let executor = TestStoreExecutor()
        let task = executor.start { await runtime.run(on: port) }
        defer {
            task.cancel()
            _ = executor.drain()
        }
        runtime.opened()
        #expect(executor.drain())
        // Two further reigns, the first of which is over before its order is taken up.
        for attempt: UInt64 in [1, 2] {
            runtime.closed()
            runtime.begin(try state.takeUp(.resource("a", fails: false), attempt: attempt))
        }
        stage.note("let go")
        #expect(executor.drain())
        stage.open("a")
        #expect(executor.drain())
        #expect(stage.trace == ["let go", "acquire a", "at a", "release a"])
        #expect(port.ends.map(\.number) == [1])
    }
}
