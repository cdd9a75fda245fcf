/// What an action does: mutations and a reply at once, or an effect that goes on and emits mutations as it goes.
///
///     return .emit(.added(name, 1), reply: sum)                    // ends at once: one entry of the log
///     return .run { emit in                                        // goes on: accepted, then entries of their own
///         let page = try await search(text)
///         try await emit(.found(page))
///     }.policy(.latest("search"))
///
/// An action is refused by throwing ``Rejection``, or by ``reject(_:)``.
///
/// The mutations of an effect that ends at once take effect together, in order, or not at all: they are one entry. Their
/// bytes and the reply's together are at most 1 MiB; a larger effect is refused and has none. An effect that goes on is
/// begun when its acceptance has committed, on the primary only, and again by the next primary if it had not ended
/// (PROTOCOL, R-60 to R-62); see <doc:Effects>.
public struct Effect<R: Reactor> {
    /// One mutation needs no array, and is what nearly every action does.
    @usableFromInline
    package enum Mutations: Sendable {
        case none
        case one(R.Mutation)
        case many([R.Mutation])
    }
    @usableFromInline package let mutations: Mutations
    /// What the sender of the action learns; nil if it comes at the end of an effect that goes on.
    public let reply: R.Reply?
    @usableFromInline package let deferred: DeferredEffect<R>?

    @inlinable
    package init(_ mutations: Mutations, reply: R.Reply) {
        self.mutations = mutations
        self.reply = reply
        deferred = nil
    }

    init(_ mutations: Mutations = .none, reply: R.Reply? = nil, deferred: DeferredEffect<R>) {
        self.mutations = mutations
        self.reply = reply
        self.deferred = deferred
    }

    /// The mutations that are there at once, in order, to look at in a test.
    public var emitted: [R.Mutation] {
        switch mutations {
        case .none: []
        case .one(let mutation): [mutation]
        case .many(let mutations): mutations
        }
    }

    /// Whether it goes on after the acceptance of its action.
    public var isDeferred: Bool { deferred?.isDeferred ?? false }

    /// Emits one mutation.
    @inlinable
    public static func emit(_ mutation: R.Mutation, reply: R.Reply) -> Effect {
        Effect(.one(mutation), reply: reply)
    }

    /// Emits several mutations, which take effect together.
    @inlinable
    public static func emit(_ mutations: [R.Mutation], reply: R.Reply) -> Effect {
        Effect(.many(mutations), reply: reply)
    }

    /// Changes nothing and replies.
    ///
    /// It takes a place in the log, so the reply is kept until the client has it.
    @inlinable
    public static func none(reply: R.Reply) -> Effect { Effect(.none, reply: reply) }

    /// Refuses the action: it is certainly without effect, and its sender gets the reason.
    public static func reject(_ reason: String) throws -> Effect { throw Rejection(reason) }
}

extension Effect where R.Reply == NoReply {
    /// Emits one mutation.
    @inlinable
    public static func emit(_ mutation: R.Mutation) -> Effect { Effect(.one(mutation), reply: NoReply()) }

    /// Emits several mutations, which take effect together.
    @inlinable
    public static func emit(_ mutations: [R.Mutation]) -> Effect { Effect(.many(mutations), reply: NoReply()) }

    /// Changes nothing.
    @inlinable
    public static var none: Effect { Effect(.none, reply: NoReply()) }
}

extension Effect: Sendable {}
