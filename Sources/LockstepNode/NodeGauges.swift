internal import LockstepCore
internal import Metrics

/// What a node shows of itself and not of a store; on the node's thread.
///
/// The gauges have no label for the node: a process that runs several shows the last that looked.
struct NodeGauges {
    private let ingress = QueueGauges(NodeQueues.ingress)
    private let bulk = QueueGauges(NodeQueues.bulk)
    private var next = Tick.zero

    init(_ configuration: CheckedConfiguration) {
        let given = configuration.given
        NodeMetric.buildInfo.gauge(LockstepVersion.text, given.node.name, given.role.inStatus.rawValue).record(1)
    }

    /// Once a second.
    mutating func observe(ingress: FairRing, bulk: FairRing, now: Tick) {
        guard now >= next else { return }
        next = now.advanced(byMilliseconds: 1_000)
        self.ingress.record(ingress.byteCount, of: ingress.capacity)
        self.bulk.record(bulk.byteCount, of: bulk.capacity)
    }
}

/// The version of this package.
package enum LockstepVersion {
    /// As programs print it.
    package static let text = "0.1.0"
}
