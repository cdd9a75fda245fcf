import ArgumentParser
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode

/// `lockstep status`: asks running nodes of this host, over the socket in each one's folder.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Shows nodes that run on this host.",
        discussion: """
            Role, phase, epoch, sequence and commit number, digest at a position, sessions, peers and lag; --json shows all.

              lockstep status --data data/primary --data data/replica-1
              lockstep status --data data/primary --json
            """)

    @Option(help: "A node's folder; may be repeated.")
    var data: [String]
    @Flag(help: "Print one JSON object for each node.")
    var json = false
    @Flag(help: "Show the table again and again until Ctrl-C.")
    var watch = false
    @Option(
        help: "Wait up to this many seconds until every node is admitting or live.",
        transform: Within.seconds(0...86_400))
    var wait: Double?

    func run() async throws {
        guard !data.isEmpty else { throw ValidationError("name a node's folder with --data") }
        if let wait { try await waitUntilReady(seconds: wait) }
        var rates = RateTable()
        repeat {
            let answers = await withStatuses()
            if json {
                for answer in answers { Output.line(String(decoding: try answer.get(), as: UTF8.self)) }
            } else {
                let table = StatusTable(rows: answers.enumerated().map { rates.row(data[$0.offset], $0.element) })
                Output.line(watch && Output.isTerminal ? "\u{1B}[H\u{1B}[2J" + table.text : table.text)
            }
            if watch { try await Task.sleep(for: .seconds(1)) }
        } while watch
        let failures = await withStatuses().compactMap { answer -> (any Error)? in
            if case .failure(let error) = answer { error } else { nil }
        }
        if let failure = failures.first { throw failure }
    }

    private func withStatuses() async -> [Result<Data, any Error>] {
        var answers: [Result<Data, any Error>] = []
        for path in data { answers.append(await NodeFolder(path).status()) }
        return answers
    }

    private func waitUntilReady(seconds: Double) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        for path in data {
            while !(await NodeFolder(path).isReady()) {
                guard ContinuousClock.now < deadline else {
                    throw CommandFailure("the node in \(path) is not ready after \(seconds) s", status: .unreachable)
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }
}

/// The rows that `status` prints.
struct StatusTable {
    struct Row {
        var cells: [String]
    }

    static let heads = [
        "NODE", "ROLE", "STORE", "PHASE", "EPOCH", "SEQUENCE", "COMMIT", "LAG", "RATE/S", "MARK", "DIGEST",
    ]
    var rows: [[Row]]

    var text: String {
        let all = [Self.heads] + rows.flatMap { $0 }.map(\.cells)
        let widths = Self.heads.indices.map { column in all.map { $0.count > column ? $0[column].count : 0 }.max() ?? 0
        }
        return all.map { cells in
            cells.enumerated().map { index, cell in
                index < widths.count
                    ? cell.padding(toLength: max(widths[index], cell.count), withPad: " ", startingAt: 0) : cell
            }.joined(separator: "  ").trimmingCharacters(in: .whitespaces)
        }.joined(separator: "\n")
    }
}

/// Remembers sequence numbers, so that the next look shows entries a second.
struct RateTable {
    private var last: [String: (sequence: UInt64, at: ContinuousClock.Instant)] = [:]

    mutating func row(_ folder: String, _ answer: Result<Data, any Error>) -> [StatusTable.Row] {
        let status: NodeStatus
        do {
            status = try JSONDecoder().decode(NodeStatus.self, from: try answer.get())
        } catch {
            return [StatusTable.Row(cells: [folder, "-", "-", "not running"])]
        }
        let now = ContinuousClock.now
        return status.stores.map { store in
            let key = folder + "/" + store.name
            var rate = "-"
            if let before = last[key], store.commit >= before.sequence {
                let seconds = before.at.duration(to: now) / .seconds(1)
                rate = String(Int(Double(store.commit - before.sequence) / max(seconds, 0.001)))
            }
            last[key] = (store.commit, now)
            return StatusTable.Row(cells: [
                status.node, status.role, store.name, store.phase, String(store.epoch), String(store.sequence),
                String(store.commit), String(store.lag), rate, store.mark.map { String($0.sequence) } ?? "-",
                store.mark.map { String($0.digest.prefix(16)) } ?? "-",
            ])
        }
    }
}
