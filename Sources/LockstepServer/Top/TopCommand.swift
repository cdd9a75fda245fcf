import Foundation
import LockstepConsole
import LockstepFolders

/// `top`: the nodes of this host in a live table.
public struct TopCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example of each use.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "top", abstract: "Shows nodes that run on this host in a live table.",
            discussion: """
                Role, phase, commit number, lag and rate of each node, the last minute of both as bars, alarms, and whether \
                the digests are equal. Keys: q quit, arrows choose a store, s sort, p pause, ? help.

                Where standard output is no terminal, a table is printed each second, without codes. NO_COLOR is honoured.

                  \(Server.name) top --data data/primary --data data/replica-1
                  \(Server.name) top --data data/primary --frames 1
                """)
    }

    @Option(help: "A node's folder; may be repeated.")
    var data: [String]
    @Option(help: "End after so many tables.", transform: Within.whole(1...Int.max))
    var frames: Int?

    /// Read from the command line.
    public init() {}

    /// Shows the table until it is told to end.
    public func run() async throws {
        guard !data.isEmpty else { throw ValidationError("name a node's folder with --data") }
        guard Output.isTerminal else { return try await printTables() }
        try await TopScreen(folders: data, frames: frames).run()
    }

    private func printTables() async throws {
        var model = TopModel()
        var count = 0
        while true {
            model.take(await TopLooks.at(data), at: TopLooks.now)
            count += 1
            Output.line(model.frame(columns: 132, rows: 1_000).text.joined(separator: "\n"))
            if let frames, count >= frames { return }
            try await Task.sleep(for: .seconds(1))
            Output.line("")
        }
    }
}

/// Questions to the nodes.
enum TopLooks {
    private static let began = ContinuousClock.now

    /// Seconds since this program began.
    static var now: Double { began.duration(to: .now) / .seconds(1) }

    /// Asks all nodes at once, for two seconds at most.
    static func at(_ folders: [String]) async -> [TopModel.Look] {
        await withTaskGroup(of: (Int, TopModel.Look).self) { group in
            for (place, path) in folders.enumerated() {
                group.addTask {
                    let look = NodeLook(path, await NodeFolder(path).status())
                    return (
                        place,
                        TopModel.Look(
                            path: path, status: look.status, word: look.word, reason: look.failure?.message)
                    )
                }
            }
            var looks: [(Int, TopModel.Look)] = []
            for await look in group { looks.append(look) }
            return looks.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
