public import HashTreeCollections

/// Timers as a part of the replicated state: they survive a restart, and each fires once, by the time of the log.
///
/// A reducer schedules and cancels them. Whoever is to act on them asks ``next`` for how long to wait, ``due(at:limit:)``
/// for what is to be done, and logs a mutation for which the reducer calls ``fired(_:deadline:)``: if it returns true,
/// the timer was still there and the reducer does what the timer is for; else it was cancelled or put off meanwhile,
/// and nothing happens.
///
/// A copy costs constant time; everything else costs O(log n) unless it says otherwise. It is part of the digest,
/// whatever the order in which the timers were set. IDs are told apart by `==`.
public struct Timers<ID: Hashable & Comparable & Codable & Sendable, Payload: Codable & Sendable>: Sendable {
    @usableFromInline var table = DeadlineTable<ID, Payload>()

    /// A timer that is due, or will be.
    public typealias Element = (id: ID, deadline: LogTime, payload: Payload)

    /// Makes no timers.
    @inlinable
    public init() {}

    /// How many timers there are; constant time.
    @inlinable
    public var count: Int { table.count }

    /// Whether there are none; constant time.
    @inlinable
    public var isEmpty: Bool { table.count == 0 }

    /// The earliest deadline.
    @inlinable
    public var next: LogTime? { table.next }

    /// Sets a timer, in place of the one of the same id if there is one.
    ///
    /// - Parameters:
    ///   - id: The name of the timer among these timers.
    ///   - deadline: When it is due; a time that has passed is due at once.
    ///   - payload: What the timer is for.
    /// - Returns: The deadline of the timer that was replaced.
    @inlinable
    @discardableResult
    public mutating func schedule(_ id: ID, at deadline: LogTime, _ payload: Payload) -> LogTime? {
        table.set(payload, for: id, deadline: deadline)?.deadline
    }

    /// Takes a timer away; without effect if there is none.
    ///
    /// - Returns: Whether there was one.
    @inlinable
    @discardableResult
    public mutating func cancel(_ id: ID) -> Bool { table.remove(id) != nil }

    /// Takes all timers away; constant time.
    @inlinable
    public mutating func cancelAll() { table = DeadlineTable() }

    /// Takes away the timer of that id and deadline, which has fired.
    ///
    /// - Returns: Whether it was there; false if it was cancelled, set to another time, or has fired already, and then
    ///   nothing is changed.
    @inlinable
    @discardableResult
    public mutating func fired(_ id: ID, deadline: LogTime) -> Bool {
        guard table.entries[id]?.deadline == deadline else { return false }
        return table.remove(id) != nil
    }

    /// The timers that are due at a time of the log: a timer is due from its deadline on.
    ///
    /// They come in the order of their deadlines, and of their ids where these are equal; at most `limit` of them, so
    /// that a crowd of timers is not one large piece of work.
    @inlinable
    public func due(at time: LogTime, limit: Int) -> [Element] {
        table.due(at: time, limit: limit).compactMap { due in
            table.entries[due.key].map { (due.key, due.deadline, $0.value) }
        }
    }

    /// When the timer is due, and what it is for; `nil` if there is none.
    @inlinable
    public subscript(id: ID) -> (deadline: LogTime, payload: Payload)? {
        guard let entry = table.entries[id], let deadline = entry.deadline else { return nil }
        return (deadline, entry.value)
    }

    /// All timers in the order in which they are due: O(n).
    @inlinable
    public func sorted() -> [Element] { due(at: LogTime(rawValue: .max), limit: .max) }
}

extension Timers {
    /// Whether the table keeps its invariants, for tests.
    package func brokenInvariant() -> String? { table.brokenInvariant() }
}

extension Timers: Digestible {
    /// The sum over all timers, kept up to date by each write; constant time.
    ///
    /// A timer adds `pair(pair("key", id), pair(deadline, payload))`, where the deadline is an optional number and id and
    /// payload stand for their digests (``StateDigest/digest(of:)``).
    public var contentDigest: Digest { table.sum }
}

extension Timers: Equatable where Payload: Equatable {
    /// Whether both have the same timers: constant time if their digests differ, else O(n).
    public static func == (left: Self, right: Self) -> Bool { left.table.isEqual(to: right.table, by: ==) }
}

extension Timers: Hashable where Payload: Hashable {
    /// Takes the number of timers, their ids and their deadlines: O(n).
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        table.order.forEach { due in
            hasher.combine(due.key)
            hasher.combine(due.deadline)
            return true
        }
    }
}

/// A timer as it is encoded.
private struct TimerRecord<ID: Codable, Payload: Codable>: Codable {
    var id: ID
    var deadline: LogTime
    var payload: Payload
}

extension Timers: Codable {
    /// Encodes a list of the timers with `id`, `deadline` and `payload`, in the order in which they are due.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for timer in sorted() {
            try container.encode(TimerRecord(id: timer.id, deadline: timer.deadline, payload: timer.payload))
        }
    }

    /// Decodes a list; an id that comes twice is refused.
    public init(from decoder: any Decoder) throws {
        self.init()
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd {
            let timer = try container.decode(TimerRecord<ID, Payload>.self)
            guard schedule(timer.id, at: timer.deadline, timer.payload) == nil else { throw repeatedKey(decoder) }
        }
    }
}

extension Timers: WireCodable where ID: WireCodable, Payload: WireCodable {
    /// The number of timers as a varint, then each id, deadline and payload, in the order in which they are due.
    public func encode(into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for timer in sorted() {
            timer.id.encode(into: &writer)
            timer.deadline.encode(into: &writer)
            timer.payload.encode(into: &writer)
        }
    }

    /// Reads a number and that many timers; an id that comes twice is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init()
        for _ in 0..<(try reader.readCount(from: bytes)) {
            let start = reader.offset
            let id = try ID(from: bytes, &reader)
            let deadline = try LogTime(from: bytes, &reader)
            guard schedule(id, at: deadline, try Payload(from: bytes, &reader)) == nil else {
                throw WireError(.outOfRange, at: start)
            }
        }
    }
}

extension Timers: CustomStringConvertible {
    /// The timers in the order in which they are due.
    public var description: String {
        "[" + sorted().map { "\($0.id) at \($0.deadline): \($0.payload)" }.joined(separator: ", ") + "]"
    }
}
