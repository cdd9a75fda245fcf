import Foundation
import LockstepFolders
import LockstepNode

/// `status`: asks running nodes, those of this host over the socket in each one's folder, others over their ports.
public struct StatusCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Shows running nodes.",
            discussion: """
                --data names nodes of this host, --node nodes anywhere, which tell less: no sessions.

                Role, phase, epoch, sequence and commit number, lag, and the newest digest; below each store its alarms, and \
                at a primary the replicas that it hears of and those that it has lost. --json shows all.

                Exit status: 0 if every node answers, 69 if one does not run or does not answer, 1 if one may not be asked; \
                with --wait also 1 if one answers and is not ready, or has an alarm, when the time is over.

                  \(Server.name) status --data data/primary --data data/replica-1
                  \(Server.name) status --data data/primary --json
                  \(Server.name) status --node tcp://10.0.0.1:7400
                """)
    }

    @OptionGroup var nodes: LookedAtNodes
    @Flag(help: "Print one JSON object for each node that answers.")
    var json = false
    @Flag(help: "Show the table again and again until Ctrl-C.")
    var watch = false
    @Flag(help: "Take the digest of every state, whatever it costs the nodes; else it is shown where a node has it.")
    var digest = false
    @Option(
        help: "Wait up to this many seconds until every node is admitting or live, and has no alarm.",
        transform: Within.seconds(0...86_400))
    var wait: Double?

    /// Read from the command line.
    public init() {}

    /// Asks the nodes, and prints what they say.
    public func run() async throws {
        var rates = RateTable()
        if let wait {
            let (looks, problems) = try await waitUntilReady(seconds: wait)
            guard problems.isEmpty else {
                show(looks, &rates)
                return try report(problems)
            }
        }
        while true {
            let looks = try await look()
            show(looks, &rates)
            guard watch else { return try report(looks.compactMap(\.failure)) }
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func show(_ looks: [NodeLook], _ rates: inout RateTable) {
        if json {
            for look in looks { if let bytes = look.bytes { Output.line(String(decoding: bytes, as: UTF8.self)) } }
        } else {
            let table = StatusTable(rows: looks.flatMap { rates.rows($0, withReasons: watch) })
            Output.line(watch && Output.isTerminal ? "\u{1B}[H\u{1B}[2J" + table.text : table.text)
        }
    }

    /// Asks each node once.
    private func look() async throws -> [NodeLook] {
        let (places, keys) = (nodes.places, try nodes.linkKeys())
        return try await WaitNotice.during("an answer of \(places.count == 1 ? places[0].text : "the nodes")") {
            var looks: [NodeLook] = []
            for place in places { looks.append(await place.look(by: keys, digests: digest)) }
            return looks
        }
    }

    /// One line for each node with a problem; the exit status is that of the gravest.
    private func report(_ failures: [CommandFailure]) throws {
        guard !failures.isEmpty else { return }
        for failure in failures { Output.error(failure.message) }
        let isOneUnreachable = failures.contains { $0.status == .unreachable }
        throw ExitCode(isOneUnreachable ? ExitStatus.unreachable.rawValue : failures[0].status.rawValue)
    }

    /// The last look at all nodes, and what was in the way at those that are not ready when the time is over.
    private func waitUntilReady(seconds: Double) async throws -> (looks: [NodeLook], problems: [CommandFailure]) {
        let deadline = ContinuousClock.now + .seconds(seconds)
        let notice = WaitNotice()
        let (places, keys) = (nodes.places, try nodes.linkKeys())
        while true {
            var looks: [NodeLook] = []
            var problems: [CommandFailure] = []
            for place in places {
                let look = await place.look(by: keys)
                looks.append(look)
                // Neither a wrong path nor a permission comes with time.
                if let failure = look.failure, failure.status != .unreachable { throw failure }
                guard let reason = look.unreadiness else { continue }
                notice.waiting(for: "\(place.text): \(reason)")
                problems.append(
                    CommandFailure(
                        "\(place.text) is not ready after \(seconds.formatted()) s: \(reason)",
                        status: look.failure?.status ?? .failed))
            }
            if problems.isEmpty || ContinuousClock.now >= deadline { return (looks, problems) }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

/// The rows that `status` prints.
struct StatusTable {
    struct Row {
        var cells: [String]
        /// Lines below the row.
        var notes: [String] = []
    }

    static let heads = [
        "NODE", "ROLE", "STORE", "PHASE", "EPOCH", "SEQUENCE", "COMMIT", "LAG", "RATE/S", "MARK", "DIGEST",
    ]
    var rows: [Row]

    var text: String {
        let all = [Row(cells: Self.heads)] + rows
        return zip(TextTable.lines(all.map(\.cells)), all).flatMap { line, row in
            [line] + row.notes.map { "    " + $0 }
        }.joined(separator: "\n")
    }
}

/// Remembers sequence numbers, so that the next look shows entries a second.
struct RateTable {
    private var last: [String: (sequence: UInt64, at: ContinuousClock.Instant)] = [:]

    /// The rows of a node; `withReasons` also says below it why it did not answer.
    mutating func rows(_ look: NodeLook, withReasons: Bool = false) -> [StatusTable.Row] {
        guard let status = look.status else {
            let notes = withReasons ? [look.failure?.message ?? ""] : []
            return [StatusTable.Row(cells: [look.path, "-", "-", look.word], notes: notes)]
        }
        let now = ContinuousClock.now
        var ofNode = Self.notes(status)
        return status.stores.map { store in
            defer { ofNode = [] }
            let key = look.path + "/" + store.name
            var rate = "-"
            if let before = last[key], store.commit >= before.sequence {
                let seconds = before.at.duration(to: now) / .seconds(1)
                rate = String(Int(Double(store.commit - before.sequence) / max(seconds, 0.001)))
            }
            last[key] = (store.commit, now)
            return StatusTable.Row(
                cells: [
                    status.node, status.role(in: store).rawValue, store.name, store.phase.rawValue, String(store.epoch),
                    String(store.sequence),
                    String(store.commit), store.lag.map { String($0) } ?? "?", rate,
                    store.mark.map { String($0.sequence) } ?? "-",
                    store.mark.map { String($0.digest.prefix(16)) } ?? "-",
                ], notes: ofNode + Self.notes(store))
        }
    }

    /// What concerns the whole node, below its first store.
    private static func notes(_ status: NodeStatus) -> [String] {
        var notes: [String] = []
        if status.isPlaintext == true {
            notes.append("! no keys: whoever reaches this node's network can read and change everything")
        }
        if let problem = status.access?.problem { notes.append("! the list from before holds: \(problem)") }
        return notes.map(Output.printable)
    }

    /// What a data node knows of the store's record, and how far its log goes.
    private static func note(_ data: StoreStatus.DataNode) -> String {
        guard let record = data.record, let minimum = data.minimum, let primary = data.primary else {
            return "data node: \(data.phase), no record yet, log through \(data.end)"
        }
        // A standby is not told who else is in sync.
        guard data.role == .primary else {
            return "data node: \(data.phase), its primary is \(primary), log through \(data.end)"
        }
        let missing = data.missing.isEmpty ? "" : ", missing \(data.missing.joined(separator: " "))"
        return "data node: \(data.phase), record \(record), in sync \(data.inSync.joined(separator: " ")) of at least "
            + "\(minimum)\(missing), log through \(data.end)"
    }

    /// Alarms, and who follows a primary.
    private static func notes(_ store: StoreStatus) -> [String] {
        let replicas = store.peers.filter { $0.role == .replica }
        func seconds(_ peer: StoreStatus.Peer) -> String { "last heard \(Int(peer.silentSeconds)) s ago" }
        // Of many, those that are furthest behind; all are in the JSON.
        let shown = replicas.sorted { ($1.lag, $0.node) < ($0.lag, $1.node) }.prefix(10).sorted { $0.node < $1.node }
        var notes = store.alarms.map { "! \($0)" }
        if let data = store.dataNode { notes.append(note(data)) }
        notes += store.lostReplicas.map { "! replica \($0.node) is lost: \(seconds($0)), at \($0.applied)" }
        notes += shown.map { "replica \($0.node): lag \($0.lag), \(seconds($0))" }
        if replicas.count > shown.count { notes.append("and \(replicas.count - shown.count) more replicas") }
        return notes.map(Output.printable)
    }
}
