/// One action of a series as the log holds it: what became of it, where its mutations and its reply are.
///
/// On the wire: a varint of `mutationCount << 2 | status`, the mutations and then the reply, each after its length
/// (PROTOCOL, section 6).
package struct Item: Hashable, Sendable {
    package var status: ActionStatus
    package var mutationCount: Int
    /// The mutations, each after its length.
    package var mutations: Range<Int>
    package var reply: Range<Int>

    /// Reads one item of a series; the mutations are only measured.
    @inlinable
    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        let head = try reader.readVarint(from: bytes)
        let count = head >> 2
        guard let status = ActionStatus(rawValue: UInt8(head & 3)), status != .accepted,
            count <= UInt64(reader.remaining), count == 0 || status == .committed
        else { throw WireError(.outOfRange, at: start) }
        let mutationsStart = reader.offset
        for _ in 0..<count { _ = try reader.readRange(from: bytes) }
        let mutationsEnd = reader.offset
        self.status = status
        mutationCount = Int(count)
        mutations = mutationsStart..<mutationsEnd
        reply = try reader.readRange(from: bytes)
    }
}

/// One answer in a RESULT and in a session's kept replies: a varint of `length << 2 | status`, then the reply.
package struct ReplyItem: Hashable, Sendable {
    package var status: ActionStatus
    package var reply: Range<Int>

    @inlinable
    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        let head = try reader.readVarint(from: bytes)
        guard let status = ActionStatus(rawValue: UInt8(head & 3)), head >> 2 <= UInt64(reader.remaining) else {
            throw WireError(.outOfRange, at: start)
        }
        let replyStart = try reader.skip(Int(head >> 2))
        self.status = status
        reply = replyStart..<reader.offset
    }

    @inlinable
    package static func write(
        _ status: ActionStatus, _ source: RawSpan, _ reply: Range<Int>, to writer: inout ByteWriter
    ) {
        writer.writeVarint(UInt64(reply.count) << 2 | UInt64(status.rawValue))
        writer.writeRaw(source, reply)
    }
}
