import Foundation
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

// The demonstration with data nodes: another takes over from each primary that is killed or stands still.
extension DemoCommand {
    func runDataNodes(
        _ program: String, _ folder: String, _ ledger: DemoLedger
    ) async throws -> (Report, [NodeFolder]) {
        let nodes = try await DataProcesses(folder: folder, port: port, nodes: 3, minimum: 2, program: program)
        defer { nodes.endAll(signal: SIGKILL) }
        Output.line("etcd and three data nodes run in \(folder); killing the primary \(kills) times")
        let killer = FailoverKiller(nodes: nodes, ledger: ledger, kills: kills)
        let sum = try await underLoad(.client(of: nodes.endpoints), ledger) { try await killer.run() }
        // Who comes back has the state before its journal has it; a member's journal has what is committed.
        let count = nodes.names.count
        for store in [Hosted.counters, Hosted.search] { try await nodes.wait(for: store) { $0.inSync.count == count } }
        let end = try await NodeFolder.waitUntilEqual(nodes.folders, Hosted.counters, seconds: 60)
        nodes.endAll(signal: SIGTERM)
        Output.line("pauses, s: killed \(killer.killed.text); stopped \(killer.stopped.text)")
        let longest = (killer.killed.seconds + killer.stopped.seconds).max() ?? 0
        return (report(ledger, sum, end, longestPause: longest), nodes.folders)
    }
}

/// How long no answer came, each time.
struct Pauses {
    var seconds: [Double] = []

    var text: String {
        let sorted = seconds.sorted()
        guard let least = sorted.first, let most = sorted.last else { return "never" }
        return String(format: "%.2f to %.2f, median %.2f", least, most, sorted[sorted.count / 2])
    }
}

/// Kills whichever node is the primary of the counters, or stops it, and lets it go on when another has taken over.
final class FailoverKiller {
    private let nodes: DataProcesses
    private let ledger: DemoLedger
    private let kills: Int
    private(set) var killed = Pauses()
    private(set) var stopped = Pauses()

    init(nodes: DataProcesses, ledger: DemoLedger, kills: Int) {
        self.nodes = nodes
        self.ledger = ledger
        self.kills = kills
    }

    nonisolated(nonsending) func run() async throws {
        for kill in 1...kills {
            let before = ledger.totals.acknowledged
            try await ledger.wait(for: "acknowledgements") { self.ledger.totals.acknowledged > before + 200 }
            // Who is not a member yet cannot take over; all are, so that nothing but the primary is missing.
            let count = nodes.names.count
            try await nodes.wait(for: Hosted.counters) { $0.inSync.count == count }
            // Anywhere in the primary's work, not only at its turns' ends.
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400)))
            let primary = try nodes.record(of: Hosted.counters).primary
            guard let index = nodes.names.firstIndex(of: primary) else {
                throw CommandFailure("the record names \(primary), which is none of the nodes")
            }
            ledger.beginPauses()
            let isStopped = kill.isMultiple(of: 5)
            if isStopped { nodes.send(SIGSTOP, to: index) } else { nodes.end(index, signal: SIGKILL) }
            let atKill = ledger.totals.acknowledged
            try await nodes.wait(for: Hosted.counters) { $0.primary != primary }
            try await ledger.wait(for: "another primary") { self.ledger.totals.acknowledged > atKill + 64 }
            let pause = ledger.longestPause / .seconds(1)
            if isStopped {
                stopped.seconds.append(pause)
                nodes.send(SIGCONT, to: index)
            } else {
                killed.seconds.append(pause)
                try nodes.start(index)
            }
            Output.progress(
                "\(kill) of \(kills): \(primary) \(isStopped ? "stopped" : "killed"), "
                    + String(format: "%.2f s without an answer; ", pause)
                    + "\(ledger.totals.acknowledged) acknowledged")
        }
        Output.progress("")
    }
}
