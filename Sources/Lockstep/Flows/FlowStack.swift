/// A route that a flow shows: what, and above which other flow.
public struct FlowRoute<Route: Codable & Hashable & Sendable>: Codable, Hashable, Sendable {
    /// The flow that shows it.
    public let id: FlowID
    /// The flow that it stands above, and goes with; `nil` at the bottom.
    public let parent: FlowID?
    /// What is shown.
    public var route: Route

    /// Makes a route of a flow.
    public init(id: FlowID, parent: FlowID? = nil, route: Route) {
        self.id = id
        self.parent = parent
        self.route = route
    }
}

/// The routes that are shown, the topmost last: a value that a reducer can keep in a replicated state.
///
/// Its changes are total functions: what cannot be done is said by the answer and leaves the value as it was, so that a
/// reducer may apply anything in any order. Each flow has one route at most, and a parent stands below its children.
public struct FlowStack<Route: Codable & Hashable & Sendable>: Hashable, Sendable {
    /// The most routes that a stack takes.
    public static var limit: Int { 256 }

    /// From the bottom to the top.
    public private(set) var routes: [FlowRoute<Route>] = []

    /// Makes an empty stack.
    public init() {}

    /// The topmost route.
    public var top: FlowRoute<Route>? { routes.last }

    /// Whether a flow has a route on the stack.
    public func contains(_ id: FlowID) -> Bool { routes.contains { $0.id == id } }

    /// An answer to ``push(_:)``.
    public enum Pushed: Hashable, Sendable {
        /// It is on the top.
        case pushed
        /// The flow has a route on the stack already.
        case alreadyThere
        /// Its parent is not on the stack.
        case parentMissing
        /// The stack has ``FlowStack/limit`` routes.
        case full
    }

    /// Puts a route on the top.
    @discardableResult public mutating func push(_ route: FlowRoute<Route>) -> Pushed {
        if contains(route.id) { return .alreadyThere }
        if let parent = route.parent, !contains(parent) { return .parentMissing }
        if routes.count >= Self.limit { return .full }
        routes.append(route)
        return .pushed
    }

    /// Takes the topmost route away.
    @discardableResult public mutating func pop() -> FlowRoute<Route>? { routes.popLast() }

    /// Shows something else for a flow, at the same place; false if the flow has no route.
    @discardableResult public mutating func replace(_ id: FlowID, with route: Route) -> Bool {
        guard let place = routes.firstIndex(where: { $0.id == id }) else { return false }
        routes[place].route = route
        return true
    }

    /// Takes the route of a flow away with those of all its descendants; false, and no change, if there is none.
    @discardableResult public mutating func remove(_ id: FlowID) -> Bool {
        guard contains(id) else { return false }
        // Parents stand below their children, so one pass finds all descendants.
        var gone: Set = [id]
        routes.removeAll { route in
            if route.id == id { return true }
            guard let parent = route.parent, gone.contains(parent) else { return false }
            gone.insert(route.id)
            return true
        }
        return true
    }

    /// What a presenter has to do so that this stack is shown instead of another one.
    ///
    /// A presenter takes any route away and puts new ones on the top. What stands below is left alone; a route that
    /// changed, or has a new one below it, is taken away and shown again.
    /// - Parameter old: the stack that is shown.
    /// - Returns: what is to be taken away, the topmost first, and then what is to be shown, from the bottom.
    public func difference(from old: FlowStack) -> (dismissed: [FlowID], presented: [FlowRoute<Route>]) {
        // The routes that stay are the longest beginning of this stack that is found in the old one, in its order.
        var kept = 0
        var stays: [Bool] = []
        for route in old.routes {
            let isKept = kept < routes.count && routes[kept] == route
            if isKept { kept += 1 }
            stays.append(isKept)
        }
        let gone = zip(old.routes, stays).filter { !$0.1 }.map(\.0.id)
        return (gone.reversed(), Array(routes[kept...]))
    }
}

extension FlowStack: Codable {
    private enum CodingKeys: CodingKey { case routes }

    /// Reads a stack; one that no sequence of pushes could have made is refused.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        for route in try container.decode([FlowRoute<Route>].self, forKey: .routes) where push(route) != .pushed {
            throw DecodingError.dataCorruptedError(
                forKey: .routes, in: container, debugDescription: "the route of \(route.id) has no place on the stack")
        }
    }

    /// Writes the routes, from the bottom.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(routes, forKey: .routes)
    }
}
