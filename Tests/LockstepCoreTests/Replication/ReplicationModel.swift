import LockstepCore

/// What can be switched off, to see that the model notices.
enum ReplicationDefect: String, CaseIterable {
    case acknowledgesBeforeDurable, acceptsLowerEpochs, countsRemovalAtProposal, countsAdditionLate
    case takesUnknownForRefused, anybodyIsElected, forgetsIncarnations, resumesItsEpoch, takesAnswersOfAnEarlierLife
    case cutsToItsCommit, readsUnconfirmed
}

struct ModelViolation: Error { let text: String }

/// One data node of the model: a log, how much of it is on the disk, and the shipped values that decide.
struct ModelNode {
    struct Entry: Hashable {
        var epoch: Epoch
        var id: UInt64
        var hash: BatchHash
    }
    struct Reign {
        var set: InSyncSet
        var tracker: ReplicationTracker
        /// The batch that opened the epoch.
        var opening: Int
        var memory: ArbiterMemory
        /// Reads that wait: what was committed anywhere when it began, and who has confirmed.
        var reads: [UInt64: (floor: Int, confirmed: Set<Member>)] = [:]
    }

    let index: Int
    var incarnation: UInt128 = 1
    var boot: UInt128
    var log: [Entry] = []
    var durable = 0
    var known = 0
    /// What the disk has of promises and of the arbiter.
    var promised = Epoch.zero
    var memory = ArbiterMemory()
    var isUp = true
    var election: ElectionStateMachine?
    var reign: Reign?
    var stream: UInt64 = 0

    func end(_ count: Int) -> SequenceNumber { SequenceNumber(rawValue: UInt64(count)) }
    func hash(_ count: Int) -> BatchHash { count == 0 ? .none : log[count - 1].hash }
    var position: Position {
        Position(epoch: log.last?.epoch ?? .zero, sequence: end(log.count), hash: hash(log.count))
    }
    func member(_ defect: ReplicationDefect?) -> Member {
        Member(
            node: ReplicationModel.name(index),
            incarnation: Incarnation(rawValue: defect == .forgetsIncarnations ? 1 : incarnation))
    }
}

/// Data nodes, a network that loses, doubles and reorders, and an arbiter whose answers are lost, late and doubled.
///
/// Who is required, what an acknowledgement counts, what an answer of the arbiter means and who may campaign are the
/// shipped values'; how batches travel is the model's, in the simplest form. The schedule is drawn from a seed.
struct ReplicationModel {
    enum Message {
        case stream(from: Member, boot: BootID, to: Int, epoch: Epoch, stream: UInt64)
        case prepare(
            to: Int, from: Int, epoch: Epoch, boot: BootID, stream: UInt64, log: [ModelNode.Entry], commit: Int,
            read: UInt64)
        case acknowledge(to: Int, ReplicationAcknowledgement, read: UInt64)
        case transaction(from: Int, boot: UInt128, RecordAttempt, request: UInt64)
        case reading(from: Int, boot: UInt128, request: UInt64)
        case applied(to: Int, boot: UInt128, AttemptID, StoredRecord)
        case shown(to: Int, boot: UInt128, StoredRecord, request: UInt64, isTransaction: Bool)
    }

    var random: SplitMix64
    let defect: ReplicationDefect?
    var nodes: [ModelNode]
    var stored: StoredRecord
    var network: [Message] = []
    /// What was ever committed, and in which epoch.
    var committed: [(entry: ModelNode.Entry, epoch: Epoch)] = []
    var owner: [[UInt64]: UInt64] = [:]
    var now = Tick.zero
    var ids: UInt64 = 0
    var elections = 0
    var readsServed = 0
    let loss: Double
    let wipe: Double
    let weights: [Double]

    static func name(_ index: Int) -> NodeID { NodeID("node-\(index)") ?? { preconditionFailure("a name") }() }

    init(seed: UInt64, defect: ReplicationDefect?) {
        var random = SplitMix64(seed: seed)
        let count = [2, 3, 3, 4][Int(random.next(below: 4))]
        func draw(_ choices: [Double]) -> Double { choices[Int(random.next(below: UInt64(choices.count)))] }
        loss = draw([0.02, 0.1, 0.3])
        wipe = draw([0, 0.1, 0.3])
        let base = [0.5, 0.15, 0.06, 0.08, 0.05, 0.06, 0.04, 0.03]
        weights = base.map { $0 * draw([0.3, 1, 1, 3]) }
        self.defect = defect
        let minimum = Int(1 + random.next(below: 2))
        nodes = (0..<count).map { ModelNode(index: $0, boot: UInt128($0 + 1) << 64) }
        let first = ConfigurationRecord.Primary(
            member: nodes[0].member(defect), boot: BootID(rawValue: 99), endpoints: [])
        var record = ConfigurationRecord(
            cluster: ClusterID(rawValue: 1), store: StoreID(rawValue: 2), channel: Channel(rawValue: 1), epoch: .zero,
            primary: first, openedAfter: Position(epoch: .zero, sequence: .zero, hash: .none), minimum: minimum,
            attempt: .none)
        for node in nodes.dropFirst() { record = record.adding(node.member(defect), attempt: .none) }
        stored = StoredRecord(record, revision: 1)
        self.random = random
        for index in nodes.indices { begin(index) }
    }

    mutating func chance(_ share: Double) -> Bool { Double(random.next() >> 11) / Double(1 << 53) < share }
    mutating func pick(_ count: Int) -> Int { Int(random.next(below: UInt64(count))) }
    mutating func fresh() -> UInt64 {
        ids += 1
        return ids
    }

    mutating func send(_ message: Message) {
        if !chance(loss) { network.append(message) }
        if chance(0.05) { network.append(message) }
    }

    // MARK: - Lives

    func place(_ index: Int) -> ConfigurationRecord.Primary {
        .init(member: nodes[index].member(defect), boot: BootID(rawValue: nodes[index].boot), endpoints: [])
    }

    mutating func begin(_ index: Int) {
        let seed = random.next()
        let highest = max(nodes[index].promised, nodes[index].position.epoch)
        nodes[index].election = ElectionStateMachine(
            .init(candidate: place(index)), promised: highest, memory: nodes[index].memory, seed: seed, now: now)
    }

    mutating func crashOrRestart(_ index: Int) {
        if nodes[index].isUp {
            let reign = nodes[index].reign
            nodes[index].isUp = false
            nodes[index].boot += 1
            nodes[index].stream = 0
            nodes[index].log.removeLast(nodes[index].log.count - nodes[index].durable)
            nodes[index].reign = defect == .resumesItsEpoch ? reign : nil
            if chance(wipe) {
                nodes[index] = ModelNode(
                    index: index, incarnation: nodes[index].incarnation + 1, boot: nodes[index].boot, isUp: false)
            }
            if defect == .cutsToItsCommit, nodes[index].known < nodes[index].log.count {
                nodes[index].log.removeLast(nodes[index].log.count - nodes[index].known)
                nodes[index].durable = nodes[index].log.count
            }
            return
        }
        nodes[index].isUp = true
        if nodes[index].reign == nil { begin(index) }
    }

    // MARK: - The primary

    mutating func append(_ index: Int, epoch: Epoch) throws {
        let (id, previous) = (fresh(), nodes[index].hash(nodes[index].log.count))
        let hash =
            previous.rawValue &* 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835 &+ UInt128(id) << 32
            &+ UInt128(epoch.rawValue)
        nodes[index].log.append(.init(epoch: epoch, id: id, hash: BatchHash(rawValue: hash)))
        let key = [epoch.rawValue, UInt64(nodes[index].log.count)]
        guard owner.updateValue(id, forKey: key) == nil else {
            throw ModelViolation(text: "a place of epoch \(epoch) was used twice")
        }
    }

    mutating func open(_ index: Int, _ won: StoredRecord) throws {
        let epoch = won.record.epoch
        elections += 1
        for (place, was) in committed.enumerated() where was.epoch < epoch {
            guard place < nodes[index].log.count, nodes[index].log[place] == was.entry else {
                throw ModelViolation(text: "the primary of epoch \(epoch) lacks what was committed at \(place + 1)")
            }
        }
        try append(index, epoch: epoch)
        let opening = nodes[index].log.count
        nodes[index].durable = opening
        let tracker = ReplicationTracker(
            epoch: epoch, boot: won.record.primary.boot, own: won.record.primary.member,
            opening: nodes[index].end(opening), now: now)
        nodes[index].reign = .init(set: InSyncSet(won), tracker: tracker, opening: opening, memory: nodes[index].memory)
        try advance(index)
        broadcast(index, read: 0)
    }

    /// What the shipped rule says of the set, falsified by the defects that are about it.
    func judged(_ set: InSyncSet) -> InSyncSet {
        guard let attempt = set.attempt else { return set }
        switch defect {
        case .countsAdditionLate: return InSyncSet(set.confirmed)
        case .countsRemovalAtProposal where attempt.proposed.inSync.count < set.confirmed.record.inSync.count:
            return InSyncSet(StoredRecord(attempt.proposed, revision: 0))
        default: return set
        }
    }

    mutating func advance(_ index: Int) throws {
        guard let reign = nodes[index].reign else { return }
        let node = nodes[index]
        let end = reign.tracker.commitEnd(
            judged(reign.set), ownDurable: node.end(node.durable), committed: node.end(node.known))
        for place in node.known..<max(node.known, Int(end.rawValue)) {
            if place < committed.count {
                guard committed[place].entry == node.log[place] else {
                    throw ModelViolation(text: "two entries were committed at \(place + 1)")
                }
            } else {
                committed.append((node.log[place], reign.set.epoch))
            }
        }
        nodes[index].known = max(node.known, Int(end.rawValue))
        try serveReads(index)
    }

    mutating func broadcast(_ index: Int, read: UInt64) {
        guard let reign = nodes[index].reign else { return }
        for other in nodes.indices where other != index {
            let stream = reign.tracker[nodes[other].member(defect)]?.stream ?? 0
            let count = chance(0.5) ? nodes[index].log.count : pick(nodes[index].log.count + 1)
            send(
                .prepare(
                    to: other, from: index, epoch: reign.set.epoch, boot: reign.set.primary.boot, stream: stream,
                    log: Array(nodes[index].log.prefix(count)), commit: nodes[index].known, read: read))
        }
    }

    mutating func reconfigure(_ index: Int) throws {
        guard var reign = nodes[index].reign else { return }
        let request = reign.memory.ask()
        guard reign.set.attempt == nil else {
            // Unknown until now: the same is asked again.
            if let attempt = reign.set.attempt {
                nodes[index].reign = reign
                send(.transaction(from: index, boot: nodes[index].boot, attempt, request: request))
            }
            return
        }
        let change: InSyncSet.Change?
        if chance(0.5) {
            let leavers = reign.set.required.filter { reign.set.canLose($0) }
            change = leavers.isEmpty ? nil : .removes(leavers[pick(leavers.count)])
        } else {
            let goal = max(nodes[index].known, reign.opening)
            let learners = nodes.indices.filter { other in
                let member = nodes[other].member(defect)
                return other != index && !reign.set.confirmed.record.contains(member)
                    && (reign.tracker[member]?.durable.rawValue ?? 0) >= UInt64(goal)
            }
            change = learners.isEmpty ? nil : .adds(nodes[learners[pick(learners.count)]].member(defect))
        }
        guard let change else { return }
        let attempt = reign.set.propose(change, attempt: AttemptID(rawValue: UInt128(fresh())))
        reign.set.checkInvariants()
        nodes[index].reign = reign
        send(.transaction(from: index, boot: nodes[index].boot, attempt, request: request))
        try advance(index)
    }

    mutating func stepDown(_ index: Int) {
        guard let memory = nodes[index].reign?.memory else { return }
        nodes[index].reign = nil
        nodes[index].memory = memory
        nodes[index].election?.steppedDown(memory, now: now)
    }

    // MARK: - Reads

    mutating func read(_ index: Int) throws {
        guard nodes[index].reign != nil, let opening = nodes[index].reign?.opening, nodes[index].known >= opening else {
            return
        }
        let number = fresh()
        nodes[index].reign?.reads[number] = (committed.count, [])
        if defect != .readsUnconfirmed { broadcast(index, read: number) }
        try serveReads(index)
    }

    mutating func serveReads(_ index: Int) throws {
        guard let reign = nodes[index].reign else { return }
        for (number, read) in reign.reads {
            let others = reign.set.required.filter { $0 != reign.tracker.own }
            guard defect == .readsUnconfirmed || others.allSatisfy(read.confirmed.contains) else { continue }
            guard nodes[index].known >= read.floor else {
                throw ModelViolation(text: "a read shows \(nodes[index].known) of \(read.floor)")
            }
            nodes[index].reign?.reads[number] = nil
            readsServed += 1
        }
    }
}
