/// Names a watch, for ever: the client that began it, and that client's number of it.
package struct WatchID: Hashable, Comparable, Sendable {
    package var client: ClientKey
    package var number: UInt64

    package init(client: ClientKey, number: UInt64) {
        self.client = client
        self.number = number
    }

    package static func < (left: WatchID, right: WatchID) -> Bool {
        (left.client, left.number) < (right.client, right.number)
    }
}

/// WATCH: a query that is to be answered now and whenever its answer is another; repeated while it is of interest.
package struct WatchRequest: Hashable, Sendable {
    package var id: WatchID
    /// The least time from one answer to the next, in microseconds; the node grants more.
    package var interval: UInt32
    /// The ``ReadResult/fingerprint(_:_:_:)`` of the last answer that the client has; 0: none.
    package var has: UInt128
    package var query: Range<Int>

    package init(id: WatchID, interval: UInt32, has: UInt128, query: Range<Int>) {
        self.id = id
        self.interval = interval
        self.has = has
        self.query = query
    }
}

extension ReadResult {
    /// What stands for an answer where only equality matters: 128 bits of SHA-256 over its status and its bytes.
    package static func fingerprint(_ status: ReadStatus, _ bytes: RawSpan, _ answer: Range<Int>) -> UInt128 {
        sha256Prefix(after: status.rawValue, bytes, answer)
    }
}

extension WatchID {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        client = ClientKey(rawValue: try reader.read128(from: frame))
        number = try reader.read(from: frame)
    }

    func write(to writer: inout ByteWriter) {
        writer.write128(client.rawValue)
        writer.write(number)
    }
}

extension WatchRequest {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        id = try WatchID(from: frame, &reader)
        interval = try reader.read(from: frame)
        has = try reader.read128(from: frame)
        query = try reader.readRange(from: frame)
    }

    func write(to writer: inout ByteWriter, source: RawSpan) {
        id.write(to: &writer)
        writer.write(interval)
        writer.write128(has)
        writer.writeRange(source, query)
    }
}
