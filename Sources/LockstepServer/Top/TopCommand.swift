import Foundation
import LockstepConsole
import LockstepNode

/// `top`: the nodes of a cluster in a live table.
public struct TopCommand<Server: LockstepServer>: AsyncParsableCommand {
    /// The command, with an example of each use.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "top", abstract: "Shows the nodes of a cluster in a live table.",
            discussion: """
                One node is enough: its primary is asked too, and tells of all replicas.

                Role, phase, commit number, lag and rate of each node, the last minute of both as bars, alarms, and whether \
                the digests are equal. Keys: q quit, arrows choose a store, s sort, p pause, ? help.

                Where standard output is no terminal, a table is printed each second, without codes, and the exit status is \
                69 if in the last of --frames tables no node answers. NO_COLOR is honoured.

                  \(Server.name) top --data data/primary --data data/replica-1
                  \(Server.name) top --node tcp://10.0.0.1:7400
                  \(Server.name) top --data data/primary --frames 1
                """)
    }

    @OptionGroup var nodes: LookedAtNodes
    @Option(help: "End after so many tables.", transform: Within.whole(1...Int.max))
    var frames: Int?

    /// Read from the command line.
    public init() {}

    /// Shows the table until it is told to end.
    public func run() async throws {
        guard Output.isTerminal else { return try await printTables() }
        try await TopScreen(places: nodes.places, keys: try nodes.linkKeys(), frames: frames).run()
    }

    private func printTables() async throws {
        let places = nodes.places
        var model = TopModel()
        let keys = try nodes.linkKeys()
        var count = 0
        var looks = try await WaitNotice.during("an answer of \(places.count == 1 ? places[0].text : "the nodes")") {
            await TopLooks.at(places, by: keys)
        }
        while true {
            model.take(looks, at: TopLooks.now)
            count += 1
            Output.line(model.frame(columns: 132, rows: 1_000).text.joined(separator: "\n"))
            if let frames, count >= frames {
                guard looks.allSatisfy({ $0.status == nil }) else { return }
                throw CommandFailure(looks.compactMap(\.reason).first ?? "no node answers", status: .unreachable)
            }
            try await Task.sleep(for: .seconds(1))
            Output.line("")
            looks = await TopLooks.at(places, by: keys)
        }
    }
}

/// Questions to the nodes.
enum TopLooks {
    private static let began = ContinuousClock.now

    /// Seconds since this program began.
    static var now: Double { began.duration(to: .now) / .seconds(1) }

    /// Asks all nodes at once, for two seconds at most, and then the primaries of those that follow one that is not
    /// among them.
    static func at(_ places: [NodeLocation], by keys: LinkKeys) async -> [TopModel.Look] {
        let looks = await asked(places, by: keys)
        let statuses = looks.compactMap(\.status)
        let known = Set(statuses.filter { $0.role == .primary }.map(\.cluster))
        let own = Set(statuses.compactMap(\.endpoint))
        let others = statuses.filter { !known.contains($0.cluster) }.compactMap(\.primary).filter { !own.contains($0) }
        let primaries = Set(others).sorted().map { NodeLocation.address($0) }.filter { !places.contains($0) }
        return looks + (await asked(primaries, by: keys))
    }

    private static func asked(_ places: [NodeLocation], by keys: LinkKeys) async -> [TopModel.Look] {
        await withTaskGroup(of: (Int, TopModel.Look).self) { group in
            for (index, place) in places.enumerated() {
                group.addTask {
                    let look = await place.look(by: keys)
                    return (
                        index,
                        TopModel.Look(
                            path: place.name, status: look.status, word: look.word, reason: look.failure?.message)
                    )
                }
            }
            var looks: [(Int, TopModel.Look)] = []
            for await look in group { looks.append(look) }
            return looks.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
