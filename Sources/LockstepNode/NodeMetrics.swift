package import LockstepCore
internal import Metrics

/// A store's metrics, made once; updating one is an atomic addition.
///
/// Labels are the store's name, and the kind of event or the alarm's name.
///
/// The loop reports what machines count, and once a second what is a state and not an event.
package struct NodeMetrics: Sendable {
    private let events: [ProtocolCounter: Counter]
    private let entriesCommitted: Counter
    private let batchesCommitted: Counter
    private let framesDropped: Counter
    private let sendsDropped: Counter
    private let persistDuration: Timer
    private let snapshotDuration: Timer
    private let sequence: Gauge
    private let lag: Gauge
    private let sessions: Gauge
    private let unanswered: Gauge
    private let alarms: [AlarmKind: Gauge]

    /// Why a frame did not leave or was not read.
    package enum Drop: Hashable, Sendable {
        case received
        case sent
    }

    package init(store: String) {
        let store = [("store", store)]
        var events: [ProtocolCounter: Counter] = [:]
        for event in ProtocolCounter.allCases {
            events[event] = Counter(label: "lockstep_\(event.rawValue)_total", dimensions: store)
        }
        self.events = events
        entriesCommitted = Counter(label: "lockstep_entries_committed_total", dimensions: store)
        batchesCommitted = Counter(label: "lockstep_batches_committed_total", dimensions: store)
        framesDropped = Counter(label: "lockstep_frames_dropped_total", dimensions: store)
        sendsDropped = Counter(label: "lockstep_sends_dropped_total", dimensions: store)
        persistDuration = Timer(label: "lockstep_persist_duration_seconds", dimensions: store)
        snapshotDuration = Timer(label: "lockstep_snapshot_duration_seconds", dimensions: store)
        sequence = Gauge(label: "lockstep_sequence_entries", dimensions: store)
        lag = Gauge(label: "lockstep_replica_lag_entries", dimensions: store)
        sessions = Gauge(label: "lockstep_open_sessions", dimensions: store)
        unanswered = Gauge(label: "lockstep_unanswered_actions", dimensions: store)
        var alarms: [AlarmKind: Gauge] = [:]
        for alarm in AlarmKind.allCases {
            alarms[alarm] = Gauge(label: "lockstep_raised_alarms", dimensions: store + [("alarm", alarm.rawValue)])
        }
        self.alarms = alarms
    }

    /// 1 while an alarm is raised, 0 otherwise.
    package func alarm(_ kind: AlarmKind, isRaised: Bool) { alarms[kind]?.record(isRaised ? 1 : 0) }

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

    package func persisted(nanoseconds: Int64) { persistDuration.recordNanoseconds(nanoseconds) }
    package func snapshotMade(nanoseconds: Int64) { snapshotDuration.recordNanoseconds(nanoseconds) }

    package func observe(sequence: SequenceNumber, lag: UInt64, sessions: Int, unanswered: Int) {
        self.sequence.record(Double(sequence.rawValue))
        self.lag.record(Double(lag))
        self.sessions.record(sessions)
        self.unanswered.record(unanswered)
    }
}
