import Lockstep
import LockstepCore
import LockstepNode
import LockstepTesting
import Testing

/// Effects of a node that stops in good order: it refuses what they bring, and who waits for a state, before it cancels
/// their tasks (guarantee 15).
@Suite(.timeLimit(.minutes(5))) struct StoppingEffectsTests {
    /// Its effects emit once.
    private struct Notes: Reactor {
        enum Action: Codable, Sendable { case plain, recovered }
        enum Mutation: Codable, Sendable { case noted }
        struct State: Codable, Sendable { var count = 0 }
        typealias Reply = Int

        let stage: Stage
        var feeds: [ExternalSource<Self>] = []

        var initialState: State { State() }
        var sources: [ExternalSource<Self>] { feeds }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            let stage = stage
            let effect: Effect<Self> = .run { emit in
                stage.note("begun")
                try await emit(.noted)
                return 0
            }
            switch action {
            case .plain: return effect
            case .recovered:
                return effect.recover { _, _ in
                    stage.note("recovered")
                    return 0
                }
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
            state.count += 1
        }
    }

    /// What has committed and is not shown any more is no failure of its effect, which the next primary runs again: no
    /// handler is run, and nothing is reported.
    @Test(arguments: [false, true]) func anEffectWhoseEmissionIsNotShownIsCancelled(isRecovered: Bool) async throws {
        let stage = Stage()
        let (runtime, state) = Self.makeRuntime(Notes(stage: stage))
        runtime.begin(try state.takeUp(isRecovered ? .recovered : .plain))
        let failures = try await reports(of: runtime, answering: .committed(.zero, SequenceNumber(rawValue: 1)))
        #expect(failures.isEmpty)
        #expect(stage.trace == ["begun"])
    }

    /// A source has not failed whose emission is refused, or is not shown, since the primary ends.
    @Test(arguments: [EmissionOutcome.dropped, .committed(.zero, SequenceNumber(rawValue: 1))])
    func aSourceOfAPrimaryThatEndsHasNotFailed(outcome: EmissionOutcome) async throws {
        var notes = Notes(stage: Stage())
        notes.feeds = [ExternalSource("feed", retry: .never) { emit in _ = try await emit(.noted) }]
        let (runtime, _) = Self.makeRuntime(notes)
        runtime.opened()
        let failures = try await reports(of: runtime, answering: outcome)
        #expect(failures.isEmpty)
    }

    private static func makeRuntime(_ notes: Notes) -> (EffectRuntime<Notes>, ReactorState<Notes>) {
        let published = PublishedState(Snapshot(state: notes.initialState, place: .start, time: .zero))
        let runtime = EffectRuntime(notes, published: published, clock: ContinuousClock())
        return (runtime, ReactorState(notes, published: published, runtime: runtime))
    }

    /// Runs effects on a node that shows nothing any more, answers their one emission, and lets the node end; returns
    /// what was reported.
    private func reports(
        of runtime: EffectRuntime<Notes>, answering outcome: EmissionOutcome
    ) async throws -> [EffectFailure] {
        let port = KeepingPort(shown: { throw LockstepError(.stopped, "the node stops") })
        let subscription = runtime.failures.subscribe()
        let executor = TestStoreExecutor()
        let task = executor.start { await runtime.run(on: port) }
        #expect(executor.drain())
        let ticket = try #require(port.tickets.first)
        runtime.emission(ticket, outcome)
        #expect(executor.drain())
        task.cancel()
        #expect(executor.drain())
        var found: [EffectFailure] = []
        for await case .value(let failure) in subscription { found.append(failure) }
        return found
    }
}
