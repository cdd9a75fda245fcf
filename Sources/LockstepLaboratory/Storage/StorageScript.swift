import Counters
import Lockstep
package import LockstepCore
package import LockstepFolders
package import LockstepNode

/// What a store's journal is made to do, step by step, and so what it must hold after each step.
///
/// A seed gives the same script in every process: the one that writes, and the one that judges what is left.
package struct StorageScript: Sendable {
    package static let storeName = "counters"
    package static let cluster = ClusterID(rawValue: 0x10C5)
    package static let node = "primary"

    package enum Action: Hashable, Sendable {
        /// Makes folder and journal, and recovers.
        case create
        /// Writes the folder's `node.json`.
        case identify
        /// Appends these batches in one transaction.
        case append([Int])
        /// Begins to save a snapshot of the head; appends follow meanwhile.
        case beginSave
        /// Waits until the snapshot of that batch is saved.
        case endSave(Int)
        /// Puts a snapshot in the place of everything, as a replica does that is fed anew.
        case replace
        /// Notes what an operator decided.
        case note(String)
        /// An operator cuts the log's end off.
        case cut
        /// Closes, opens and recovers.
        case reopen
        /// Waits until the side mark is synced.
        case settle
        /// What only the journal of a data node is made to do.
        case arbitrated(Arbitrated)
    }

    package struct Step: Sendable {
        package var action: Action
        /// The batch at whose end the log stands after this step; nil is the log's start.
        package var head: Int?
        /// What the journal knows after this step; nil before it is marked as arbitrated.
        package var known: Known?
    }

    /// A batch of some history: the histories form a tree, since a log may be cut and go on otherwise.
    package struct Link: Sendable {
        package var parent: Int?
        package var batch: SealedBatch
        /// What the log determines after it.
        package var log: LogState
    }

    package private(set) var steps: [Step] = []
    package private(set) var links: [Link] = []
    /// By position, so that what is found can be named.
    package private(set) var places: [Position: Int] = [:]
    /// Whether the journal is a data node's.
    package let isArbitrated: Bool
    var random: SplitMix64

    /// Draws a script of about so many steps; with `isArbitrated` that of a data node's journal.
    package init(seed: UInt64, steps count: Int, isArbitrated: Bool = false) throws {
        random = SplitMix64(seed: seed)
        self.isArbitrated = isArbitrated
        if isArbitrated {
            try drawArbitrated(steps: count)
            return
        }
        var saved: Int?
        steps = [Step(action: .create, head: nil), Step(action: .identify, head: nil)]
        while steps.count < count {
            switch random.next(below: 100) {
            case 0..<62: try append()
            case 62..<74: try save(&saved)
            case 74..<79: add(.note("note \(steps.count)"))
            case 79..<86: add(.reopen)
            case 86..<92: try replace(&saved)
            case 92..<96: try cut(after: saved)
            default: if random.next(below: 8) == 0, count > 100 { add(.settle) }
            }
        }
        // It takes a second, which scripts that are run thousands of times do not have.
        if count > 100 { add(.settle) }
        try append()
        add(.reopen)
        try append()
    }

    package static var store: StoreID { StoreID(cluster: cluster, name: storeName) }

    /// Where the log stands at a head.
    package func position(_ head: Int?) -> Position {
        head.map { links[$0].batch.position } ?? .start(of: Self.store)
    }

    /// The batches that lead to `head`, oldest first, those through `base` left out; nil if `base` is not before it.
    package func path(to head: Int?, after base: Int?) -> [SealedBatch]? {
        var batches: [SealedBatch] = []
        var at = head
        while at != base {
            guard let here = at else { return nil }
            batches.append(links[here].batch)
            at = links[here].parent
        }
        return batches.reversed()
    }

    /// The state that the snapshot at a batch holds; its bytes mean nothing.
    package func state(at link: Int) -> [UInt8] {
        let size = link % 7 == 0 ? 30_000 : 400 + link * 7_919 % 9_000
        return (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ link) }
    }

    /// The encoded snapshot at a batch.
    package func snapshot(at link: Int) -> [UInt8] {
        SnapshotContent(log: links[link].log, digest: Digest(rawValue: UInt128(link)), state: state(at: link)).encoded()
    }

    // MARK: - Drawing

    var head: Int? { steps.last?.head }

    var known: Known? { steps.last?.known }

    mutating func add(_ action: Action) { steps.append(Step(action: action, head: head, known: known)) }

    mutating func add(_ step: Step) { steps.append(step) }

    private mutating func append() throws {
        var added: [Int] = []
        var last = head
        for _ in 0...random.next(below: 4) {
            let link = try grow(last, opensEpoch: last == nil || random.next(below: 12) == 0)
            added.append(link)
            last = link
        }
        steps.append(Step(action: .append(added), head: last))
    }

    mutating func save(_ saved: inout Int?) throws {
        guard let link = head, link != saved else { return }
        // A snapshot holds nothing but what is committed.
        if known != nil { commit(link) }
        add(.beginSave)
        for _ in 0..<random.next(below: 5) { if isArbitrated { try appendKnowing() } else { try append() } }
        add(.endSave(link))
        saved = link
    }

    /// A snapshot further along this history, or of another that parted from it a few batches ago.
    mutating func replace(_ saved: inout Int?) throws {
        var base = head
        let isFork = random.next(below: 2) == 0
        if isFork { for _ in 0..<random.next(below: 6) { base = base.flatMap { links[$0].parent } } }
        for step in 0...random.next(below: 4) { base = try grow(base, opensEpoch: step == 0) }
        guard let base else { return }
        var known = known
        known?.committed = base
        steps.append(Step(action: .replace, head: base, known: known))
        saved = base
    }

    private mutating func cut(after saved: Int?) throws {
        var end = head
        for _ in 0...random.next(below: 5) where end != saved { end = end.flatMap { links[$0].parent } }
        guard end != head, end != nil else { return }
        steps.append(Step(action: .cut, head: end))
        // Like a primary that an operator let go on.
        let link = try grow(end, opensEpoch: true)
        steps.append(Step(action: .append([link]), head: link))
    }

    /// A new batch after `parent`, unlike every other.
    mutating func grow(_ parent: Int?, opensEpoch: Bool) throws -> Int {
        var log = parent.map { links[$0].log } ?? LogState(store: Self.store)
        let number = UInt64(links.count)
        let epoch = opensEpoch ? Epoch(rawValue: log.position.epoch.rawValue + 1) : log.position.epoch
        var builder = BatchBuilder(
            store: Self.store, epoch: epoch, after: log.position, time: LogTime(rawValue: 1_000))
        if opensEpoch {
            builder.append(
                .epochOpen(
                    node: Self.node, incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: UInt128(number) + 1))
            )
        }
        // Ends of sessions that do not exist: entries of any size without effect.
        let count = random.next(below: 12) == 0 ? 200 + random.next(below: 2_500) : 1 + random.next(below: 120)
        builder.append(
            .sessionExpire(
                (0..<count).map { index in
                    SessionID(
                        epoch: Epoch(rawValue: 1 << 40),
                        sequence: SequenceNumber(rawValue: 1 << 30 + number << 12 + index))
                }))
        let batch = builder.sealed()
        _ = try log.apply(batch, to: ReactorState.detached(Counters()))
        links.append(Link(parent: parent, batch: batch, log: log))
        places[batch.position] = links.count - 1
        return links.count - 1
    }
}

extension StorageScript {
    /// Makes the middle batch another one than the writer wrote: a lie that a judge must notice.
    package mutating func falsify() {
        let middle = links.count / 2
        links[middle].batch = links[middle + 1].batch
    }

    /// What the journal is asked for.
    package var request: JournalRequest {
        var request = Self.staticRequest
        request.isForDataNode = isArbitrated
        return request
    }

    /// What a node without an arbiter asks for.
    package static var staticRequest: JournalRequest {
        JournalRequest(cluster: cluster, storeName: storeName, nodeName: node)
    }

    /// What `node.json` says.
    package static var identity: NodeFolder.Identity {
        NodeFolder.Identity(node: node, cluster: "\(cluster)", stores: [storeName])
    }
}
