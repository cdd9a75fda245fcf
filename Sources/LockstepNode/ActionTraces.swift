internal import DequeModule
package import LockstepCore
internal import Synchronization
package import Tracing

/// Follows a store's actions in spans of swift-distributed-tracing.
///
/// - `lockstep.send`: at the caller, from `send` to the answer, or to the end of an accepted action.
/// - `lockstep.mutate`: actions of one frame in the primary's reactor; below the first of them that has a sender here.
/// - `lockstep.commit`: from the hand-over to the journal to the commit; below the first `lockstep.mutate` of what is
///   written, with links to the others.
/// - `lockstep.effect`: one attempt of an accepted action's effect, below its sender. The body has the sender's context.
///
/// There is one only if the process had a tracer when the store was made; without it nothing is measured or kept. A
/// sender's context follows its action by the action's number, within this process: frames do not carry it, so a span of
/// an action from another node is the root of its trace.
package final class ActionTraces: Sendable {
    /// The process's tracer.
    package let tracer: any Tracer
    private let store: String
    private let contents = Mutex(Contents())

    /// The most actions whose context is kept; the oldest are forgotten.
    package static let bound = 4_096
    /// The most links of a commit.
    static let linkBound = 16
    /// How many numbers of a frame are looked up.
    private static let looks: UInt64 = 16

    private struct Contents: Sendable {
        var contexts: [RunID: ServiceContext] = [:]
        var order: Deque<RunID> = []
        /// Spans whose mutations are not at the journal yet.
        var performed: [ServiceContext] = []
    }

    /// Follows a store's actions; nil without a tracer.
    package init?(store: String) {
        let tracer = InstrumentationSystem.tracer
        guard !(tracer is NoOpTracer) else { return nil }
        self.tracer = tracer
        self.store = store
    }

    /// Keeps the context of an action's sender.
    func keep(_ context: ServiceContext?, of id: RunID) {
        guard let context else { return }
        contents.withLock { contents in
            if contents.contexts.updateValue(context, forKey: id) == nil { contents.order.append(id) }
            while contents.order.count > Self.bound { contents.contexts[contents.order.removeFirst()] = nil }
        }
    }

    // MARK: - Spans

    /// Runs a caller's send.
    package func sending<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await tracer.withSpan("lockstep.send", ofKind: .client) { span in
            span.attributes["lockstep.store"] = store
            return try await body()
        }
    }

    /// Runs one attempt of an effect, with the context of its action's sender, if that is known here.
    package func running<Value>(_ id: RunID, _ body: () async -> Value) async -> Value {
        let context = contents.withLock { $0.contexts[id] } ?? .topLevel
        return await tracer.withSpan("lockstep.effect", context: context) { span in
            span.attributes["lockstep.store"] = store
            span.attributes["lockstep.action"] = "\(id)"
            return await body()
        }
    }

    /// Actions of a frame are about to be performed; nil if none of the first has a sender here.
    func mutating(_ session: SessionID, from first: RequestNumber, count: Int) -> (any Span)? {
        let context: ServiceContext? = contents.withLock { contents in
            for offset in 0..<min(Self.looks, UInt64(count)) {
                if let context = contents.contexts[RunID(session: session, number: first + offset)] { return context }
            }
            return nil
        }
        guard let context else { return nil }
        let span = tracer.startAnySpan("lockstep.mutate", context: context)
        span.attributes["lockstep.store"] = store
        span.attributes["lockstep.actions"] = count
        contents.withLock { contents in
            if contents.performed.count <= Self.linkBound { contents.performed.append(span.context) }
        }
        return span
    }

    /// Batches go to the journal.
    func committing(batches: Int) -> any Span {
        let performed = contents.withLock { contents in
            defer { contents.performed = [] }
            return contents.performed
        }
        let span = tracer.startAnySpan("lockstep.commit", context: performed.first ?? .topLevel)
        span.attributes["lockstep.store"] = store
        span.attributes["lockstep.batches"] = batches
        for context in performed.dropFirst() { span.addLink(SpanLink(context: context, attributes: [:])) }
        return span
    }
}
