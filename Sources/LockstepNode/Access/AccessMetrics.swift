internal import Metrics

/// What a node counts and shows of who may talk to it.
enum AccessMetrics {
    private static let denials = Dictionary(
        uniqueKeysWithValues: AccessDoor.Reason.allCases.map { ($0, NodeMetric.denials.counter($0.rawValue)) })
    private static let handshakes = NodeMetric.handshakesFailed.counter()
    private static let plaintext = NodeMetric.plaintext.gauge()
    private static let unusable = NodeMetric.accessListUnusable.gauge()
    private static let entries = NodeMetric.accessListEntries.gauge()

    static func denied(_ reason: AccessDoor.Reason) { denials[reason]?.increment() }

    /// Handshakes of peers that failed before anybody was asked about them.
    static func handshakesFailed(_ count: Int) { handshakes.increment(by: count) }

    /// Whether what others could read and change goes over a network in plain text.
    static func show(isPlaintext: Bool) { plaintext.record(isPlaintext ? 1 : 0) }

    static func show(_ list: AccessList, isUnusable: Bool) {
        entries.record(list.entries.count)
        unusable.record(isUnusable ? 1 : 0)
    }
}
