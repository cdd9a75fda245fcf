import LockstepCore

/// What a schedule broke.
struct ClusterViolation: Error { let text: String }

/// Data nodes with their shipped machines, a network, disks, an arbiter, and one client; time is the schedule's.
///
/// Frames of a connection come in their order or not at all: a connection breaks, and what was under way is lost. The
/// arbiter answers late, twice, or not at all, whether it did what was asked or not.
struct DataCluster {
    static let cluster = ClusterID(rawValue: 0xC0FFEE << 64 | 9)
    static let store = StoreID(cluster: cluster, name: "counters")
    static let channel = Channel(rawValue: 3)
    static let startHash = Position.start(of: store).hash
    static let begin: Int64 = 1_800_000_000_000_000

    /// A standby's connection to a node.
    struct Link {
        var from: Int
        var to: Int
        var connection: Connection
        var toPrimary: [[UInt8]] = []
        var toStandby: [[UInt8]] = []
    }

    /// An order to the arbiter on its way, or its answer.
    enum Errand {
        case read(node: Int, boot: BootID, request: UInt64)
        case transact(node: Int, boot: BootID, request: UInt64, RecordAttempt)
        case applied(node: Int, boot: BootID, AttemptID, revision: Int64)
        case found(node: Int, boot: BootID, request: UInt64, StoredRecord, byReading: Bool)
    }

    var now = Tick(rawValue: 5_000_000_000)
    var nodes: [DataNode]
    var links: [Link] = []
    /// Connections that are gone, of which the primary has not heard yet.
    var orphans: [Link] = []
    var stored: StoredRecord
    var errands: [(due: Tick, Errand)] = []
    var random: SplitMix64
    var connections: UInt64 = 1
    var client = ClusterClient(connection: 1 << 40, isReader: false)
    var reader = ClusterClient(connection: 1 << 41, isReader: true)
    var isHealed = false
    /// Pairs of nodes that cannot reach each other.
    var cuts: Set<[Int]> = []
    var arbiterAwayUntil = Tick.zero
    /// The hash of every batch end that anybody committed, ever.
    var committed: [SequenceNumber: BatchHash] = [:]
    var highestCommit = SequenceNumber.zero
    var owners: [Epoch: BootID] = [:]
    var counts = Counts()
    /// What is broken on purpose.
    var defect: ClusterDefect?

    struct Counts {
        var elections = 0
        var answers = 0
        var reads = 0
        var truncations = 0
        var additions = 0
        var removals = 0
        var lostDisks = 0
        /// Handovers that were ordered, and those that nobody took.
        var handovers = 0
        var kept = 0
    }

    init(nodes count: Int, minimum: Int, seed: UInt64, defect: ClusterDefect? = nil) {
        random = SplitMix64(seed: seed)
        nodes = (0..<count).map { DataNode($0) }
        self.defect = defect
        let first = ConfigurationRecord(
            cluster: Self.cluster, store: Self.store, channel: Self.channel, epoch: Epoch(rawValue: 1),
            primary: nodes[0].place, openedAfter: .start(of: Self.store), minimum: minimum,
            attempt: AttemptID(rawValue: 7))
        stored = StoredRecord(first, revision: 1)
        for index in nodes.indices { boot(index) }
    }

    mutating func chance(_ share: Double) -> Bool { Double(random.next() >> 11) / Double(1 << 53) < share }
    mutating func pick(_ count: Int) -> Int { Int(random.next(below: UInt64(count))) }

    var wall: LogTime { LogTime(rawValue: Self.begin + now.rawValue / 1_000) }
    func isCut(_ one: Int, _ other: Int) -> Bool { cuts.contains([min(one, other), max(one, other)]) }

    // MARK: - Processes

    mutating func boot(_ index: Int) {
        let node = nodes[index]
        node.boot = BootID(rawValue: UInt128(random.next()) << 64 | UInt128(index))
        reopen(index)
    }

    /// The process goes on, or begins, as a standby with what its disk has.
    mutating func reopen(_ index: Int) {
        closeLinks(of: index, asServer: true)
        let directives = nodes[index].open(seed: random.next(), now: now)
        execute(directives, at: index)
    }

    mutating func crash(_ index: Int) {
        nodes[index].role = .down
        nodes[index].writes = []
        closeLinks(of: index, asServer: true)
        closeLinks(of: index, asServer: false)
    }

    /// The connections of a process end; the other ends are told.
    private mutating func closeLinks(of index: Int, asServer: Bool) {
        for link in links where (asServer ? link.to : link.from) == index { close(link) }
    }

    mutating func close(_ link: Link) {
        guard let place = links.firstIndex(where: { $0.connection == link.connection }) else { return }
        links.remove(at: place)
        orphans.append(link)
        let refused = !nodes[link.to].isUp
        withStandby(link.from) { $0.disconnected(isRefused: refused, now: $1, into: &$2) }
    }

    // MARK: - Machines

    mutating func withStandby(
        _ index: Int, _ event: (inout StandbyStateMachine, Tick, inout [StandbyDirective]) -> Void
    ) {
        guard case .standby(var machine) = nodes[index].role else { return }
        var directives: [StandbyDirective] = []
        event(&machine, now, &directives)
        machine.checkInvariants()
        nodes[index].role = .standby(machine)
        nodes[index].disk.memory = machine.election.memory
        execute(directives, at: index)
    }

    mutating func withPrimary(
        _ index: Int, _ event: (inout PrimaryStateMachine, inout PrimaryStep) -> Void
    ) {
        guard case .primary(var machine) = nodes[index].role else { return }
        nodes[index].role = .down
        var directives: [PrimaryDirective] = []
        machine.step(now: now, wall: wall, state: nodes[index].state, into: &directives, event)
        machine.checkInvariants()
        machine.replication?.checkInvariants()
        if let memory = machine.replication?.memory { nodes[index].disk.memory = memory }
        nodes[index].role = .primary(machine)
        passOn(directives, at: index)
    }

    private mutating func execute(_ directives: [StandbyDirective], at index: Int) {
        let node = nodes[index]
        for directive in directives {
            switch directive {
            case .connect(let primary): connect(index, to: primary)
            case .send(let frame), .tell(_, let frame):
                if let target = node.dials, !links.contains(where: { $0.from == index }) { dial(index, target) }
                if let place = links.firstIndex(where: { $0.from == index }) { links[place].toPrimary.append(frame) }
            case .append(let batches, let committed):
                node.writes.append(.batches(batches, committed: committed))
                guard defect == .diskLies, let end = batches.last?.head.last else { break }
                withStandby(index) { $0.appended(through: end, now: $1, into: &$2) }
            case .truncate(let position):
                counts.truncations += 1
                node.writes.append(.truncate(position))
            case .wantsSnapshot: break
            case .readRecord(let request): ask(.read(node: index, boot: node.boot, request: request))
            case .transact(let attempt, let request):
                ask(.transact(node: index, boot: node.boot, request: request, attempt))
            case .promise(let epoch): node.writes.append(.promise(epoch))
            case .withdrawPromise(let stored):
                node.writes.append(.promise(max(stored.record.epoch, node.standby?.log.end.epoch ?? .zero)))
            case .won(let stored): win(index, stored)
            case .arbiterWasSetBack, .count: break
            case .halt(let fault): client.violation = "\(node.name) halts: \(fault)"
            }
        }
        if let log = node.standby?.log { node.apply(through: min(log.committed, log.durable), from: log.window) }
    }

    private mutating func connect(_ index: Int, to primary: ConfigurationRecord.Primary) {
        orphans += links.filter { $0.from == index }
        links.removeAll { $0.from == index }
        nodes[index].dials = nodes.firstIndex { $0.name == primary.member.node }
        if let target = nodes[index].dials { dial(index, target) }
    }

    /// A socket connects, if somebody is there.
    private mutating func dial(_ index: Int, _ target: Int) {
        guard target != index, nodes[target].isUp, !isCut(index, target) else { return }
        connections += 1
        links.append(Link(from: index, to: target, connection: Connection(rawValue: connections)))
    }

    /// The election is won: the rest of the log is applied, and the epoch is opened.
    private mutating func win(_ index: Int, _ stored: StoredRecord) {
        let node = nodes[index]
        guard let standby = node.standby else { return }
        counts.elections += 1
        let epoch = stored.record.epoch
        if let owner = owners[epoch], owner != node.boot { client.violation = "epoch \(epoch) has two owners" }
        owners[epoch] = node.boot
        for (sequence, hash) in committed where standby.log.window.hash(at: sequence) != hash {
            client.violation = "\(node.name) opens \(epoch) without the committed \(sequence)"
        }
        var configuration = PrimaryConfiguration(
            cluster: Self.cluster, node: node.name.name, incarnation: node.incarnation, boot: node.boot,
            channel: Self.channel, storeName: "counters", isVolatile: false, publishEndpoint: "", bulkEndpoint: "")
        configuration.audienceMilliseconds = 0
        configuration.reign = Reign(
            won: stored, member: node.member, memory: standby.election.memory, seed: random.next())
        var window = ResendWindow()
        var tail: [SealedBatch] = []
        for batch in node.disk.batches {
            if batch.head.last <= node.applied.position.sequence { window.append(batch) } else { tail.append(batch) }
        }
        if defect == .tailIsForgotten {
            node.disk.batches.removeLast(tail.count)
            tail = []
        }
        let machine = PrimaryStateMachine(
            configuration: configuration, recovered: node.applied, window: window, wall: wall, now: now)
        node.role = .primary(machine)
        node.nextHeartbeat = now
        withPrimary(index) { $0.start(inheriting: tail, &$1) }
    }

    mutating func passOn(_ directives: [PrimaryDirective], at index: Int) {
        let node = nodes[index]
        for directive in directives {
            switch directive {
            case .persist(let batches):
                node.writes.append(.batches(batches, committed: node.primary?.committed.position.sequence ?? .zero))
            case .committed(let batches): for batch in batches { commit(batch, at: index) }
            case .send(let frame, client.connection): if client.target?.index == index { client.received(frame) }
            case .send(let frame, reader.connection): if reader.target?.index == index { reader.received(frame) }
            case .replication(let wanted): replicate(wanted, at: index)
            case .halt(let reason): client.violation = "\(node.name) halts: \(reason)"
            default: break
            }
        }
    }

    private mutating func commit(_ batch: SealedBatch, at index: Int) {
        let end = batch.head.last
        if let known = committed[end], known != batch.hash { client.violation = "two histories at \(end)" }
        committed[end] = batch.hash
        highestCommit = max(highestCommit, end)
    }

    private mutating func replicate(_ directive: ReplicationDirective, at index: Int) {
        let node = nodes[index]
        switch directive {
        case .send(let frame, let connection):
            if let place = links.firstIndex(where: { $0.connection == connection }) {
                links[place].toStandby.append(frame)
            }
        case .transact(let attempt, let request):
            ask(.transact(node: index, boot: node.boot, request: request, attempt))
        case .readRecord(let request): ask(.read(node: index, boot: node.boot, request: request))
        case .changed(.adds): counts.additions += 1
        case .changed(.removes): counts.removals += 1
        case .postKept: counts.kept += 1
        case .changed, .refused, .count: break
        case .over:
            // What is at the disk is waited for, then the store is opened anew.
            while node.write() != nil {}
            reopen(index)
        }
    }

    // MARK: - The arbiter

    private mutating func ask(_ errand: Errand) {
        let wait = isHealed ? 2 : Int64(pick(chance(0.1) ? 2_000 : 10)) + 1
        guard isHealed || !chance(0.05) else { return }
        errands.append((now.advanced(byMilliseconds: wait), errand))
        // An order may come twice.
        if !isHealed, chance(0.05) { errands.append((now.advanced(byMilliseconds: wait + Int64(pick(500))), errand)) }
    }

    mutating func runErrands() {
        let due = errands.filter { $0.due <= now }
        errands.removeAll { $0.due <= now }
        for (_, errand) in due { run(errand) }
    }

    private mutating func run(_ errand: Errand) {
        switch errand {
        case .read(let node, let boot, let request):
            guard now >= arbiterAwayUntil else { return }
            ask(.found(node: node, boot: boot, request: request, stored, byReading: true))
        case .transact(let node, let boot, let request, let attempt):
            guard now >= arbiterAwayUntil else { return }
            if stored == attempt.compared {
                stored = StoredRecord(attempt.proposed, revision: stored.revision + 1)
                ask(.applied(node: node, boot: boot, attempt.attempt, revision: stored.revision))
            } else {
                ask(.found(node: node, boot: boot, request: request, stored, byReading: false))
            }
        case .applied(let node, let boot, let id, let revision):
            guard nodes[node].boot == boot else { return }
            withStandby(node) { $0.applied(id, revision: revision, now: $1, into: &$2) }
            withPrimary(node) { $0.recordApplied(id, revision: revision, &$1) }
        case .found(let node, let boot, let request, let record, let byReading):
            guard nodes[node].boot == boot else { return }
            withStandby(node) { machine, now, directives in
                if byReading {
                    machine.recordRead(record, request: request, now: now, into: &directives)
                } else {
                    machine.refused(record, request: request, now: now, into: &directives)
                }
            }
            withPrimary(node) { $0.recordFound(record, request: request, &$1) }
        }
    }
}
