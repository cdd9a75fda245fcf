import ArgumentParser
import Foundation
import LockstepLaboratory
import LockstepServer
import UnixSignals

/// `lockstep-lab chaos`: what a laboratory of several hosts runs; `deploy/lab chaos` does the rest.
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos", abstract: "Clients that keep a history of a run under faults, and its judge.",
        discussion: "The hosts, the faults and the report are made by deploy/lab; see docs/LAB.md.",
        subcommands: [Client.self, Check.self, StorageCommand.self])

    struct Client: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Works with a cluster and writes down every operation before it is sent and when it is answered.",
            discussion: """
                The nodes must host the store "workbench" too:
                lockstep-lab init and serve make and run such nodes.

                  lockstep-lab chaos client --node tcp://10.0.0.1:7400 --workload registers --seconds 60 --history run.jsonl
                """)

        @Option(help: "The primary, tcp://HOST:PORT; or all data nodes, with commas between them.")
        var node: String
        @Option(help: "A replica or a data node to read from; may be repeated.")
        var replica: [String] = []
        @Option(help: "What to do: \(ChaosWorkload.allCases.map(\.rawValue).joined(separator: ", ")).")
        var workload = "increments"
        @Option(help: "The file to write; it must not be there.")
        var history: String
        @Option(help: "How long to work, in seconds; SIGTERM ends it earlier.", transform: Within.seconds(0.1...86_400))
        var seconds: Double = 10
        @Option(
            help: "Operations a second of all workers; 0: as fast as answers come.",
            transform: Within.fraction(0...1_000_000_000))
        var rate: Double = 200
        @Flag(help: "The stream does not wait for answers before it sends more, up to a bound.")
        var open = false
        @Option(help: "Workers, each with a session of its own.", transform: Within.whole(1...256))
        var workers = 8
        @Option(
            help: "Seconds to wait for an answer, before it is asked for again.", transform: Within.seconds(0.01...600))
        var timeout: Double = 1
        @Option(help: "The seed of the operations.")
        var seed: UInt64 = 1
        @OptionGroup var keyOptions: KeyOptions

        func run() async throws {
            var settings = ChaosClient.Settings()
            guard let workload = ChaosWorkload(rawValue: workload) else {
                let names = ChaosWorkload.allCases.map(\.rawValue).joined(separator: ", ")
                throw ValidationError("--workload is one of \(names)")
            }
            settings.workload = workload
            settings.nodes = parseNodes(node)
            settings.replicas = replica
            settings.workers = workers
            settings.rate = rate
            settings.isOpen = open
            settings.duration = Within.duration(seconds)
            settings.timeout = Within.duration(timeout)
            settings.seed = seed
            settings.keys = try keyOptions.nodeKeys()
            let client = ChaosClient(settings, history: try HistoryWriter(path: history))
            let counts = try await withThrowingTaskGroup(of: Void.self) { group in
                let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
                group.addTask { for await _ in signals { client.stop() } }
                let counts = try await client.run()
                group.cancelAll()
                return counts
            }
            try Output.json(counts)
        }
    }

    struct Check: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Judges a run by its histories and the folders of its stopped nodes.",
            discussion: """
                Exits with 0 if all promises were kept, with 1 if one was broken, with 75 if something is left open.

                  lockstep-lab chaos check --history run.jsonl --data a/primary --data b/replica
                """)

        @Option(help: "A history; may be repeated.")
        var history: [String]
        @Option(help: "A stopped node's folder, the primary's first; of data nodes in any order.")
        var data: [String]
        @Flag(help: "Print JSON.")
        var json = false

        func run() throws {
            let judgement = try RunJudgement(histories: history, nodes: data)
            if json {
                try Output.json(judgement)
            } else {
                for check in judgement.checks {
                    Output.line(
                        "\(check.findings.isEmpty ? "kept  " : "BROKEN") \(check.name), \(check.checked) compared")
                    for finding in check.findings + check.undecided { Output.line("    \(finding)") }
                }
            }
            guard judgement.foundNothing else { throw CommandFailure("a promise was broken") }
            guard judgement.passed else {
                throw CommandFailure("something could not be decided", status: .outcomeUnknown)
            }
        }
    }
}
