extension Todo.State {
    /// The list as a terminal shows it, a line for each task that is not put away.
    public var text: String {
        let open = items.filter { !$0.isArchived }
        if open.isEmpty { return "  nothing to do\n" }
        return open.map { $0.text + "\n" }.joined()
    }

    /// What was put away, in words.
    public var archiveText: String {
        let archived = items.filter(\.isArchived)
        if archived.isEmpty { return "Nothing is archived." }
        return "Archived:\n" + archived.map(\.text).joined(separator: "\n")
    }
}

extension TodoItem {
    /// One line: number, mark, title, and how far the service has it.
    public var text: String {
        let number = String(repeating: " ", count: max(0, 4 - String(id).count)) + String(id)
        return "\(number) [\(isDone ? "x" : " ")] \(title)  (\(sync.text))"
    }
}

extension SyncState {
    /// In a word or two.
    public var text: String {
        switch self {
        case .syncing: "syncing"
        case .synced: "synced"
        case .failed(let reason): "failed: \(reason)"
        }
    }
}
