package import LockstepCore

/// What the simulator draws; everything comes from one seed, on every platform alike.
extension SplitMix64 {
    /// True with this probability.
    package mutating func chance(_ probability: Double) -> Bool {
        Double(next() >> 11) * 0x1p-53 < probability
    }

    /// A whole number of the range, each equally likely.
    package mutating func between(_ low: Int64, _ high: Int64) -> Int64 {
        precondition(low <= high, "an empty range has no number")
        return low + Int64(next(below: UInt64(high - low) + 1))
    }

    /// A fraction from 0 to 1.
    package mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// One of the elements.
    package mutating func pick<Element>(_ elements: [Element]) -> Element {
        precondition(!elements.isEmpty, "nothing can be picked from nothing")
        return elements[Int(next(below: UInt64(elements.count)))]
    }

    /// A generator of its own for a part, so that what one part draws does not move the numbers of another.
    package mutating func fork() -> SplitMix64 { SplitMix64(seed: next()) }
}

/// Spans of virtual time, in nanoseconds.
package enum Span {
    package static let microsecond: Int64 = 1_000
    package static let millisecond: Int64 = 1_000_000
    package static let second: Int64 = 1_000_000_000
}
