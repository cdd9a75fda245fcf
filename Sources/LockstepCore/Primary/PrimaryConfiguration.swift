/// What a primary's machine is told once, when its process starts.
package struct PrimaryConfiguration: Hashable, Sendable {
    package var cluster: ClusterID
    package var node: String
    package var incarnation: Incarnation
    package var boot: BootID
    package var channel: Channel
    package var storeName: String
    package var isVolatile: Bool
    /// Where this node publishes and serves snapshots; empty if it has no sockets.
    package var publishEndpoint: String
    package var bulkEndpoint: String
    /// An operator accepted the loss of everything up to here that this log does not have.
    package var lossAccepted: KnownPosition?
    /// The replicas that the boot before had, by name.
    package var audience: [String] = []
    /// How long they are waited for, in milliseconds; 0: they are not.
    package var audienceMilliseconds: Int64 = 5_000
    /// Accepted actions of a former boot wait for an operator.
    package var holdsEffects = false
    /// What an arbiter has made of it; nil: it is the only primary that there is.
    package var reign: Reign?
    /// Off but in the simulator.
    package var buggify: Buggify

    package init(
        cluster: ClusterID, node: String, incarnation: Incarnation, boot: BootID, channel: Channel, storeName: String,
        isVolatile: Bool, publishEndpoint: String, bulkEndpoint: String,
        lossAccepted: KnownPosition? = nil, buggify: Buggify = .off
    ) {
        self.cluster = cluster
        self.node = node
        self.incarnation = incarnation
        self.boot = boot
        self.channel = channel
        self.storeName = storeName
        self.isVolatile = isVolatile
        self.publishEndpoint = publishEndpoint
        self.bulkEndpoint = bulkEndpoint
        self.lossAccepted = lossAccepted
        self.buggify = buggify
    }
}
