/// A piece of interaction that begins, may begin others, and ends with one result: a screen, a dialogue, a wizard.
///
/// It is a value with what it needs given to its initialiser, and it knows nothing of views: it runs, and what it
/// awaits decides how it ends. ``FlowScope/coordinate(_:id:)`` runs it as a child of another flow.
public protocol Flow<Result>: Sendable {
    /// What it ends with; `Void` if it is only ever launched.
    associatedtype Result: Sendable

    /// A name for whoever looks at what is running; by default that of the type.
    var name: String { get }

    /// What it ends with when it is dismissed from outside; by default nothing, and whoever coordinates it gets
    /// ``FlowError/dismissed``.
    var resultOfDismissal: Result? { get }

    /// Runs the flow; it is cancelled when it is dismissed, or its parent ends.
    func run(_ scope: FlowScope) async throws -> Result
}

extension Flow {
    /// The name of the type.
    public var name: String { String(describing: Self.self) }
    /// None.
    public var resultOfDismissal: Result? { nil }
}

/// Names a flow; a tree names each of its own anew, a replicated one is named by the user's reducer.
public struct FlowID: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// The name.
    public let rawValue: String
    /// Makes an identifier.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Makes an identifier.
    public init(_ name: String) { rawValue = name }
    /// The name.
    public var description: String { rawValue }
    /// Order of the texts; it has no meaning beyond being the same everywhere.
    public static func < (left: FlowID, right: FlowID) -> Bool { left.rawValue < right.rawValue }
}

/// Why a flow has no result of its own.
public enum FlowError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It was dismissed from outside, and names no result for that.
    case dismissed
    /// Everything that could have given its result has ended without one.
    case endedWithoutResult
    /// A flow of this name is running already.
    case alreadyRunning(FlowID)
    /// So many flows are running that there is no room for another.
    case tooManyFlows(limit: Int)
    /// So many routes are on the stack that there is no room for another.
    case tooManyRoutes(limit: Int)
    /// A route of this name is on the stack already.
    case alreadyPresented(FlowID)
    /// A route was to be put above one that is not on the stack.
    case parentMissing(FlowID)
    /// The scope has ended; nothing more can be started in it.
    case scopeEnded

    /// What happened, and what to do about it.
    public var description: String {
        switch self {
        case .dismissed: "the flow was dismissed; give it a resultOfDismissal, or catch this where it is coordinated"
        case .endedWithoutResult: "all sources of the result have ended without one; add one that lasts"
        case .alreadyRunning(let id): "a flow named \(id) is running; wait for its end, or give another name"
        case .tooManyFlows(let limit): "\(limit) flows are running; end some, or make the tree with a higher limit"
        case .tooManyRoutes(let limit): "\(limit) routes are on the stack; remove some first"
        case .alreadyPresented(let id): "the route of \(id) is on the stack; replace it, or remove it first"
        case .parentMissing(let id): "the route of \(id) is not on the stack; push that one first"
        case .scopeEnded: "the flow of this scope has ended; start the child from one that is running"
        }
    }
}
