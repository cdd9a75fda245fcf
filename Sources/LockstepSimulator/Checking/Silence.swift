import LockstepCore

/// Requests that a node has taken and owes an answer, whatever the network does to that answer.
///
/// HELLO, READ, QUERY, SYNC, CHUNK_REQ and REPAIR_REQ are always answered by a node that runs, if only to say that it
/// cannot (PROTOCOL, section 4). What the others owe depends on a commit; ``Waits`` has their deadlines.
final class Silence {
    private unowned let simulation: Simulation
    /// In the order of coming.
    private var owed: [Debt] = []

    fileprivate struct Debt {
        var process: Int
        var connection: Connection
        var kind: MessageKind
        /// Nonce, ID, or number: what the answer repeats.
        var key: UInt64
        var at: Int64
    }

    init(simulation: Simulation) { self.simulation = simulation }

    /// So long a node may owe an answer, in nanoseconds of a healthy process.
    private static func bound(_ kind: MessageKind) -> Int64 {
        switch kind {
        // It waits for the view that it asks for 5 s, on a clock that may run at half the rate.
        case .read: 11 * Span.second
        // The session's end may have to commit.
        case .query: 5 * Span.second
        // Held back by the throttle, and by an unusual way that sends one at a time.
        case .chunkRequest: 5 * Span.second
        default: Span.second
        }
    }

    // MARK: - What nodes see

    /// A frame is about to be handled by a node that answers.
    func arrived(_ frame: [UInt8], from connection: Connection, at node: NodeProcess) {
        guard frame.count > 5, let kind = MessageKind(rawValue: frame[5]) else { return }
        switch kind {
        case .hello, .read, .query, .sync, .chunkRequest, .repairRequest: break
        default: return
        }
        guard node.owesAnswers, let key = key(of: frame, at: node) else { return }
        if owed.contains(where: { $0.isAbout(node, connection) && $0.kind == kind && $0.key == key }) { return }
        owed.append(Debt(process: node.id, connection: connection, kind: kind, key: key, at: simulation.now))
    }

    /// What the answer to a request repeats; nil for what need not be answered.
    private func key(of frame: [UInt8], at node: NodeProcess) -> UInt64? {
        withBytes(of: frame) { bytes in
            // What cannot be read is not answered.
            guard let (_, message) = try? Message.decode(bytes, rule: .member(simulation.cluster.hash)) else {
                return nil
            }
            return switch message {
            case .hello(let hello): hello.nonce
            case .read(let read): read.id
            // A session that has not committed is guessed; every answer would show it. The end of one commits
            // before it is told, and an unusual way loses what waits for a commit.
            case .query(let query)
            where query.session.sequence <= simulation.store.oracle.committed.sequence
                && !simulation.options.plan.isOn(.buggify):
                query.number
            case .sync(let sync): sync.nonce
            case .chunkRequest(let request): request.snapshot
            case .repairRequest(let request): request.nonce
            default: nil
            }
        }
    }

    /// A node answers on a connection.
    func sent(_ frame: [UInt8], to connection: Connection, by node: NodeProcess) {
        guard !owed.isEmpty, owed.contains(where: { $0.isAbout(node, connection) }) else { return }
        withBytes(of: frame) { bytes in
            // What a node sends can be read, or the frame's own check has failed.
            guard let (_, message) = try? Message.decode(bytes, rule: .any) else { return }
            owed.removeAll { $0.isAbout(node, connection) && message.answers($0.kind, $0.key) }
        }
    }

    /// A node's life is over, and with it what it owed.
    func ended(_ node: NodeProcess) { owed.removeAll { $0.process == node.id } }

    func look() {
        guard let debt = owed.first(where: { isOverdue($0) }) else { return }
        let node = simulation.processes[debt.process]
        let seconds = Double((simulation.now - debt.at) / Span.millisecond) / 1_000
        simulation.fail(
            .waiting, "\(node.name) owes the answer to a \(debt.kind) \(debt.key) since \(seconds) s")
    }

    private func isOverdue(_ debt: Debt) -> Bool {
        let since = max(debt.at, simulation.health.since(debt.process))
        return simulation.now - since > Self.bound(debt.kind)
    }
}

extension Silence.Debt {
    fileprivate func isAbout(_ node: NodeProcess, _ connection: Connection) -> Bool {
        process == node.id && self.connection == connection
    }
}

extension Message {
    /// Whether this is an answer to a request that had this key.
    fileprivate func answers(_ kind: MessageKind, _ key: UInt64) -> Bool {
        switch self {
        // Begin again: nothing that was asked before counts.
        case .resync: true
        case .welcome(let welcome): kind == .hello && welcome.nonce == key
        case .refused(let refused): refused.nonce == key || kind == .query && refused.nonce == 0
        case .readResult(let result): kind == .read && result.id == key
        case .queryResult(let result): kind == .query && result.number == key
        case .result(let run): kind == .query && key >= run.first && key - run.first < UInt64(run.count)
        case .syncPlan(let plan): kind == .sync && plan.nonce == key
        case .chunk(let chunk): kind == .chunkRequest && chunk.snapshot == key
        case .repair(let repair): kind == .repairRequest && repair.nonce == key
        default: false
        }
    }
}
