import Foundation
import LockstepServer

/// One case of the benchmark.
struct BenchCase: Sendable {
    /// What it is called on the command line: `p1`.
    let name: String
    /// What is measured, in one line.
    let title: String
    /// Takes more than two minutes, so it runs only when it is named, or with the others by `all`.
    var isLong = false
    let run: @Sendable (BenchSetting) async throws -> BenchResult

    /// In the order in which they run.
    static let all = [
        throughput, latency, applying, joining, restarting, memory, audience, localReads, observed, dataNodes,
        takeovers,
        watched, scraped, idle, keys, curve, growth,
    ]
}

/// How much is measured.
struct BenchSizes: Encodable, Sendable {
    /// How often each figure is measured; the median counts.
    var rounds = 3
    /// Increments in one measurement of throughput.
    var actions = 2_000_000
    /// Counters of a small state, and of a large one.
    var counters = 100_000
    var keys = 1_000_000
    /// What the journal of a primary holds when it restarts.
    var entries = 10_000_000
    /// How long a replica stands still.
    var stallSeconds = 60.0
    /// The ends of the curves of growth: counters, bytes of a value, sessions, replicas.
    var growthKeys = 10_000_000
    var growthValueBytes = 1_000_000
    var growthSessions = 10_000
    var growthReplicas = 64
    /// How often a primary, or a standby, is ended in each of the ways that P11 has.
    var kills = 20
    /// How long everything else is measured that takes a time instead of a number.
    var seconds = 5.0

    /// So little that the figures mean nothing, and every case comes to its end.
    static let quick = BenchSizes(
        rounds: 1, actions: 100_000, counters: 1_000, keys: 5_000, entries: 100_000, stallSeconds: 1,
        growthKeys: 10_000, growthValueBytes: 4_096, growthSessions: 10, growthReplicas: 2, kills: 1, seconds: 0.5)
}

/// What a case is given.
struct BenchSetting: Sendable {
    /// The operator's program, which the nodes run.
    let program: String
    /// For the nodes and peers of a case; a case removes what it put there.
    let folder: String
    /// The first of 200 ports: the nodes take ten each, peers those from ``peerPort`` on.
    let port: Int
    let sizes: BenchSizes
    /// Where the points of the curve are written.
    let curveFile: String
    /// Where the points of the curves of growth are written.
    let growthFile: String
    /// Where the pauses of the takeovers are written.
    let takeoverFile: String
    let redis: RedisPeer?
    let nats: NATSPeer?
    let etcd: EtcdPeer?

    var peerPort: Int { port + 150 }

    func say(_ text: String) { Output.progress(text) }
}

/// What a case found.
struct BenchResult: Encodable, Sendable {
    var name: String
    var title: String
    var figures: [BenchFigure]
    /// Who was measured in what setting, side by side.
    var settings: [Participant]
    var notes: [String] = []

    /// A program that took part, and how.
    struct Participant: Encodable, Sendable {
        var name: String
        /// What is on disk when an answer leaves.
        var durability: String
        var replicas: String
        /// What sends, and how much is in flight.
        var load: String
        /// What was compared when all was done.
        var checked: String
    }

    init(_ benchCase: (name: String, title: String), _ figures: [BenchFigure], _ settings: [Participant]) {
        name = benchCase.name
        title = benchCase.title
        self.figures = figures
        self.settings = settings
    }

    var lines: [String] {
        var lines = ["", "\(name.uppercased()): \(title)"]
        lines += figures.map { "  \($0.line)" }
        for setting in settings {
            lines.append("  \(setting.name): \(setting.durability); \(setting.replicas); \(setting.load)")
            lines.append("      checked: \(setting.checked)")
        }
        return lines + notes.map { "  note: \($0)" }
    }
}

/// A figure of Lockstep, beside a peer's in the same run if there is one.
struct BenchFigure: Encodable, Sendable {
    struct Peer: Encodable, Sendable {
        var name: String
        var value: Double
        var rounds: [Double]

        init(_ name: String, _ rounds: [Double]) {
            self.name = name
            self.rounds = rounds
            value = rounds.median
        }
    }

    var what: String
    var unit: String
    /// The median of the rounds.
    var value: Double
    var rounds: [Double]
    var peer: Peer?
    /// Lockstep's value divided by the peer's; none where the work is not equal.
    var ratio: Double?
    var goal: BenchGoal?
    /// Whether the goal is reached; none without a goal, or without the peer that it needs.
    var isReached: Bool?

    init(
        _ what: String, _ rounds: [Double], _ unit: String, peer: (String, [Double])? = nil, isEqualWork: Bool = true,
        goal: BenchGoal? = nil
    ) {
        self.what = what
        self.unit = unit
        self.rounds = rounds
        value = rounds.median
        self.peer = peer.flatMap { $0.1.isEmpty ? nil : Peer($0.0, $0.1) }
        ratio = isEqualWork ? self.peer.flatMap { $0.value == 0 ? nil : rounds.median / $0.value } : nil
        self.goal = goal
        isReached = goal?.isReached(value: value, ratio: ratio)
    }

    var line: String {
        var text = what.padding(toLength: max(52, what.count), withPad: " ", startingAt: 0)
        text += " " + Self.format(value) + " " + unit
        if rounds.count > 1 { text += " (\(rounds.map(Self.format).joined(separator: ", ")))" }
        if let peer { text += "; \(peer.name) \(Self.format(peer.value))" }
        if let peer, peer.rounds.count > 1 { text += " (\(peer.rounds.map(Self.format).joined(separator: ", ")))" }
        if let ratio { text += "; ratio " + String(format: "%.2f", ratio) }
        if let goal { text += "; goal: \(goal)" + (isReached.map { $0 ? ", reached" : ", missed" } ?? "") }
        return text
    }

    static func format(_ value: Double) -> String {
        switch abs(value) {
        case 1_000...: String(format: "%.0f", value)
        case 10...: String(format: "%.1f", value)
        default: String(format: "%.2f", value)
        }
    }
}

/// What a figure is to reach.
enum BenchGoal: Encodable, Sendable, CustomStringConvertible {
    case ratioAtLeast(Double)
    case ratioAtMost(Double)
    case atLeast(Double)
    case atMost(Double)

    func isReached(value: Double, ratio: Double?) -> Bool? {
        switch self {
        case .ratioAtLeast(let bound): ratio.map { $0 >= bound }
        case .ratioAtMost(let bound): ratio.map { $0 <= bound }
        case .atLeast(let bound): value >= bound
        case .atMost(let bound): value <= bound
        }
    }

    var description: String {
        switch self {
        case .ratioAtLeast(let bound): "ratio at least \(bound)"
        case .ratioAtMost(let bound): "ratio at most \(bound)"
        case .atLeast(let bound): "at least \(BenchFigure.format(bound))"
        case .atMost(let bound): "at most \(BenchFigure.format(bound))"
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
