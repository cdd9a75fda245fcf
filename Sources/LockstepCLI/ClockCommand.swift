import ArgumentParser
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode
import LockstepSQLite

/// `lockstep clock accept`: lets a primary start although its clock is far from its log's (PROTOCOL R-15).
struct ClockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "Accepts a clock that is far from the log's.", subcommands: [Accept.self])

    struct Accept: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "accept", abstract: "Lets the primary start with this host's clock, once, within an hour.",
            discussion: """
                A primary whose clock is more than 7 days ahead of its log, or 1 hour behind it, does not start: a wrong \
                clock would end leases and deadlines. Check the clock first.

                  lockstep clock accept --data data/primary
                """)
        @Option(help: "The stopped node's folder.")
        var data: String
        @Option(help: "The store.")
        var store: String = Hosted.counters

        func run() throws {
            let folder = NodeFolder(data)
            let identity = try folder.identity()
            let journal = try folder.openJournal(
                identity, cluster: try parseCluster(identity.cluster), store: store)
            defer { journal.close() }
            let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
            try journal.openForRepair()
            try journal.setNote(.clockAccepted, to: String(now))
            Output.line("accepted; start the node within an hour")
        }
    }
}
