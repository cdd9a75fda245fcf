import Foundation

/// The most allocations an operation that each case may have: the table that is checked in.
struct AllocationLimits {
    /// A case may be above its limit by this share and by ``slack``, since tables do not grow at the same round in
    /// every version of the standard library.
    static let share = 0.02
    static let slack = 0.0001
    /// A case that is below its limit by this share and ``slack`` has a limit that is too loose.
    static let looseShare = 0.05

    private(set) var values: [String: Double] = [:]

    init(_ values: [String: Double]) { self.values = values }

    /// Reads lines of a case and a number; a line that begins with `#` is a comment.
    init(text: String) throws {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: " ")
            guard fields.count == 2, let value = Double(fields[1]), value >= 0, values[String(fields[0])] == nil else {
                throw Failure("the limits have a line that is no case and number, or a case twice: \(line)")
            }
            values[String(fields[0])] = value
        }
    }

    /// The lines of what was measured, in the order of the cases.
    static func text(of measurements: [Measurement]) -> String {
        let width = measurements.map(\.name.count).max() ?? 0
        return measurements.map { measurement in
            let name = measurement.name.padding(toLength: width, withPad: " ", startingAt: 0)
            return "\(name)  \(number(measurement.allocations))\n"
        }.joined()
    }

    static func number(_ value: Double) -> String { String(format: "%.4f", value) }

    /// What a comparison finds; only excess is a fault.
    struct Findings {
        var excesses: [String] = []
        var looseLimits: [String] = []
    }

    /// Compares measurements with their limits; a case without a limit is above it.
    func compared(with measurements: [Measurement]) -> Findings {
        var findings = Findings()
        for measurement in measurements {
            let found = "\(measurement.name): \(Self.number(measurement.allocations)) allocations a \(measurement.unit)"
            guard let limit = values[measurement.name] else {
                findings.excesses.append("\(found), and no limit")
                continue
            }
            if measurement.allocations > limit * (1 + Self.share) + Self.slack {
                findings.excesses.append("\(found), above the limit of \(Self.number(limit))")
            } else if measurement.allocations < limit * (1 - Self.looseShare) - Self.slack {
                findings.looseLimits.append("\(found), well below the limit of \(Self.number(limit))")
            }
        }
        return findings
    }

    /// Limits of cases that are not there.
    func unknown(among cases: [Case]) -> [String] {
        Set(values.keys).subtracting(cases.map(\.name)).sorted()
    }
}

/// A line for whoever runs the program.
struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
