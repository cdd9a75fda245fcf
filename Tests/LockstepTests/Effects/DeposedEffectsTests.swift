import Lockstep
import LockstepCore
import LockstepNode
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
}
