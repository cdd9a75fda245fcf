package import LockstepCore
internal import Metrics
internal import Synchronization

/// A store's metrics, made once; updating one is an atomic addition.
///
/// The loop reports what machines count as it comes, and once a second what is a state and not an event
/// (`StoreHost+Metrics.swift`). The clock is read once a batch and once a write, never for an action: of sends one in
/// ``sendSample`` is timed. `NodeMetric.swift` says what each is.
package final class NodeMetrics: Sendable {
    private let store: String
    private let events: [ProtocolCounter: Counter]
    private let entriesCommitted: Counter
    private let batchesCommitted: Counter
    private let framesDropped: Counter
    private let sendsDropped: Counter
    private let snapshotsFailed: Counter
    private let actionsRejected: Counter
    private let callersRefused: [RefusingQueue: Counter]
    private let commitDuration: Timer
    private let syncDuration: Timer
    private let snapshotDuration: Timer
    private let alarms: [AlarmKind: AlarmMetrics]
    let states: StateGauges
    /// Totals that were added to a counter before.
    private let seen = Mutex(Seen())
    private let lags = Mutex<[String: Gauge]>([:])

    /// Why a frame did not leave or was not read.
    package enum Drop: Hashable, Sendable {
        case received
        case sent
    }

    /// A queue whose callers are refused when it is full.
    enum RefusingQueue: String, CaseIterable, Sendable {
        case inbox, readers
    }

    private struct AlarmMetrics: Sendable {
        let isRaised: Gauge
        let count: Counter

        init(_ kind: AlarmKind, _ store: String) {
            isRaised = NodeMetric.alarm.gauge(store, kind.rawValue)
            count = NodeMetric.alarmsRaised.counter(store, kind.rawValue)
        }
    }

    private struct Seen {
        var rejected: UInt64 = 0
        var refused: [RefusingQueue: UInt64] = [:]
        var ringDrops: UInt64 = 0
    }

    /// One send in so many is timed.
    package static let sendSample: UInt64 = 64
    /// The most replicas that have a gauge of their own.
    package static let replicaBound = 64

    package init(store: String) {
        self.store = store
        events = Dictionary(
            uniqueKeysWithValues: ProtocolCounter.allCases.map { ($0, NodeMetric.counter(of: $0).counter(store)) })
        entriesCommitted = NodeMetric.entriesCommitted.counter(store)
        batchesCommitted = NodeMetric.batchesCommitted.counter(store)
        framesDropped = NodeMetric.framesDropped.counter(store)
        sendsDropped = NodeMetric.sendsDropped.counter(store)
        snapshotsFailed = NodeMetric.snapshotsFailed.counter(store)
        actionsRejected = NodeMetric.actionsRejected.counter(store)
        callersRefused = Dictionary(
            uniqueKeysWithValues: RefusingQueue.allCases.map {
                ($0, NodeMetric.callersRefused.counter(store, $0.rawValue))
            })
        commitDuration = NodeMetric.commitDuration.timer(store)
        syncDuration = NodeMetric.syncDuration.timer(store)
        snapshotDuration = NodeMetric.snapshotDuration.timer(store)
        alarms = Dictionary(uniqueKeysWithValues: AlarmKind.allCases.map { ($0, AlarmMetrics($0, store)) })
        states = StateGauges(store: store)
    }

    // MARK: - Events

    /// 1 while an alarm is raised, 0 otherwise.
    package func alarm(_ kind: AlarmKind, isRaised: Bool) { alarms[kind]?.isRaised.record(isRaised ? 1 : 0) }

    /// An alarm was raised that was not before.
    package func alarmBegan(_ kind: AlarmKind) { alarms[kind]?.count.increment() }

    package func count(_ event: ProtocolCounter) { events[event]?.increment() }

    package func committed(entries: Int, batches: Int) {
        entriesCommitted.increment(by: entries)
        batchesCommitted.increment(by: batches)
    }

    package func dropped(_ drop: Drop, _ count: UInt64 = 1) {
        switch drop {
        case .received: framesDropped.increment(by: Int64(clamping: count))
        case .sent: sendsDropped.increment(by: Int64(clamping: count))
        }
    }

    package func commitEnded(nanoseconds: Int64) { commitDuration.recordNanoseconds(nanoseconds) }
    package func synced(nanoseconds: Int64) { syncDuration.recordNanoseconds(nanoseconds) }
    package func snapshotMade(nanoseconds: Int64) { snapshotDuration.recordNanoseconds(nanoseconds) }
    package func snapshotFailed() { snapshotsFailed.increment() }

    /// What a data node is for the store, once a second; no other node has these gauges.
    func observe(isPrimary: Bool, members: Int, minimum: Int, missing: Int) {
        NodeMetric.primary.gauge(store).record(isPrimary ? 1 : 0)
        NodeMetric.inSyncMembers.gauge(store).record(members)
        NodeMetric.minimumMembers.gauge(store).record(minimum)
        NodeMetric.missingMembers.gauge(store).record(missing)
    }

    // MARK: - Totals

    /// How many actions this primary has rejected since its start.
    func rejected(total: UInt64) {
        actionsRejected.increment(by: seen.withLock { Self.growth(of: &$0.rejected, to: total) })
    }

    /// How many callers a queue has refused since the start.
    func refused(_ queue: RefusingQueue, total: UInt64) {
        callersRefused[queue]?.increment(
            by: seen.withLock { Self.growth(of: &$0.refused[queue, default: 0], to: total) })
    }

    /// How many frames the rings of the store's links have dropped since the start.
    func ringsDropped(total: UInt64) {
        framesDropped.increment(by: seen.withLock { Self.growth(of: &$0.ringDrops, to: total) })
    }

    private static func growth(of seen: inout UInt64, to total: UInt64) -> Int64 {
        defer { seen = total }
        return Int64(clamping: total - min(seen, total))
    }

    // MARK: - Replicas

    /// How far replicas are behind, the furthest first; one that is not among the first 64 has no gauge.
    package func observe(lags new: [(replica: String, entries: UInt64)]) {
        lags.withLock { gauges in
            let shown = new.prefix(Self.replicaBound)
            let names = Set(shown.map(\.replica))
            for (name, gauge) in gauges where !names.contains(name) {
                gauge.destroy()
                gauges[name] = nil
            }
            for (name, entries) in shown {
                let gauge = gauges[name] ?? NodeMetric.replicaLag.gauge(store, name)
                gauges[name] = gauge
                gauge.record(Double(entries))
            }
        }
    }
}

/// The gauges of what a store is and has, set once a second.
struct StateGauges: Sendable {
    let serving: Gauge
    let sequence: Gauge
    let lag: Gauge
    let replicasConnected: Gauge
    let replicasLost: Gauge
    let unanswered: Gauge
    let journalBatches: Gauge
    let journalSnapshot: Gauge
    let journalFree: Gauge
    let inboxActions: QueueGauges
    let inboxLine: QueueGauges
    let inboxWork: QueueGauges
    let readers: QueueGauges
    let askedReads: QueueGauges
    let stream: QueueGauges
    let link: QueueGauges
    let unpersisted: QueueGauges
    let sessions: QueueGauges
    let keptReplies: QueueGauges
    let runs: QueueGauges

    init(store: String) {
        serving = NodeMetric.serving.gauge(store)
        sequence = NodeMetric.sequence.gauge(store)
        lag = NodeMetric.lag.gauge(store)
        replicasConnected = NodeMetric.replicasConnected.gauge(store)
        replicasLost = NodeMetric.replicasLost.gauge(store)
        unanswered = NodeMetric.unanswered.gauge(store)
        journalBatches = NodeMetric.journalBatches.gauge(store)
        journalSnapshot = NodeMetric.journalSnapshot.gauge(store)
        journalFree = NodeMetric.journalFree.gauge(store)
        inboxActions = QueueGauges(NodeQueues.inboxActions, store)
        inboxLine = QueueGauges(NodeQueues.inboxLine, store)
        inboxWork = QueueGauges(NodeQueues.inboxWork, store)
        readers = QueueGauges(NodeQueues.readers, store)
        askedReads = QueueGauges(NodeQueues.askedReads, store)
        stream = QueueGauges(NodeQueues.stream, store)
        link = QueueGauges(NodeQueues.link, store)
        unpersisted = QueueGauges(NodeQueues.unpersisted, store)
        sessions = QueueGauges(NodeQueues.sessions, store)
        keptReplies = QueueGauges(NodeQueues.keptReplies, store)
        runs = QueueGauges(NodeQueues.runs, store)
    }
}

/// How full a queue is, and how full it can be.
struct QueueGauges: Sendable {
    private let used: Gauge
    private let bound: Gauge

    /// Those of a store's queue, or of a node's, which has no label.
    init(_ metric: QueueMetric, _ store: String? = nil) {
        if let store {
            (used, bound) = (metric.used.gauge(store), metric.bound.gauge(store))
        } else {
            (used, bound) = (metric.used.gauge(), metric.bound.gauge())
        }
    }

    func record(_ count: Int, of bound: Int) {
        used.record(count)
        self.bound.record(bound)
    }
}

/// The metrics of a store's callers, from the caller's thread on.
package struct CallerMetrics: Sendable {
    private let duration: Timer

    package init(store: String) { duration = NodeMetric.sendDuration.timer(store) }

    package func answered(nanoseconds: Int64) { duration.recordNanoseconds(nanoseconds) }
}

/// The metrics of a store's effects.
package struct EffectMetrics: Sendable {
    private let duration: Timer
    private let ended: [EffectEnd: Counter]

    package enum EffectEnd: String, CaseIterable, Hashable, Sendable {
        case finished, failed, cancelled, stopped
    }

    package init(store: String) {
        duration = NodeMetric.effectDuration.timer(store)
        ended = Dictionary(
            uniqueKeysWithValues: EffectEnd.allCases.map { ($0, NodeMetric.effectsEnded.counter(store, $0.rawValue)) })
    }

    /// An attempt has ended.
    package func ended(_ end: EffectEnd, nanoseconds: Int64) {
        duration.recordNanoseconds(nanoseconds)
        ended[end]?.increment()
    }
}
