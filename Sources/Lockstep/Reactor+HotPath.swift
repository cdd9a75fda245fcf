// The two steps that run for every action. They are requirements of `Reactor` with an implementation that the compiler
// may copy into the reactor's own module, where all types are known: called through the protocol once an action or
// entry, with no generic code inside, they take half the time.

/// A reactor's codings, made once.
public struct ReactorCodings<R: Reactor>: Sendable {
    @usableFromInline package let action: Coding<R.Action>
    @usableFromInline package let mutation: Coding<R.Mutation>
    @usableFromInline package let reply: Coding<R.Reply>

    package init() {
        action = R.actionCoding
        mutation = R.mutationCoding
        reply = R.replyCoding
    }
}

/// What became of an action whose item was written.
public enum PerformedAction: Sendable {
    /// Mutations and reply were written and reduced.
    case written(mutationCount: Int, replyStart: Int)
    /// What was written is to be taken back; nothing was reduced.
    case rejected(reason: String)
    /// Nothing was written: the action's effect goes on, and waits in the context's box.
    case deferred
}

extension Reactor {
    /// Decodes and mutates, writes the mutations and the reply, and reduces.
    ///
    /// It reduces last: what cannot be written, or is larger than `limit`, is certainly without effect.
    @inlinable
    public func _perform(
        _ bytes: RawSpan, _ range: Range<Int>, _ context: Context, _ reducing: ReduceContext,
        codings: ReactorCodings<Self>, limit: Int, into writer: inout ByteWriter
    ) -> PerformedAction {
        let box = context.box
        let start = writer.count
        var action: Action
        do {
            action = try codings.action.decode(bytes, range)
        } catch {
            return .rejected(reason: undecodableReason(error))
        }
        do {
            if !box.middleware.isEmpty { action = try box.transformed(action, context) }
            let effect = try mutate(action, context)
            if let deferred = effect.deferred {
                box.deferred = deferred
                if deferred.isDeferred {
                    if box.isWatched { box.watch(action) }
                    return .deferred
                }
            }
            guard let reply = effect.reply else { preconditionFailure("an effect without a reply goes on") }
            let count: Int
            switch effect.mutations {
            case .none:
                count = 0
            case .one(let mutation):
                count = 1
                try writer.writeMeasured { try codings.mutation.encode(mutation, &$0) }
            case .many(let mutations):
                count = mutations.count
                for mutation in mutations { try writer.writeMeasured { try codings.mutation.encode(mutation, &$0) } }
            }
            let replyStart = try writer.writeMeasured { try codings.reply.encode(reply, &$0) }
            guard writer.count - start <= limit else { return .rejected(reason: tooLargeReason(limit)) }
            switch effect.mutations {
            case .none: break
            case .one(let mutation): Self.reduce(into: &box.state, mutation, reducing)
            case .many(let mutations):
                for mutation in mutations { Self.reduce(into: &box.state, mutation, reducing) }
            }
            if box.isWatched { box.watch(action) }
            return .written(mutationCount: count, replyStart: replyStart)
        } catch {
            return .rejected(reason: rejectionReason(error))
        }
    }

    /// Decodes and reduces `count` mutations, each behind its length.
    @inlinable
    public static func _apply(
        _ bytes: RawSpan, _ mutations: Range<Int>, count: Int, _ context: ReduceContext,
        coding: Coding<Mutation>, to state: inout State
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let mutation = try coding.decodeChecked(bytes, try reader.readRange(from: bytes))
            reduce(into: &state, mutation, context)
        }
    }
}

@usableFromInline
func undecodableReason(_ error: any Error) -> String { "the action cannot be decoded: \(error)" }

@usableFromInline
func tooLargeReason(_ limit: Int) -> String { "the action's mutations and reply are larger than \(limit) bytes" }

@usableFromInline
func rejectionReason(_ error: any Error) -> String {
    (error as? Rejection)?.reason ?? String(describing: error)
}
