import LockstepCore

/// What must hold of a cluster of data nodes after every event, watched from outside.
///
/// It keeps the one history that has committed anywhere, and a state that is its fold.
struct ClusterChecker {
    private var log: LogState
    private let state: any ReplicatedState
    /// The same, if it is of tickets.
    private let tickets: ClusterState?
    /// Of the history, by the end of each batch.
    private var hashes: [SequenceNumber: BatchHash]
    private var digests: [SequenceNumber: Digest]
    /// By epoch and first number, over all boots of all nodes.
    private var issued: [Place: BatchHash] = [:]
    private var owners: [Epoch: BootID] = [:]
    private var lastNumbers: [UInt8: RequestNumber] = [:]
    private var checkedTickets = 0
    /// How many tickets somebody was told to be taken.
    private(set) var floor: UInt64 = 0
    private(set) var violation: Violation?
    /// How far each node has shown the log, and in which life.
    private var shownThrough: [NodeID: (boot: BootID, end: SequenceNumber)] = [:]

    private struct Place: Hashable {
        var epoch: Epoch
        var first: SequenceNumber
    }

    init(store: StoreID, state: any ReplicatedState) {
        (self.state, tickets) = (state, state as? ClusterState)
        log = LogState(store: store)
        hashes = [.zero: log.position.hash]
        digests = [.zero: state.digest + log.digest]
    }

    var committed: SequenceNumber { log.position.sequence }
    var committedHash: BatchHash { log.position.hash }
    var ticketCount: UInt64 { tickets?.value.count ?? 0 }
    /// What the history gives, applied by nobody else.
    var committedState: any ReplicatedState { state }
    var committedLog: LogState { log }
    func digest(at sequence: SequenceNumber) -> Digest? { digests[sequence] }

    mutating func fail(_ promise: Violation.Promise, _ text: String) {
        if violation == nil { violation = Violation(promise, text) }
    }

    // MARK: - Logs

    /// A process has won an epoch, with a log that has `hash` at the end of all that has committed.
    mutating func won(_ epoch: Epoch, _ boot: BootID, hash: BatchHash?, name: NodeID) {
        if let owner = owners[epoch], owner != boot { fail(.leadership, "epoch \(epoch) has two owners") }
        owners[epoch] = boot
        if hash != committedHash { fail(.durability, "\(name) opens \(epoch) without the committed \(committed)") }
    }

    /// A primary has sealed a batch.
    mutating func issued(_ batch: SealedBatch, by node: ClusterNode) {
        let place = Place(epoch: batch.head.epoch, first: batch.head.first)
        if let known = issued.updateValue(batch.hash, forKey: place), known != batch.hash {
            fail(.agreement, "\(place.first) of epoch \(place.epoch) was given to two batches, last by \(node.name)")
        }
        speaks(as: batch.head.epoch, node)
    }

    /// A primary of `epoch` says something to somebody.
    mutating func speaks(as epoch: Epoch, _ node: ClusterNode) {
        if owners[epoch] != node.boot { fail(.leadership, "\(node.name) speaks as primary of epoch \(epoch)") }
    }

    /// A primary says that a batch is committed.
    mutating func committed(_ batch: SealedBatch, by node: ClusterNode) {
        let end = batch.head.last
        if end <= committed {
            if hashes[end] != batch.hash { fail(.agreement, "\(node.name) commits another history at \(end)") }
            return
        }
        do { _ = try log.apply(batch, to: state) } catch {
            return fail(.agreement, "\(node.name) commits what does not follow \(committed): \(error)")
        }
        (hashes[end], digests[end]) = (batch.hash, state.digest + log.digest)
        checkTickets()
    }

    private mutating func checkTickets() {
        guard let tickets = tickets?.tickets else { return }
        for ticket in tickets[checkedTickets...] {
            let expected = lastNumbers[ticket.client, default: 0] + 1
            if ticket.number != expected {
                fail(.exactlyOnce, "client \(ticket.client): number \(ticket.number) stands after \(expected - 1)")
            }
            lastNumbers[ticket.client] = ticket.number
        }
        checkedTickets = tickets.count
    }

    /// A node shows a state.
    mutating func shows(_ shown: ClusterNode.Shown, _ node: ClusterNode) {
        let end = shown.log.position.sequence
        if let before = shownThrough[node.name], before.boot == node.boot, before.end > end {
            fail(.monotonic, "\(node.name) knows \(end) to be committed, and knew \(before.end)")
        }
        shownThrough[node.name] = (node.boot, end)
        guard let hash = hashes[end], hash == shown.log.position.hash else {
            return fail(.committedOnly, "\(node.name) shows \(end), which has not committed")
        }
        if digests[end] != node.shownState.digest + shown.log.digest {
            fail(.digest, "\(node.name) has another state at \(end) than the log")
        }
    }

    /// A node cuts off what comes after `position`.
    mutating func cuts(_ batches: ArraySlice<SealedBatch>, _ node: ClusterNode) {
        guard let lost = batches.first(where: { hashes[$0.head.last] == $0.hash }) else { return }
        fail(.durability, "\(node.name) cuts off the committed \(lost.head.last)")
    }

    // MARK: - What clients are told

    mutating func learned(_ learned: ClusterClient.Learned, client: Int, epoch: Epoch) {
        switch learned {
        case .wrong(let text): fail(.sessionOrder, "client \(client): \(text)")
        case .ticket(let number, let ticket, let least):
            guard let tickets = tickets?.tickets, ticket > 0, ticket <= ticketCount else {
                return fail(.committedOnly, "client \(client): ticket \(ticket) of number \(number) has not committed")
            }
            let taken = tickets[Int(ticket) - 1]
            if taken != .init(client: UInt8(client), number: number) {
                fail(.durability, "client \(client), number \(number): ticket \(ticket) is \(taken)'s")
            }
            if ticket <= least {
                fail(.linearizability, "client \(client): ticket \(ticket), though \(least) were taken before")
            }
            floor = max(floor, ticket)
        case .count(let count, let least):
            if count < least { fail(.linearizability, "client \(client) reads \(count), after \(least) were told") }
            if count > ticketCount { fail(.committedOnly, "client \(client) reads \(count) of \(ticketCount)") }
            floor = max(floor, count)
        }
    }
}
