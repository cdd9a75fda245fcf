/// One task of the list.
public struct TodoItem: Codable, Hashable, Identifiable, Sendable {
    /// Names the task for ever.
    public let id: Int
    /// What is to be done, in one line.
    public var title: String
    /// Whether it is done.
    public var isDone = false
    /// Whether it is put away; nothing is deleted.
    public var isArchived = false
    /// Grows with each change of the task, and with each new attempt to sync it.
    public var revision = 1
    /// How far the service has it.
    public var sync = SyncState.syncing

    /// Makes a task that was not changed yet.
    public init(id: Int, title: String) {
        self.id = id
        self.title = title
    }
}

/// How far the service has a task.
public enum SyncState: Codable, Hashable, Sendable {
    /// The primary is about to bring it there.
    case syncing
    /// The service has its last revision.
    case synced
    /// The service did not take it, for this reason.
    case failed(String)
}
