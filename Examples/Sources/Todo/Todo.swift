import Lockstep

/// A list of tasks that several terminals share; each task is synced with a service by the primary.
public struct Todo: Reactor {
    /// What a user may ask for; tasks are named by their ids, because places change under one's fingers.
    public enum Action: Codable, Hashable, Sendable {
        /// A new task, at the top of the list.
        case add(String)
        /// Another title.
        case rename(Int, to: String)
        /// Done, or not done after all.
        case setDone(Int, Bool)
        /// Put away, or taken back; there is no deletion.
        case setArchived(Int, Bool)
        /// To the place before another task, or to the end.
        case move(Int, before: Int?)
        /// Another attempt to sync a task that failed.
        case retry(Int)
    }

    /// What happened.
    public enum Mutation: Codable, Hashable, Sendable {
        /// A task was added.
        case added(Int, title: String)
        /// A task has another title.
        case renamed(Int, to: String)
        /// A task is done, or no longer is.
        case done(Int, Bool)
        /// A task was put away, or taken back.
        case archived(Int, Bool)
        /// A task was moved.
        case moved(Int, before: Int?)
        /// Another attempt to sync a task begins.
        case retried(Int)
        /// The service has this revision of a task.
        case synced(Int, revision: Int)
        /// The service did not take this revision of a task.
        case syncFailed(Int, revision: Int, reason: String)
    }

    /// What all nodes have.
    public struct State: Codable, Hashable, Sendable {
        /// All tasks, also those that were put away.
        public var items: IdentifiedList<TodoItem> = []
        /// The id of the next task.
        public var nextID = 1

        /// An empty list.
        public init() {}

        /// The tasks that the service does not have.
        var unsynced: [Int: TodoItem] {
            Dictionary(uniqueKeysWithValues: items.filter { $0.sync == .syncing }.map { ($0.id, $0) })
        }
    }

    /// The task that the action was about.
    public typealias Reply = Int

    /// The most tasks that a list has, with those that were put away.
    public static let limit = 1_000
    /// An empty list.
    public let initialState = State()
    private let service: SyncService

    /// Makes a list; the service is used on the primary only.
    public init(service: SyncService = SyncService()) { self.service = service }

    // MARK: - Syncing

    /// One effect for each task that is not synced, by the task's id.
    ///
    /// An effect that runs is told of each later revision, so that the service gets the revisions of a task one after
    /// the other, never two at once. After a restart the state asks for exactly the effects that are still needed.
    public var feedback: [Feedback<Self>] {
        [
            .react("sync", toEach: { $0.unsynced }) { [service] _, first, changes, emit in
                try await Self.upload(first, to: service, emit)
                for await item in changes { try await Self.upload(item, to: service, emit) }
            }
        ]
    }

    private static func upload(_ item: TodoItem, to service: SyncService, _ emit: Emitter<Self>) async throws {
        do {
            try await service.save(item, clock: emit.clock)
        } catch let error as SyncError {
            try await emit(.syncFailed(item.id, revision: item.revision, reason: error.description))
            return
        }
        try await emit(.synced(item.id, revision: item.revision))
    }

    // MARK: - Deciding

    /// Decides, on the primary.
    public func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        let state = context.state
        switch action {
        case .add(let title):
            guard state.items.count < Self.limit else { throw Rejection("the list has \(Self.limit) tasks already") }
            return .emit(.added(state.nextID, title: try Self.checked(title)), reply: state.nextID)
        case .rename(let id, let title):
            try Self.open(id, in: state)
            return .emit(.renamed(id, to: try Self.checked(title)), reply: id)
        case .setDone(let id, let isDone):
            guard try Self.open(id, in: state).isDone != isDone else { return .none(reply: id) }
            return .emit(.done(id, isDone), reply: id)
        case .setArchived(let id, let isArchived):
            guard try Self.item(id, in: state).isArchived != isArchived else { return .none(reply: id) }
            return .emit(.archived(id, isArchived), reply: id)
        case .move(let id, let other):
            try Self.open(id, in: state)
            if let other { try Self.open(other, in: state) }
            return .emit(.moved(id, before: other), reply: id)
        case .retry(let id):
            guard case .failed = try Self.item(id, in: state).sync else {
                throw Rejection("task \(id) has not failed")
            }
            return .emit(.retried(id), reply: id)
        }
    }

    private static func item(_ id: Int, in state: State) throws -> TodoItem {
        guard let item = state.items[id: id] else { throw Rejection("there is no task \(id)") }
        return item
    }

    /// A task that is not put away.
    @discardableResult
    private static func open(_ id: Int, in state: State) throws -> TodoItem {
        let item = try item(id, in: state)
        guard !item.isArchived else { throw Rejection("task \(id) is archived; restore it first") }
        return item
    }

    /// A title that fits into one line of a terminal and does nothing else to it.
    private static func checked(_ title: String) throws -> String {
        let title = title.trimmed
        guard !title.isEmpty else { throw Rejection("a task needs a title") }
        guard title.count <= 200 else { throw Rejection("a title has at most 200 characters") }
        guard !title.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw Rejection("a title has no control characters")
        }
        return title
    }

    // MARK: - Carrying out

    /// Carries out, on every node.
    public static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .added(let id, let title):
            state.items.insert(TodoItem(id: id, title: title), at: 0)
            state.nextID = id + 1
        case .renamed(let id, let title): change(id, in: &state) { $0.title = title }
        case .done(let id, let isDone): change(id, in: &state) { $0.isDone = isDone }
        case .archived(let id, let isArchived): change(id, in: &state) { $0.isArchived = isArchived }
        case .retried(let id): change(id, in: &state) { _ in }
        case .moved(let id, let other?): state.items.move(id, before: other)
        case .moved(let id, nil): state.items.move(id, to: state.items.count)
        case .synced(let id, let revision): settle(id, revision, .synced, in: &state)
        case .syncFailed(let id, let revision, let reason): settle(id, revision, .failed(reason), in: &state)
        }
    }

    /// Changes a task, which makes it one that has to be synced.
    private static func change(_ id: Int, in state: inout State, _ body: (inout TodoItem) -> Void) {
        state.items.update(id) { item in
            body(&item)
            item.revision += 1
            item.sync = .syncing
        }
    }

    /// What became of a revision; it does not matter if there is a later one.
    private static func settle(_ id: Int, _ revision: Int, _ sync: SyncState, in state: inout State) {
        state.items.update(id) { item in
            if item.revision == revision { item.sync = sync }
        }
    }
}

extension String {
    /// Without white space at both ends.
    var trimmed: String {
        let start = drop(while: \.isWhitespace)
        return String(start.reversed().drop(while: \.isWhitespace).reversed())
    }
}
