/// Steele, Lea and Flood's SplitMix64: small, fast, and the same numbers on every platform.
///
/// The machines draw jitter and nonces from it, seeded by their driver, so that a run can be replayed from its seed.
package struct SplitMix64: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1, without bias worth naming for the bounds used here.
    package mutating func next(below bound: UInt64) -> UInt64 {
        precondition(bound > 0, "an empty range has no number")
        return next().multipliedFullWidth(by: bound).high
    }
}
