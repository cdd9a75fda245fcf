package import LockstepCore

/// Names effects of one store, to share a policy or to be cancelled; it is not replicated.
///
/// A literal will do, and so will one with parts: `.cancellable("search")`, `.cancellable("sync/\(task.id)")`.
///
/// A name has at most 256 bytes of UTF-8, with the names of the scopes around its reactor in front. An action whose
/// effect has a longer one is rejected, and certainly without effect: so check a part that comes from a user.
public struct EffectID: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    /// The name.
    public let name: String

    /// Makes a name.
    public init(_ name: String) { self.name = name }

    /// Makes a name out of a name and a part that tells elements apart.
    public init(_ name: String, _ part: some CustomStringConvertible & Sendable) { self.name = "\(name)/\(part)" }

    /// The literal is the name, with what is interpolated in it.
    public init(stringLiteral name: String) { self.name = name }

    /// The name.
    public var description: String { name }
}

/// How effects under one name share the primary; see ``Effect/policy(_:)``.
///
/// The primary decides when it accepts an action, in the order of the log, so all nodes see one result. Effects without
/// a policy run side by side.
public struct EffectPolicy: Hashable, Sendable {
    package let limit: RunLimit

    private init(_ policy: RunPolicy, _ id: EffectID) { limit = RunLimit(policy, group: id.name) }

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

    /// What runs after the acceptance; nil if the action ends at once.
    let body: Body?
    /// Without a body it is kept for what may still let the effect go on.
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

    /// Whether the primary has something to do besides writing the action's item; for a plan alone it has not.
    @usableFromInline package var asksForMore: Bool { isDeferred || !cancels.isEmpty }

    /// Why the action must be rejected for its effect's names; nil if they are as they should be.
    @usableFromInline package var problem: String? {
        let plan = isDeferred ? self.plan : RunPlan()
        if plan.limits.count > Limits.policiesOfRun {
            return "the effect has \(plan.limits.count) policies; at most \(Limits.policiesOfRun) can hold together"
        }
        let names = [plan.limits.map(\.group), plan.names, cancels].joined()
        guard let long = names.first(where: { $0.utf8.count > Limits.effectNameBytes }) else { return nil }
        return "an effect's name of \(long.utf8.count) bytes is above the limit of \(Limits.effectNameBytes): "
            + "\(long.prefix(40))..."
    }

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
