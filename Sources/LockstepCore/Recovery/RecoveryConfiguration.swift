/// What a recovery's machine is told once, when it is made.
package struct RecoveryConfiguration: Hashable, Sendable {
    package var storeName: String
    package var cluster: ClusterID
    /// Of the recovering process.
    package var boot: BootID
    /// How long the machine waits for what.
    package var patience: Patience
    /// Seeds nonces.
    package var seed: UInt64
    /// A snapshot that says it is larger is refused.
    package var largestSnapshotBytes: UInt64
    /// The recovery ends after as many snapshots: a node that always has a newer one leaves no time to install any.
    package var largestSnapshotCount = 100

    /// How long a recovery waits for what, in milliseconds.
    package struct Patience: Hashable, Sendable {
        /// Until the first WELCOME: 10 s.
        package var greeting: Int64 = 10_000
        /// Until the answer to any later request: 30 s.
        package var answer: Int64 = 30_000
        /// While the node answers, but only that it cannot go on: 2 minutes.
        package var progress: Int64 = 120_000
        /// Until a request without an answer is repeated: 300 ms; chunks are asked for again as all joiners do.
        package var `repeat`: Int64 = 300

        package init() {}
    }

    package init(
        storeName: String, cluster: ClusterID, boot: BootID, patience: Patience = Patience(), seed: UInt64,
        largestSnapshotBytes: UInt64 = 16 << 30
    ) {
        self.storeName = storeName
        self.cluster = cluster
        self.boot = boot
        self.patience = patience
        self.seed = seed
        self.largestSnapshotBytes = largestSnapshotBytes
    }
}
