import Lockstep
import LockstepCore

/// The workload of seeds: every client takes tickets, whose numbers judge all that it sees.
///
/// Its clients are ``ClusterClient``s, so it makes no calls.
final class TicketsWorkload: Workload {
    func makeState() -> any ReplicatedState { ReactorState(alone: Tickets()) }
    func next(caller: Int, random: inout SplitMix64) -> Call? { nil }
    func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable { head.last }
    func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool { true }
    func findings(in history: [CallRecord], final: any Sendable) -> [Violation] { [] }
}

extension ReactorState {
    /// A state that nobody but its node reads, and without effects.
    convenience init(alone reactor: R) {
        let beginning = Snapshot(state: reactor.initialState, place: .start, time: .zero)
        self.init(reactor, published: PublishedState(beginning))
    }
}

/// The reactor of a simulated cluster: each action takes the next ticket, and is answered with its number.
///
/// So the answers are an order of all actions, which everything that a client sees can be compared with.
struct Tickets: Reactor {
    /// Who wants one.
    struct Action: Codable, Sendable, WireCodable {
        var client: UInt8

        func encode(into writer: inout ByteWriter) { writer.write(client) }
        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            client = try reader.read(from: bytes)
        }
    }

    /// Whose action took a ticket.
    struct Ticket: Hashable, Codable, Sendable, WireCodable {
        var client: UInt8
        var number: RequestNumber

        init(client: UInt8, number: RequestNumber) { (self.client, self.number) = (client, number) }

        func encode(into writer: inout ByteWriter) {
            writer.write(client)
            writer.write(number)
        }

        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            client = try reader.read(from: bytes)
            number = try reader.read(from: bytes)
        }
    }

    struct State: Codable, Equatable, Sendable, WireCodable {
        var count: UInt64 = 0
        /// A hash over who took them, and over their places and times, in their order.
        var trail: UInt64 = 0

        init() {}

        func encode(into writer: inout ByteWriter) {
            writer.write(count)
            writer.write(trail)
        }

        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
            count = try reader.read(from: bytes)
            trail = try reader.read(from: bytes)
        }
    }

    /// How many were taken? There is no other question, so it has no bytes.
    struct Query: Codable, Sendable, WireCodable {
        func encode(into writer: inout ByteWriter) {}
        init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {}
    }

    typealias Mutation = Ticket
    typealias Reply = UInt64
    typealias Answer = UInt64

    var initialState: State { State() }

    func mutate(_ action: Action, _ context: Context) -> Effect<Self> {
        .emit(Ticket(client: action.client, number: context.request), reply: context.state.count + 1)
    }

    static func reduce(into state: inout State, _ ticket: Ticket, _ context: ReduceContext) {
        state.count += 1
        context.extend(&state.trail, after: [UInt64(ticket.client), ticket.number])
    }

    static func answer(_ query: Query, in state: State) -> UInt64 { state.count }

    /// The tickets that a batch takes, in their order; what cannot be read takes none.
    static func tickets(in batch: SealedBatch) -> [Ticket] {
        var tickets: [Ticket] = []
        withBytes(of: batch.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            while reader.remaining > 0, let entry = try? Entry(from: bytes, &reader) {
                guard case .actions(let series) = entry else { continue }
                var items = ByteReader(offset: series.items.lowerBound, end: series.items.upperBound)
                while items.remaining > 0, let item = try? Item(from: bytes, &items) {
                    guard item.mutationCount > 0 else { continue }
                    var mutations = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
                    guard let range = try? mutations.readRange(from: bytes) else { return }
                    if let ticket = try? mutationCoding.decode(bytes, range) { tickets.append(ticket) }
                }
            }
        }
        return tickets
    }
}
