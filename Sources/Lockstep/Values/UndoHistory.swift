import HashTreeCollections

/// What was recorded before a change: see ``UndoHistory``.
public struct UndoRecord<Value> {
    /// What changed the value, in words for a user.
    public var name: String
    /// When, by the time of the log.
    public var time: LogTime
    /// The value before the change.
    public var value: Value

    /// Makes a record.
    public init(name: String, time: LogTime, value: Value) {
        self.name = name
        self.time = time
        self.value = value
    }
}

extension UndoRecord: Sendable where Value: Sendable {}
extension UndoRecord: Equatable where Value: Equatable {}
extension UndoRecord: Hashable where Value: Hashable {}
extension UndoRecord: Encodable where Value: Encodable {}
extension UndoRecord: Decodable where Value: Decodable {}

/// The last values of a part of the state, to go back to: a bounded list inside the replicated state.
///
/// Undo is a mutation as any other: the reducer records the value before it changes it, and for the mutation that
/// undoes, it takes the last record out and puts its value back. The log is never rewritten.
///
/// ```swift
/// static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
///     switch mutation {
///     case .set(let value):
///         state.history.record("set", at: context.time, before: state.value)
///         state.value = value
///     case .undo:
///         if let value = state.history.undo() { state.value = value }
///     case .clear:
///         state.history.clear()
///     }
/// }
/// ```
///
/// A copy costs constant time, and ``record(_:at:before:)`` and ``undo()`` cost O(log n). A snapshot of the state has
/// every record in full, so record a small part of the state, or few.
public struct UndoHistory<Value: Codable & Sendable>: Sendable {
    /// The most records that are kept, at least 1; one more drops the oldest.
    public let limit: Int
    /// How many records were dropped since the history was made or cleared, because there were too many.
    public private(set) var dropped: UInt64 = 0
    // Record i has the key `dropped + i`.
    private var kept: TreeDictionary<UInt64, Kept> = [:]
    private var sum = Digest.zero

    private struct Kept: Sendable {
        var record: UndoRecord<Value>
        var digest: Digest
    }

    /// Makes an empty history.
    ///
    /// - Parameter limit: The most records that are kept; less than 1 counts as 1. It must be the same on all nodes.
    public init(limit: Int) { self.limit = max(1, limit) }

    /// How many records there are; constant time.
    public var count: Int { kept.count }

    /// Whether there is nothing to undo; constant time.
    public var isEmpty: Bool { kept.isEmpty }

    /// The last record, which is the next to be undone: O(log n).
    public var last: UndoRecord<Value>? { isEmpty ? nil : kept[end - 1]?.record }

    /// All records, the oldest first: O(n).
    public var records: [UndoRecord<Value>] { (dropped..<end).compactMap { kept[$0]?.record } }

    private var end: UInt64 { dropped + UInt64(kept.count) }

    /// Adds a record, and drops the oldest one if there are too many.
    ///
    /// - Parameters:
    ///   - name: What is about to change the value, in words for a user.
    ///   - time: The time of the entry that changes it.
    ///   - value: The value before the change.
    public mutating func record(_ name: String, at time: LogTime, before value: Value) {
        append(UndoRecord(name: name, time: time, value: value))
    }

    /// Takes the last record out and returns its value; `nil` if there is none.
    public mutating func undo() -> Value? {
        guard !isEmpty, let last = kept.removeValue(forKey: end - 1) else { return nil }
        sum = sum - last.digest
        return last.record.value
    }

    /// Takes all records out; constant time.
    public mutating func clear() { self = Self(limit: limit) }

    private mutating func append(_ record: UndoRecord<Value>) {
        let place = end
        let content = Digest.pair(
            .pair(record.name.contentDigest, record.time.contentDigest), StateDigest.shortDigest(of: record.value))
        let digest = Digest.pair(.pair(.undoMark, place.contentDigest), content)
        kept.updateValue(Kept(record: record, digest: digest), forKey: place)
        sum = sum + digest
        guard kept.count > limit, let oldest = kept.removeValue(forKey: dropped) else { return }
        sum = sum - oldest.digest
        dropped += 1
    }
}

extension UndoHistory: Digestible {
    /// `pair(pair(limit, dropped), sum)`, kept up to date by each write; constant time.
    ///
    /// The sum has `pair(pair("undo", n), pair(pair(name, time), value))` for each record, where n is the number of
    /// records before it, with those that were dropped, and the value stands for its digest.
    public var contentDigest: Digest { .pair(.pair(limit.contentDigest, dropped.contentDigest), sum) }
}

extension UndoHistory: Equatable where Value: Equatable {
    /// Whether both have the same limit and records and have dropped as many: O(n).
    public static func == (left: Self, right: Self) -> Bool {
        left.limit == right.limit && left.dropped == right.dropped && left.sum == right.sum
            && left.records == right.records
    }
}

extension UndoHistory: Hashable where Value: Hashable {
    /// Takes the limit and all records: O(n).
    public func hash(into hasher: inout Hasher) {
        hasher.combine(limit)
        hasher.combine(records)
    }
}

extension UndoHistory: Codable {
    private enum CodingKeys: String, CodingKey {
        case limit, dropped, records
    }

    /// Encodes `limit`, `dropped` and the `records`, the oldest first.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(limit, forKey: .limit)
        try container.encode(dropped, forKey: .dropped)
        try container.encode(records, forKey: .records)
    }

    /// Decodes what `encode(to:)` wrote; refuses more records than the limit, and a limit below 1.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let limit = try container.decode(Int.self, forKey: .limit)
        let dropped = try container.decode(UInt64.self, forKey: .dropped)
        let records = try container.decode([UndoRecord<Value>].self, forKey: .records)
        guard let history = Self(limit: limit, dropped: dropped, records: records) else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "no possible history"))
        }
        self = history
    }

    private init?(limit: Int, dropped: UInt64, records: [UndoRecord<Value>]) {
        // The numbers of the records must have room.
        guard limit >= 1, records.count <= limit, dropped < .max / 2 else { return nil }
        self.init(limit: limit)
        self.dropped = dropped
        for record in records { append(record) }
    }
}

extension UndoHistory: WireCodable where Value: WireCodable {
    /// The limit, the number of dropped ones, the number of records, then each name, time and value.
    public func encode(into writer: inout ByteWriter) {
        limit.encode(into: &writer)
        dropped.encode(into: &writer)
        writer.writeVarint(UInt64(count))
        for record in records {
            record.name.encode(into: &writer)
            record.time.encode(into: &writer)
            record.value.encode(into: &writer)
        }
    }

    /// Reads what `encode(into:)` wrote; refuses more records than the limit, and a limit below 1.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        let limit = try Int(from: bytes, &reader)
        let dropped = try UInt64(from: bytes, &reader)
        var records: [UndoRecord<Value>] = []
        for _ in 0..<(try reader.readCount(from: bytes)) {
            let name = try String(from: bytes, &reader)
            let time = try LogTime(from: bytes, &reader)
            records.append(UndoRecord(name: name, time: time, value: try Value(from: bytes, &reader)))
        }
        guard let history = Self(limit: limit, dropped: dropped, records: records) else {
            throw WireError(.outOfRange, at: start)
        }
        self = history
    }
}
