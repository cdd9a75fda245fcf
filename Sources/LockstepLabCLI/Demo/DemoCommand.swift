import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

/// `lockstep-lab demo`: kills the primary under load, again and again, and checks that nothing is lost or counted twice.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Kills a primary under load, again and again, and checks what is left.",
        discussion: """
            Starts a primary and two replicas in a folder of their own, adds to counters, kills the primary with SIGKILL, \
            starts it again, and ends with status 0 only if all processes have the same digest, every acknowledged add is \
            in the log once, and the counters' sum is the number of adds that took effect.

            With --cluster it starts etcd and three data nodes, kills whichever is the primary, every fifth time stops it \
            with SIGSTOP instead, and lets another take over before that one goes on. It needs etcd on PATH.

              lockstep-lab demo --kills 20
              lockstep-lab demo --cluster --kills 20
            """)

    @Flag(help: "Three data nodes and etcd, in place of one primary with two replicas.")
    var cluster = false
    @Option(help: "How often the primary is killed.", transform: Within.whole(1...1_000))
    var kills = 20
    @Option(help: "Actions in flight at a time.", transform: Within.whole(1...4_096))
    var clients = 64
    @Option(help: "The first of 32 ports.", transform: Within.whole(1_024...60_000))
    var port = 7_600
    @Option(help: "A new folder for the nodes. Default: a temporary one, which is removed.")
    var data: String?
    @OptionGroup var nodes: OperatorProgram
    @Flag(help: "Print JSON at the end.")
    var json = false

    struct Report: Encodable {
        var kills: Int
        var acknowledged: Int
        var resolvedAfterwards: Int
        var unknown: Int
        var sum: Int64
        var longestPauseSeconds: Double
        var sequence: UInt64
        var digest: String
    }

    func run() async throws {
        let program = try nodes.path()
        let folder = data ?? NSTemporaryDirectory() + "lockstep-demo-\(getpid())"
        let ledger = DemoLedger()
        let (report, folders) =
            try await cluster
            ? runDataNodes(program, folder, ledger) : runPrimary(program, folder, ledger)
        try show(report)
        try DemoCheck(ledger: ledger, report: report).run(folders)
        if data == nil { try FileManager.default.removeItem(atPath: folder) }
        Output.line("passed: equal digests, nothing acknowledged is missing, nothing was counted twice")
    }

    private func runPrimary(
        _ program: String, _ folder: String, _ ledger: DemoLedger
    ) async throws -> (Report, [NodeFolder]) {
        let cluster = try ProcessCluster(folder: folder, port: port, replicas: 2, program: program)
        defer { cluster.endAll(signal: SIGKILL) }
        try cluster.startAll()
        try await cluster.waitUntilReady()
        Output.line("a primary and two replicas run in \(folder); killing the primary \(kills) times")
        let killer = Killer(cluster: cluster, ledger: ledger, kills: kills)
        let sum = try await underLoad(.client(of: cluster.endpoint(0)), ledger) { try await killer.run() }
        // The load goes to the counters; the other stores of the same nodes lived through the same kills.
        let end = try await cluster.waitUntilEqual()
        cluster.endAll(signal: SIGTERM)
        return (report(ledger, sum, end, longestPause: killer.longestPause), (0...cluster.replicas).map(cluster.node))
    }

    /// Adds to counters while `body` kills, and returns the sum of all counters when it has ended.
    func underLoad(
        _ configuration: NodeConfiguration, _ ledger: DemoLedger, _ body: () async throws -> Void
    ) async throws -> Int64 {
        var configuration = configuration
        configuration.sessionTimeToLive = .seconds(600)
        let clients = clients
        return try await Program.withRemoteCounters(configuration) { counters in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<clients {
                    group.addTask { try await ledger.noting { try await Self.load(counters, client, ledger) } }
                }
                try await body()
                ledger.stop()
                try await group.waitForAll()
            }
            guard case .value(let sum?) = try await counters.ask(.sum(prefix: "demo/"), .linearizable).answer else {
                throw CommandFailure("the primary does not tell the sum")
            }
            return sum
        }
    }

    func report(
        _ ledger: DemoLedger, _ sum: Int64, _ end: (sequence: UInt64, digest: String), longestPause: Double
    ) -> Report {
        let totals = ledger.totals
        return Report(
            kills: kills, acknowledged: totals.acknowledged, resolvedAfterwards: totals.resolved,
            unknown: totals.unknown, sum: sum, longestPauseSeconds: longestPause, sequence: end.sequence,
            digest: end.digest)
    }

    private func show(_ report: Report) throws {
        if json { return try Output.json(report) }
        Output.line("acknowledged adds            \(report.acknowledged)")
        Output.line("resolved by asking again     \(report.resolvedAfterwards)")
        Output.line("outcome unknown for ever     \(report.unknown)")
        Output.line("sum of all counters          \(report.sum)")
        Output.line("longest pause without acks   \(String(format: "%.2f", report.longestPauseSeconds)) s")
        Output.line("all nodes at                 \(report.sequence), digest \(report.digest)")
    }

    /// Adds to counters until told to stop; an add whose caller gave up is asked about again until it has an outcome.
    private static func load(_ counters: RemoteStore<Counters>, _ client: Int, _ ledger: DemoLedger) async throws {
        var generator = SystemRandomNumberGenerator()
        while !ledger.isStopped {
            let name = "demo/\(UInt64.random(in: 0..<100, using: &generator))"
            do {
                let receipt = try await counters.send(.add(name, by: 1), timeout: .milliseconds(200))
                ledger.acknowledged(receipt.place.sequence, receipt.session, receipt.number)
            } catch let error as LockstepError where error.code == .timeout {
                // Nothing was submitted: no primary was found in this time.
                continue
            } catch let error as LockstepError where error.code == .outcomeUnknown {
                guard let pending = error.pending else {
                    ledger.lost()
                    continue
                }
                try await resolve(pending, counters, ledger)
            }
        }
    }

    private static func resolve(
        _ pending: PendingOutcome, _ counters: RemoteStore<Counters>, _ ledger: DemoLedger
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            do {
                switch try await counters.outcomes(of: pending, timeout: .seconds(10)).first(where: { _ in true }) {
                case .committed(let receipt):
                    return ledger.resolved(receipt.place.sequence, receipt.session, receipt.number)
                case .rejected, .void, .denied, .unreadable, nil: return ledger.withoutEffect()
                case .accepted, .failed, .cancelled: return ledger.lost()  // The counters have no effects that go on.
                }
            } catch let error as LockstepError where error.code == .outcomeUnknown || error.code == .timeout {
                continue
            }
        }
        ledger.lost()
    }
}
