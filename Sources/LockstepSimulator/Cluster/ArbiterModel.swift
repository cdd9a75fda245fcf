import LockstepCore

/// The arbiter of a simulated cluster: one record, and a way there that loses, delays and doubles.
struct ArbiterModel {
    /// What a process asks; an error is never told, so its outcome is unknown.
    struct Order {
        var node: Int
        var life: Int
        var request: UInt64
        /// nil: to read.
        var attempt: RecordAttempt?
    }

    enum Answer {
        case applied(AttemptID, revision: Int64)
        case found(StoredRecord, request: UInt64, byReading: Bool)
    }

    private(set) var stored: StoredRecord
    private(set) var history: [StoredRecord]
    /// Orders with an attempt that are under way.
    var attemptsUnderWay = 0
    var awayUntil: Int64 = 0
    /// Until when each node does not reach it.
    var cutUntil: [Int: Int64] = [:]
    private(set) var wasSetBack = false

    init(_ first: StoredRecord) {
        (stored, history) = (first, [first])
    }

    func reaches(_ node: Int, now: Int64) -> Bool { now >= awayUntil && now >= cutUntil[node, default: 0] }

    /// Does what is asked, and says so.
    mutating func serve(_ order: Order) -> Answer {
        guard let attempt = order.attempt else { return .found(stored, request: order.request, byReading: true) }
        guard stored == attempt.compared else { return .found(stored, request: order.request, byReading: false) }
        stored = StoredRecord(attempt.proposed, revision: stored.revision + 1)
        history.append(stored)
        return .applied(attempt.attempt, revision: stored.revision)
    }

    /// Does what an operator's command asks, which has compared.
    mutating func serve(_ attempt: RecordAttempt) -> Bool {
        guard case .applied = serve(Order(node: -1, life: 0, request: 0, attempt: attempt)) else { return false }
        wasSetBack = wasSetBack && attempt.proposed.bindings == attempt.compared.record.bindings
        return true
    }

    /// Shows an older copy from now on.
    mutating func setBack(to older: StoredRecord) {
        stored = older
        wasSetBack = true
    }
}

extension ClusterSimulation {
    /// Sends an order on its way, perhaps twice, perhaps into nothing.
    func ask(_ order: ArbiterModel.Order) {
        guard let delay = arbiterDelay() else { return }
        send(order, after: delay)
        if strikes(.arbiterDouble, 0.3) { send(order, after: delay + random.between(0, 3 * Span.second)) }
    }

    private func send(_ order: ArbiterModel.Order, after delay: Int64) {
        if order.attempt != nil { arbiter.attemptsUnderWay += 1 }
        add(.order(order), after: delay)
    }

    /// How long one way takes; nil: nothing comes.
    private func arbiterDelay() -> Int64? {
        guard !strikes(.arbiterLoss, 0.3) else { return nil }
        if strikes(.arbiterDelay, 0.2) { return random.between(0, 5 * Span.second) }
        return random.between(Span.millisecond / 2, 8 * Span.millisecond)
    }

    func serve(_ order: ArbiterModel.Order) {
        if order.attempt != nil { arbiter.attemptsUnderWay -= 1 }
        guard arbiter.reaches(order.node, now: now) else { return }
        let before = arbiter.stored
        let answer = arbiter.serve(order)
        if case .applied = answer { wrote(arbiter.stored, after: before) }
        for _ in 0..<(strikes(.arbiterDouble, 0.3) ? 2 : 1) {
            guard let delay = arbiterDelay() else { continue }
            add(.answer(answer, node: order.node, life: order.life), after: delay)
        }
    }

    /// An operator's command writes a record; false if somebody else has written one since it looked.
    func write(_ attempt: RecordAttempt) -> Bool {
        guard arbiter.serve(attempt) else { return false }
        trace(order: attempt.proposed)
        if let problem = attempt.proposed.problem { fail(.agreement, "an operator's record: \(problem)") }
        return true
    }

    private func wrote(_ stored: StoredRecord, after before: StoredRecord) {
        trace(order: stored.record)
        if stored.record.number != before.record.number + 1 || stored.record.epoch < before.record.epoch {
            fail(.agreement, "record \(before.record.number) is followed by \(stored.record.number)")
        }
        if let problem = stored.record.problem { fail(.agreement, "record \(stored.record.number): \(problem)") }
        if stored.record.epoch > before.record.epoch, !before.record.contains(stored.record.primary.member) {
            fail(.leadership, "\(stored.record.primary.member) is no member, and has epoch \(stored.record.epoch)")
        }
        checkMembers()
        scriptSees(stored, after: before)
    }

    /// Whoever may campaign has everything that has committed.
    func checkMembers() {
        let record = arbiter.stored.record
        guard !arbiter.wasSetBack, !record.isUnclean || checker.isWon(record.epoch) else { return }
        let end = checker.committed
        for node in nodes where record.contains(node.member) && !node.hasOlderDisk {
            guard node.disk.base.log.position.sequence < end, node.disk.hash(at: end) != checker.committedHash else {
                continue
            }
            fail(.durability, "\(node.name) is a member of record \(record.number), and lacks the committed \(end)")
        }
    }

    func answered(_ answer: ArbiterModel.Answer, node: ClusterNode) {
        // An answer is read by the connection that asked, so a cut node gets none.
        guard arbiter.reaches(node.index, now: now) else { return }
        switch answer {
        case .applied(let id, let revision):
            withStandby(node) { $0.applied(id, revision: revision, now: $1, into: &$2) }
            withPrimary(node) { $0.recordApplied(id, revision: revision, &$1) }
        case .found(let stored, let request, let byReading):
            // A machine that wins by this answer is another one afterwards.
            guard node.isStandby else {
                return withPrimary(node) { $0.recordFound(stored, request: request, &$1) }
            }
            withStandby(node) { machine, now, directives in
                if byReading {
                    machine.recordRead(stored, request: request, now: now, into: &directives)
                } else {
                    machine.refused(stored, request: request, now: now, into: &directives)
                }
            }
        }
    }
}
