// The forms of fields that several messages and entries share.

extension ByteReader {
    package mutating func readSession(from bytes: RawSpan) throws(WireError) -> SessionID {
        SessionID(
            epoch: Epoch(rawValue: try readVarint(from: bytes)),
            sequence: SequenceNumber(rawValue: try readVarint(from: bytes)))
    }

    /// A position; its epoch and its sequence number are below 2^63 - 1, so that the next ones exist.
    package mutating func readPosition(from bytes: RawSpan) throws(WireError) -> Position {
        let start = offset
        let position = Position(
            epoch: Epoch(rawValue: try read(from: bytes)), sequence: SequenceNumber(rawValue: try read(from: bytes)),
            hash: BatchHash(rawValue: try read128(from: bytes)))
        guard position.epoch.rawValue < UInt64(Int64.max), position.sequence.rawValue < UInt64(Int64.max) else {
            throw WireError(.outOfRange, at: start)
        }
        return position
    }

    package mutating func readKnownPosition(from bytes: RawSpan) throws(WireError) -> KnownPosition {
        KnownPosition(position: try readPosition(from: bytes), boot: BootID(rawValue: try read128(from: bytes)))
    }

    /// A text of at most ``Limits/nameBytes``: a node's or a store's name.
    package mutating func readName(from bytes: RawSpan) throws(WireError) -> String {
        try readText(from: bytes, limit: Limits.nameBytes)
    }

    package mutating func readText(from bytes: RawSpan, limit: Int = Limits.textBytes) throws(WireError) -> String {
        let start = offset
        let text = try readString(from: bytes)
        guard text.utf8.count <= limit else { throw WireError(.outOfRange, at: start) }
        return text
    }

    package mutating func readBool(from bytes: RawSpan) throws(WireError) -> Bool {
        let start = offset
        switch try read(UInt8.self, from: bytes) {
        case 0: return false
        case 1: return true
        default: throw WireError(.outOfRange, at: start)
        }
    }

    package mutating func readCase<Value: RawRepresentable>(
        _ type: Value.Type, from bytes: RawSpan
    ) throws(WireError) -> Value where Value.RawValue == UInt8 {
        let start = offset
        guard let value = Value(rawValue: try read(UInt8.self, from: bytes)) else {
            throw WireError(.unknownKind, at: start)
        }
        return value
    }

    /// A count, then that many items of at least `smallestItem` bytes; a count that cannot fit is refused first.
    package mutating func readList<Item>(
        from bytes: RawSpan, smallestItem: Int, _ readItem: (inout ByteReader) throws(WireError) -> Item
    ) throws(WireError) -> [Item] {
        let start = offset
        let count = try readVarint(from: bytes)
        guard count <= UInt64(remaining / smallestItem) else { throw WireError(.outOfRange, at: start) }
        var items: [Item] = []
        items.reserveCapacity(Int(count))
        for _ in 0..<count { items.append(try readItem(&self)) }
        return items
    }
}

extension ByteWriter {
    package mutating func writeSession(_ session: SessionID) {
        writeVarint(session.epoch.rawValue)
        writeVarint(session.sequence.rawValue)
    }

    package mutating func writePosition(_ position: Position) {
        write(position.epoch.rawValue)
        write(position.sequence.rawValue)
        write128(position.hash.rawValue)
    }

    package mutating func writeKnownPosition(_ known: KnownPosition) {
        writePosition(known.position)
        write128(known.boot.rawValue)
    }

    package mutating func writeBool(_ value: Bool) { write(value ? UInt8(1) : UInt8(0)) }

    package mutating func writeRange(_ source: RawSpan, _ range: Range<Int>) {
        writeVarint(UInt64(range.count))
        writeRaw(source, range)
    }
}

extension Open {
    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        client = ClientKey(rawValue: try reader.read128(from: bytes))
        nonce = try reader.read(from: bytes)
        timeToLive = try reader.read(from: bytes)
        windowNumbers = try reader.read(from: bytes)
        windowBytes = try reader.read(from: bytes)
        guard timeToLive > 0 else { throw WireError(.outOfRange, at: start + 24) }
    }

    /// As OPEN has it, whose nonce is not 0.
    ///
    /// A log is read without that: it may be of a time when nobody compared it.
    init(fromMessage bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        try self.init(from: bytes, &reader)
        guard nonce != 0 else { throw WireError(.outOfRange, at: start + 16) }
    }

    func write(to writer: inout ByteWriter) {
        writer.write128(client.rawValue)
        writer.write(nonce)
        writer.write(timeToLive)
        writer.write(windowNumbers)
        writer.write(windowBytes)
    }
}
