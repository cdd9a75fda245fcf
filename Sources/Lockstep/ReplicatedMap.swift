public import HashTreeCollections

/// A map for replicated state: cheap to keep a copy of, with a digest that each write brings up to date.
///
/// It is a persistent hash tree: a copy costs constant time and is never changed by later writes, which copy the path
/// to what they change (about 0.5 us each, until every path has been copied once). A plain `Dictionary` that a reader
/// holds is copied whole by the next write.
///
/// Its elements come out in the order of the keys only (``sorted()``, ``forEachSorted(_:)``), because the order in
/// which they are stored is another in every process, and a reducer that follows it makes replicas differ. Putting
/// them in order costs O(n log n) at each call.
///
/// Keys are compared with `==`. For texts this is canonical equivalence, so "é" as one scalar or as two is one key;
/// the form that came first is kept, on all nodes.
public struct ReplicatedMap<Key: ReplicatedKey, Value: Digestible> {
    @usableFromInline var tree: TreeDictionary<Key, Value>
    @usableFromInline var sum: Digest

    /// Makes an empty map.
    @inlinable
    public init() {
        tree = [:]
        sum = .zero
    }

    /// How many pairs there are.
    @inlinable
    public var count: Int { tree.count }

    /// Whether there are none.
    @inlinable
    public var isEmpty: Bool { tree.isEmpty }

    /// The sum of `pair(keyDigest, contentDigest)` over all pairs; constant time.
    @inlinable
    public var digest: Digest { sum }

    /// The value of `key`, or `nil`; setting `nil` removes it.
    ///
    /// Setting is one descent of the tree; changing the value in place (`map[key]?.append(1)`) is two.
    @inlinable
    public subscript(key: Key) -> Value? {
        get { tree[key] }
        set {
            if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
        }
        _modify {
            // Taken out while it is changed, so that a value which is copied on write is not shared with the tree.
            var value = removeValue(forKey: key)
            defer { if let value { updateValue(value, forKey: key) } }
            yield &value
        }
    }

    /// The value of `key`, or `defaultValue`; changing it puts it in.
    ///
    /// A change is two descents of the tree; ``updateValue(forKey:default:with:)`` is one.
    @inlinable
    public subscript(key: Key, default defaultValue: @autoclosure () -> Value) -> Value {
        get { tree[key] ?? defaultValue() }
        _modify {
            // The default stands in for the value while it is changed, so that the tree does not share it.
            let keyDigest = key.keyDigest
            let oldCount = tree.count
            var value = defaultValue()
            tree.updateValue(forKey: key, default: value) { swap(&$0, &value) }
            if tree.count == oldCount { sum = sum - .pair(keyDigest, value.contentDigest) }
            defer {
                sum = sum + .pair(keyDigest, value.contentDigest)
                tree.updateValue(value, forKey: key)
            }
            yield &value
        }
    }

    /// Puts a value in and returns the one that it replaces.
    @inlinable
    @discardableResult
    public mutating func updateValue(_ value: Value, forKey key: Key) -> Value? {
        let keyDigest = key.keyDigest
        sum = sum + .pair(keyDigest, value.contentDigest)
        guard let old = tree.updateValue(value, forKey: key) else { return nil }
        sum = sum - .pair(keyDigest, old.contentDigest)
        return old
    }

    /// Changes the value of `key` in place, or `defaultValue` if there is none, which it puts in: one descent.
    ///
    /// What `body` has changed stays if it throws.
    @inlinable
    public mutating func updateValue<Result>(
        forKey key: Key, default defaultValue: @autoclosure () -> Value, with body: (inout Value) throws -> Result
    ) rethrows -> Result {
        let keyDigest = key.keyDigest
        let oldCount = tree.count
        var old = Digest.zero
        var new = Digest.zero
        defer { sum = sum + new - (tree.count == oldCount ? old : .zero) }
        return try tree.updateValue(forKey: key, default: defaultValue()) { value in
            old = .pair(keyDigest, value.contentDigest)
            defer { new = .pair(keyDigest, value.contentDigest) }
            return try body(&value)
        }
    }

    /// Takes a pair out and returns its value, or `nil` if there is none.
    @inlinable
    @discardableResult
    public mutating func removeValue(forKey key: Key) -> Value? {
        guard let old = tree.removeValue(forKey: key) else { return nil }
        sum = sum - .pair(key.keyDigest, old.contentDigest)
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
    public static func == (left: Self, right: Self) -> Bool { left.sum == right.sum && left.tree == right.tree }
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
