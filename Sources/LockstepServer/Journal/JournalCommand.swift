import Foundation
import LockstepCore
import LockstepFolders
import LockstepSQLite

/// `journal`: reads the journal of a node that does not run.
public struct JournalCommand<Server: LockstepServer>: ParsableCommand {
    /// The command.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "journal", abstract: "Reads and checks the journal of a stopped node; nothing is written.",
            subcommands: [Inspect.self, Verify.self, Dump.self, StateAt.self, Difference.self])
    }

    /// Read from the command line.
    public init() {}

    struct Options: ParsableArguments {
        @Option(help: "The node's folder.")
        var data: String
        @Option(help: "The store. Default: all of the folder.")
        var store: String?

        var journals: JournalFolder { JournalFolder(folder: NodeFolder(data), store: store) }
    }

    struct Inspect: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "inspect", abstract: "Shows what the journals of a folder are and how far they reach.",
                discussion: "  \(Server.name) journal inspect --data data/primary --json")
        }
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
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "verify", abstract: "Checks every batch, every snapshot and the side mark of all stores.",
                discussion: """
                    Prints each damage with its store and its sequence number, and exits with 65 if there is one. Without \
                    --store it also checks the folder's node.json.

                      \(Server.name) journal verify --data data/primary
                    """)
        }
        @OptionGroup var options: Options
        @Flag(help: "Print JSON, a line for each store.")
        var json = false

        func run() throws {
            var damaged: [String] = []
            let unread = try options.journals.verify { report in
                if json { try Output.json(report) } else { report.lines.forEach(Output.line) }
                if !report.findings.isEmpty { damaged.append("\(report.store) in \(report.findings.count) places") }
            }
            guard damaged.isEmpty else {
                throw CommandFailure(
                    "\(options.data) is damaged: \(damaged.joined(separator: ", ")); copy the folder away before anything else. "
                        + wayOut, status: .damaged)
            }
            if let unread { throw ExitCode(unread.rawValue) }
        }

        /// How the node gets a whole journal again; a data node's is not recovered, but made anew (PROTOCOL, R-85).
        private var wayOut: String {
            // A node.json that cannot be read says nothing of the node, and is a finding itself.
            guard let identity = try? NodeFolder(options.data).identity(), identity.etcd != nil else {
                return "\"\(Server.name) recover --data \(options.data.shellWord) --from NODE --anew\" makes it anew "
                    + "from another node"
            }
            return "It is a data node's, which fetches what it lacks: move it away, and make it anew with "
                + "\"\(Server.name) init --etcd\", --cluster \(identity.cluster) and --node \(identity.node)"
        }
    }

    struct Dump: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "dump", abstract: "Prints every entry as a line of JSON, store by store.",
                discussion: """
                    Values are decoded by the types of this program's stores; those of a store that it does not know are shown \
                    as bytes. --kept-aside prints the entries that "\(Server.name) recover" took out of the log, or that were cut \
                    off since they never committed, with the reason. Of a data node's journal, entries that are not known to be \
                    committed are said to be uncommitted.

                      \(Server.name) journal dump --data data/primary --store \(Server.stores.usual) --after 1000 --through 2000
                      \(Server.name) journal dump --data data/primary --kept-aside
                    """)
        }
        @OptionGroup var options: Options
        @Option(help: "Begin after this sequence number.", transform: Within.sequence)
        var after: UInt64 = 0
        @Option(help: "End with this sequence number.", transform: Within.sequence)
        var through: UInt64?
        @Flag(help: "Print the entries that were kept aside, and not those of the log.")
        var keptAside = false

        func run() throws {
            try options.journals.forEach { reader in
                let name = reader.identity.storeName
                var dump = try EntryDump(
                    reader, decoding: Server.stores[name].map { StoreDecoding(types: $0.type) },
                    after: SequenceNumber(rawValue: keptAside ? 0 : after))
                if keptAside {
                    for kept in try reader.quarantined() { try write(dump.records(of: kept)) }
                    return
                }
                let end = through.map { SequenceNumber(rawValue: $0) }
                try reader.batches(after: SequenceNumber(rawValue: after), through: end) { batch in
                    try write(dump.records(of: batch))
                }
                try reader.tail { batch in
                    try write(dump.records(of: batch).map(\.uncommitted))
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
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "state-at", abstract: "Rebuilds the state of a store at a sequence number.",
                discussion: """
                    States exist at the ends of batches; the newest at or below the number is printed, with its position and \
                    digest. A number before all that the journal keeps is refused.

                      \(Server.name) journal state-at 5000 --data data/primary
                    """)
        }
        @OptionGroup var rebuilt: RebuiltStore
        @Argument(help: "The sequence number; without it, the end.", transform: Within.sequence)
        var sequence: UInt64?
        @Flag(help: "Print only position and digest.")
        var digestOnly = false

        func run() throws {
            let state = try rebuilt.state(at: sequence)
            try Output.json(digestOnly ? state.withoutContent : state)
        }
    }

    struct Difference: ParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "difference", abstract: "Shows how two states of a store differ, as JSON.",
                discussion: """
                    Both states are rebuilt as by "state-at" and compared as the JSON of the program's own types, place by \
                    place. Elements of a list are compared by their index, and a set is a list in an order of its own.

                      \(Server.name) journal difference 4000 5000 --data data/primary
                    """)
        }
        @OptionGroup var rebuilt: RebuiltStore
        @Argument(help: "The sequence number of the first state.", transform: Within.sequence)
        var from: UInt64
        @Argument(help: "The sequence number of the second state; without it, the end.", transform: Within.sequence)
        var to: UInt64?

        private struct Report: Encodable {
            var from: StateReport
            var to: StateReport
            var changes: [JSONDifference.Change]
        }

        func run() throws {
            let (before, after) = (try rebuilt.state(at: from), try rebuilt.state(at: to))
            let changes = JSONDifference.between(try before.json(), try after.json())
            try Output.json(Report(from: before.withoutContent, to: after.withoutContent, changes: changes))
        }
    }

    /// Which store's state is rebuilt, and from where.
    struct RebuiltStore: ParsableArguments {
        @Option(help: "The node's folder.")
        var data: String
        @Option(help: "The store.")
        var store: String = Server.stores.usual

        func state(at sequence: UInt64?) throws -> StateReport {
            guard let hosted = Server.stores[store] else {
                throw CommandFailure(
                    "this program does not know the store \(store), so it cannot rebuild its state: use "
                        + "\(Server.name) journal dump", status: .usage)
            }
            let reader = try JournalFolder(folder: NodeFolder(data), store: store).reader(store)
            defer { try? reader.close() }  // Nothing was written.
            return try StateReport(reader, try hosted.makeReader(), through: sequence)
        }
    }
}
