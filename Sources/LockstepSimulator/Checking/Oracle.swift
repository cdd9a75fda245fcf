import LockstepCore

/// Watches a run from outside: what is durable, what leaves the nodes, what they apply, what callers learn.
///
/// It keeps the whole committed history and a state of its own that applies it, and knows nothing of the machines'
/// insides. The first promise that is broken ends the run.
final class Oracle {
    unowned let store: SimulatedStore
    unowned let simulation: Simulation
    /// Every batch that ever committed, also of histories that were given up.
    private(set) var batches: [BatchHash: Known] = [:]
    /// Batches that went to a journal; which of them are durable a crash may hide for a while.
    private var candidates: [BatchHash: SealedBatch] = [:]
    private(set) var reference: LogState
    private(set) var state: SimulatedState
    /// Answers of the present history.
    var replies: [ReplyKey: Reply] = [:]
    var sessions: [SessionID: Standing] = [:]
    /// Committed in a history that an operator gave up.
    private(set) var discarded: Set<BatchHash> = []
    private(set) var hasForked = false
    /// Where the present history went on when one was given up last; zero if none was.
    private(set) var forkedAt = SequenceNumber.zero
    /// Where each node's log ends, as it said.
    private var places: [Int: BatchHash] = [:]
    /// Where replicas stood that have discarded it and have no snapshot yet.
    private var givenUpBy: [Int: BatchHash] = [:]
    /// What callers learned, to be compared with the log at the end.
    var learned: [Learned] = []
    /// The committed batches that end at a number: one, unless an operator gave a history up.
    private(set) var ends: [SequenceNumber: [BatchHash]] = [:]

    /// The epoch whose primary was told that it is behind, and the last number that it had given then.
    var behind: (epoch: Epoch, head: SequenceNumber)?
    /// The same of the epoch whose primary was told to stop.
    var stopping: (epoch: Epoch, head: SequenceNumber)?
    /// The same of the epoch whose primary waits for its replicas, or has ended to: the last number of the wait.
    var unheard: (epoch: Epoch, head: SequenceNumber)?
    var largestBatch = 0
    var runs: RunChecker
    /// Accepted actions whose end their sender learned, in any history; and what it learned.
    var told: Set<RunID> = []
    /// What right clients did.
    var ownership = Ownership()
    /// Sessions of clients that are wrong on purpose.
    var rogueSessions: Set<SessionID> = []
    /// Replicas whose state is wrong, and what they may still do.
    var divergence = Divergence()
    var givenUp = GivenUp()
    var watchers = WatchChecker()
    /// How many actions in flight a name may have, of those that have a quota.
    private(set) lazy var quotas: [String: Int] = Dictionary(
        simulation.options.hasKeys
            ? store.processes.compactMap { process in
                process.quota.inFlight.map { (process.name, $0) }
            } : []
    ) { $1 }
    var learnedEnds: [(id: RunID, batch: BatchHash, process: String)] = []

    /// A committed batch, and what holds at its end.
    struct Known {
        var batch: SealedBatch
        var digest: Digest
        var print: LogPrint
        var remembered: any Sendable
    }

    /// What a joined node's tables must be at a place, short enough to keep for every batch.
    struct LogPrint: Hashable {
        var time: LogTime
        var boot: BootID
        var tables: Digest
        /// With the bytes of actions and ends, which the digest leaves to the chain.
        var runs: Int
        var epochEnds: [EpochEnd]
        var mark: LogState.Mark?

        init(_ log: LogState) {
            time = log.time
            boot = log.boot
            tables = log.digest
            runs = log.runs.hashValue
            epochEnds = log.epochEnds
            mark = log.mark
        }
    }

    typealias ReplyKey = LogReply.Key
    typealias Reply = LogReply

    struct Standing: Hashable {
        var last: RequestNumber = 0
        var isOver = false
        var window: SessionWindow
        let client: ClientKey
        /// The nonce of its OPEN.
        let opening: UInt64
        /// Who opened it, says the log.
        let sender: String?
        /// Microseconds.
        let timeToLive: Int64

        init(_ open: Open, sender: String? = nil) {
            self.sender = sender
            window = SessionWindow(open)
            client = open.client
            opening = open.nonce
            timeToLive = open.timeToLive
        }
    }

    struct Learned {
        var key: ReplyKey
        var batch: BatchHash
        var process: String
    }

    init(store: SimulatedStore) {
        self.store = store
        simulation = store.simulation
        reference = LogState(store: store.id)
        state = SimulatedState(store.workload.makeState(), isItemByItem: true)
        runs = RunChecker(readsScripts: store.workload.hasScriptedEffects)
    }

    var committed: Position { reference.position }
    /// What the workload remembers of the last committed state.
    var remembered: (any Sendable)? { batches[committed.hash]?.remembered }

    func fail(_ promise: Violation.Promise, _ text: String) { simulation.fail(promise, text) }

    // MARK: - The log

    func handedOver(_ batches: [SealedBatch]) { for batch in batches { candidates[batch.hash] = batch } }

    /// A volatile primary begins: what was before belongs to a history that is over.
    func began() {
        guard committed.sequence > .zero else { return }
        for hash in batches.keys { discarded.insert(hash) }
        hasForked = true
        goBack(to: [])
    }

    /// A primary has recovered its journal, or a replica its own.
    func recovered(_ log: LogState, by process: NodeProcess) {
        if process is PrimaryProcess {
            // What it holds beyond what committed was durable, and commits with its epoch's first batch.
            return
        }
        moved(process, to: log.position, from: nil)
    }

    /// These batches are durable on the primary: from here on they count.
    func committed(_ new: [SealedBatch], by process: PrimaryProcess) {
        for batch in new { candidates[batch.hash] = batch }
        guard let first = new.first else { return }
        // What a crash left durable without a word comes before it.
        var path: [SealedBatch] = []
        var previous = first.head.previous
        while previous != committed.hash, batches[previous] == nil || discarded.contains(previous),
            let before = candidates[previous]
        {
            path.insert(before, at: 0)
            previous = before.head.previous
        }
        if previous != committed.hash {
            guard store.mayHaveForked else {
                fail(.durability, "the log goes on at \(first.head.first) after \(previous), but ends at \(committed)")
                return
            }
            guard let common = self.path(to: previous) else {
                fail(.agreement, "the log goes on at \(first.head.first) after \(previous), which nobody knows")
                return
            }
            let kept = Set(common.map(\.hash))
            hasForked = true
            for batch in self.path(to: committed.hash) ?? [] where !kept.contains(batch.hash) {
                discarded.insert(batch.hash)
            }
            goBack(to: common)
        }
        for batch in path + new { apply(batch) }
        candidates = candidates.filter { $0.value.head.last > committed.sequence }
    }

    /// The batches from the beginning to the one with this hash; nil if it never committed.
    func path(to hash: BatchHash) -> [SealedBatch]? {
        var path: [SealedBatch] = []
        var hash = hash
        while hash.rawValue != reference.store.rawValue {
            guard let known = batches[hash] else { return nil }
            path.append(known.batch)
            hash = known.batch.head.previous
        }
        return path.reversed()
    }

    private func goBack(to path: [SealedBatch]) {
        givenUp.keep(replies, runs.runs, discarded)
        givenUp.order = store.history.order
        reference = LogState(store: reference.store)
        state = SimulatedState(store.workload.makeState(), isItemByItem: true)
        replies = [:]
        sessions = [:]
        runs = RunChecker(readsScripts: store.workload.hasScriptedEffects)
        // An older copy may have given its epoch the number of one that it forgot.
        behind = nil
        stopping = nil
        unheard = nil
        for batch in path { apply(batch) }
        forkedAt = committed.sequence
    }

    /// An operator chose the history that ends here; what only others have is given up.
    func chose(_ position: Position) {
        guard let path = path(to: position.hash) else { return }
        let kept = Set(path.map(\.hash))
        hasForked = true
        for hash in batches.keys where !kept.contains(hash) { discarded.insert(hash) }
        for hash in kept { discarded.remove(hash) }
        goBack(to: path)
    }

    private func apply(_ batch: SealedBatch) {
        note(batch)
        if batch.head.time < reference.time {
            fail(.logTime, "log time is \(batch.head.time) at \(batch.head.first) and was \(reference.time) before")
        }
        do {
            _ = try reference.apply(batch, to: state)
        } catch {
            fail(.agreement, "a committed batch at \(batch.head.first) cannot be applied: \(error)")
            return
        }
        if let mark = reference.mark, mark.sequence == batch.head.last {
            let own = state.digest + reference.digest
            if own != mark.digest {
                fail(.digest, "the mark at \(mark.sequence) says \(mark.digest), the log gives \(own)")
            }
        }
        batches[batch.hash] = Known(
            batch: batch, digest: state.digest + reference.digest, print: LogPrint(reference),
            remembered: store.workload.remember(state.base, at: batch.head))
        discarded.remove(batch.hash)
        if ends[batch.head.last]?.contains(batch.hash) != true { ends[batch.head.last, default: []].append(batch.hash) }
    }

    /// The heads of the committed batches that end at a number.
    func heads(at sequence: SequenceNumber) -> [BatchHead] {
        (ends[sequence] ?? []).compactMap { batches[$0]?.batch.head }
    }

    // MARK: - Replicas

    /// A replica no longer has anything, or begins with nothing.
    func forgot(_ process: NodeProcess) {
        divergence.began(process.id)
        places[process.id] = nil
        givenUpBy[process.id] = nil
        watchers.forgot(process.id)
    }

    /// A replica discards what it has: of a memory that is gone, or an end that was told to nobody.
    func gaveUp(_ process: ReplicaProcess) {
        let place = places[process.id]
        forgot(process)
        if !simulation.options.isVolatile { givenUpBy[process.id] = place }
    }

    func applied(_ new: [SealedBatch], by process: ReplicaProcess) {
        for batch in new {
            guard let known = batches[batch.hash] else {
                fail(.committedOnly, "\(process.name) applied \(batch.head.first) to \(batch.head.last), not committed")
                return
            }
            if let place = places[process.id], place != known.batch.head.previous {
                fail(.agreement, "\(process.name) applied \(batch.head.first) after another history")
            }
            places[process.id] = batch.hash
        }
        divergence.applied(new.last.flatMap { batches[$0.hash] }, by: process)
        compareDigest(process)
    }

    func installed(_ log: LogState, _ digest: Digest, by process: ReplicaProcess) {
        guard let known = batches[log.position.hash] else {
            fail(
                .joinIntegrity, "\(process.name) installed a snapshot at \(log.position), which is no place of the log")
            return
        }
        if known.print != LogPrint(log) || known.digest != digest {
            fail(.joinIntegrity, "\(process.name) installed a snapshot at \(log.position) with other tables")
        }
        moved(process, to: log.position, from: places[process.id] ?? givenUpBy[process.id])
        compareDigest(process)
    }

    /// A node stands at another place than before: what it gave up for that, if anything, was told to nobody.
    private func moved(_ process: NodeProcess, to position: Position, from place: BatchHash?) {
        divergence.began(process.id)
        if let place, !simulation.coverage.wasDiverged(process.id) { checkLeft(place, for: position, by: process) }
        places[process.id] = position.sequence == .zero ? nil : position.hash
        givenUpBy[process.id] = nil
    }

    private func compareDigest(_ process: ReplicaProcess) {
        guard !process.state.isTainted, let machine = process.machine, let known = batches[machine.log.position.hash]
        else { return }
        let own = process.state.digest + machine.log.digest
        if own != known.digest {
            fail(.digest, "\(process.name) has digest \(own) at \(machine.log.position.sequence), not \(known.digest)")
        }
    }
}
