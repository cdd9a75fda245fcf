/// What a script decides about its cluster, where a random run draws.
package struct ScriptOptions: Sendable, Hashable {
    package var replicasHaveJournals: Bool
    /// A session's time to live, in microseconds.
    package var timeToLive: Int64

    package init(replicasHaveJournals: Bool, timeToLive: Int64) {
        self.replicasHaveJournals = replicasHaveJournals
        self.timeToLive = timeToLive
    }
}
