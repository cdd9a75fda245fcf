public import HashTreeCollections

/// A deadline and whose it is; earlier ones first, equal ones in the order of their keys.
@usableFromInline
struct Due<Key: Comparable>: Comparable {
    @usableFromInline var deadline: LogTime
    @usableFromInline var key: Key

    @inlinable
    init(deadline: LogTime, key: Key) {
        self.deadline = deadline
        self.key = key
    }

    @inlinable
    static func == (left: Self, right: Self) -> Bool {
        left.deadline.rawValue == right.deadline.rawValue && left.key == right.key
    }

    @inlinable
    static func < (left: Self, right: Self) -> Bool {
        let (first, second) = (left.deadline.rawValue, right.deadline.rawValue)
        return first == second ? left.key < right.key : first < second
    }
}

extension Due: Sendable where Key: Sendable {}

/// A map whose entries may have deadlines, found by key and in the order of their deadlines: under ``Timers`` and
/// ``ExpiringMap``.
///
/// Both trees are persistent: a copy costs constant time and a write O(log n). Invariant: `order` has the deadline of
/// exactly those entries that have one, and `sum` is the sum of all entries' digests.
@usableFromInline
struct DeadlineTable<Key: Hashable & Comparable & Codable & Sendable, Value: Codable & Sendable>: Sendable {
    @usableFromInline
    struct Entry: Sendable {
        @usableFromInline var value: Value
        @usableFromInline var deadline: LogTime?
        /// What the entry adds to the sum; kept, because it costs a walk over the value.
        @usableFromInline var digest: Digest

        @inlinable
        init(value: Value, deadline: LogTime?, digest: Digest) {
            self.value = value
            self.deadline = deadline
            self.digest = digest
        }
    }

    @usableFromInline var entries: TreeDictionary<Key, Entry> = [:]
    @usableFromInline var order = OrderedTree<Due<Key>>()
    @usableFromInline var sum = Digest.zero

    @inlinable
    init() {}

    @inlinable
    var count: Int { entries.count }

    /// The least deadline.
    @inlinable
    var next: LogTime? { order.first?.deadline }

    /// How many deadlines are at `time` or before it.
    @inlinable
    func dueCount(at time: LogTime) -> Int {
        guard let after = LogTime(following: time) else { return order.count }
        // Every deadline up to `time` is before the first one after it.
        var low = 0
        var high = order.count
        while low < high {
            let middle = (low + high) / 2
            guard let due = order.element(at: middle) else { return low }
            if due.deadline < after { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// At most `limit` of those whose deadline is at `time` or before it.
    @inlinable
    func due(at time: LogTime, limit: Int) -> [Due<Key>] { order.prefix(limit) { $0.deadline <= time } }

    /// Puts an entry in and returns the one that it replaces.
    @inlinable
    @discardableResult
    mutating func set(_ value: Value, for key: Key, deadline: LogTime?) -> Entry? {
        let digest = Self.digest(key, value, deadline)
        let old = remove(key)
        entries.updateValue(Entry(value: value, deadline: deadline, digest: digest), forKey: key)
        if let deadline { order.insert(Due(deadline: deadline, key: key)) }
        sum = sum + digest
        return old
    }

    @inlinable
    @discardableResult
    mutating func remove(_ key: Key) -> Entry? {
        guard let old = entries.removeValue(forKey: key) else { return nil }
        if let deadline = old.deadline { order.remove(Due(deadline: deadline, key: key)) }
        sum = sum - old.digest
        return old
    }

    @inlinable
    static func digest(_ key: Key, _ value: Value, _ deadline: LogTime?) -> Digest {
        .pair(
            .pair(.keyMark, StateDigest.shortDigest(of: key)),
            .pair(deadline.contentDigest, StateDigest.shortDigest(of: value)))
    }

    /// Whether both have the same entries by `areEqual`: constant time if the digests differ.
    @inlinable
    func isEqual(to other: Self, by areEqual: (Value, Value) -> Bool) -> Bool {
        guard sum == other.sum, count == other.count else { return false }
        return entries.allSatisfy { key, entry in
            guard let there = other.entries[key] else { return false }
            return entry.deadline == there.deadline && areEqual(entry.value, there.value)
        }
    }

    /// Whether this table keeps its invariant, for tests.
    func brokenInvariant() -> String? {
        var sum = Digest.zero
        for (key, entry) in entries {
            sum = sum + Self.digest(key, entry.value, entry.deadline)
            if let deadline = entry.deadline {
                let due = Due(deadline: deadline, key: key)
                if order.element(at: order.rank(of: due)) != due { return "a deadline is missing" }
            }
        }
        if order.count != entries.count(where: { $0.value.deadline != nil }) { return "a deadline too many" }
        return sum == self.sum ? order.brokenInvariant() : "a wrong digest"
    }
}

extension LogTime {
    /// The next microsecond, or `nil` at the end of time.
    @inlinable
    init?(following time: LogTime) {
        guard time.rawValue < .max else { return nil }
        self.init(rawValue: time.rawValue + 1)
    }
}

/// An error for bytes that have one key twice.
func repeatedKey(_ decoder: any Decoder) -> DecodingError {
    .dataCorrupted(DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "a key comes twice"))
}
