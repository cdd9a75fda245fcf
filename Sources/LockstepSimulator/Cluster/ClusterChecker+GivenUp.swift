import Lockstep
import LockstepCore

// Histories: the one that holds, and those that an operator gave up.
extension ClusterChecker {
    /// What has committed, batch by batch, and the state that it makes.
    struct History {
        private(set) var log: LogState
        /// What the log gives, applied by nobody else.
        let state: any ReplicatedState
        /// Who took which ticket, if it is of tickets.
        private(set) var tickets: [Tickets.Ticket] = []
        private let hasTickets: Bool
        private let makeState: () -> any ReplicatedState
        private(set) var batches: [SealedBatch] = []
        /// By the end of each batch.
        private(set) var hashes: [SequenceNumber: BatchHash]
        private(set) var digests: [SequenceNumber: Digest]
        private var lastNumbers: [UInt8: RequestNumber] = [:]

        init(store: StoreID, makeState: @escaping () -> any ReplicatedState) {
            self.makeState = makeState
            state = makeState()
            hasTickets = state.unwrapped is ReactorState<Tickets>
            log = LogState(store: store)
            hashes = [.zero: log.position.hash]
            digests = [.zero: state.digest + log.digest]
        }

        /// One of the same store that has nothing yet.
        var beginning: History { History(store: log.store, makeState: makeState) }
        var count: UInt64 { UInt64(tickets.count) }

        /// The next batch; what it breaks, if anything.
        mutating func append(_ batch: SealedBatch) -> Violation? {
            do { _ = try log.apply(batch, to: state) } catch {
                return Violation(.agreement, "it does not follow \(log.position.sequence): \(error)")
            }
            batches.append(batch)
            hashes[batch.head.last] = batch.hash
            digests[batch.head.last] = state.digest + log.digest
            let new = hasTickets ? Tickets.tickets(in: batch) : []
            tickets += new
            for ticket in new {
                let expected = lastNumbers[ticket.client, default: 0] + 1
                lastNumbers[ticket.client] = ticket.number
                if ticket.number != expected {
                    return Violation(
                        .exactlyOnce,
                        "client \(ticket.client): number \(ticket.number) stands after \(expected - 1)")
                }
            }
            return nil
        }
    }

    /// A history that was given up.
    struct GivenUp {
        var history: History
        /// The first epoch of the history that holds instead.
        var before: Epoch
        /// How many tickets both have, and where they part.
        var kept: UInt64
        var end: SequenceNumber
    }

    /// What this node's log lacks of the history is given up: it is listed, and what the log has is the history.
    ///
    /// The log may be of a history that was given up before.
    mutating func giveUp(whatLacks node: ClusterNode, before epoch: Epoch) {
        let old = history
        let prefixes = ([old] + givenUp.map(\.history)).map { known in
            known.batches.prefix(
                1 + (known.batches.lastIndex { node.disk.hash(at: $0.head.last) == $0.hash } ?? -1))
        }
        let kept = prefixes.max { ($0.last?.head.last ?? .zero) < ($1.last?.head.last ?? .zero) } ?? []
        history = old.beginning
        for batch in kept { _ = history.append(batch) }
        let common = zip(old.batches, kept).prefix { $0.hash == $1.hash }.last?.0.head.last
        guard common ?? .zero < old.log.position.sequence else { return }
        let tickets = UInt64(zip(old.tickets, history.tickets).prefix { $0 == $1 }.count)
        givenUp.append(GivenUp(history: old, before: epoch, kept: tickets, end: common ?? .zero))
        floor = min(floor, tickets)
    }

    /// The tickets of whom a primary of this epoch tells, and how many of them hold.
    func told(in epoch: Epoch) -> (tickets: [Tickets.Ticket], kept: UInt64) {
        guard let index = givenUp.firstIndex(where: { epoch < $0.before }) else { return (history.tickets, .max) }
        return (givenUp[index].history.tickets, givenUp[index...].map(\.kept).min() ?? 0)
    }

    /// The digest of the state at this place, of whichever history it is; nil if it is of none.
    func digest(at position: Position) -> Digest? {
        if history.hashes[position.sequence] == position.hash { return history.digests[position.sequence] }
        let found = givenUp.first { $0.history.hashes[position.sequence] == position.hash }
        return found?.history.digests[position.sequence]
    }

    /// Whether this place has committed, and was given up.
    func isGivenUp(_ sequence: SequenceNumber, hash: BatchHash?) -> Bool {
        hash != nil && history.hashes[sequence] != hash && givenUp.contains { $0.history.hashes[sequence] == hash }
    }

    /// Whether a primary of this epoch gives a snapshot to who knows to be committed what it does not have.
    func isSilent(in epoch: Epoch, _ node: ClusterNode) -> Bool {
        guard let last = givenUp.last, epoch >= last.before else { return false }
        return isGivenUp(node.disk.committed, hash: node.disk.hash(at: node.disk.committed))
    }

    /// The same of what a client knows, which has no hash.
    func isGivenUp(_ position: Position) -> Bool {
        givenUp.contains { position.epoch < $0.before && position.sequence > $0.end }
    }

    /// Whether what was answered in this session is lost with a history that was given up.
    func isLost(_ session: SessionID, answered: RequestNumber) -> Bool {
        if let standing = history.log.sessions.standing(of: session), standing.last >= answered { return false }
        return givenUp.contains { gone in
            (gone.history.log.sessions.standing(of: session)?.last).map { $0 >= answered } ?? false
        }
    }

    /// When a cluster is at rest: what a client was told, and was not told to be lost, is in the log.
    ///
    /// What was told of a history that was given up may have another ticket in the one that holds, and nobody can say so:
    /// both have the action.
    mutating func holds(_ client: ClusterClient) {
        for number in stride(from: RequestNumber(1), through: client.answered, by: 1) {
            guard let ticket = client.answers[number] else { continue }
            let own = Tickets.Ticket(client: client.tag, number: number)
            guard ticket > history.count || history.tickets[Int(ticket) - 1] != own else { continue }
            let isOther = givenUp.contains { $0.history.count >= ticket && $0.history.tickets[Int(ticket) - 1] == own }
            if isOther, history.tickets.contains(own) { continue }
            return fail(
                .durability, "client \(own.client), number \(number): ticket \(ticket) is lost, and nobody said so")
        }
    }
}
