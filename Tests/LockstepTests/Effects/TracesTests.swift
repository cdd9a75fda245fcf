import InMemoryTracing
import Lockstep
import LockstepNode
import Testing
import Tracing

/// Spans of an action's way, and the sender's context in its effect.
@Suite(.timeLimit(.minutes(5))) struct TracesTests {
    private struct Baggage: ServiceContextKey { typealias Value = String }

    /// Replies with what its effect finds in its context.
    private struct Asking: Reactor {
        enum Action: Codable, Sendable { case count, ask }
        enum Mutation: Codable, Sendable { case counted }
        struct State: Codable, Sendable { var count = 0 }
        typealias Reply = String

        var initialState: State { State() }

        func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
            switch action {
            case .count: .emit(.counted, reply: "counted")
            case .ask:
                .run { emit in
                    try await emit(.counted)
                    return ServiceContext.current?[Baggage.self] ?? "nothing"
                }
            }
        }

        static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) { state.count += 1 }
    }

    private func spans(of action: Asking.Action) async throws -> (reply: String, spans: [FinishedInMemorySpan]) {
        let tracer = InMemoryTracer()
        let reply = try await withTracer(tracer) {
            let node = try Node(.local())
            let store = try node.store(Asking(), named: "asking")
            return try await node.whileRunning {
                var context = ServiceContext.topLevel
                context[Baggage.self] = "from the sender"
                return try await ServiceContext.withValue(context) { try await store.send(action).reply }
            }
        }
        return (reply, tracer.finishedSpans)
    }

    @Test func anActionIsOneTraceFromSendToCommit() async throws {
        let (reply, spans) = try await spans(of: .count)
        #expect(reply == "counted")
        let send = try #require(spans.first { $0.operationName == "lockstep.send" })
        let mutate = try #require(spans.first { $0.operationName == "lockstep.mutate" })
        let commit = try #require(spans.first { $0.parentSpanID == mutate.spanID })
        #expect(mutate.parentSpanID == send.spanID)
        #expect(commit.operationName == "lockstep.commit")
        #expect(send.traceID == commit.traceID)
        #expect(spans.allSatisfy { $0.operationName != "lockstep.effect" })
    }

    @Test func anEffectHasItsSendersContextAndASpanBelowIt() async throws {
        let (reply, spans) = try await spans(of: .ask)
        #expect(reply == "from the sender")
        let send = try #require(spans.first { $0.operationName == "lockstep.send" })
        let effect = try #require(spans.first { $0.operationName == "lockstep.effect" })
        #expect(effect.parentSpanID == send.spanID && effect.traceID == send.traceID)
    }

    @Test func withoutATracerNothingIsFollowed() throws {
        let node = try Node(.local())
        let port = try node.attach(name: "plain") { preconditionFailure("no state is made before the node runs") }
        #expect(port.traces == nil)
    }
}
