import Foundation
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// `clock accept`: lets a primary start although its clock is far from its log's (PROTOCOL R-15).
public struct ClockCommand<Server: LockstepServer>: ParsableCommand {
    /// The command, with an example.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "clock", abstract: "Accepts a clock that is far from the log's.", subcommands: [Accept.self])
    }

    /// Read from the command line.
    public init() {}

    struct Accept: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "accept", abstract: "Lets the primary start with this host's clock.",
                discussion: """
                    A primary whose clock is more than 7 days ahead of its log, or 1 hour behind it, does not start: a wrong \
                    clock would end leases and deadlines. Check the clock first. A clock that is ahead of the log is accepted \
                    for an hour, in which the node is to start; then the log has the clock's time. A clock that is behind the \
                    log is accepted until it has passed the log, for every start, unless it goes back by another hour. \
                    Meanwhile the log's time runs at half the clock's rate.

                      \(Server.name) clock accept --data data/primary
                    """)
        }
        @Option(help: "The stopped node's folder.")
        var data: String
        @Option(help: "The store. Default: all of the folder.")
        var store: String?

        func run() throws {
            let folder = NodeFolder(data)
            let identity = try folder.identity()
            try identity.check(store: store, in: data)
            let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
            for store in store.map({ [$0] }) ?? identity.stores {
                let journal = try folder.openJournal(
                    identity, cluster: try parseCluster(identity.cluster), store: store, isForDataNode: true)
                defer { journal.close() }
                try journal.openForRepair()
                try journal.setNote(.clockAccepted, to: String(now))
            }
            Output.line(
                "accepted: for an hour if the clock is ahead of the log, until it has passed the log if it is behind")
        }
    }
}
