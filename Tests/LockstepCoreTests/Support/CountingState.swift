import LockstepCore

/// A state for tests: a sum of bytes.
///
/// An action is one byte that is added; 0 is refused; 255 adds nothing.
///
/// The mutation is the byte, the reply the new sum as a varint. Setting ``skew`` makes `apply` wrong on purpose.
final class CountingState: ReplicatedState {
    struct View: Equatable {
        var sum: UInt64
        var sequence: SequenceNumber
    }

    var sum: UInt64 = 0
    var skew: UInt64 = 0
    var captured: [View] = []
    var published = View(sum: 0, sequence: .zero)
    var isViewWanted = false

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        var done = 0
        while done < count {
            done += 1
            if let range = try? reader.readRange(from: actions), range.count >= 1 {
                let byte = copyBytes(of: actions, range)[0]
                if byte == 0 {
                    batch.appendItem(.rejected, reason: "zero")
                } else {
                    let start = batch.beginItem(mutationCount: byte == 255 ? 0 : 1)
                    if byte != 255 {
                        batch.writer.writeMeasured { $0.write(byte) }
                        sum += UInt64(byte)
                    }
                    let reply = batch.writer.writeMeasured { $0.writeVarint(sum) }
                    _ = batch.endItem(start, replyStart: reply)
                }
            } else {
                batch.appendItem(.rejected, reason: "cannot be decoded")
            }
            if batch.isFull { break }
        }
        return done
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let range = try reader.readRange(from: bytes)
            guard range.count == 1 else { throw WireError(.payload, at: range.lowerBound) }
            sum += UInt64(copyBytes(of: bytes, range)[0]) + skew
        }
    }

    var digest: Digest { Digest(rawValue: UInt128(sum)) }

    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        captured.append(View(sum: sum, sequence: sequence))
    }

    func publish(through sequence: SequenceNumber) {
        guard let view = captured.last(where: { $0.sequence <= sequence }) else { return }
        published = view
        captured.removeAll { $0.sequence <= sequence }
        isViewWanted = false
    }

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        guard range.isEmpty else { throw QueryRefusal(reason: "no such query") }
        var writer = ByteWriter()
        writer.writeVarint(published.sum)
        return writer.bytes
    }

    struct Image: StateImage {
        var sum: UInt64
        func encoded() throws -> [UInt8] {
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
        try withBytes(of: bytes) { span in
            var reader = ByteReader(span)
            let sum = try reader.read(UInt64.self, from: span)
            try reader.finish()
            return Prepared(sum: sum)
        }
    }

    func install(_ prepared: any PreparedState) {
        guard let prepared = prepared as? Prepared else { preconditionFailure("another state's snapshot") }
        sum = prepared.sum
        captured = []
    }

    func reset() {
        sum = 0
        captured = []
    }
}
