import Lockstep

/// A child that everything has: effects, policies, cancellation, feedback, a source, middleware, timers.
struct Searching: Reactor {
    enum Action: Codable, Sendable, Hashable {
        case set(String)
        case search(String)
        case keep(String)
        case stopAll
        case shout
        case want(String?)
        case wake(Int64)
    }

    enum Mutation: Codable, Sendable, Hashable {
        case set(String)
        case found(String)
        case wanted(String?)
        case woken(LogTime)
        case fired(LogTime)
    }

    struct State: Codable, Sendable, Equatable, Identifiable, Digestible {
        var id = 0
        var text = ""
        var found: [String] = []
        var wanted: String?
        var timers = Timers<String, String>()
    }

    typealias Reply = Int

    let stage: Stage
    var hasSource = false

    var initialState: State { State() }

    var middleware: [Middleware<Self>] {
        [.reject { action, context in action == .shout ? "no shouting in \(context.state.text)" : nil }]
    }

    var feedback: [Feedback<Self>] {
        [
            .react("want", to: { $0.wanted }) { [stage] wanted, emit in
                stage.note("wants \(wanted)")
                try await stage.pass(wanted)
                try await emit(.found("\(wanted) by feedback of \(emit.state.id)"))
            }
        ]
    }

    var sources: [ExternalSource<Self>] {
        guard hasSource else { return [] }
        return [
            ExternalSource("feed") { [stage] emit in
                try await emit(.found("fed \(emit.state.found.count)"))
                stage.note("fed")
            }
        ]
    }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .set(let text): return .emit(.set(text), reply: context.state.text.count)
        case .search(let text): return search(text).policy(.latest("search"))
        case .keep(let text): return search(text).cancellable("kept").cancelled { $0 == .set("cancel") }
        case .stopAll: return .none(reply: -1).cancelling("kept")
        case .shout: return .emit(.set("shouted"), reply: 0)
        case .want(let wanted): return .emit(.wanted(wanted), reply: 0)
        case .wake(let after): return .emit(.woken(LogTime(rawValue: context.time.rawValue + after)), reply: 0)
        }
    }

    private func search(_ text: String) -> Effect<Self> {
        .run { [stage] emit in
            try await emit(.found("\(text) 0"))
            guard emit.state.found.contains("\(text) 0") else { return -1 }
            stage.note("key \(emit.idempotencyKey)")
            try await stage.pass(text)
            try await emit(.found("\(text) 1"))
            emit.atEnd(.found("\(text) end"))
            return emit.state.found.count
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .set(let text): state.text = text
        case .found(let text): state.found.append(text)
        case .wanted(let wanted): state.wanted = wanted
        case .woken(let time): state.timers.schedule("timer", at: time, "")
        case .fired(let deadline):
            if state.timers.fired("timer", deadline: deadline) { state.found.append("timer") }
        }
    }

    static func nextDue(in state: State) -> LogTime? { state.timers.next }

    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
        state.timers.due(at: time, limit: limit).map { .fired($0.deadline) }
    }
}

/// A parent with children of all kinds: a property, an optional one, a case, a list and a map.
struct Board: Reactor {
    enum Action: Codable, Sendable {
        case left(Searching.Action)
        case edit(Searching.Action)
        case page(Searching.Action)
        case item(Int, Searching.Action)
        case named(String, Searching.Action)
        case openEdit
        case closeEdit
        case openPage
        case closePage
        case add(Int)
        case remove(Int, endingEffects: Bool)
        case name(String)
        case endLeft
        case both(String)
    }

    enum Mutation: Codable, Sendable {
        case left(Searching.Mutation)
        case edit(Searching.Mutation)
        case page(Searching.Mutation)
        case item(Int, Searching.Mutation)
        case named(String, Searching.Mutation)
        case editing(Bool)
        case paging(Bool)
        case added(Int)
        case removed(Int)
        case name(String)
    }

    enum Page: Codable, Sendable, Equatable {
        case none
        case search(Searching.State)
    }

    struct State: Codable, Sendable {
        var left = Searching.State()
        var edit: Searching.State?
        var page = Page.none
        var items = IdentifiedList<Searching.State>()
        var names: ReplicatedMap<String, Searching.State> = [:]
        /// Written by the parent, which looks at its child.
        var badge = 0
    }

    typealias Reply = Int

    static let left = Scope<Board, Searching>("left", state: .property(\.left)) {
        .left($0)
    } action: {
        if case .left(let action) = $0 { action } else { nil }
    }
    static let edit = Scope<Board, Searching>("edit", state: .optional(\.edit)) {
        .edit($0)
    } action: {
        if case .edit(let action) = $0 { action } else { nil }
    }
    static let pageSearch = ChildState<Page, Searching.State>.case {
        if case .search(let state) = $0 { state } else { nil }
    } embed: {
        .search($0)
    }
    static let page = Scope<Board, Searching>(
        "page", state: ChildState<State, Page>.property(\.page).appending(pageSearch)
    ) {
        .page($0)
    } action: {
        if case .page(let action) = $0 { action } else { nil }
    }
    static let items = ElementScope<Board, Searching, Int>("items", elements: .list(\.items)) {
        .item($0, $1)
    } action: {
        if case .item(let id, let action) = $0 { (id, action) } else { nil }
    }
    static let names = ElementScope<Board, Searching, String>("names", elements: .map(\.names)) {
        .named($0, $1)
    } action: {
        if case .named(let id, let action) = $0 { (id, action) } else { nil }
    }

    let child: Searching

    init(stage: Stage, hasSource: Bool = false) { child = Searching(stage: stage, hasSource: hasSource) }

    var initialState: State { State() }
    var feedback: [Feedback<Self>] {
        Self.left.feedback(of: child) + Self.edit.feedback(of: child) + Self.page.feedback(of: child)
            + Self.items.feedback(of: child) + Self.names.feedback(of: child)
    }
    var sources: [ExternalSource<Self>] { Self.left.sources(of: child) }

    func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .left(let action): return try Self.left.mutate(action, by: child, context) { $0 * 10 }
        case .edit(let action): return try Self.edit.mutate(action, by: child, context)
        case .page(let action): return try Self.page.mutate(action, by: child, context)
        case .item(let id, let action): return try Self.items.mutate(action, of: id, by: child, context)
        case .named(let id, let action): return try Self.names.mutate(action, of: id, by: child, context)
        case .openEdit: return .emit(.editing(true), reply: 0)
        case .closeEdit: return .emit(.editing(false), reply: 0)
        case .openPage: return .emit(.paging(true), reply: 0)
        case .closePage: return .emit(.paging(false), reply: 0)
        case .add(let id): return .emit(.added(id), reply: 0)
        case .remove(let id, let isEndingEffects):
            let effect = Effect<Self>.emit(.removed(id), reply: 0)
            return isEndingEffects ? effect.cancelling(Self.items.effects(of: id)) : effect
        case .name(let name): return .emit(.name(name), reply: 0)
        case .endLeft: return .none(reply: 0).cancelling(Self.left.effects)
        case .both(let text): return both(text)
        }
    }

    /// An effect of the parent's that does a part as one child and a part as another.
    private func both(_ text: String) -> Effect<Self> {
        .run { [child] emit in
            let count = try await Self.left.perform(emit, as: child) { left in
                try await left(.found("\(text) left"))
                left.atEnd(.found("\(text) left end"))
                return left.state.found.count
            }
            try await Self.edit.perform(emit, as: child) { edit in _ = try await edit(.found("\(text) edit")) }
            return count
        }
    }

    static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        onChange(of: { $0.left.found.count }, in: &state) { state in
            apply(mutation, to: &state, context)
        } then: { old, new, state in
            state.badge += new - old
        }
    }

    private static func apply(_ mutation: Mutation, to state: inout State, _ context: ReduceContext) {
        switch mutation {
        case .left(let mutation): left.reduce(into: &state, mutation, context)
        case .edit(let mutation): edit.reduce(into: &state, mutation, context)
        case .page(let mutation): page.reduce(into: &state, mutation, context)
        case .item(let id, let mutation): items.reduce(into: &state, id, mutation, context)
        case .named(let id, let mutation): names.reduce(into: &state, id, mutation, context)
        case .editing(let isOpen): state.edit = isOpen ? Searching.State() : nil
        case .paging(let isOpen): state.page = isOpen ? .search(Searching.State()) : .none
        case .added(let id): state.items.append(Searching.State(id: id))
        case .removed(let id): state.items.remove(id)
        case .name(let name): state.names[name] = Searching.State(text: name)
        }
    }

    static func nextDue(in state: State) -> LogTime? {
        [left.nextDue(in: state), edit.nextDue(in: state), items.nextDue(in: state)].compactMap { $0 }.min()
    }

    static func mutationsDue(in state: State, at time: LogTime, limit: Int) -> [Mutation] {
        left.mutationsDue(in: state, at: time, limit: limit) + edit.mutationsDue(in: state, at: time, limit: limit)
            + items.mutationsDue(in: state, at: time, limit: limit)
    }
}
