internal import LockstepCore
package import Metrics

/// One metric of a node: its name, its labels, and what it says.
///
/// ``all`` has every one.
package struct NodeMetric: Sendable {
    package let name: String
    package let kind: MetricKind
    /// The names of its labels.
    package let labels: [String]
    /// What it counts or measures, in one or two sentences.
    package let help: String
    /// Of a histogram, the upper bounds of its buckets.
    package let buckets: [Double]

    init(
        _ name: String, _ kind: MetricKind, labels: [String] = ["store"], buckets: [Double] = [], _ help: String
    ) {
        self.name = "lockstep_\(name)"
        self.kind = kind
        self.labels = labels
        self.help = help
        self.buckets = buckets
    }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The metric of this name; nil if no node has it.
    package static func named(_ name: String) -> NodeMetric? { byName[name] }

    // MARK: - Making

    /// A counter with these values of the labels, in their order.
    package func counter(_ values: String...) -> Counter { Counter(label: name, dimensions: dimensions(values)) }
    package func gauge(_ values: String...) -> Gauge { Gauge(label: name, dimensions: dimensions(values)) }
    package func timer(_ values: String...) -> Timer { Timer(label: name, dimensions: dimensions(values)) }

    private func dimensions(_ values: [String]) -> [(String, String)] {
        precondition(values.count == labels.count, "\(name) has the labels \(labels)")
        return Array(zip(labels, values))
    }
}

/// How a metric is read; the raw value is Prometheus's word.
package enum MetricKind: String, Hashable, Sendable {
    case counter, gauge, histogram
}

/// Bounds of the buckets of histograms, in seconds.
package enum MetricBuckets {
    /// What a disk or a network does.
    package static let short: [Double] = [
        0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
    ]
    /// What takes as long as a user's code, or a large state, likes.
    package static let long: [Double] = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600]
    /// Of a metric that no table names.
    package static let usual = short + [10]
}

/// A queue of a node and its bound: two gauges, `_used` and `_bound`.
package struct QueueMetric: Sendable {
    package let used: NodeMetric
    package let bound: NodeMetric

    init(_ name: String, labels: [String] = ["store"], _ what: String) {
        used = NodeMetric("\(name)_used", .gauge, labels: labels, "\(what).")
        bound = NodeMetric("\(name)_bound", .gauge, labels: labels, "The most that lockstep_\(name)_used can be.")
    }
}

extension NodeMetric {
    // Times.
    static let commitDuration = NodeMetric(
        "commit_duration_seconds", .histogram, buckets: MetricBuckets.short,
        "From the moment at which a batch was complete to that at which it had committed; the oldest batch of each write."
    )
    static let syncDuration = NodeMetric(
        "sync_duration_seconds", .histogram, buckets: MetricBuckets.short,
        "One write of batches to the journal, with its sync.")
    static let sendDuration = NodeMetric(
        "send_duration_seconds", .histogram, buckets: MetricBuckets.short,
        "From send to its answer, at this node's callers: a sample, the first of each 64 sends.")
    package static let effectDuration = NodeMetric(
        "effect_duration_seconds", .histogram, buckets: MetricBuckets.long,
        "One attempt of an accepted action's effect, from its beginning to the end of its body.")
    static let snapshotDuration = NodeMetric(
        "snapshot_duration_seconds", .histogram, buckets: MetricBuckets.long,
        "Encoding and hashing a snapshot.")

    // Counters.
    static let entriesCommitted = NodeMetric("entries_committed_total", .counter, "Entries that have committed.")
    static let batchesCommitted = NodeMetric("batches_committed_total", .counter, "Batches that have committed.")
    static let actionsRejected = NodeMetric(
        "actions_rejected_total", .counter, "Actions that the primary rejected, as it logged them.")
    static let callersRefused = NodeMetric(
        "callers_refused_total", .counter, labels: ["store", "queue"],
        "Callers of this node who were told unavailable, because a queue was full.")
    static let framesDropped = NodeMetric(
        "frames_dropped_total", .counter,
        "Frames that were received and found no room. Those of the node's own ports count for its first store.")
    static let sendsDropped = NodeMetric("sends_dropped_total", .counter, "Frames that found no room to be sent.")
    static let snapshotsFailed = NodeMetric(
        "snapshots_failed_total", .counter, "Snapshots that could not be made, read or saved.")
    static let alarmsRaised = NodeMetric(
        "alarms_total", .counter, labels: ["store", "alarm"], "How often an alarm was raised.")
    package static let effectsEnded = NodeMetric(
        "effects_ended_total", .counter, labels: ["store", "outcome"],
        "Attempts of effects by how they ended: finished, failed, cancelled, or stopped from outside.")

    // States, once a second.
    static let alarm = NodeMetric(
        "raised_alarms", .gauge, labels: ["store", "alarm"], "1 while the alarm is raised, else 0.")
    static let serving = NodeMetric(
        "serving", .gauge, "1 while the store admits actions or follows its primary at the end of the stream, else 0.")
    static let sequence = NodeMetric("sequence_entries", .gauge, "The commit number, or what a replica has applied.")
    static let lag = NodeMetric(
        "lag_entries", .gauge, "Of a replica, how many entries its primary is known to have that it has not.")
    static let replicaLag = NodeMetric(
        "replica_lag_entries", .gauge, labels: ["store", "replica"],
        "Of a primary, how far each replica that it heard of is behind the commit: the 64 that are furthest behind.")
    static let replicasConnected = NodeMetric("connected_replicas", .gauge, "Replicas that the primary hears.")
    static let replicasLost = NodeMetric(
        "lost_replicas", .gauge,
        "Replicas that the primary has heard since its start and hears no more, and that were not stopped in order.")
    static let primary = NodeMetric("primary", .gauge, "Of a data node, 1 while it is the store's primary, else 0.")
    static let inSyncMembers = NodeMetric(
        "in_sync_members", .gauge, "Of a data node that is the primary, the members of the in-sync set, else 0.")
    static let minimumMembers = NodeMetric(
        "minimum_members", .gauge,
        "Of a data node that is the primary, how many members must have an action before it is acknowledged, else 0.")
    static let missingMembers = NodeMetric(
        "missing_members", .gauge,
        "Of a data node that is the primary, the members that it waits for and does not hear, or whose disk does not "
            + "write, else 0.")
    static let unanswered = NodeMetric(
        "unanswered_actions", .gauge, "Actions of this node's callers without an answer.")
    static let journalBatches = NodeMetric(
        "journal_batches_bytes", .gauge, "Bytes of the journal's batches after its newest snapshot.")
    static let journalSnapshot = NodeMetric("journal_snapshot_bytes", .gauge, "Bytes of the journal's newest snapshot.")
    static let journalFree = NodeMetric("journal_free_bytes", .gauge, "Bytes that are free where the journal writes.")
    static let buildInfo = NodeMetric(
        "build_info", .gauge, labels: ["version", "node", "role"], "1; its labels say which program runs as what.")
}

/// The queues that are shown.
enum NodeQueues {
    static let inboxActions = QueueMetric("inbox_actions", "Actions that callers left for the node's thread")
    static let inboxLine = QueueMetric("inbox_line_submissions", "Submissions that wait for room in the inbox")
    static let inboxWork = QueueMetric("inbox_work_items", "Reads and questions left for the node's thread")
    static let readers = QueueMetric("waiting_reads", "Reads of this node that wait for its state")
    static let askedReads = QueueMetric("peer_reads", "Reads of other nodes that wait at this one")
    static let stream = QueueMetric("stream_ring_bytes", "Of a replica, bytes of the stream that wait for their turn")
    static let link = QueueMetric("link_ring_bytes", "Bytes from the primary's link that wait for their turn")
    static let ingress = QueueMetric(
        "ingress_ring_bytes", labels: [], "Bytes at the node's ingress that wait for their turn")
    static let bulk = QueueMetric(
        "bulk_ring_bytes", labels: [], "Bytes at the node's bulk port that wait for their turn")
    static let unpersisted = QueueMetric("unpersisted_bytes", "Bytes of entries that are not in the journal yet")
    static let sessions = QueueMetric("sessions", "Open sessions")
    static let keptReplies = QueueMetric("kept_reply_bytes", "Bytes of replies that are kept for their owners")
    static let runs = QueueMetric("runs", "Accepted actions whose end is not acknowledged")

    static let all = [
        inboxActions, inboxLine, inboxWork, readers, askedReads, stream, link, ingress, bulk, unpersisted, sessions,
        keptReplies, runs,
    ]
}

// Of the HTTP address; it is named here so that ``NodeMetric/all`` has it.
extension NodeMetric {
    private static let httpConnections = QueueMetric("http_connections", labels: [], "Connections of the HTTP address")
    private static let httpEventStreams = QueueMetric(
        "http_event_streams", labels: [], "Event streams of the HTTP address")
    package static let httpConnectionsUsed = httpConnections.used
    package static let httpConnectionsBound = httpConnections.bound
    package static let httpEventStreamsUsed = httpEventStreams.used
    package static let httpEventStreamsBound = httpEventStreams.bound
    package static let httpRefused = NodeMetric(
        "http_refused_total", .counter, labels: ["cause"],
        "What the HTTP address did not serve: connections or event streams beyond their bound, requests that it refused, "
            + "and readers who did not take what they were sent.")
}

// Of who may talk to a node.
extension NodeMetric {
    static let denials = NodeMetric(
        "denials_total", .counter, labels: ["reason"],
        "What the access list did not allow: connections and frames, by the reason.")
    static let handshakesFailed = NodeMetric(
        "handshakes_failed_total", .counter, labels: [],
        "Connections of peers to this node that ended before they had proved a key.")
    static let plaintext = NodeMetric(
        "plaintext", .gauge, labels: [],
        "1 while the node talks to other hosts without keys, so that anybody on their network may read and write, else 0."
    )
    static let accessListEntries = NodeMetric(
        "access_list_entries", .gauge, labels: [], "Names in the access list that holds.")
    static let accessListUnusable = NodeMetric(
        "access_list_unusable", .gauge, labels: [],
        "1 while the newest text of the access list cannot be used, and the one before holds, else 0.")
}

extension NodeMetric {
    /// The counter of a protocol's event.
    static func counter(of event: ProtocolCounter) -> NodeMetric {
        NodeMetric("\(event.rawValue)_total", .counter, event.help)
    }

    /// Every metric that a node can show, but those of the process.
    package static let all: [NodeMetric] =
        [
            commitDuration, syncDuration, sendDuration, effectDuration, snapshotDuration, entriesCommitted,
            batchesCommitted, actionsRejected, callersRefused, framesDropped, sendsDropped, snapshotsFailed,
            alarmsRaised, effectsEnded, alarm, serving, sequence, lag, replicaLag, replicasConnected, replicasLost,
            primary, inSyncMembers, minimumMembers, missingMembers, unanswered, journalBatches, journalSnapshot,
            journalFree, buildInfo, httpConnectionsUsed,
            httpConnectionsBound, httpEventStreamsUsed, httpEventStreamsBound, httpRefused, denials, handshakesFailed,
            plaintext, accessListEntries, accessListUnusable,
        ] + NodeQueues.all.flatMap { [$0.used, $0.bound] } + ProtocolCounter.allCases.map(counter(of:))
}

extension ProtocolCounter {
    /// What the counter counts.
    fileprivate var help: String {
        switch self {
        case .framesRefused: "Frames that were not read, because they are not of this protocol, cluster, store or size."
        case .refusals: "Answers REFUSED, to nodes, clients and sessions that this node does not take."
        case .staleFrames: "Frames of an earlier epoch."
        case .duplicateActions: "Submissions of actions that the log had already."
        case .duplicateBatches: "Batches that a replica had already."
        case .outOfOrder: "Submissions that left numbers out; the client goes on where it is told."
        case .busyAnswers: "Answers BUSY of a primary: it had no room, and the client tries again."
        case .joins: "Joins of replicas: they fetched what they lacked."
        case .snapshotsServed: "Snapshots that were sent to joining replicas."
        case .gaps: "Holes that a replica found in the stream."
        case .repairs: "Repairs that a replica asked for."
        case .repairsServed: "Repairs that were sent to replicas."
        case .digestChecks: "Digests of a primary that a replica compared with its own."
        case .divergences: "Digests that differed."
        case .sessionsOpened: "Sessions that were opened."
        case .sessionsExpired: "Sessions that ended because their client was silent."
        case .reconnects: "Connections to a primary that were made anew."
        case .joinBufferDrops: "Batches that a joining replica could not keep; they are repaired."
        case .emissionsDropped: "Mutations of effects that came after their end."
        }
    }
}
