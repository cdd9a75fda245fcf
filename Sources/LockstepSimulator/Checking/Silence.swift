import LockstepCore

/// Requests that a node has taken and owes an answer, whatever the network does to that answer.
///
/// HELLO, READ, QUERY, SYNC, CHUNK_REQ and REPAIR_REQ are always answered by a node that runs, if only to say that it
/// cannot (PROTOCOL, section 4). What the others owe depends on a commit; ``Waits`` has their deadlines.
final class Silence {
    private unowned let simulation: Simulation
    private var debts = Debts()

    init(simulation: Simulation) { self.simulation = simulation }

    // MARK: - What nodes see

    /// A frame is about to be handled by a node that answers.
    func arrived(_ frame: [UInt8], from connection: Connection, at node: NodeProcess) {
        guard Debts.isOwed(frame), node.owesAnswers else { return }
        withBytes(of: frame) { bytes in
            // What cannot be read is not answered.
            guard let (_, message) = try? Message.decode(bytes, rule: .member(simulation.cluster.hash)) else { return }
            if case .query(let query) = message, !mustAnswer(query, node.store) { return }
            debts.taken(message, from: connection, by: node.id, at: simulation.now)
        }
    }

    /// Whether a QUERY is owed its answer at once.
    ///
    /// A session that has not committed is guessed; every answer would show it. The end of one commits before it
    /// is told, and an unusual way loses what waits for a commit.
    private func mustAnswer(_ query: Query, _ store: SimulatedStore) -> Bool {
        query.session.sequence <= store.oracle.committed.sequence && simulation.isUsual
    }

    /// A frame of this node's store gets RESYNC before the store sees it, as if the node did not have it.
    func turnedAway(_ frame: [UInt8], with answer: [UInt8], from connection: Connection, at node: NodeProcess) {
        arrived(frame, from: connection, at: node)
        sent(answer, to: connection, by: node)
    }

    /// A node answers on a connection.
    func sent(_ frame: [UInt8], to connection: Connection, by node: NodeProcess) {
        guard !debts.isEmpty, debts.hasAny(of: node.id, to: connection) else { return }
        withBytes(of: frame) { bytes in
            // What a node sends can be read, or the frame's own check has failed.
            guard let (_, message) = try? Message.decode(bytes, rule: .any) else { return }
            debts.answered(message, to: connection, by: node.id, isUsual: simulation.isUsual)
        }
    }

    /// A node's life is over, and with it what it owed.
    func ended(_ node: NodeProcess) { debts.ended(node.id) }

    func look() {
        guard let debt = debts.overdue(now: simulation.now, healthySince: { simulation.health.since($0) }) else {
            return
        }
        let node = simulation.processes[debt.process]
        let seconds = Double((simulation.now - debt.at) / Span.millisecond) / 1_000
        simulation.fail(
            .waiting, "\(node.name) owes the answer to a \(debt.kind) \(debt.key) since \(seconds) s")
    }
}
