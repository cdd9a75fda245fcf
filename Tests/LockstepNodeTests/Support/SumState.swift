import LockstepCore
import LockstepNode
import Synchronization

/// A state for tests: a sum.
///
/// An action is a byte that is added, 0 is refused; the reply is the new sum.
///
/// A query without bytes is answered with the published sum.
final class SumState: ReplicatedState {
    private var sum: UInt64 = 0
    private var captured: [(sum: UInt64, sequence: SequenceNumber)] = []
    private var published: UInt64 = 0
    private let digestsTaken: DigestCount?
    private let cost: Duration

    /// How often a node took the digest of a state.
    final class DigestCount: Sendable {
        let value = Atomic<Int>(0)
    }

    /// An action, and a mutation at another node, keeps the node's thread for `cost`.
    init(digestsTaken: DigestCount? = nil, cost: Duration = .zero) {
        self.digestsTaken = digestsTaken
        self.cost = cost
    }

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        for done in 1...count {
            // What cannot be read is refused, as zero is.
            let range = try? reader.readRange(from: actions)
            let byte = range.flatMap { $0.isEmpty ? nil : copyBytes(of: actions, $0)[0] } ?? 0
            work()
            if byte == 0 {
                batch.appendItem(.rejected, reason: "zero")
            } else {
                let start = batch.beginItem(mutationCount: 1)
                batch.writer.writeMeasured { $0.write(byte) }
                sum += UInt64(byte)
                let reply = batch.writer.writeMeasured { $0.writeVarint(sum) }
                _ = batch.endItem(start, replyStart: reply)
            }
            if batch.isSeriesOver { return done }
        }
        return count
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let range = try reader.readRange(from: bytes)
            guard range.count == 1 else { throw WireError(.payload, at: range.lowerBound) }
            sum += UInt64(copyBytes(of: bytes, range)[0])
            work()
        }
    }

    private func work() {
        guard cost > .zero else { return }
        let end = ContinuousClock.now + cost
        while ContinuousClock.now < end {}
    }

    var digest: Digest {
        digestsTaken?.value.add(1, ordering: .relaxed)
        return Digest(rawValue: UInt128(sum))
    }
    var isViewWanted: Bool { false }

    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) { captured.append((sum, sequence)) }

    func publish(through sequence: SequenceNumber) {
        if let view = captured.last(where: { $0.sequence <= sequence }) { published = view.sum }
        captured.removeAll { $0.sequence <= sequence }
    }

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        guard range.isEmpty else { throw QueryRefusal(reason: "no such query") }
        return Self.bytes(published)
    }

    struct Image: StateImage {
        var sum: UInt64
        func encoded() throws -> [UInt8] { SumState.bytes(sum) }
        var digest: Digest { Prepared(sum: sum).digest }
    }

    struct Prepared: PreparedState {
        var sum: UInt64
        var digest: Digest { Digest(rawValue: UInt128(sum)) }
    }

    func image() -> any StateImage { Image(sum: sum) }

    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState { Prepared(sum: try Self.sum(bytes)) }

    func install(_ prepared: any PreparedState) {
        guard let prepared = prepared as? Prepared else { preconditionFailure("another state's snapshot") }
        sum = prepared.sum
        captured = []
    }

    func reset() {
        sum = 0
        captured = []
    }

    static func bytes(_ sum: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.writeVarint(sum)
        return writer.bytes
    }

    static func sum(_ bytes: [UInt8]) throws(WireError) -> UInt64 {
        try withBytes(of: bytes) { (span) throws(WireError) in
            var reader = ByteReader(span)
            return try reader.readVarint(from: span)
        }
    }

    /// Actions that add these bytes.
    ///
    /// Each has `width` bytes, 127 at most, of which the first counts.
    static func actions(_ bytes: [UInt8], width: Int = 1) -> [UInt8] {
        bytes.flatMap { [UInt8(width), $0] + [UInt8](repeating: 0, count: width - 1) }
    }
}

extension RawReplies {
    /// What became of each action, and its reply.
    func outcomes() throws(WireError) -> [(status: ActionStatus, reply: [UInt8])] {
        var all: [(ActionStatus, [UInt8])] = []
        for piece in pieces {
            try withBytes(of: piece.frame.bytes) { (span) throws(WireError) in
                var reader = ByteReader(offset: piece.items.lowerBound, end: piece.items.upperBound)
                for _ in 0..<piece.count {
                    let item = try ReplyItem(from: span, &reader)
                    all.append((item.status, copyBytes(of: span, item.reply)))
                }
                try reader.finish()
            }
        }
        return all
    }
}
