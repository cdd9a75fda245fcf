package import LockstepNode

// What an operator's page of a store needs beside what users have.
extension Store {
    /// The oldest accepted actions that have not ended, at most `limit`, and how many there are; none but on a primary.
    ///
    /// - Throws: ``LockstepError`` with code `stopped`; `CancellationError`.
    package func oldestRuns(limit: Int) async throws -> (runs: [UnfinishedRun], count: Int) {
        try await end.port.oldestRuns(limit: limit)
    }

    /// Whether the state is one of the cluster's: not before the store was live for the first time.
    package var hasState: Bool { published.isShown }
}
