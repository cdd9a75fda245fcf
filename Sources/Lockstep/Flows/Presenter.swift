/// Shows routes on this node: a window, a terminal, a page.
///
/// It is local to a node, and the only one who knows how a route looks. When the user closes what it shows, it
/// says so with ``FlowTree/dismiss(_:)``, or, for replicated routes, with an action.
public protocol Presenter<Route>: Sendable {
    /// What it can show.
    associatedtype Route: Codable & Hashable & Sendable

    /// Shows a route above all others; the next call waits until this one returns.
    func present(_ route: FlowRoute<Route>) async

    /// Takes the route of a flow away, wherever it stands.
    func dismiss(_ id: FlowID) async
}

/// Keeps a presenter at what a sequence of stacks says, until the sequence ends or the task is cancelled.
///
/// The presenter starts with nothing shown. It is told the difference between two stacks only, in a fixed order: what
/// goes, the topmost first, then what comes, from the bottom. Stacks that come while it works are taken together, as
/// far as the sequence gives the newest only. What is shown at the end stays.
/// - Parameters:
///   - stacks: what to show: ``LocalRoutes/stacks``, or the selected part of a store's states.
///   - presenter: who shows it.
/// - Throws: the failure of the sequence.
public func show<Stacks: AsyncSequence, P: Presenter>(
    _ stacks: Stacks, on presenter: P
) async throws(Stacks.Failure) where Stacks.Element == FlowStack<P.Route> {
    var shown = FlowStack<P.Route>()
    var iterator = stacks.makeAsyncIterator()
    while let stack = try await iterator.next(isolation: #isolation) {
        let (dismissed, presented) = stack.difference(from: shown)
        shown = stack
        for id in dismissed { await presenter.dismiss(id) }
        for route in presented { await presenter.present(route) }
    }
}

/// The routes of this node's own flows: they are shown here and nowhere else.
///
/// Routes that are presented while no presenter is there wait on the stack, whose bound is ``FlowStack/limit``; the one
/// that comes is shown all that are still wanted. What finds no room is refused by name.
public final class LocalRoutes<Route: Codable & Hashable & Sendable>: Sendable {
    private let current = CurrentValue(FlowStack<Route>())

    /// Makes an empty stack.
    public init() {}

    /// The stack as it is wanted now.
    public var stack: FlowStack<Route> { current.value }

    /// The current stack, then each newer one, for ``show(_:on:)``; it ends by cancellation only.
    public var stacks: CurrentValue<FlowStack<Route>>.Values { current.values }

    /// Puts a route on the top.
    /// - Parameter route: the route.
    /// - Throws: ``FlowError``: there is no room, the flow has a route already, or its parent has none.
    public func present(_ route: FlowRoute<Route>) throws(FlowError) {
        switch current.update({ $0.push(route) }) {
        case .pushed: return
        case .alreadyThere: throw .alreadyPresented(route.id)
        case .parentMissing: throw .parentMissing(route.parent ?? route.id)
        case .full: throw .tooManyRoutes(limit: FlowStack<Route>.limit)
        }
    }

    /// Shows something else for a flow; false if it has no route.
    @discardableResult public func replace(_ id: FlowID, with route: Route) -> Bool {
        current.update { $0.replace(id, with: route) }
    }

    /// Takes the route of a flow away with those of its descendants; false if there is none.
    @discardableResult public func dismiss(_ id: FlowID) -> Bool { current.update { $0.remove(id) } }
}
