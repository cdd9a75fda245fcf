// The three steps that run for every action. They are requirements of `Reactor` with an implementation that the compiler
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
    /// Decodes, unless `decoded` has the action at `index`, and mutates, writes the mutations and the reply, and reduces.
    ///
    /// It reduces last: what cannot be written, or is larger than `limit`, is certainly without effect.
    @inlinable
    public func _perform(
        _ bytes: RawSpan, _ range: Range<Int>, decoded: [Action], _ index: Int, _ context: Context,
        _ reducing: ReduceContext, codings: ReactorCodings<Self>, limit: Int, into writer: inout ByteWriter
    ) -> PerformedAction {
        let box = context.box
        let start = writer.count
        var action: Action
        if index < decoded.count {
            action = decoded[index]
        } else {
            do {
                action = try codings.action.decode(bytes, range)
            } catch {
                return .rejected(reason: undecodableReason(error))
            }
        }
        do {
            if !box.middleware.isEmpty { action = try box.transformed(action, context) }
            let effect = try mutate(action, context)
            if let deferred = effect.deferred, deferred.asksForMore {
                if let problem = deferred.problem { return .rejected(reason: problem) }
                box.deferred = deferred
                if deferred.isDeferred {
                    if box.isWatched { box.watch(action) }
                    return .deferred
                }
            }
            guard let reply = effect.reply else { preconditionFailure("an effect without a reply goes on") }
            let count: Int
            let replyStart: Int
            switch effect.mutations {
            case .none:
                count = 0
                replyStart = try writer.writeMeasured { try codings.reply.encode(reply, &$0) }
                guard writer.count - start <= limit else { return .rejected(reason: tooLargeReason(limit)) }
            case .one(let mutation):
                count = 1
                try writer.writeMeasured { try codings.mutation.encode(mutation, &$0) }
                replyStart = try writer.writeMeasured { try codings.reply.encode(reply, &$0) }
                guard writer.count - start <= limit else { return .rejected(reason: tooLargeReason(limit)) }
                Self.reduce(into: &box.state, mutation, reducing)
            case .many(let mutations):
                count = mutations.count
                for mutation in mutations { try writer.writeMeasured { try codings.mutation.encode(mutation, &$0) } }
                replyStart = try writer.writeMeasured { try codings.reply.encode(reply, &$0) }
                guard writer.count - start <= limit else { return .rejected(reason: tooLargeReason(limit)) }
                for mutation in mutations { Self.reduce(into: &box.state, mutation, reducing) }
            }
            if box.isWatched { box.watch(action) }
            return .written(mutationCount: count, replyStart: replyStart)
        } catch {
            return .rejected(reason: rejectionReason(error))
        }
    }

    /// Decodes the actions that come next, in place of those that were decoded before, and has their memory fetched.
    ///
    /// It stops before one that cannot be decoded.
    @inlinable
    public static func _lookAhead(
        _ bytes: RawSpan, _ actions: [Range<Int>], _ context: Context, coding: Coding<Action>,
        into decoded: inout [Action]
    ) {
        decoded.removeAll(keepingCapacity: true)
        for range in actions {
            guard let action = try? coding.decode(bytes, range) else { break }
            decoded.append(action)
        }
        prefetch(actions: decoded, in: context.box.state)
    }

    /// Decodes mutations and reduces them; `decoded` is empty before and after, and keeps its room.
    @inlinable
    public static func _apply(
        _ bytes: RawSpan, _ mutations: [MutationPlace], _ context: ReduceContext, coding: Coding<Mutation>,
        decoded: inout [Mutation], to state: inout State
    ) throws(WireError) {
        for place in mutations { decoded.append(try coding.decodeChecked(bytes, place.bytes)) }
        prefetch(mutations: decoded, in: state)
        for index in decoded.indices {
            let sequence = SequenceNumber(rawValue: context.sequence.rawValue + UInt64(mutations[index].entry))
            reduce(
                into: &state, decoded[index],
                ReduceContext(time: context.time, epoch: context.epoch, sequence: sequence))
        }
        decoded.removeAll(keepingCapacity: true)
    }
}

/// Where a mutation lies in the bytes of a batch, and how many entries after the first of its run.
public struct MutationPlace: Sendable {
    @usableFromInline let bytes: Range<Int>
    @usableFromInline let entry: Int

    init(bytes: Range<Int>, entry: Int) {
        self.bytes = bytes
        self.entry = entry
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
