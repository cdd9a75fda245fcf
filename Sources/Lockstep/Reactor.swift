/// What an application is: how an action becomes mutations, and how a mutation changes the state.
///
/// The primary runs ``mutate(_:_:)``; every node runs ``reduce(into:_:_:)`` over the same mutations in the same order
/// and so has the same state. A reactor describes behaviour only: it is a value, or a final class, and the running
/// state belongs to the node.
///
/// All six types are sent or kept, so they are `Codable`; one that is also ``WireCodable`` takes the fast path. What few
/// reactors say beside this stands in ``ReactorOptions``.
public protocol Reactor: ReactorOptions {
    /// What a client asks for.
    override associatedtype Action: Codable & Sendable
    /// What happened: the bridge between action and state, and the format of the log.
    associatedtype Mutation: Codable & Sendable = Action
    /// What is replicated. Prefer ``ReplicatedMap`` to `Dictionary` for anything large.
    override associatedtype State: Codable & Sendable
    /// What the sender of an action learns once it is committed.
    associatedtype Reply: Codable & Sendable = NoReply
    /// What a client without a replica may ask about the state.
    associatedtype Query: Codable & Sendable = NoQuery
    /// The answer to a query.
    associatedtype Answer: Codable & Sendable = NoReply

    /// What ``mutate(_:_:)`` sees.
    typealias Context = MutateContext<Self>

    /// The state before the first entry. It must be the same on every node.
    var initialState: State { get }

    /// Decides what an action does, on the primary only, and once for an action that ends at once.
    ///
    /// For an accepted action whose effect goes on it is called again by the next primary; see <doc:Effects>.
    ///
    /// It runs on the node's thread: it must not wait and should take microseconds. It may use what it likes (the
    /// clock of the context, a random number, the reactor's own properties), because only the mutations are replicated.
    /// It throws ``Rejection`` to refuse the action; any other error refuses it too, with the error's description. A
    /// refused action is certainly without effect.
    ///
    /// Without an implementation the action itself is the mutation, if their types are the same and there is no reply.
    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self>

    /// Applies a mutation to the state, on every node.
    ///
    /// It must be a function of its arguments: no clock, no randomness, no environment, and no walk over a `Set` or a
    /// `Dictionary` whose order reaches the state. It must not trap, whatever the mutation: the trap would repeat on
    /// every node and at every start. It may read the state as it goes; keep no copy of it.
    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext)

    /// Answers a query from the published state; on the node's thread, for a client without a replica.
    ///
    /// An error refuses the query with its description. A reactor with queries implements this one, or the one with a
    /// context; one that implements neither refuses every query.
    static func answer(_ query: Query, in state: State) throws -> Answer

    /// The same, for an answer that depends on the log's time, or names its place.
    ///
    /// By default it is ``answer(_:in:)``. It is the only one that the library calls.
    static func answer(_ query: Query, in state: State, _ context: AnswerContext) throws -> Answer

    /// Looks at actions before ``mutate(_:_:)``, in this order; each may pass on, rewrite, or refuse.
    ///
    /// Read once, when the node makes the store's state. By default there are none, and looking at them costs nothing.
    var middleware: [Middleware<Self>] { get }

    /// Effects that the state asks for. Read when the primary begins; by default there are none.
    var feedback: [Feedback<Self>] { get }

    /// Streams of mutations from outside, merged on the primary. Read when the primary begins; by default none.
    var sources: [ExternalSource<Self>] { get }

    // The library's own steps, which nobody implements (decision 0024).

    /// The library's own step from an action's bytes to its item; not to be implemented.
    func _perform(
        _ bytes: RawSpan, _ range: Range<Int>, decoded: [Action], _ index: Int, _ context: Context,
        _ reducing: ReduceContext, codings: ReactorCodings<Self>, limit: Int, into writer: inout ByteWriter
    ) -> PerformedAction

    /// The library's own step from the bytes of the next actions to their prefetching; not to be implemented.
    static func _lookAhead(
        _ bytes: RawSpan, _ actions: [Range<Int>], _ context: Context, coding: Coding<Action>,
        into decoded: inout [Action])

    /// The library's own step from mutations' bytes to the state; not to be implemented.
    static func _apply(
        _ bytes: RawSpan, _ mutations: [MutationPlace], _ context: ReduceContext, coding: Coding<Mutation>,
        decoded: inout [Mutation], to state: inout State) throws(WireError)
}

extension Reactor {
    /// None.
    public var middleware: [Middleware<Self>] { [] }
    /// None.
    public var feedback: [Feedback<Self>] { [] }
    /// None.
    public var sources: [ExternalSource<Self>] { [] }
}

extension Reactor {
    /// Refuses: this reactor answers with a context, or not at all.
    public static func answer(_ query: Query, in state: State) throws -> Answer {
        throw Rejection("\(Self.self) answers no queries without a context")
    }

    /// Answers without the context.
    public static func answer(_ query: Query, in state: State, _ context: AnswerContext) throws -> Answer {
        try answer(query, in: state)
    }
}

extension Reactor where Mutation == Action, Reply == NoReply {
    /// Lets the action itself be the mutation.
    public func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> { .emit(action) }
}

extension Reactor where Query == NoQuery {
    /// Never called: there is no query.
    public static func answer(_ query: Query, in state: State) throws -> Answer {}
}

/// An action's refusal: it is certainly without effect, and its sender gets the reason.
public struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// Why, in words for the sender; what exceeds 1,024 bytes of UTF-8 is cut off.
    public let reason: String
    /// Refuses for this reason.
    public init(_ reason: String) { self.reason = reason }
    /// The reason.
    public var description: String { reason }
}

/// The reply of a reactor whose actions have none.
public struct NoReply: Codable, Hashable, Sendable, WireCodable {
    /// The only value.
    public init() {}
    /// Writes nothing.
    @inlinable
    public func encode(into writer: inout ByteWriter) {}
    /// Reads nothing.
    @inlinable
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {}
}

/// The query of a reactor that answers none: there is no value of it.
public enum NoQuery: Codable, Hashable, Sendable, WireCodable {
    /// Always fails.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "this reactor answers no queries"))
    }
    /// Never called.
    public func encode(to encoder: any Encoder) {}
    /// Never called.
    public func encode(into writer: inout ByteWriter) {}
    /// Always fails.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        throw WireError(.unknownKind, at: reader.offset)
    }
}
