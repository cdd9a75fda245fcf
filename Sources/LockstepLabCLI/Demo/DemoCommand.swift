import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepHarness
import LockstepNode
import LockstepServer
import Synchronization

/// `lockstep-lab demo`: kills the primary under load, again and again, and checks that nothing is lost or counted twice.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo", abstract: "Kills a primary under load, again and again, and checks what is left.",
        discussion: """
            Starts a primary and two replicas in a folder of their own, adds to counters, kills the primary with SIGKILL, \
            starts it again, and ends with status 0 only if all processes have the same digest, every acknowledged add is \
            in the log once, and the counters' sum is the number of adds that took effect.

              lockstep-lab demo --kills 20
            """)

    @Option(help: "How often the primary is killed.", transform: Within.whole(1...1_000))
    var kills = 20
    @Option(help: "Actions in flight at a time.", transform: Within.whole(1...4_096))
    var clients = 64
    @Option(help: "The first of 30 ports.", transform: Within.whole(1_024...60_000))
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
        let cluster = try ProcessCluster(folder: folder, port: port, replicas: 2, program: program)
        defer { cluster.endAll(signal: SIGKILL) }
        try cluster.startAll()
        try await cluster.waitUntilReady()
        Output.line("a primary and two replicas run in \(folder); killing the primary \(kills) times")
        let ledger = DemoLedger()
        var configuration = NodeConfiguration.client(of: cluster.endpoint(0))
        configuration.sessionTimeToLive = .seconds(600)
        let clients = clients
        let killer = Killer(cluster: cluster, ledger: ledger, kills: kills)
        let sum = try await Program.withRemoteCounters(configuration) { counters in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<clients { group.addTask { try await Self.load(counters, client, ledger) } }
                try await killer.run()
                ledger.stop()
                try await group.waitForAll()
            }
            guard case .value(let sum?) = try await counters.ask(.sum(prefix: "demo/"), .linearizable).answer else {
                throw CommandFailure("the primary does not tell the sum")
            }
            return sum
        }
        // The load goes to the counters; the other stores of the same nodes lived through the same kills.
        let end = try await cluster.waitUntilEqual()
        cluster.endAll(signal: SIGTERM)
        let totals = ledger.totals
        let report = Report(
            kills: kills, acknowledged: totals.acknowledged, resolvedAfterwards: totals.resolved,
            unknown: totals.unknown, sum: sum, longestPauseSeconds: killer.longestPause, sequence: end.sequence,
            digest: end.digest)
        try show(report)
        try DemoCheck(ledger: ledger, report: report).run(cluster)
        if data == nil { try FileManager.default.removeItem(atPath: folder) }
        Output.line("passed: equal digests, nothing acknowledged is missing, nothing was counted twice")
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

/// What the clients of the demonstration were told.
final class DemoLedger: Sendable {
    struct Answer: Hashable, Sendable {
        var sequence: UInt64
        var session: SessionID
        var number: RequestNumber
    }
    struct Totals: Sendable {
        var acknowledged = 0
        var resolved = 0
        var unknown = 0
        var withoutEffect = 0
    }
    private struct Contents {
        var totals = Totals()
        var answers: [Answer] = []
        var lastAnswer = ContinuousClock.now
    }
    private let contents = Mutex(Contents())
    private let stopped = Atomic<Bool>(false)

    var isStopped: Bool { stopped.load(ordering: .relaxed) }
    func stop() { stopped.store(true, ordering: .relaxed) }
    var totals: Totals { contents.withLock { $0.totals } }
    var answers: [Answer] { contents.withLock { $0.answers } }
    var lastAnswer: ContinuousClock.Instant { contents.withLock { $0.lastAnswer } }

    func acknowledged(_ sequence: SequenceNumber, _ session: SessionID, _ number: RequestNumber) {
        add(sequence, session, number) { $0.acknowledged += 1 }
    }

    func resolved(_ sequence: SequenceNumber, _ session: SessionID, _ number: RequestNumber) {
        add(sequence, session, number) { $0.resolved += 1 }
    }

    func lost() { contents.withLock { $0.totals.unknown += 1 } }
    func withoutEffect() { contents.withLock { $0.totals.withoutEffect += 1 } }

    private func add(
        _ sequence: SequenceNumber, _ session: SessionID, _ number: RequestNumber, _ change: (inout Totals) -> Void
    ) {
        contents.withLock {
            change(&$0.totals)
            $0.answers.append(Answer(sequence: sequence.rawValue, session: session, number: number))
            $0.lastAnswer = .now
        }
    }
}

/// Kills the primary and starts it again, each time after answers have come.
final class Killer {
    private let cluster: ProcessCluster
    private let ledger: DemoLedger
    private let kills: Int
    private(set) var longestPause = 0.0

    init(cluster: ProcessCluster, ledger: DemoLedger, kills: Int) {
        self.cluster = cluster
        self.ledger = ledger
        self.kills = kills
    }

    nonisolated(nonsending) func run() async throws {
        for kill in 1...kills {
            let before = ledger.totals.acknowledged
            try await wait(for: "acknowledgements") { self.ledger.totals.acknowledged > before + 200 }
            // Anywhere in the primary's work, not only at its turns' ends.
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400)))
            let last = ledger.lastAnswer
            cluster.end(0, signal: SIGKILL)
            let atKill = ledger.totals.acknowledged
            try cluster.start(0)
            try await wait(for: "the primary after its restart") { self.ledger.totals.acknowledged > atKill + 64 }
            longestPause = max(longestPause, last.duration(to: .now) / .seconds(1))
            Output.progress("killed \(kill) of \(kills); \(ledger.totals.acknowledged) acknowledged")
        }
        Output.progress("")
    }

    private nonisolated(nonsending) func wait(for what: String, _ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            guard ContinuousClock.now < deadline else {
                throw CommandFailure("nothing came for 60 s while waiting for \(what)", status: .unreachable)
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
