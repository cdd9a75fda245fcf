/// Prints what each commit changed and what caused it, one mutation after the other.
///
///     observers.add(CommitLogger())
///
///     1:17 action 1:2#5
///       put("a", 2.0)
///         amounts["a"]: 1 -> 2
///
/// The differences are computed only while it is enabled, on the observer's task: about 2 us for each part of the state
/// that is not equal by a digest of its own (``StateChanges``).
public struct CommitLogger<R: Reactor>: CommitObserver {
    private let limit: Int
    private let isEnabled: @Sendable () -> Bool
    private let write: @Sendable (String) -> Void

    /// Makes a logger.
    ///
    /// - Parameters:
    ///   - limit: The most changes that are printed for a mutation.
    ///   - isEnabled: Asked for each commit; while it says no, a commit costs nothing but the question.
    ///   - write: Takes the lines of a commit; by default they are printed.
    public init(
        limit: Int = 16, isEnabled: @escaping @Sendable () -> Bool = { true },
        write: @escaping @Sendable (String) -> Void = { print($0) }
    ) {
        self.limit = limit
        self.isEnabled = isEnabled
        self.write = write
    }

    /// Prints the commit.
    public func didCommit(_ commit: Commit<R>) async {
        if isEnabled() { write(Self.text(of: commit, limit: limit)) }
    }

    /// The lines of a commit: its place and cause, then each mutation with the changes that it made.
    public static func text(of commit: Commit<R>, limit: Int = 16) -> String {
        var lines = ["\(commit.place) \(commit.cause)"]
        if let rejection = commit.entry.rejection { lines[0] += ": \(rejection)" }
        var state = commit.before
        for mutation in commit.mutations {
            let before = state
            R.reduce(into: &state, mutation, commit.entry.context)
            lines.append("  \(mutation)")
            let changes = StateChanges(from: before, to: state, limit: limit)
            lines +=
                changes.isEmpty
                ? ["    nothing changed"] : changes.description.split(separator: "\n").map { "    \($0)" }
        }
        return lines.joined(separator: "\n")
    }
}
