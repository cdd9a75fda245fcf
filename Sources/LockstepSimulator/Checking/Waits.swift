import LockstepCore

/// Deadlines for everything that a caller, a replica or a primary waits for, while what it depends on is healthy.
///
/// It looks four times a second of virtual time. A wait counts from when it was first seen, and not before the last
/// strike that touched the two processes or the way between them; in the second phase nothing strikes.
final class Waits {
    private unowned let simulation: Simulation
    private var book = WaitBook()

    static let period = 250 * Span.millisecond

    init(simulation: Simulation) { self.simulation = simulation }

    // MARK: - Looking

    func look() {
        book.begin()
        for store in simulation.stores { noteNodes(of: store) }
        for caller in simulation.callers where caller.process.isUp && !caller.isClosed { note(caller) }
        if let (wait, since) = book.end(now: simulation.now, usualSince: simulation.usualSince) {
            tooLong(wait, since)
        }
    }

    private func tooLong(_ wait: WaitBook.Wait, _ since: Int64) {
        let process = simulation.processes[wait.process]
        let seconds = Double((simulation.now - since) / Span.millisecond) / 1_000
        simulation.fail(
            .waiting,
            "\(process.name) waits for \(wait.kind.rawValue), healthy for \(seconds) s; \(simulation.openEnds)")
    }

    private func add(
        _ kind: WaitBook.Kind, _ process: SimulatedProcess, _ first: UInt64 = 0, _ second: UInt64 = 0, from: Int64
    ) {
        let wait = WaitBook.Wait(kind: kind, process: process.id, boot: process.boot, first: first, second: second)
        book.note(wait, healthySince: from)
    }

    // MARK: - Nodes

    private func noteNodes(of store: SimulatedStore) {
        let (primary, now) = (store.primary, simulation.now)
        let phase = primary.phase
        // One that admits does all that it has to.
        if phase != .admitting {
            simulation.health.isUnready(primary.id, at: now)
            // One that is behind waits for its operator, and one that stops admits nothing more.
            if let phase, phase != .behind, !primary.isStopping {
                let from = store.replicas.map { simulation.health.since($0.id, primary.id) }.max() ?? 0
                add(.admission, primary, from: from)
            }
        }
        for replica in store.replicas {
            let phase = replica.phase
            guard phase == .live else {
                simulation.health.isUnready(replica.id, at: now)
                if let phase, phase != .ahead, phase != .halted {
                    add(.liveness, replica, from: simulation.health.sinceReady(replica.id, primary.id))
                }
                continue
            }
            if let head = primary.committedThrough, let end = replica.logEnd, end < head {
                add(
                    .repair, replica, end.rawValue, from: simulation.health.sinceReady(replica.id, primary.id))
            }
        }
    }

    // MARK: - Callers

    private func note(_ caller: Caller) {
        let (process, store) = (caller.process, caller.process.store)
        let (endpoint, session, isBound) = inPlace(&caller.machine) { ($0.endpoint, $0.session, $0.isBound) }
        let primary = store.primary.id
        let home =
            process is PrimaryProcess
            ? process.id : Endpoint(endpoint).flatMap { store.process(onHost: $0.process)?.id } ?? primary
        // It may have come from a node that it could not reach.
        let nodes = store.replicas.map { simulation.health.since(process.id, $0.id) }.max() ?? 0
        let toPrimary = max(
            simulation.health.sinceReady(process.id, primary), simulation.health.sinceReady(process.id, home), nodes)
        if let session {
            let isThere = store.oracle.sessions[session.id]?.isOver == false
            if !isBound {
                add(isThere ? .resumption : .lostSession, process, session.id.sequence.rawValue, from: toPrimary)
            }
            if isThere, let next = caller.nextUnanswered { add(.answer, process, next, from: toPrimary) }
        } else if caller.nextUnanswered != nil {
            add(.session, process, from: toPrimary)
        }
        let throughHome = max(toPrimary, simulation.health.sinceReady(home, primary))
        for (id, record) in caller.waitingReads where isReachable(record, store) {
            add(kind(record, store), process, 0, id, from: throughHome)
        }
        if let node = process as? NodeProcess {
            // A volatile primary that started anew is not yet where it told a reader to wait for.
            for record in node.waitingRecords(through: store.oracle.committed.sequence) {
                add(kind(record, store), process, 1, UInt64(record), from: throughHome)
            }
        }
        noteReads(of: caller, at: store.process(onHost: home))
        let head = store.oracle.committed.sequence.rawValue
        for number in caller.outdatedWatches { add(.watch, process, number, head, from: throughHome) }
        for query in caller.waitingQueries {
            add(.query, process, query.session.sequence.rawValue, query.number, from: toPrimary)
        }
        for id in caller.awaited.keys.sorted() where store.oracle.runs.runs[id]?.end != nil {
            add(.end, process, id.session.sequence.rawValue, id.number, from: toPrimary)
        }
        lookAtFrames(of: caller, healthySince: throughHome)
    }

    private func lookAtFrames(of caller: Caller, healthySince: Int64) {
        let storm = caller.frames.look(
            now: simulation.now, healthySince: healthySince, usualSince: simulation.usualSince,
            isWaiting: caller.isWaiting(for:))
        guard let storm else { return }
        simulation.fail(.storm, "\(caller.process.name) sent \(storm.count) frames for one \(storm.operation.name)")
    }

    /// Reads that a replica answers from what it has, whatever becomes of the primary: its own, and those of a client
    /// that only reads there.
    ///
    /// They count for each replica anew, since a client may come from a node that it could not reach.
    private func noteReads(of caller: Caller, at home: SimulatedProcess?) {
        let process = caller.process
        let isReader = (process as? ClientProcess)?.isReader == true
        guard let replica = (isReader ? home : process) as? ReplicaProcess, replica.mayBeRead else { return }
        let reads =
            isReader
            ? caller.waitingReads : replica.waitingRecords(through: replica.shown.sequence).map { (UInt64($0), $0) }
        for (id, record) in reads {
            let kind = kind(record, replica.store)
            guard kind != .linearizableRead, replica.store.history[record].minimum <= replica.shown.sequence else {
                continue
            }
            add(kind, process, UInt64(2 + replica.id), id, from: simulation.health.since(process.id, replica.id))
        }
    }

    /// A read that is to include a place of a history that was given up waits until the log is as long again.
    private func isReachable(_ record: Int, _ store: SimulatedStore) -> Bool {
        store.history[record].minimum <= store.oracle.committed.sequence
    }

    private func kind(_ record: Int, _ store: SimulatedStore) -> WaitBook.Kind {
        guard case .read(_, let level) = store.history[record].call else { return .localRead }
        return switch level {
        case .local: .localRead
        case .session: .sessionRead
        case .linearizable: .linearizableRead
        }
    }
}
