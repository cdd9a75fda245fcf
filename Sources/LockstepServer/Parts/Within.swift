/// Reads numbers of the command line that must lie in a range; the error names it.
///
/// An option that becomes a time or a size is read here and nowhere else, so nothing that is typed can trap.
public enum Within {
    /// Seconds that a command may wait: a millisecond to a day.
    public static let patience = seconds(0.001...86_400)

    /// Reads a sequence number.
    package static let sequence = whole(0...UInt64(Int64.max) - 1)

    /// Reads seconds, with a fraction.
    public static func seconds(_ range: ClosedRange<Double>) -> @Sendable (String) throws -> Double {
        number(range, "seconds, \(text(range.lowerBound)) to \(text(range.upperBound))")
    }

    /// Reads a number with a fraction.
    public static func fraction(_ range: ClosedRange<Double>) -> @Sendable (String) throws -> Double {
        number(range, "a number from \(text(range.lowerBound)) to \(text(range.upperBound))")
    }

    /// Reads a whole number.
    ///
    /// Used as an option's `transform`: `transform: Within.whole(1...100)`.
    public static func whole<Number: FixedWidthInteger & Sendable>(
        _ range: ClosedRange<Number>
    ) -> @Sendable (String) throws -> Number {
        { argument in
            guard let value = Number(argument), range.contains(value) else {
                throw ValidationError("a whole number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }
    }

    private static func number(
        _ range: ClosedRange<Double>, _ meaning: String
    ) -> @Sendable (String) throws -> Double {
        { argument in
            // Neither an infinite number nor one that is none lies in a range.
            guard let value = Double(argument), range.contains(value) else { throw ValidationError(meaning) }
            return value
        }
    }

    /// Without a fraction where there is none: `86400`, `0.001`.
    private static func text(_ value: Double) -> String {
        Int(exactly: value).map { "\($0)" } ?? "\(value)"
    }

    /// A number of seconds that was read here, as a time.
    public static func duration(_ seconds: Double) -> Duration { .milliseconds(Int64((seconds * 1_000).rounded(.up))) }
}
