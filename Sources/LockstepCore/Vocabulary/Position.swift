/// The reign of one primary in one life of its process (PROTOCOL, R-5).
public struct Epoch: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number; 0 is "before the first".
    public let rawValue: UInt64
    /// Makes the epoch with the given number.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Before the first.
    public static let zero = Epoch(rawValue: 0)
    /// The number in decimal.
    public var description: String { String(rawValue) }
    /// Later epochs are greater.
    public static func < (left: Epoch, right: Epoch) -> Bool { left.rawValue < right.rawValue }
}

/// The place of an entry in its store's log, from 1; 0 is "before the first" (PROTOCOL, R-6).
public struct SequenceNumber: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: UInt64
    /// Makes the sequence number with the given value.
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Before the first entry.
    public static let zero = SequenceNumber(rawValue: 0)
    /// The next place.
    public var next: SequenceNumber { SequenceNumber(rawValue: rawValue + 1) }
    /// The place `distance` further on.
    package func advanced(by distance: Int) -> SequenceNumber {
        SequenceNumber(rawValue: rawValue &+ UInt64(bitPattern: Int64(distance)))
    }
    /// The number in decimal.
    public var description: String { String(rawValue) }
    /// Later places are greater.
    public static func < (left: SequenceNumber, right: SequenceNumber) -> Bool { left.rawValue < right.rawValue }
}

/// The hash of the chain of batches at a batch's end: the first 128 bits of its SHA-256 (PROTOCOL, R-7).
public struct BatchHash: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the hash with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }
}

/// A digest of a state: equal states have equal digests, whatever order their sets and dictionaries have.
public struct Digest: Identifier128 {
    /// The 128 bits.
    public let rawValue: UInt128
    /// Makes the digest with the given bits.
    public init(rawValue: UInt128) { self.rawValue = rawValue }
    /// The digest of two parts together: addition modulo 2^128, so that their order does not matter.
    public static func + (left: Digest, right: Digest) -> Digest { Digest(rawValue: left.rawValue &+ right.rawValue) }
    /// Takes a part away that was added before.
    public static func - (left: Digest, right: Digest) -> Digest { Digest(rawValue: left.rawValue &- right.rawValue) }
}

/// Epoch, sequence number and chain hash together: what a node says when it joins.
public struct Position: Hashable, Sendable, CustomStringConvertible {
    /// The epoch in which the entry at ``sequence`` was written.
    public var epoch: Epoch
    /// The last entry that the position includes.
    public var sequence: SequenceNumber
    /// The chain's hash at the end of the batch that ends with ``sequence``.
    public var hash: BatchHash

    /// Makes a position.
    public init(epoch: Epoch, sequence: SequenceNumber, hash: BatchHash) {
        self.epoch = epoch
        self.sequence = sequence
        self.hash = hash
    }

    /// Where the log of `store` begins: sequence number 0, with the store's identity as the hash (PROTOCOL, R-3).
    package static func start(of store: StoreID) -> Position {
        Position(epoch: .zero, sequence: .zero, hash: BatchHash(rawValue: store.rawValue))
    }

    /// `epoch:sequence:hash`, as the command line prints and reads it.
    public var description: String { "\(epoch):\(sequence):\(hash)" }
}

/// The highest position that a node has seen, with the boot that owns its epoch (PROTOCOL, R-40).
package struct KnownPosition: Hashable, Sendable {
    package var position: Position
    /// The boot of the primary that opened ``Position/epoch``; none if the sender does not know it.
    package var boot: BootID
    package init(position: Position, boot: BootID) {
        self.position = position
        self.boot = boot
    }
    package static let none = KnownPosition(
        position: Position(epoch: .zero, sequence: .zero, hash: .none), boot: .none)
}

/// A client's identity in the log: the place of the entry that opened it, so it is unique for ever (PROTOCOL, R-20).
public struct SessionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The epoch of the entry that opened the session.
    public let epoch: Epoch
    /// The sequence number of that entry.
    public let sequence: SequenceNumber
    /// Makes the identity of the session that the entry at this place opened.
    public init(epoch: Epoch, sequence: SequenceNumber) {
        self.epoch = epoch
        self.sequence = sequence
    }
    package static let none = SessionID(epoch: .zero, sequence: .zero)

    /// Reads what ``description`` writes; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = UInt64(parts[0]), let sequence = UInt64(parts[1]) else { return nil }
        self.init(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence))
    }
    /// `epoch:sequence`.
    public var description: String { "\(epoch):\(sequence)" }
    /// Order of opening.
    public static func < (left: SessionID, right: SessionID) -> Bool {
        (left.epoch, left.sequence) < (right.epoch, right.sequence)
    }
}

/// A session's counter of actions, dense from 1 (PROTOCOL, R-21).
public typealias RequestNumber = UInt64

/// Time as the log tells it: microseconds since 1970, stamped by the primary, never going back (PROTOCOL, R-15).
public struct LogTime: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Microseconds since 1970-01-01 UTC.
    public let rawValue: Int64
    /// Makes the time that many microseconds after 1970.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// The time before any entry.
    public static let zero = LogTime(rawValue: 0)
    /// This time and `duration` more, to the microsecond; it stops at the ends of the range.
    public func advanced(by duration: Duration) -> LogTime {
        let (sum, overflow) = rawValue.addingReportingOverflow(duration.wholeMicroseconds)
        guard overflow else { return LogTime(rawValue: sum) }
        return LogTime(rawValue: duration < .zero ? .min : .max)
    }
    /// Microseconds since 1970 in decimal.
    public var description: String { String(rawValue) }
    /// Later times are greater.
    public static func < (left: LogTime, right: LogTime) -> Bool { left.rawValue < right.rawValue }
}

extension Duration {
    /// The whole microseconds of the duration, at most `Int64.max`.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        return product.addingReportingOverflow(attoseconds / 1_000_000_000_000).partialValue
    }
}

/// A moment of a node's own monotonic clock, in nanoseconds; it means nothing to another process.
package struct Tick: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }
    package static let zero = Tick(rawValue: 0)
    package static let never = Tick(rawValue: .max)
    /// So many milliseconds in nanoseconds, which is what the difference of two ticks has.
    package static func milliseconds(_ count: Int64) -> Int64 { count * 1_000_000 }
    package func advanced(byMilliseconds count: Int64) -> Tick { Tick(rawValue: rawValue + count * 1_000_000) }
    package func advanced(byMicroseconds count: Int64) -> Tick { Tick(rawValue: rawValue + count * 1_000) }
    package static func < (left: Tick, right: Tick) -> Bool { left.rawValue < right.rawValue }
    /// Nanoseconds from `right` to `left`.
    package static func - (left: Tick, right: Tick) -> Int64 { left.rawValue - right.rawValue }
}
