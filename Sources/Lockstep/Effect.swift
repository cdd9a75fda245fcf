/// What an action does: its mutations and its reply.
///
/// An action is refused by throwing ``Rejection`` instead.
///
/// The mutations of one action take effect together, in order, or not at all: they are one entry of the log. Their
/// bytes and the reply's together are at most 1 MiB; a larger effect is refused and has none.
public struct Effect<R: Reactor> {
    /// One mutation needs no array, and is what nearly every action does.
    @usableFromInline
    package enum Mutations: Sendable {
        case none
        case one(R.Mutation)
        case many([R.Mutation])
    }
    @usableFromInline package let mutations: Mutations
    /// What the sender of the action learns.
    public let reply: R.Reply

    @inlinable
    package init(_ mutations: Mutations, reply: R.Reply) {
        self.mutations = mutations
        self.reply = reply
    }

    /// The mutations in order, to look at in a test.
    public var emitted: [R.Mutation] {
        switch mutations {
        case .none: []
        case .one(let mutation): [mutation]
        case .many(let mutations): mutations
        }
    }

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
