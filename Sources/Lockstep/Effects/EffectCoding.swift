import LockstepCore
import LockstepNode

/// The bytes that effects bring to the primary's machine.
///
/// What is written is read once more: a mutation that its own type cannot read back would stop every replica.
enum EffectCoding<R: Reactor> {
    /// A count and the mutations, each after its length.
    static func emission(_ mutations: [R.Mutation]) throws -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(UInt64(mutations.count))
        try write(mutations, to: &writer)
        return try checked(writer.bytes)
    }

    /// The item of an end: mutations and a reply.
    static func item(_ reply: R.Reply, _ mutations: [R.Mutation]) throws -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(UInt64(mutations.count) << 2 | UInt64(ActionStatus.committed.rawValue))
        try write(mutations, to: &writer)
        do { try writer.writeMeasured { try R.replyCoding.encode(reply, &$0) } } catch {
            throw LockstepError(.refused, "the effect's reply cannot be encoded: \(error)", underlying: error)
        }
        return try checked(writer.bytes)
    }

    /// The item of an effect that failed.
    static func failedItem(_ error: any Error) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeItem(.rejected, reply: rejectionReason(error))
        return writer.bytes
    }

    /// The item of an effect that gave up.
    static var cancelledItem: [UInt8] {
        var writer = ByteWriter()
        writer.writeItem(.void, reply: "")
        return writer.bytes
    }

    private static func write(_ mutations: [R.Mutation], to writer: inout ByteWriter) throws {
        let coding = R.mutationCoding
        for mutation in mutations {
            let start = writer.count
            do {
                try writer.writeMeasured { try coding.encode(mutation, &$0) }
                try withBytes(of: writer.bytes) { bytes in
                    var reader = ByteReader(offset: start, end: bytes.byteCount)
                    _ = try coding.decodeChecked(bytes, try reader.readRange(from: bytes))
                }
            } catch {
                throw LockstepError(
                    .refused, "the mutation cannot be encoded, or not be read back: \(error)", underlying: error)
            }
        }
    }

    private static func checked(_ bytes: [UInt8]) throws -> [UInt8] {
        guard bytes.count <= Limits.actionBytes - 64 else {
            throw LockstepError(
                .tooLarge, "mutations and reply of \(bytes.count) bytes are above the limit of \(Limits.actionBytes)")
        }
        return bytes
    }
}
