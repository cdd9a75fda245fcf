public import HashTreeCollections

/// A map in replicated state whose entries may have a deadline, by the time of the log.
///
/// Reading takes the time at which it reads, so an entry is gone from its deadline on, for everybody at the same place
/// of the log, although it still takes up room until somebody removes it. Whoever does that asks ``next`` for how long
/// to wait and ``expired(at:limit:)`` for what to remove, and logs a mutation for which the reducer calls
/// ``removeExpired(_:at:)``; an entry that was refreshed meanwhile stays.
///
/// A copy costs constant time; everything else costs O(log n) unless it says otherwise. Keys are told apart by `==`.
public struct ExpiringMap<Key: Hashable & Comparable & Codable & Sendable, Value: Codable & Sendable>: Sendable {
    @usableFromInline var table = DeadlineTable<Key, Value>()

    /// An entry of the map; without a deadline it stays until it is removed.
    public typealias Element = (key: Key, value: Value, deadline: LogTime?)

    /// Makes an empty map.
    @inlinable
    public init() {}

    /// How many entries there are, with those that have expired and are not removed yet; constant time.
    @inlinable
    public var count: Int { table.count }

    /// Whether there is no entry at all; constant time.
    @inlinable
    public var isEmpty: Bool { table.count == 0 }

    /// How many entries have not expired at `time`: O(log² n).
    @inlinable
    public func count(at time: LogTime) -> Int { table.count - table.dueCount(at: time) }

    /// The earliest deadline.
    @inlinable
    public var next: LogTime? { table.next }

    /// The value of `key`, or `nil` if there is none or if its deadline is not after `time`.
    @inlinable
    public subscript(key: Key, at time: LogTime) -> Value? {
        guard let entry = table.entries[key], !isExpired(entry.deadline, at: time) else { return nil }
        return entry.value
    }

    /// The deadline of `key`'s entry, expired or not; `nil` if it has none or there is no entry.
    @inlinable
    public func deadline(of key: Key) -> LogTime? { table.entries[key]?.deadline }

    /// Puts a value in, in place of the one that is there; it is gone from `deadline` on, or never.
    @inlinable
    public mutating func set(_ value: Value, forKey key: Key, expiresAt deadline: LogTime? = nil) {
        table.set(value, for: key, deadline: deadline)
    }

    /// Gives an entry another deadline, or none; `time` is the time of the log now.
    ///
    /// What has expired is gone and cannot be refreshed.
    ///
    /// - Returns: Whether there was an entry.
    @inlinable
    @discardableResult
    public mutating func touch(_ key: Key, expiresAt deadline: LogTime?, at time: LogTime) -> Bool {
        guard let value = self[key, at: time] else { return false }
        table.set(value, for: key, deadline: deadline)
        return true
    }

    /// Takes an entry out, expired or not, and returns its value.
    @inlinable
    @discardableResult
    public mutating func remove(_ key: Key) -> Value? { table.remove(key)?.value }

    /// Takes everything out; constant time.
    @inlinable
    public mutating func removeAll() { table = DeadlineTable() }

    /// The keys of what has expired, in the order of the deadlines, and of the keys where these are equal.
    ///
    /// There are at most `limit`, so that a crowd is not one large piece of work.
    @inlinable
    public func expired(at time: LogTime, limit: Int) -> [Key] { table.due(at: time, limit: limit).map(\.key) }

    /// Takes out those of `keys` that have expired at `time`; others, such as one that was refreshed, stay.
    ///
    /// - Returns: How many were taken out.
    @inlinable
    @discardableResult
    public mutating func removeExpired(_ keys: some Sequence<Key>, at time: LogTime) -> Int {
        var removed = 0
        for key in keys where table.entries[key].map({ isExpired($0.deadline, at: time) }) == true {
            table.remove(key)
            removed += 1
        }
        return removed
    }

    /// All entries in the order of their keys, with those that have expired: O(n log n).
    @inlinable
    public func sorted() -> [Element] {
        table.entries.map { ($0.key, $0.value.value, $0.value.deadline) }.sorted { $0.0 < $1.0 }
    }

    /// The entries that have not expired at `time`, in the order of their keys: O(n log n).
    @inlinable
    public func sorted(at time: LogTime) -> [Element] { sorted().filter { !isExpired($0.deadline, at: time) } }

    @inlinable
    func isExpired(_ deadline: LogTime?, at time: LogTime) -> Bool { deadline.map { $0 <= time } ?? false }
}

extension ExpiringMap {
    /// Whether the table keeps its invariants, for tests.
    package func brokenInvariant() -> String? { table.brokenInvariant() }
}

extension ExpiringMap: Digestible {
    /// The sum over all entries with their deadlines, kept up to date by each write; constant time.
    ///
    /// An entry adds `pair(pair("key", key), pair(deadline, value))`, where the deadline is an optional number and key and
    /// value stand for their digests (``StateDigest/digest(of:)``).
    public var contentDigest: Digest { table.sum }
}

extension ExpiringMap: Equatable where Value: Equatable {
    /// Whether both have the same entries, expired or not: constant time if their digests differ, else O(n).
    public static func == (left: Self, right: Self) -> Bool { left.table.isEqual(to: right.table, by: ==) }
}

extension ExpiringMap: Hashable where Value: Hashable {
    /// Takes the number of entries and the deadlines with their keys: O(n).
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        table.order.forEach { due in
            hasher.combine(due.key)
            hasher.combine(due.deadline)
            return true
        }
    }
}

/// An entry as it is encoded.
private struct ExpiringRecord<Key: Codable, Value: Codable>: Codable {
    var key: Key
    var value: Value
    var deadline: LogTime?
}

extension ExpiringMap: Codable {
    /// Encodes a list of the entries with `key`, `value` and, if there is one, `deadline`, in the order of the keys.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for entry in sorted() {
            try container.encode(ExpiringRecord(key: entry.key, value: entry.value, deadline: entry.deadline))
        }
    }

    /// Decodes a list; a key that comes twice is refused.
    public init(from decoder: any Decoder) throws {
        self.init()
        var container = try decoder.unkeyedContainer()
        while !container.isAtEnd {
            let entry = try container.decode(ExpiringRecord<Key, Value>.self)
            guard table.set(entry.value, for: entry.key, deadline: entry.deadline) == nil else {
                throw repeatedKey(decoder)
            }
        }
    }
}

extension ExpiringMap: WireCodable where Key: WireCodable, Value: WireCodable {
    /// The number of entries as a varint, then each key, value and deadline, in no order that has a meaning.
    public func encode(into writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for (key, entry) in table.entries {
            key.encode(into: &writer)
            entry.value.encode(into: &writer)
            entry.deadline.encode(into: &writer)
        }
    }

    /// Reads a number and that many entries; a key that comes twice is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init()
        for _ in 0..<(try reader.readCount(from: bytes)) {
            let start = reader.offset
            let key = try Key(from: bytes, &reader)
            let value = try Value(from: bytes, &reader)
            guard table.set(value, for: key, deadline: try LogTime?(from: bytes, &reader)) == nil else {
                throw WireError(.outOfRange, at: start)
            }
        }
    }
}

extension ExpiringMap: CustomStringConvertible {
    /// The entries in the order of their keys, with their deadlines.
    public var description: String {
        let entries = sorted().map { "\($0.key): \($0.value)" + ($0.deadline.map { " until \($0)" } ?? "") }
        return entries.isEmpty ? "[:]" : "[" + entries.joined(separator: ", ") + "]"
    }
}
