import LockstepCore

/// Deadlines for everything that a caller, a replica or a primary waits for, while what it depends on is healthy.
///
/// It looks four times a second of virtual time. A wait counts from when it was first seen, and not before the last
/// strike that touched the two processes or the way between them; in the second phase nothing strikes any more.
final class Waits {
    private unowned let simulation: Simulation
    /// The waits of the last look, with the time at which each was first seen.
    private var seen: [Wait: Int64] = [:]
    private var current: [(wait: Wait, from: Int64)] = []

    /// What is waited for.
    enum Kind: String, CaseIterable {
        case session = "a session"
        case resumption = "its session on a new connection"
        case lostSession = "word that its session is lost"
        case answer = "the answer to its next action"
        case localRead = "the answer to a local read"
        case sessionRead = "the answer to a session read"
        case linearizableRead = "the answer to a linearizable read"
        case query = "word of what became of a number"
        case end = "the end of an accepted action, which has committed"
        case liveness = "being live"
        case repair = "what the primary has beyond its place"
        case admission = "admitting"
    }

    private struct Wait: Hashable {
        var kind: Kind
        var process: Int
        var boot: Int
        /// What tells two waits of a kind apart.
        var first: UInt64 = 0
        var second: UInt64 = 0
    }

    static let period = 250 * Span.millisecond

    init(simulation: Simulation) { self.simulation = simulation }

    /// The longest that a healthy wait may last, in seconds, without unusual ways and with them.
    ///
    /// Two to four times the longest of 600 seeds, which was 2.6 s without unusual ways, and 17 s with them. They make a
    /// client begin anew again and again, 30 s long in one seed of 3,000, so their bounds are twice as high. Clocks may
    /// run at half the rate. Two are the protocol's: a primary
    /// awaits its replicas for 5 s, and an unknown session is believed after 10 s.
    static func bound(_ kind: Kind, isUnusual: Bool) -> Int64 {
        let (usual, unusual): (Int64, Int64) =
            switch kind {
            case .resumption: (4, 30)
            case .session, .answer, .linearizableRead, .end: (6, 30)
            case .lostSession: (25, 40)
            case .localRead, .sessionRead: (8, 45)
            case .query: (5, 8)
            case .liveness: (8, 15)
            case .repair: (6, 8)
            case .admission: (12, 16)
            }
        return (isUnusual ? 2 * unusual : usual) * Span.second
    }

    // MARK: - Looking

    func look() {
        current.removeAll(keepingCapacity: true)
        noteNodes()
        let isUnusual = simulation.options.plan.isOn(.buggify)
        for caller in simulation.callers where caller.process.isUp && !caller.isClosed { note(caller) }
        var next: [Wait: Int64] = [:]
        let now = simulation.now
        for (wait, from) in current {
            let began = seen[wait] ?? now
            next[wait] = began
            let since = max(began, from)
            if now - since > Self.bound(wait.kind, isUnusual: isUnusual) { tooLong(wait, since) }
        }
        seen = next
    }

    private func tooLong(_ wait: Wait, _ since: Int64) {
        let process = simulation.processes[wait.process]
        let seconds = Double((simulation.now - since) / Span.millisecond) / 1_000
        simulation.fail(
            .waiting,
            "\(process.name) waits for \(wait.kind.rawValue), healthy for \(seconds) s; \(simulation.openEnds)")
    }

    private func add(
        _ kind: Kind, _ process: SimulatedProcess, _ first: UInt64 = 0, _ second: UInt64 = 0, from: Int64
    ) {
        current.append((Wait(kind: kind, process: process.id, boot: process.boot, first: first, second: second), from))
    }

    // MARK: - Nodes

    private func noteNodes() {
        let (primary, now) = (simulation.store.primary, simulation.now)
        if let machine = primary.machine, machine.phase == .admitting {
            // It does all that it has to.
        } else {
            simulation.health.isUnready(primary.id, at: now)
            // One that is behind waits for its operator.
            if let machine = primary.machine, machine.phase != .behind {
                let from = simulation.store.replicas.map { simulation.health.since($0.id, primary.id) }.max() ?? 0
                add(.admission, primary, from: from)
            }
        }
        for replica in simulation.store.replicas {
            guard let machine = replica.machine, machine.phase == .live else {
                simulation.health.isUnready(replica.id, at: now)
                if let machine = replica.machine, machine.phase != .ahead, machine.phase != .halted {
                    add(.liveness, replica, from: simulation.health.sinceReady(replica.id, primary.id))
                }
                continue
            }
            if let head = primary.machine?.committed.position.sequence, machine.log.position.sequence < head {
                add(
                    .repair, replica, machine.log.position.sequence.rawValue,
                    from: simulation.health.sinceReady(replica.id, primary.id))
            }
        }
    }

    // MARK: - Callers

    private func note(_ caller: Caller) {
        let (process, machine) = (caller.process, caller.machine)
        let home = process is PrimaryProcess ? process.id : Endpoint(machine.endpoint)?.process ?? 0
        let primary = simulation.store.primary.id
        // It may have come from a node that it could not reach.
        let nodes = simulation.store.replicas.map { simulation.health.since(process.id, $0.id) }.max() ?? 0
        let toPrimary = max(
            simulation.health.sinceReady(process.id, primary), simulation.health.sinceReady(process.id, home), nodes)
        if let session = machine.session {
            let isThere = simulation.store.oracle.sessions[session.id]?.isOver == false
            if !machine.isBound {
                add(isThere ? .resumption : .lostSession, process, session.id.sequence.rawValue, from: toPrimary)
            }
            if isThere, let next = caller.nextUnanswered { add(.answer, process, next, from: toPrimary) }
        } else if caller.nextUnanswered != nil {
            add(.session, process, from: toPrimary)
        }
        let throughHome = max(toPrimary, simulation.health.sinceReady(home, primary))
        for (id, record) in caller.waitingReads where isReachable(record) {
            add(kind(record), process, 0, id, from: throughHome)
        }
        if let node = process as? NodeProcess {
            for record in node.waitingRecords where isReachable(record) {
                add(kind(record), process, 1, UInt64(record), from: throughHome)
            }
        }
        for query in caller.waitingQueries {
            add(.query, process, query.session.sequence.rawValue, query.number, from: toPrimary)
        }
        for id in caller.awaited.keys.sorted() where simulation.store.oracle.runs.runs[id]?.end != nil {
            add(.end, process, id.session.sequence.rawValue, id.number, from: toPrimary)
        }
    }

    /// A read that is to include a place of a history that was given up waits until the log is as long again.
    private func isReachable(_ record: Int) -> Bool {
        simulation.store.history[record].minimum <= simulation.store.oracle.committed.sequence
    }

    private func kind(_ record: Int) -> Kind {
        guard case .read(_, let level) = simulation.store.history[record].call else { return .localRead }
        return switch level {
        case .local: .localRead
        case .session: .sessionRead
        case .linearizable: .linearizableRead
        }
    }
}
