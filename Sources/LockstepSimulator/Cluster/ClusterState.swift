import LockstepCore

/// The state of a simulated cluster: each action takes the next ticket, and is answered with its number.
///
/// So the answers are an order of all actions, which everything that a client sees can be compared with.
final class ClusterState: ReplicatedState {
    /// Whose action took a ticket.
    struct Ticket: Hashable, Sendable {
        var client: UInt8
        var number: RequestNumber
    }

    /// How many tickets were taken, and a hash of who took them, in their order.
    struct Value: Hashable, Sendable, StateImage, PreparedState {
        var count: UInt64 = 0
        var fold: UInt64 = 0x9E37_79B9_7F4A_7C15

        mutating func take(_ ticket: Ticket) {
            count += 1
            let next = fold ^ ticket.number &* 251 &+ UInt64(ticket.client)
            let product = next.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
            fold = product.high ^ product.low
        }

        var digest: Digest { Digest(rawValue: UInt128(fold) << 64 | UInt128(count)) }

        func encoded() throws -> [UInt8] {
            var writer = ByteWriter()
            writer.write(count)
            writer.write(fold)
            return writer.bytes
        }
    }

    var value = Value()
    /// In their order; only of a checker's state.
    private(set) var tickets: [Ticket] = []
    private let keepsTickets: Bool
    private var captured: [(sequence: SequenceNumber, count: UInt64)] = []
    private(set) var published: UInt64 = 0
    private(set) var isViewWanted = false

    init(_ value: Value = Value(), keepsTickets: Bool = false) {
        (self.value, self.keepsTickets) = (value, keepsTickets)
    }

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        var done = 0
        while done < count {
            let number = context.firstNumber + UInt64(done)
            done += 1
            guard let range = try? reader.readRange(from: actions), range.count == 1 else {
                batch.appendItem(.rejected, reason: "no action")  // The checkers find that it has no ticket.
                continue
            }
            let ticket = Ticket(client: copyBytes(of: actions, range)[0], number: number)
            let start = batch.beginItem(mutationCount: 1)
            batch.writer.writeMeasured {
                $0.write(ticket.client)
                $0.write(ticket.number)
            }
            value.take(ticket)
            let reply = batch.writer.writeMeasured { [value] in $0.writeVarint(value.count) }
            _ = batch.endItem(start, replyStart: reply)
            if batch.isSeriesOver { break }
        }
        return done
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let range = try reader.readRange(from: bytes)
            var mutation = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let ticket = Ticket(client: try mutation.read(from: bytes), number: try mutation.read(from: bytes))
            value.take(ticket)
            if keepsTickets { tickets.append(ticket) }
        }
    }

    var digest: Digest { value.digest }

    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) { captured.append((sequence, value.count)) }

    func publish(through sequence: SequenceNumber) {
        guard let view = captured.last(where: { $0.sequence <= sequence }) else { return }
        published = view.count
        captured.removeAll { $0.sequence <= sequence }
        isViewWanted = false
    }

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        isViewWanted = true
        var writer = ByteWriter()
        writer.writeVarint(published)
        return writer.bytes
    }

    func image() -> any StateImage { value }

    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState {
        try withBytes(of: bytes) { span in
            var reader = ByteReader(span)
            return Value(count: try reader.read(from: span), fold: try reader.read(from: span))
        }
    }

    func install(_ prepared: any PreparedState) {
        guard let value = prepared as? Value else { preconditionFailure("another state's snapshot") }
        self.value = value
        captured = []
    }

    func reset() {
        value = Value()
        captured = []
    }
}
