import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepHarness
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
        @Option(help: "The store.")
        var store: String = Hosted.counters

        func reader() throws -> SQLiteJournalReader {
            try SQLiteJournalReader(folder: NodeFolder(data).path, storeName: store)
        }
    }

    struct Inspect: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "inspect", abstract: "Shows what a journal is and how far it reaches.",
            discussion: "  lockstep journal inspect --data data/primary --json")
        @OptionGroup var options: Options
        @Flag(help: "Print JSON.")
        var json = false

        struct Summary: Encodable {
            struct Snapshot: Encodable {
                var sequence: UInt64
                var hash: String
                var bytes: Int
            }
            var store: String
            var cluster: String
            var storeID: String
            var channel: Int
            var incarnation: String
            var end: String
            var mark: String?
            var snapshots: [Snapshot]
            var batches: Int
            var batchBytes: Int
            var quarantined: Int
            var notes: [String: String]
        }

        func run() throws {
            let reader = try options.reader()
            var batches = 0
            var bytes = 0
            try reader.batches(after: .zero) { batch in
                batches += 1
                bytes += batch.bytes.count
            }
            var notes: [String: String] = [:]
            for note in JournalNote.allCases { notes[note.rawValue] = reader.note(note) }
            let summary = Summary(
                store: reader.identity.storeName, cluster: "\(reader.identity.cluster)",
                storeID: "\(reader.identity.store)", channel: Int(reader.identity.channel.rawValue),
                incarnation: "\(reader.identity.incarnation)", end: "\(try reader.end())",
                mark: reader.mark.map { "\($0.position)" },
                snapshots: try reader.snapshots().map {
                    Summary.Snapshot(
                        sequence: $0.position.sequence.rawValue, hash: "\($0.position.hash)", bytes: $0.bytes)
                }, batches: batches, batchBytes: bytes, quarantined: try reader.quarantined().count, notes: notes)
            if json { return try Output.json(summary) }
            Output.line("store        \(summary.store), channel \(summary.channel)")
            Output.line("cluster      \(summary.cluster)")
            Output.line("incarnation  \(summary.incarnation)")
            Output.line("end          \(summary.end)")
            Output.line("side mark    \(summary.mark ?? "none")")
            for snapshot in summary.snapshots {
                Output.line("snapshot     at \(snapshot.sequence), \(snapshot.bytes) bytes")
            }
            Output.line("batches      \(summary.batches), \(summary.batchBytes) bytes")
            if summary.quarantined > 0 { Output.line("quarantined  \(summary.quarantined) batches") }
            for (name, value) in notes.sorted(by: { $0.key < $1.key }) { Output.line("note         \(name): \(value)") }
        }
    }

    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify", abstract: "Checks every batch, every snapshot and the side mark.",
            discussion: """
                Prints each damage with its sequence number and exits with 65 if there is one.

                  lockstep journal verify --data data/primary
                """)
        @OptionGroup var options: Options
        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            let reader = try options.reader()
            let findings = try reader.verifyAll { Output.progress("checked \($0 >> 20) MiB") }
            Output.progress("")
            if json {
                try Output.json(["findings": findings.map(\.description)])
            } else {
                for finding in findings { Output.line(finding.description) }
                if findings.isEmpty { Output.line("whole, through \(try reader.end())") }
            }
            guard findings.isEmpty else {
                throw CommandFailure(
                    "the journal is damaged in \(findings.count) places; copy the folder away before anything else. "
                        + "\"lockstep recover --data \(options.data) --from NODE --anew\" makes it anew from another node",
                    status: .damaged)
            }
        }
    }

    struct Dump: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "dump", abstract: "Prints every entry as a line of JSON.",
            discussion: "  lockstep journal dump --data data/primary --after 1000 --through 2000")
        @OptionGroup var options: Options
        @Option(help: "Begin behind this sequence number.")
        var after: UInt64 = 0
        @Option(help: "End with this sequence number.")
        var through: UInt64?

        func run() throws {
            let reader = try options.reader()
            let start = SequenceNumber(rawValue: after)
            let end = through.map { SequenceNumber(rawValue: $0) }
            try reader.batches(after: start, through: end) { batch in
                for record in try EntryDump.records(of: batch) {
                    guard record.sequence > after, record.sequence <= through ?? .max else { continue }
                    try Output.json(record)
                }
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
        @OptionGroup var options: Options
        @Argument(help: "The sequence number; without it, the end.")
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
            guard options.store == Hosted.counters else {
                throw CommandFailure(
                    "state-at rebuilds the store \(Hosted.counters) only, not \(options.store): use lockstep journal dump",
                    status: .usage)
            }
            let reader = try options.reader()
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
