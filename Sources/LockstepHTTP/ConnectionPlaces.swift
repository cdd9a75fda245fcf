internal import LockstepNode
internal import Metrics
internal import Synchronization

/// How many connections and event streams an HTTP address has, and may have.
final class ConnectionPlaces: Sendable {
    private let counts = Mutex(Counts())
    private let gauges: [Kind: Gauge]
    private let refusals: [Refused: Counter]

    enum Kind: CaseIterable, Hashable, Sendable {
        case connection
        /// A connection too many, which is told so.
        case refusal
        case eventStream

        /// The most at a time.
        var bound: Int {
            switch self {
            case .connection: 64
            case .refusal, .eventStream: 16
            }
        }
    }

    /// What was not served.
    enum Refused: String, CaseIterable, Sendable {
        case connections, eventStreams = "event_streams", request, slow
    }

    private struct Counts {
        var taken: [Kind: Int] = [:]
    }

    init() {
        gauges = [
            .connection: NodeMetric.httpConnectionsUsed.gauge(), .eventStream: NodeMetric.httpEventStreamsUsed.gauge(),
        ]
        refusals = Dictionary(
            uniqueKeysWithValues: Refused.allCases.map { ($0, NodeMetric.httpRefused.counter($0.rawValue)) })
        NodeMetric.httpConnectionsBound.gauge().record(Kind.connection.bound)
        NodeMetric.httpEventStreamsBound.gauge().record(Kind.eventStream.bound)
    }

    /// Takes a place; false if there is none.
    func take(_ kind: Kind) -> Bool {
        counts.withLock { counts in
            let count = counts.taken[kind, default: 0] + 1
            guard count <= kind.bound else { return false }
            counts.taken[kind] = count
            gauges[kind]?.record(count)
            return true
        }
    }

    func give(_ kind: Kind) {
        counts.withLock { counts in
            let count = counts.taken[kind, default: 0] - 1
            counts.taken[kind] = count
            gauges[kind]?.record(count)
        }
    }

    func refused(_ what: Refused) { refusals[what]?.increment() }
}
