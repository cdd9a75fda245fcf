public import Lockstep

extension Counters.Counter: WireCodable {
    /// Writes name and value.
    public func encode(into writer: inout ByteWriter) {
        name.encode(into: &writer)
        value.encode(into: &writer)
    }

    /// Reads name and value.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        name = try String(from: bytes, &reader)
        value = try Int64(from: bytes, &reader)
    }
}

extension Counters.Bounds: WireCodable {
    /// Writes the lowest and the highest value.
    public func encode(into writer: inout ByteWriter) {
        lowest.encode(into: &writer)
        highest.encode(into: &writer)
    }

    /// Reads the lowest and the highest value.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        lowest = try Int64(from: bytes, &reader)
        highest = try Int64(from: bytes, &reader)
    }
}

extension TokenBucket.Rate: WireCodable {
    /// Writes capacity, refill and period.
    public func encode(into writer: inout ByteWriter) {
        capacity.encode(into: &writer)
        refill.encode(into: &writer)
        period.encode(into: &writer)
    }

    /// Reads capacity, refill and period; whether they make sense is decided with the action.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        capacity = try Int64(from: bytes, &reader)
        refill = try Int64(from: bytes, &reader)
        period = try Int64(from: bytes, &reader)
    }
}

extension TokenBucket: WireCodable {
    /// Writes rate, level and time.
    public func encode(into writer: inout ByteWriter) {
        rate.encode(into: &writer)
        level.encode(into: &writer)
        updated.encode(into: &writer)
    }

    /// Reads rate, level and time; refuses a rate that no bucket can have.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        let rate = try Rate(from: bytes, &reader)
        let level = try Int64(from: bytes, &reader)
        let updated = try LogTime(from: bytes, &reader)
        guard rate.isValid, level >= 0 else { throw WireError(.outOfRange, at: start) }
        self.init(rate: rate, level: level, updated: updated)
    }
}

extension Counters.State: WireCodable {
    /// Writes the counters, the bounds and the buckets.
    public func encode(into writer: inout ByteWriter) {
        values.encode(into: &writer)
        bounds.encode(into: &writer)
        buckets.encode(into: &writer)
    }

    /// Reads the counters, the bounds and the buckets.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init()
        values = try ReplicatedMap(from: bytes, &reader)
        bounds = try ReplicatedMap(from: bytes, &reader)
        buckets = try ReplicatedMap(from: bytes, &reader)
    }
}
