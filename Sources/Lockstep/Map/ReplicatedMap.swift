/// A map for replicated state: cheap to keep a copy of, with a digest that each write brings up to date.
///
/// It is a hash table in parts: a copy costs constant time and is never changed by later writes, which copy the part
/// that they change (about 0.2 us each, until every part has been copied once). A plain `Dictionary` that a reader
/// holds is copied whole by the next write. A look-up and a write cost about what a `Dictionary`'s do.
///
/// Its elements come out in the order of the keys only (``sorted()``, ``forEachSorted(_:)``), because the order in
/// which they are stored is another in every process, and a reducer that follows it makes replicas differ. Putting
/// them in order costs O(n log n) at each call.
///
/// Keys are compared with `==`. For texts this is canonical equivalence, so "é" as one scalar or as two is one key;
/// the form that came first is kept, on all nodes.
public struct ReplicatedMap<Key: ReplicatedKey, Value: Digestible> {
    @usableFromInline var table = PersistentTable<Key, Value>()
    @usableFromInline var sum: Digest

    /// Makes an empty map.
    @inlinable
    public init() { sum = .zero }

    /// How many pairs there are.
    @inlinable
    public var count: Int { table.count }

    /// Whether there are none.
    @inlinable
    public var isEmpty: Bool { table.count == 0 }

    /// The sum of `pair(keyDigest, contentDigest)` over all pairs; constant time.
    @inlinable
    public var digest: Digest { sum }

    /// The value of `key`, or `nil`; setting `nil` removes it.
    ///
    /// Setting is one look-up; changing the value in place (`map[key]?.append(1)`) is two.
    @inlinable
    public subscript(key: Key) -> Value? {
        get { table.place(of: key, key.tableHash).map { table[$0] } }
        set {
            if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
        }
        _modify {
            // Taken out while it is changed, so that a value which is copied on write is not shared with the table.
            var value = removeValue(forKey: key)
            defer { if let value { updateValue(value, forKey: key) } }
            yield &value
        }
    }

    /// The value of `key`, or `defaultValue`; changing it puts it in, with one look-up.
    @inlinable
    public subscript(key: Key, default defaultValue: @autoclosure () -> Value) -> Value {
        get { table.place(of: key, key.tableHash).map { table[$0] } ?? defaultValue() }
        _modify {
            let keyDigest = key.keyDigest
            let place = placeForWriting(key, keyDigest, default: defaultValue())
            // What was changed before an error stays, and the digest is right.
            defer { sum = sum + .pair(keyDigest, table[place].contentDigest) }
            yield &table[place]
        }
    }

    /// The place of a pair, which is put in if it is not there; its part of the sum is taken out.
    @inlinable @inline(__always)
    mutating func placeForWriting(
        _ key: Key, _ keyDigest: Digest, default defaultValue: @autoclosure () -> Value
    ) -> PersistentTable<Key, Value>.Place {
        let hash = key.tableHash(keyDigest)
        guard let place = table.place(of: key, hash) else {
            return table.insert(key, defaultValue(), hash, rehash: { $0.tableHash })
        }
        sum = sum - .pair(keyDigest, table[place].contentDigest)
        return place
    }

    /// Puts a value in and returns the one that it replaces.
    @inlinable
    @discardableResult
    public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
        let keyDigest = key.keyDigest
        let hash = key.tableHash(keyDigest)
        sum = sum + .pair(keyDigest, value.contentDigest)
        guard let place = table.place(of: key, hash) else {
            _ = table.insert(key, value, hash, rehash: { $0.tableHash })
            return nil
        }
        let old = table[place]
        table[place] = value
        sum = sum - .pair(keyDigest, old.contentDigest)
        return old
    }

    /// Changes the value of `key` in place, or `defaultValue` if there is none, which it puts in.
    ///
    /// What `body` has changed stays if it throws.
    @inlinable
    public mutating func updateValue<Result>(
        forKey key: Key, default defaultValue: @autoclosure () -> Value, with body: (inout Value) throws -> Result
    ) rethrows -> Result {
        let keyDigest = key.keyDigest
        let place = placeForWriting(key, keyDigest, default: defaultValue())
        defer { sum = sum + .pair(keyDigest, table[place].contentDigest) }
        return try body(&table[place])
    }

    /// Takes a pair out and returns its value, or `nil` if there is none.
    @inlinable
    @discardableResult
    public mutating func removeValue(forKey key: Key) -> Value? {
        let keyDigest = key.keyDigest
        let hash = key.tableHash(keyDigest)
        guard let place = table.place(of: key, hash) else { return nil }
        let old = table.remove(at: place, hash, rehash: { $0.tableHash })
        sum = sum - .pair(keyDigest, old.contentDigest)
        return old
    }

    /// Takes everything out.
    @inlinable
    public mutating func removeAll() { self = Self() }
}

extension ReplicatedMap: Sendable where Key: Sendable, Value: Sendable {}

extension ReplicatedMap: Digestible {
    /// The ``digest``; constant time.
    @inlinable
    public var contentDigest: Digest { digest }
}

extension ReplicatedMap: Equatable where Value: Equatable {
    /// Whether both hold the same pairs: constant time if one is a copy of the other or their digests differ.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool {
        guard left.sum == right.sum, left.count == right.count else { return false }
        return left.table.isIdentical(to: right.table) || left.table.allSatisfy { right[$0.key] == $0.value }
    }
}

extension ReplicatedMap: ExpressibleByDictionaryLiteral {
    /// Makes a map of the pairs; the last of equal keys stays.
    @inlinable
    public init(dictionaryLiteral elements: (Key, Value)...) { self.init(elements) }

    /// Makes a map of the pairs; the last of equal keys stays.
    @inlinable
    public init(_ elements: some Sequence<(Key, Value)>) {
        self.init()
        for (key, value) in elements { updateValue(value, forKey: key) }
    }
}

extension ReplicatedKey {
    /// The hash by which a table finds the key.
    @inlinable
    var tableHash: UInt64 { tableHash(keyDigest) }

    /// The same, where the key's digest is known already.
    ///
    /// The digest is known to everybody, so it is mixed with a secret of the process: nobody can choose keys whose
    /// hashes are equal.
    @inlinable
    func tableHash(_ keyDigest: @autoclosure () -> Digest) -> UInt64 {
        guard Self.hasFastDigest else { return UInt64(bitPattern: Int64(hashValue)) }
        let digest = keyDigest().rawValue
        let product = (UInt64(truncatingIfNeeded: digest) ^ tableSecret.0)
            .multipliedFullWidth(by: UInt64(truncatingIfNeeded: digest >> 64) ^ tableSecret.1)
        return product.high ^ product.low
    }
}

/// Another one in every process, as the standard library's hashes are.
@usableFromInline let tableSecret = (
    UInt64(bitPattern: Int64("first".hashValue)), UInt64(bitPattern: Int64("second".hashValue))
)
