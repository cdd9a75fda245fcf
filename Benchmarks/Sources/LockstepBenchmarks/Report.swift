import Foundation

/// The table of what was measured, line by line as it is measured.
enum Report {
    /// Prints at once, also into a file.
    static func line(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    static func measure(_ cases: [Case]) throws -> [Measurement] {
        line(row("case", "ns", "baseline", "allocations", "bytes", "of"))
        return try cases.map { measured in
            var measurement = try measured.measured()
            if let baseline = measured.baseline {
                // Beside the case, since the machine's speed drifts.
                let plain = try baseline.measured(scope: measured.scope, rounds: measured.rounds)
                measurement.ratio = (baseline.name, measurement.nanoseconds / plain)
            }
            line(
                row(
                    measurement.name, number(measurement.nanoseconds),
                    measurement.ratio.map { "\(number($0.value)) x \($0.baseline)" } ?? "",
                    AllocationLimits.number(measurement.allocations), number(measurement.bytes), measurement.unit))
            return measurement
        }
    }

    private static func row(
        _ name: String, _ nanoseconds: String, _ ratio: String, _ allocations: String, _ bytes: String, _ unit: String
    ) -> String {
        [
            right(name, -28), right(nanoseconds, 11), right(ratio, 26), right(allocations, 13), right(bytes, 11), unit,
        ].joined(separator: "  ")
    }

    /// Pads to `width` characters: on the left, or on the right if it is negative.
    private static func right(_ text: String, _ width: Int) -> String {
        let fill = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? text + fill : fill + text
    }

    /// Three digits that count.
    private static func number(_ value: Double) -> String {
        switch value {
        case 100...: String(format: "%.0f", value)
        case 10...: String(format: "%.1f", value)
        default: String(format: "%.2f", value)
        }
    }
}
