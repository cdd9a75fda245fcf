import LockstepCore

/// A state for the targets: the sum of the bytes of all mutations; one that begins with 0xEE cannot be decoded.
final class FuzzState: ReplicatedState {
    private(set) var sum: UInt64 = 0

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        batch.appendItem(.rejected, reason: "nothing is performed here")
        return 1
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let mutation = copyBytes(of: bytes, try reader.readRange(from: bytes))
            guard mutation.first != 0xEE else { throw WireError(.payload, at: mutations.lowerBound) }
            for byte in mutation { sum &+= UInt64(byte) }
        }
        try reader.finish()
    }

    var digest: Digest { Digest(rawValue: UInt128(sum)) }
    var isViewWanted: Bool { true }
    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {}
    func publish(through sequence: SequenceNumber) {}

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        guard range.isEmpty else { throw QueryRefusal(reason: "no such query") }
        return []
    }

    struct Image: StateImage {
        var sum: UInt64
        var digest: Digest { Digest(rawValue: UInt128(sum)) }

        func encoded() -> [UInt8] {
            var writer = ByteWriter()
            writer.write(sum)
            return writer.bytes
        }
    }

    struct Prepared: PreparedState {
        var sum: UInt64
        var digest: Digest { Digest(rawValue: UInt128(sum)) }
    }

    func image() -> any StateImage { Image(sum: sum) }

    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState {
        try withBytes(of: bytes) { (span) throws(WireError) in
            var reader = ByteReader(span)
            let sum = try reader.read(UInt64.self, from: span)
            try reader.finish()
            return Prepared(sum: sum)
        }
    }

    func install(_ prepared: any PreparedState) {
        guard let prepared = prepared as? Prepared else { preconditionFailure("another state's snapshot") }
        sum = prepared.sum
    }

    func reset() { sum = 0 }
}
