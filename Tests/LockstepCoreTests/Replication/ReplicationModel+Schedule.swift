import LockstepCore

extension ReplicationModel {
    mutating func run(steps: Int) throws {
        for _ in 0..<steps { try step() }
    }

    private mutating func step() throws {
        now = now.advanced(byMilliseconds: 1)
        let index = pick(nodes.count)
        var left = Double(random.next() >> 11) / Double(1 << 53) * weights.reduce(0, +)
        let action = weights.firstIndex { weight in
            left -= weight
            return left < 0
        }
        switch action ?? 0 {
        case 0: if !network.isEmpty { try deliver(network.remove(at: pick(network.count))) }
        case 1: try act(index)
        case 2: try sync(index)
        case 3: if nodes[index].isUp { broadcast(index, read: 0) }
        case 4: if nodes[index].isUp { try reconfigure(index) }
        case 5: if nodes[index].isUp, nodes[index].reign == nil, elections < 12 { try silence(index) }
        case 6: crashOrRestart(index)
        default: if nodes[index].isUp { try read(index) }
        }
        if network.count > 60 { network.remove(at: pick(network.count)) }
    }

    private mutating func act(_ index: Int) throws {
        guard nodes[index].isUp, let epoch = nodes[index].reign?.set.epoch, nodes[index].log.count < 14 else { return }
        try append(index, epoch: epoch)
        if chance(0.6) { nodes[index].durable = nodes[index].log.count }
        try advance(index)
        broadcast(index, read: 0)
    }

    private mutating func sync(_ index: Int) throws {
        guard nodes[index].isUp else { return }
        nodes[index].durable = nodes[index].log.count
        try advance(index)
    }

    /// The primary was silent for too long: the election's own deadline comes.
    private mutating func silence(_ index: Int) throws {
        now = max(now, nodes[index].election?.nextDeadline == .never ? now : nodes[index].election?.nextDeadline ?? now)
        if defect == .anybodyIsElected, !stored.record.contains(nodes[index].member(defect)) {
            let member = nodes[index].member(defect)
            let widened = StoredRecord(stored.record.adding(member, attempt: .none), revision: stored.revision)
            let record = widened.record.campaign(
                place(index), above: nodes[index].promised, after: nodes[index].position,
                attempt: AttemptID(rawValue: UInt128(fresh())))
            guard var record else { return }
            record.number = stored.record.number + 1
            stored = StoredRecord(record, revision: stored.revision + 1)
            nodes[index].promised = record.epoch
            return try open(index, stored)
        }
        try elect(index) { $0.tick(now: $2, into: &$1) }
    }

    // MARK: - Elections

    private mutating func elect(
        _ index: Int, _ event: (inout ElectionStateMachine, inout [ElectionStateMachine.Directive], Tick) -> Void
    ) throws {
        guard var election = nodes[index].election else { return }
        var directives: [ElectionStateMachine.Directive] = []
        event(&election, &directives, now)
        election.checkInvariants()
        nodes[index].election = election
        nodes[index].memory = election.memory
        for directive in directives {
            switch directive {
            case .readRecord(let request): send(.reading(from: index, boot: nodes[index].boot, request: request))
            case .promise(let epoch):
                nodes[index].promised = max(nodes[index].promised, epoch)
                try elect(index) { $0.promiseStored(epoch, now: $2, into: &$1) }
            case .transact(let attempt, let request):
                send(.transaction(from: index, boot: nodes[index].boot, attempt, request: request))
            case .withdrawPromise(let stored):
                nodes[index].promised = max(stored.record.epoch, nodes[index].position.epoch)
            case .open(let won): try open(index, won)
            case .follow: break
            case .regressed: throw ModelViolation(text: "the arbiter was not set back, and is taken for that")
            }
        }
    }

    // MARK: - Messages

    private mutating func deliver(_ message: Message) throws {
        switch message {
        case .transaction(let from, let boot, let attempt, let request):
            if stored == attempt.compared {
                stored = StoredRecord(attempt.proposed, revision: stored.revision + 1)
                send(.applied(to: from, boot: boot, attempt.attempt, stored))
            } else {
                send(.shown(to: from, boot: boot, stored, request: request, isTransaction: true))
            }
        case .reading(let from, let boot, let request):
            send(.shown(to: from, boot: boot, stored, request: request, isTransaction: false))
        case .applied(let to, let boot, let id, let stored):
            guard nodes[to].isUp else { return }
            if boot != nodes[to].boot {
                guard defect == .takesAnswersOfAnEarlierLife, nodes[to].reign == nil,
                    stored.record.primary.member == nodes[to].member(defect), stored.record.epoch >= nodes[to].promised
                else { return }
                return try open(to, stored)
            }
            try applied(to, id, stored)
        case .shown(let to, let boot, let stored, let request, let isTransaction):
            if nodes[to].isUp, boot == nodes[to].boot {
                try shown(to, stored, request: request, isTransaction: isTransaction)
            }
        case .stream(let from, let boot, let to, let epoch, let stream):
            guard nodes[to].isUp, nodes[to].reign?.set.epoch == epoch, from != nodes[to].member(defect) else { return }
            _ = nodes[to].reign?.tracker.opened(from, boot: boot, stream: stream, durable: .zero, now: now)
        case .prepare(let to, let from, let epoch, let boot, let stream, let log, let commit, let read):
            guard nodes[to].isUp else { return }
            try prepare(
                to, from: from, epoch: epoch, boot: boot, stream: stream, log: log, commit: commit, read: read)
        case .acknowledge(let to, let acknowledgement, let read):
            try acknowledged(to, acknowledgement, read: read)
        }
    }

    private mutating func applied(_ index: Int, _ id: AttemptID, _ stored: StoredRecord) throws {
        guard nodes[index].reign != nil else {
            return try elect(index) { $0.applied(id, revision: stored.revision, now: $2, into: &$1) }
        }
        _ = nodes[index].reign?.set.applied(id, revision: stored.revision)
        nodes[index].reign?.memory.wrote(stored)
        nodes[index].reign?.set.checkInvariants()
        try advance(index)
    }

    private mutating func shown(_ index: Int, _ stored: StoredRecord, request: UInt64, isTransaction: Bool) throws {
        guard nodes[index].reign != nil else {
            let end = nodes[index].position
            let id = AttemptID(rawValue: UInt128(fresh()))
            return try elect(index) { election, directives, now in
                if isTransaction {
                    election.refused(stored, request: request, now: now, into: &directives)
                } else {
                    election.read(
                        stored, request: request, end: end, known: .zero, told: .init(), hasFollowed: true,
                        attemptID: id,
                        now: now,
                        into: &directives)
                }
            }
        }
        if defect == .takesUnknownForRefused, isTransaction, let set = nodes[index].reign?.set {
            nodes[index].reign?.set = InSyncSet(set.confirmed)
            return
        }
        guard nodes[index].reign?.memory.judge(stored, request: request) == .newest else { return }
        switch nodes[index].reign?.set.found(stored) {
        case .over: stepDown(index)
        case .changed, .refused, .open, nil: try advance(index)
        }
    }

    private mutating func prepare(
        _ to: Int, from: Int, epoch: Epoch, boot: BootID, stream: UInt64, log: [ModelNode.Entry], commit: Int,
        read: UInt64
    ) throws {
        if nodes[to].reign == nil {
            var isFollowed = false
            try elect(to) { isFollowed = $0.heard(epoch: epoch, now: $2, into: &$1) }
            guard isFollowed || defect == .acceptsLowerEpochs else { return }
        } else {
            guard let own = nodes[to].reign?.set.epoch, epoch > own else { return }
            // A frame of a reign that was won deposes.
            stepDown(to)
            try elect(to) { _ = $0.heard(epoch: epoch, now: $2, into: &$1) }
        }
        nodes[to].promised = max(nodes[to].promised, epoch)
        var common = 0
        while common < min(nodes[to].log.count, log.count), nodes[to].log[common] == log[common] { common += 1 }
        if common < log.count {
            guard common >= nodes[to].known else {
                throw ModelViolation(text: "a member is asked to cut what it knows to be committed")
            }
            nodes[to].log.removeLast(nodes[to].log.count - common)
            nodes[to].log += log[common...]
            nodes[to].durable = min(nodes[to].durable, common)
        }
        // What it has of its own reign may not have been synced either.
        if defect != .acknowledgesBeforeDurable { nodes[to].durable = max(nodes[to].durable, log.count) }
        nodes[to].known = max(nodes[to].known, min(commit, log.count))
        let member = nodes[to].member(defect)
        if stream == 0 || stream != nodes[to].stream {
            nodes[to].stream = fresh()
            send(
                .stream(
                    from: member, boot: BootID(rawValue: nodes[to].boot), to: from, epoch: epoch,
                    stream: nodes[to].stream))
        }
        let acknowledgement = ReplicationAcknowledgement(
            member: member, boot: BootID(rawValue: nodes[to].boot), epoch: epoch, primaryBoot: boot,
            stream: nodes[to].stream, end: nodes[to].end(log.count), hash: log.last?.hash ?? .none)
        send(.acknowledge(to: from, acknowledgement, read: read))
    }

    private mutating func acknowledged(
        _ index: Int, _ acknowledgement: ReplicationAcknowledgement, read: UInt64
    ) throws {
        guard nodes[index].isUp, nodes[index].reign != nil else { return }
        let count = Int(acknowledgement.end.rawValue)
        let hash = count <= nodes[index].log.count ? nodes[index].hash(count) : nil
        let head = nodes[index].end(nodes[index].log.count)
        let counts = nodes[index].reign?.tracker.acknowledged(acknowledgement, hash: hash, head: head, now: now)
        guard counts == true else { return }
        if read > 0 { nodes[index].reign?.reads[read]?.confirmed.insert(acknowledgement.member) }
        try advance(index)
    }
}
