internal import Lockstep

/// A container whose pairs are found by a text, without a walk over the others.
protocol TextKeyed {
    /// How many pairs there are.
    var pairCount: Int { get }
    /// The value of a key, if there is one.
    func value(ofText key: String) -> (any Encodable)?
    /// The first pairs in the order of their keys.
    func firstPairs(_ limit: Int) -> [(key: String, value: any Encodable)]
}

extension ReplicatedMap: TextKeyed where Key == String, Value: Encodable {
    var pairCount: Int { count }
    func value(ofText key: String) -> (any Encodable)? { self[key] }
    func firstPairs(_ limit: Int) -> [(key: String, value: any Encodable)] {
        let pairs = limit < count ? first(limit, where: { _, _ in true }) : sorted()
        return pairs.map { ($0.key, $0.value) }
    }
}

extension Dictionary: TextKeyed where Key == String, Value: Encodable {
    var pairCount: Int { count }
    func value(ofText key: String) -> (any Encodable)? { self[key] }
    func firstPairs(_ limit: Int) -> [(key: String, value: any Encodable)] {
        sorted { $0.key < $1.key }.prefix(limit).map { ($0.key, $0.value) }
    }
}
