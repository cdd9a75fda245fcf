import LockstepCore

/// What must hold of a cluster of data nodes after every event, watched from outside.
///
/// It keeps the one history that has committed anywhere, and a state that is its fold.
struct ClusterChecker {
    var history: History
    /// What an operator gave up, oldest first.
    var givenUp: [GivenUp] = []
    /// Whom an operator made the primary last, though something may be lost.
    var promoted: Member?
    /// Whom an operator bound the store to, and who has not won yet: it has all that committed, of a history that was given
    /// up too, if nothing has committed instead.
    var bound: Member?
    /// By epoch and first number, over all boots of all nodes.
    private var issued: [Place: BatchHash] = [:]
    private var owners: [Epoch: BootID] = [:]
    /// What had committed when each epoch was won.
    private var endsAtWins: [Epoch: SequenceNumber] = [:]
    /// How many tickets somebody was told to be taken.
    var floor: UInt64 = 0
    private(set) var violation: Violation?
    /// How far each node has shown the log, and in which life.
    private var shownThrough: [NodeID: (boot: BootID, end: SequenceNumber)] = [:]
    /// What each journal had of the log and of the arbiter.
    private var kept: [Member: (committed: SequenceNumber, memory: ArbiterMemory)] = [:]

    private struct Place: Hashable {
        var epoch: Epoch
        var first: SequenceNumber
    }

    init(store: StoreID, makeState: @escaping () -> any ReplicatedState) {
        history = History(store: store, makeState: makeState)
    }

    var committed: SequenceNumber { history.log.position.sequence }
    var committedHash: BatchHash { history.log.position.hash }
    var ticketCount: UInt64 { history.count }

    mutating func fail(_ promise: Violation.Promise, _ text: String) {
        if violation == nil { violation = Violation(promise, text) }
    }

    // MARK: - Logs

    /// A process has won an epoch by this record, with the log that its disk has.
    mutating func won(_ record: ConfigurationRecord, _ node: ClusterNode) {
        let epoch = record.epoch
        if let owner = owners[epoch], owner != node.boot { fail(.leadership, "epoch \(epoch) has two owners") }
        owners[epoch] = node.boot
        // Who learns late that it has won has what committed before the next epoch was won, and can commit nothing.
        let end = endsAtWins.filter { $0.key > epoch }.values.min() ?? committed
        endsAtWins[epoch] = committed
        let isPromoted = record.isUnclean && promoted == node.member
        let isBound = bound == node.member
        if isBound { bound = nil }
        guard node.disk.hash(at: end) != history.hashes[end] else {
            // It may have more, of a history that was given up and holds again.
            if isPromoted || isBound { giveUp(whatLacks: node, before: epoch) }
            return
        }
        guard isPromoted else {
            let said = promoted == node.member ? ", and the record does not say that something may be lost" : ""
            return fail(.durability, "\(node.name) opens \(epoch) without the committed \(end)\(said)")
        }
        giveUp(whatLacks: node, before: epoch)
    }

    /// Whether somebody has opened this epoch.
    func isWon(_ epoch: Epoch) -> Bool { owners[epoch] != nil }

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
            if history.hashes[end] != batch.hash { fail(.agreement, "\(node.name) commits another history at \(end)") }
            return
        }
        if let problem = history.append(batch) { fail(problem.promise, "\(node.name) commits \(end): \(problem.text)") }
    }

    /// A node shows a state.
    mutating func shows(_ shown: ClusterNode.Shown, _ node: ClusterNode) {
        let end = shown.log.position.sequence
        if let before = shownThrough[node.name], before.boot == node.boot, before.end > end {
            fail(.monotonic, "\(node.name) knows \(end) to be committed, and knew \(before.end)")
        }
        shownThrough[node.name] = (node.boot, end)
        guard let digest = digest(at: shown.log.position) else {
            return fail(.committedOnly, "\(node.name) shows \(end), which has not committed")
        }
        if digest != node.shownState.digest + shown.log.digest {
            fail(.digest, "\(node.name) has another state at \(end) than the log")
        }
    }

    /// What a journal knows to be committed, and of the arbiter, never becomes less.
    mutating func keeps(_ node: ClusterNode) {
        let (committed, memory) = (node.disk.committed, node.disk.memory)
        if let before = kept[node.member], !node.hasOlderDisk {
            let isLess = (memory.number, memory.epoch) < (before.memory.number, before.memory.epoch)
            if committed < before.committed || isLess {
                let had = "\(before.committed) and record \(before.memory.number)"
                fail(.monotonic, "\(node.name) kept \(had), and forgot it")
            }
        }
        kept[node.member] = (committed, memory)
    }

    /// A member of the set cuts off what comes after `position`.
    mutating func cuts(_ batches: ArraySlice<SealedBatch>, _ node: ClusterNode) {
        guard let lost = batches.first(where: { history.hashes[$0.head.last] == $0.hash }) else { return }
        fail(.durability, "\(node.name) cuts off the committed \(lost.head.last)")
    }

    // MARK: - What clients are told

    mutating func learned(_ learned: ClusterClient.Learned, client: Int, epoch: Epoch) {
        switch learned {
        case .wrong(let text): fail(.sessionOrder, "client \(client): \(text)")
        case .ticket(let number, let ticket, let least):
            let told = told(in: epoch)
            guard ticket > 0, ticket <= told.tickets.count else {
                return fail(.committedOnly, "client \(client): ticket \(ticket) of number \(number) has not committed")
            }
            let taken = told.tickets[Int(ticket) - 1]
            if taken != .init(client: UInt8(client), number: number) {
                fail(.durability, "client \(client), number \(number): ticket \(ticket) is \(taken)'s")
            }
            if ticket <= least {
                fail(.linearizability, "client \(client): ticket \(ticket), though \(least) were taken before")
            }
            floor = max(floor, min(ticket, told.kept))
        case .count(let count, let least):
            let told = told(in: epoch)
            if count < least { fail(.linearizability, "client \(client) reads \(count), after \(least) were told") }
            if count > told.tickets.count {
                fail(.committedOnly, "client \(client) reads \(count) of \(told.tickets.count)")
            }
            floor = max(floor, min(count, told.kept))
        case .lost(let session, let answered):
            guard isLost(session, answered: answered) else {
                return fail(.sessionOrder, "client \(client): session \(session) is denied, and was not given up")
            }
        case .unknownPlace(let position):
            if !isGivenUp(position) { fail(.durability, "client \(client): a primary lacks \(position)") }
        }
    }
}
