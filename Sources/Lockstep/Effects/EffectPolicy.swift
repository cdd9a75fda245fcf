package import LockstepCore

/// Names effects of one store, to share a policy or to be cancelled; it is not replicated.
///
/// A literal will do: `.cancellable("search")`. With a part for each element: `EffectID("sync", task.id)`.
public struct EffectID: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name.
    public let name: String

    /// Makes a name.
    public init(_ name: String) { self.name = name }

    /// Makes a name out of a name and a part that tells elements apart.
    public init(_ name: String, _ part: some CustomStringConvertible & Sendable) { self.name = "\(name)/\(part)" }

    /// The literal is the name.
    public init(stringLiteral name: String) { self.name = name }

    /// The name.
    public var description: String { name }
}

/// How effects under one name share the primary; see ``Effect/policy(_:)``.
///
/// The primary decides when it accepts an action, in the order of the log, so all nodes see one result. Effects without
/// a policy run side by side.
public struct EffectPolicy: Hashable, Sendable {
    package let plan: RunPlan

    private init(_ policy: RunPolicy, _ id: EffectID) { plan = RunPlan(policy: policy, group: id.name) }

    /// At most `max` at a time, 1 or more; further ones wait in the order of acceptance.
    public static func merge(_ id: EffectID, max: Int) -> EffectPolicy { EffectPolicy(.merge(max: max), id) }

    /// One at a time, in the order of acceptance; at most `queueLimit` wait, and an action beyond is rejected.
    public static func serial(_ id: EffectID, queueLimit: Int = 256) -> EffectPolicy {
        EffectPolicy(.serial(waiting: queueLimit), id)
    }

    /// A newer one takes the place of those before it, which end as cancelled: nothing of them is committed after the
    /// newer one's acceptance.
    public static func latest(_ id: EffectID) -> EffectPolicy { EffectPolicy(.latest, id) }

    /// While one is under way a further action is rejected, and runs nothing at all.
    public static func first(_ id: EffectID) -> EffectPolicy { EffectPolicy(.first, id) }
}

/// What an effect carries besides mutations that are there at once.
@usableFromInline
package final class DeferredEffect<R: Reactor>: Sendable {
    typealias Body = @Sendable (Emitter<R>) async throws -> R.Reply

    /// What runs after the acceptance; nil if the action ends at once and only cancels others.
    let body: Body?
    package let plan: RunPlan
    /// Names whose runs the action cancels.
    package let cancels: [String]
    /// Actions that cancel the run.
    let until: (@Sendable (R.Action) -> Bool)?

    init(
        body: Body?, plan: RunPlan = RunPlan(), cancels: [String] = [], until: (@Sendable (R.Action) -> Bool)? = nil
    ) {
        self.body = body
        self.plan = plan
        self.cancels = cancels
        self.until = until
    }

    @usableFromInline package var isDeferred: Bool { body != nil }

    func with(
        body: Body? = nil, plan: ((inout RunPlan) -> Void) = { _ in }, cancels: [String] = [],
        until: (@Sendable (R.Action) -> Bool)? = nil
    ) -> DeferredEffect {
        var changed = self.plan
        plan(&changed)
        let both: (@Sendable (R.Action) -> Bool)?
        if let before = self.until, let until {
            both = { before($0) || until($0) }
        } else {
            both = until ?? self.until
        }
        return DeferredEffect(
            body: body ?? self.body, plan: changed, cancels: self.cancels + cancels, until: both)
    }
}
