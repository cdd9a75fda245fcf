public import Lockstep

// The bytes of the counters' types: a byte for the case, then its values in order. The numbers of the cases are the
// format of the log; a new case takes a new number. An addition to a counter with a short name takes about 14 bytes.

extension Counters.Action: WireCodable {
    /// Writes the case's number and its values.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .add(let name, let amount): writer.writeCase(1, name, amount)
        case .set(let name, let value): writer.writeCase(2, name, value)
        case .reset(let name): writer.writeCase(3, name)
        case .bound(let name, let bounds): writer.writeCase(4, name, bounds)
        case .unbound(let name): writer.writeCase(5, name)
        case .defineBucket(let name, let rate): writer.writeCase(6, name, rate)
        case .removeBucket(let name): writer.writeCase(7, name)
        case .take(let name, let count): writer.writeCase(8, name, count)
        }
    }

    /// Reads a case's number and its values; an unknown number is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let kind = try reader.read(UInt8.self, from: bytes)
        guard (1...8).contains(kind) else { throw WireError(.unknownKind, at: reader.offset - 1) }
        let name = try String(from: bytes, &reader)
        switch kind {
        case 1: self = .add(name, by: try Int64(from: bytes, &reader))
        case 2: self = .set(name, to: try Int64(from: bytes, &reader))
        case 3: self = .reset(name)
        case 4: self = .bound(name, try Counters.Bounds(from: bytes, &reader))
        case 5: self = .unbound(name)
        case 6: self = .defineBucket(name, try TokenBucket.Rate(from: bytes, &reader))
        case 7: self = .removeBucket(name)
        default: self = .take(name, try Int64(from: bytes, &reader))
        }
    }
}

extension Counters.Mutation: WireCodable {
    /// Writes the case's number and its values.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .added(let name, let amount): writer.writeCase(1, name, amount)
        case .set(let name, let value): writer.writeCase(2, name, value)
        case .removed(let name): writer.writeCase(3, name)
        case .bounded(let name, let bounds): writer.writeCase(4, name, bounds)
        case .bucket(let name, let bucket): writer.writeCase(5, name, bucket)
        case .taken(let name, let level): writer.writeCase(6, name, level)
        }
    }

    /// Reads a case's number and its values; an unknown number is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let kind = try reader.read(UInt8.self, from: bytes)
        guard (1...6).contains(kind) else { throw WireError(.unknownKind, at: reader.offset - 1) }
        let name = try String(from: bytes, &reader)
        switch kind {
        case 1: self = .added(name, try Int64(from: bytes, &reader))
        case 2: self = .set(name, try Int64(from: bytes, &reader))
        case 3: self = .removed(name)
        case 4: self = .bounded(name, try Counters.Bounds?(from: bytes, &reader))
        case 5: self = .bucket(name, try TokenBucket?(from: bytes, &reader))
        default: self = .taken(name, level: try Int64(from: bytes, &reader))
        }
    }
}

extension Counters.Reply: WireCodable {
    /// Writes the case's number and its value.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .value(let value): writer.writeCase(1, value)
        case .granted(let remaining): writer.writeCase(2, remaining)
        case .denied(let until): writer.writeCase(3, until)
        case .done: writer.write(UInt8(4))
        }
    }

    /// Reads a case's number and its value; an unknown number is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        switch try reader.read(UInt8.self, from: bytes) {
        case 1: self = .value(try Int64(from: bytes, &reader))
        case 2: self = .granted(remaining: try Int64(from: bytes, &reader))
        case 3: self = .denied(until: try LogTime(from: bytes, &reader))
        case 4: self = .done
        default: throw WireError(.unknownKind, at: reader.offset - 1)
        }
    }
}

extension Counters.Query: WireCodable {
    /// Writes the case's number and its values.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .get(let name): writer.writeCase(1, name)
        case .list(let prefix, let limit): writer.writeCase(2, prefix, limit)
        case .top(let limit): writer.writeCase(3, limit)
        case .sum(let prefix): writer.writeCase(4, prefix)
        }
    }

    /// Reads a case's number and its values; an unknown number is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        switch try reader.read(UInt8.self, from: bytes) {
        case 1: self = .get(try String(from: bytes, &reader))
        case 2: self = .list(prefix: try String(from: bytes, &reader), limit: try Int(from: bytes, &reader))
        case 3: self = .top(try Int(from: bytes, &reader))
        case 4: self = .sum(prefix: try String(from: bytes, &reader))
        default: throw WireError(.unknownKind, at: reader.offset - 1)
        }
    }
}

extension Counters.Answer: WireCodable {
    /// Writes the case's number and its value.
    public func encode(into writer: inout ByteWriter) {
        switch self {
        case .value(let value): writer.writeCase(1, value)
        case .list(let counters): writer.writeCase(2, counters)
        }
    }

    /// Reads a case's number and its value; an unknown number is refused.
    public init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        switch try reader.read(UInt8.self, from: bytes) {
        case 1: self = .value(try Int64?(from: bytes, &reader))
        case 2: self = .list(try [Counters.Counter](from: bytes, &reader))
        default: throw WireError(.unknownKind, at: reader.offset - 1)
        }
    }
}

extension ByteWriter {
    fileprivate mutating func writeCase<each Value: WireCodable>(_ kind: UInt8, _ values: repeat each Value) {
        write(kind)
        repeat (each values).encode(into: &self)
    }
}
