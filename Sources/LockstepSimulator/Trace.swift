import LockstepCore

/// What happened, as numbers: cheap enough to be kept for every step, turned into text only when somebody asks.
package struct TraceLine: Hashable, Sendable {
    package var time: Int64
    /// The process's number.
    package var process: Int
    package var kind: TraceKind
    package var first: UInt64
    package var second: UInt64
}

/// The kinds of trace lines, with what their two numbers are.
package enum TraceKind: UInt8, Hashable, Sendable {
    /// Boot count, sequence number recovered.
    case started
    /// Boot count.
    case stopped
    /// Until when, in nanoseconds.
    case paused
    /// The frame's kind, the connection.
    case received
    /// The frame's kind, the connection.
    case sent
    /// The frame's kind, the number of subscribers.
    case published
    /// The frame's kind, the connection: lost on its way.
    case lost
    /// The link's number, the connection.
    case connected
    /// First and last sequence number.
    case persisting
    /// Epoch, sequence number.
    case committed
    /// Epoch, sequence number.
    case applied
    /// Epoch, sequence number.
    case installed
    /// The phase's number.
    case phase
    /// The operation's number, its request number.
    case submitted
    /// The operation's number, its sequence number.
    case answered
    /// The operation's number.
    case outcomeUnknown
    /// The fault's number, its strength or target.
    case fault
    /// The alarm's number, a sequence number.
    case alarm
    /// What the operator did.
    case operatorActed
    /// The reason's number.
    case halted
    /// The snapshot's number, its sequence number.
    case snapshot
    /// Nothing: the end of the faults.
    case healed
    /// The event's number, a name.
    case effect
    /// The session's sequence number, the action's number.
    case runEnded
    /// The number of a fault of a cluster of data nodes, its strength or target.
    case clusterFault
    /// A data node has won: epoch, the end of its log.
    case won
    /// A data node is no primary any more: epoch.
    case deposed
    /// Epoch, number of the record that the arbiter has written.
    case record
    /// A log is cut: its epoch and its end.
    case truncated
}

/// A running hash over all that happened, and the last thousand lines of it.
package struct Trace: Sendable {
    package static let capacity = 1_000
    private var lines: [TraceLine] = []
    private var next = 0
    package private(set) var count: UInt64 = 0
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    package init() {}

    /// The same for two runs exactly if the same lines were added in the same order, as far as 64 bits tell.
    package var hash: UInt64 { state }

    mutating func add(_ line: TraceLine) {
        count += 1
        mix(UInt64(bitPattern: line.time))
        mix(UInt64(bitPattern: Int64(line.process)) << 8 | UInt64(line.kind.rawValue))
        mix(line.first)
        mix(line.second)
        if lines.count < Self.capacity {
            lines.append(line)
        } else {
            lines[next] = line
            next = (next + 1) % Self.capacity
        }
    }

    private mutating func mix(_ value: UInt64) {
        let product = (state ^ value).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        state = product.high ^ product.low &+ 0xE703_7ED1_A0B4_28DB
    }

    /// The kept lines, the oldest first.
    package var kept: [TraceLine] { Array(lines[next...] + lines[..<next]) }

    /// The kept lines as text, with the names of the processes.
    package func text(names: [String]) -> [String] {
        kept.map { line in
            let name = names.indices.contains(line.process) ? names[line.process] : "-"
            let seconds = Double(line.time / 1_000) / 1_000_000
            return "\(Self.padded("\(seconds)", 12)) \(Self.padded(name, 10)) "
                + "\(Self.padded("\(line.kind)", 14)) \(Self.detail(line))"
        }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text.count < width ? text + String(repeating: " ", count: width - text.count) : text
    }

    private static func detail(_ line: TraceLine) -> String {
        switch line.kind {
        case .received, .sent, .published, .lost:
            let kind = UInt8(exactly: line.first).flatMap(MessageKind.init(rawValue:)).map { "\($0)" }
            return "\(kind ?? "unreadable") \(line.second)"
        case .fault:
            let known = FaultClass.allCases
            let name = Int(exactly: line.first).flatMap { known.indices.contains($0) ? known[$0].rawValue : nil }
            return "\(name ?? "-") \(line.second)"
        case .effect:
            let known = EffectEvent.allCases
            let name = Int(exactly: line.first).flatMap { known.indices.contains($0) ? known[$0].rawValue : nil }
            return "\(name ?? "-") \(line.second)"
        case .clusterFault:
            let known = ClusterFault.allCases
            let name = Int(exactly: line.first).flatMap { known.indices.contains($0) ? known[$0].rawValue : nil }
            return "\(name ?? "-") \(line.second)"
        case .started, .stopped, .paused, .connected, .persisting, .committed, .applied, .installed, .phase, .submitted,
            .answered, .outcomeUnknown, .alarm, .operatorActed, .halted, .snapshot, .healed, .runEnded, .won, .deposed,
            .record, .truncated:
            return "\(line.first) \(line.second)"
        }
    }
}
