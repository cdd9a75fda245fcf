import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// `lockstep journal`: reads the journal of a node that does not run.
struct JournalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal", abstract: "Reads and checks the journal of a stopped node; nothing is written.",
        subcommands: [Inspect.self, Verify.self, Dump.self, StateAt.self])

    struct Options: ParsableArguments {
        @Option(help: "The node's folder.")
        var data: String
        @Option(help: "The store. Default: all of the folder.")
        var store: String?

        var journals: JournalFolder { JournalFolder(folder: NodeFolder(data), store: store) }
    }

    struct Inspect: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "inspect", abstract: "Shows what the journals of a folder are and how far they reach.",
            discussion: "  lockstep journal inspect --data data/primary --json")
        @OptionGroup var options: Options
        @Flag(help: "Print JSON, a line for each store.")
        var json = false

        func run() throws {
            var isFirst = true
            try options.journals.forEach { reader in
                let summary = try JournalSummary(reader)
                if json { return try Output.json(summary) }
                if !isFirst { Output.line("") }
                isFirst = false
                summary.lines.forEach(Output.line)
            }
        }
    }

    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Checks every batch, every snapshot and the side mark of all stores.",
            discussion: """
                Prints each damage with its store and its sequence number, and exits with 65 if there is one. Without \
                --store it also checks the folder's node.json.

                  lockstep journal verify --data data/primary
                """)
        @OptionGroup var options: Options
        @Flag(help: "Print JSON, a line for each store.")
        var json = false

        func run() throws {
            var damaged: [String] = []
            for check in try options.journals.checks() {
                let report = try check()
                if json { try Output.json(report) } else { report.lines.forEach(Output.line) }
                if !report.findings.isEmpty { damaged.append("\(report.store) in \(report.findings.count) places") }
            }
            guard damaged.isEmpty else {
                throw CommandFailure(
                    "\(options.data) is damaged: \(damaged.joined(separator: ", ")); copy the folder away before anything else. "
                        + "\"lockstep recover --data \(options.data) --from NODE --anew\" makes it anew from another node",
                    status: .damaged)
            }
        }
    }

    struct Dump: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "dump", abstract: "Prints every entry as a line of JSON, store by store.",
            discussion: """
                --kept-aside prints the entries that "lockstep recover" took out of the log, with the reason.

                  lockstep journal dump --data data/primary --store counters --after 1000 --through 2000
                  lockstep journal dump --data data/primary --kept-aside
                """)
        @OptionGroup var options: Options
        @Option(help: "Begin after this sequence number.", transform: Within.sequence)
        var after: UInt64 = 0
        @Option(help: "End with this sequence number.", transform: Within.sequence)
        var through: UInt64?
        @Flag(help: "Print the entries that were kept aside, and not those of the log.")
        var keptAside = false

        func run() throws {
            try options.journals.forEach { reader in
                let dump = EntryDump(store: reader.identity.storeName)
                if keptAside {
                    for kept in try reader.quarantined() { try write(dump.records(of: kept)) }
                    return
                }
                let end = through.map { SequenceNumber(rawValue: $0) }
                try reader.batches(after: SequenceNumber(rawValue: after), through: end) { batch in
                    try write(dump.records(of: batch))
                }
            }
        }

        private func write(_ records: [EntryRecord]) throws {
            for record in records where record.sequence > after && record.sequence <= through ?? .max {
                try Output.json(record)
            }
        }
    }

    struct StateAt: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "state-at", abstract: "Rebuilds the state of the counters at a sequence number.",
            discussion: """
                States exist at the ends of batches; the newest at or below the number is printed, with its position and \
                digest.

                  lockstep journal state-at 5000 --data data/primary
                """)
        @Option(help: "The node's folder.")
        var data: String
        @Option(help: "The store.")
        var store: String = Hosted.counters
        @Argument(help: "The sequence number; without it, the end.", transform: Within.sequence)
        var sequence: UInt64?
        @Flag(help: "Print only position and digest.")
        var digestOnly = false

        struct Report: Encodable {
            var position: String
            var sequence: UInt64
            var time: Int64
            var digest: String
            var sessions: Int
            var state: Counters.State?
        }

        func run() throws {
            guard store == Hosted.counters else {
                throw CommandFailure(
                    "state-at rebuilds the store \(Hosted.counters) only, not \(store): use lockstep journal dump",
                    status: .usage)
            }
            let reader = try JournalFolder(folder: NodeFolder(data), store: store).reader(store)
            let wanted = SequenceNumber(rawValue: sequence ?? UInt64(Int64.max))
            let rebuilt = try RebuiltState(reader, Counters(), through: wanted)
            try Output.json(
                Report(
                    position: "\(rebuilt.log.position)", sequence: rebuilt.log.position.sequence.rawValue,
                    time: rebuilt.log.time.rawValue, digest: "\(rebuilt.state.digest + rebuilt.log.digest)",
                    sessions: rebuilt.log.sessions.count, state: digestOnly ? nil : rebuilt.state.workingState))
        }
    }
}
