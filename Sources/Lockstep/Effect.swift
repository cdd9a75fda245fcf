/// What an action does: its mutations and its reply. An action is refused by throwing ``Rejection`` instead.
///
/// The mutations of one action take effect together, in order, or not at all: they are one entry of the log. Their
/// bytes and the reply's together are at most 1 MiB; a larger effect is refused and has none.
public struct Effect<R: Reactor> {
    /// One mutation needs no array, and is what nearly every action does.
    package enum Mutations {
        case none
        case one(R.Mutation)
        case many([R.Mutation])
    }
    package var mutations: Mutations
    package var reply: R.Reply

    package init(_ mutations: Mutations, reply: R.Reply) {
        self.mutations = mutations
        self.reply = reply
    }

    /// Emits one mutation.
    public static func emit(_ mutation: R.Mutation, reply: R.Reply) -> Effect {
        Effect(.one(mutation), reply: reply)
    }

    /// Emits several mutations, which take effect together.
    public static func emit(_ mutations: [R.Mutation], reply: R.Reply) -> Effect {
        Effect(.many(mutations), reply: reply)
    }

    /// Changes nothing and replies. It takes a place in the log, so the reply is kept until the client has it.
    public static func none(reply: R.Reply) -> Effect { Effect(.none, reply: reply) }
}

extension Effect where R.Reply == NoReply {
    /// Emits one mutation.
    public static func emit(_ mutation: R.Mutation) -> Effect { Effect(.one(mutation), reply: NoReply()) }

    /// Emits several mutations, which take effect together.
    public static func emit(_ mutations: [R.Mutation]) -> Effect { Effect(.many(mutations), reply: NoReply()) }

    /// Changes nothing.
    public static var none: Effect { Effect(.none, reply: NoReply()) }
}

extension Effect: Sendable {}
