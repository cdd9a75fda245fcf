// Everything here gives the same result whatever order the table has.

extension ReplicatedMap {
    /// A pair of the map.
    public typealias Element = (key: Key, value: Value)

    /// All pairs in the order of their keys: O(n log n).
    @inlinable
    public func sorted() -> [Element] { table.sorted { $0.key < $1.key } }

    /// Calls `body` for each pair, in the order of the keys: O(n log n).
    @inlinable
    public func forEachSorted(_ body: (Key, Value) throws -> Void) rethrows {
        for (key, value) in sorted() { try body(key, value) }
    }

    /// The first `limit` pairs, in the order of the keys, that `isIncluded` takes: O(n), and the cost of ordering them.
    ///
    /// `isIncluded` is called for every pair, in no particular order.
    @inlinable
    public func first(_ limit: Int, where isIncluded: (Key, Value) throws -> Bool = { _, _ in true }) rethrows
        -> [Element]
    {
        try first(limit, where: isIncluded) { $0.key < $1.key }
    }

    /// The `limit` pairs with the greatest values, the greatest first; equal values in the order of their keys: O(n).
    ///
    /// Values that are not equal to themselves, such as a NaN, are the smallest.
    @inlinable
    public func greatest(_ limit: Int) -> [Element] where Value: Comparable {
        first(limit, where: { _, _ in true }) { left, right in
            let isOrdered = (left: left.value == left.value, right: right.value == right.value)
            if isOrdered.left, isOrdered.right, left.value != right.value { return left.value > right.value }
            return isOrdered.left == isOrdered.right ? left.key < right.key : isOrdered.left
        }
    }

    /// The sum of what `amount` says of each pair, which must fit into 128 bits: O(n).
    @inlinable
    public func total(_ amount: (Key, Value) throws -> Int64) rethrows -> Int128 {
        var total: Int128 = 0
        for (key, value) in table { total += Int128(try amount(key, value)) }
        return total
    }

    /// Keeps at most twice as many pairs as are wanted, so a short list out of a large map needs little memory.
    @inlinable
    func first(
        _ limit: Int, where isIncluded: (Key, Value) throws -> Bool, by isBefore: (Element, Element) -> Bool
    ) rethrows -> [Element] {
        guard limit > 0 else { return [] }
        var kept: [Element] = []
        var last: Element?
        for element in table where try isIncluded(element.key, element.value) {
            if let last, !isBefore(element, last) { continue }
            kept.append(element)
            guard kept.count >= 2 * max(min(limit, count), 64) else { continue }
            kept.sort(by: isBefore)
            kept.removeLast(max(0, kept.count - limit))
            last = kept.count == limit ? kept.last : nil
        }
        kept.sort(by: isBefore)
        return Array(kept.prefix(limit))
    }
}

extension ReplicatedMap where Key == String {
    /// The pairs whose keys begin with `prefix`, byte for byte, in the order of the keys; at most `limit`: O(n).
    @inlinable
    public func prefix(_ prefix: String, limit: Int = .max) -> [Element] {
        let prefix = Array(prefix.utf8)
        return first(limit) { key, _ in key.utf8.starts(with: prefix) }
    }
}

extension ReplicatedMap: CustomStringConvertible {
    /// The pairs in the order of their keys.
    public var description: String {
        isEmpty ? "[:]" : "[" + sorted().map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]"
    }
}
