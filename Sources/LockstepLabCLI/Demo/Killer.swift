import Foundation
import LockstepHarness
import LockstepServer

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
            try await ledger.wait(for: "acknowledgements") { self.ledger.totals.acknowledged > before + 200 }
            // Anywhere in the primary's work, not only at its turns' ends.
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400)))
            let last = ledger.lastAnswer
            cluster.end(0, signal: SIGKILL)
            let atKill = ledger.totals.acknowledged
            try cluster.start(0)
            try await ledger.wait(for: "the primary after its restart") {
                self.ledger.totals.acknowledged > atKill + 64
            }
            longestPause = max(longestPause, last.duration(to: .now) / .seconds(1))
            Output.progress("killed \(kill) of \(kills); \(ledger.totals.acknowledged) acknowledged")
        }
        Output.progress("")
    }
}

extension DemoLedger {
    /// Waits until the clients have seen something, for a minute at most.
    nonisolated(nonsending) func wait(for what: String, _ condition: () -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while !condition() {
            if let failure { throw failure }
            guard ContinuousClock.now < deadline else {
                throw CommandFailure("nothing came for 60 s while waiting for \(what)", status: .unreachable)
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
