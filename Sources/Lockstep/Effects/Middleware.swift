import LockstepCore

/// Looks at an action before it is mutated, on the primary: it passes on, rewrites, or refuses.
///
/// The rewritten action is what is mutated; an accepted action that is run again by the next primary passes through the
/// middleware again.
public struct Middleware<R: Reactor>: Sendable {
    package let transform: @Sendable (R.Action, R.Context) throws -> R.Action

    /// Makes a middleware.
    ///
    /// - Parameter transform: Returns the action to go on with, or throws ``Rejection`` with a reason for the sender.
    ///   It runs on the node's thread, once an action: it must not wait and should take microseconds.
    public init(_ transform: @escaping @Sendable (_ action: R.Action, _ context: R.Context) throws -> R.Action) {
        self.transform = transform
    }

    /// Refuses the actions for which `reason` gives one.
    public static func reject(
        _ reason: @escaping @Sendable (_ action: R.Action, _ context: R.Context) -> String?
    ) -> Middleware {
        Middleware { action, context in
            if let reason = reason(action, context) { throw Rejection(reason) }
            return action
        }
    }
}
