package import LockstepCore
package import Logging

/// Writes down what was denied: a line for the operator, and a count (PROTOCOL, R-69).
///
/// At most one line in ten seconds for each name and kind of message, since a peer can bring them about; the next one
/// says how many were held back.
package struct AccessAudit {
    private let logger: Logger
    private var lines: [Line: Held] = [:]

    private struct Line: Hashable {
        var name: String
        var what: String
    }

    private struct Held {
        var written: Tick
        var skipped = 0
    }

    /// Names and kinds that are remembered; a line beyond them waits until one is ten seconds old.
    private static let bound = 1_024
    private static let interval: Int64 = 10_000

    package init(logger: Logger) { self.logger = logger }

    /// Notes a denial.
    ///
    /// - Parameters:
    ///   - denial: What was denied, and why.
    ///   - name: In the access list; of a key that is not in it, its text.
    ///   - address: Without port.
    ///   - now: The time.
    package mutating func denied(_ denial: AccessDoor.Denial, name: String, address: String, now: Tick) {
        AccessMetrics.denied(denial.reason)
        guard let skipped = take(Line(name: name, what: denial.what), now: now) else { return }
        var metadata: Logger.Metadata = [
            LogKey.peer: "\(AccessText.escaped(name))", LogKey.address: "\(AccessText.escaped(address))",
            LogKey.kind: "\(denial.what)", LogKey.reason: "\(denial.reason.rawValue): \(denial.text)",
        ]
        if skipped > 0 { metadata[LogKey.skipped] = "\(skipped)" }
        logger.warning("denied", metadata: metadata)
    }

    /// How many lines like this one were held back since the last; nil if this one is held back too.
    private mutating func take(_ line: Line, now: Tick) -> Int? {
        if let held = lines[line], now - held.written < Tick.milliseconds(Self.interval) {
            lines[line]?.skipped += 1
            return nil
        }
        if lines[line] == nil, lines.count >= Self.bound {
            lines = lines.filter { now - $0.value.written < Tick.milliseconds(Self.interval) }
            guard lines.count < Self.bound else { return nil }
        }
        let skipped = lines[line]?.skipped ?? 0
        lines[line] = Held(written: now)
        return skipped
    }
}
