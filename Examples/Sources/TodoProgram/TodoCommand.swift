import ArgumentParser
import Lockstep
import LockstepSQLite
import Logging
import ServiceLifecycle
import Todo

/// `todo`: one process serves the list, any number of terminals open it.
@main struct TodoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "todo", abstract: "A to-do list that several terminals share.",
        subcommands: [Serve.self, Open.self])

    static let storeName = "todo"
}

/// `todo serve`: the primary, which also syncs the tasks.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serves the list until Ctrl-C.")

    @Option(help: "The folder of the journal; it is made if it is missing.")
    var data: String
    @Option(help: "Where to listen; the two ports after it are taken too.")
    var listen = "tcp://127.0.0.1:7430"
    @Option(help: "The least time that syncing a task takes, in milliseconds.")
    var minDelay = 50
    @Option(help: "The most time that syncing a task takes, in milliseconds.")
    var maxDelay = 2_000
    @Option(help: "How many of a hundred attempts to sync fail.")
    var failures = 33
    @Option(help: "What delays and failures are drawn from.")
    var seed: UInt64 = 1

    func validate() throws {
        guard 0 <= minDelay, minDelay <= maxDelay else {
            throw ValidationError("--min-delay is 0 or more, and at most --max-delay")
        }
        guard 0...100 ~= failures else { throw ValidationError("--failures is 0 to 100") }
    }

    func run() async throws {
        let service = SyncService(delays: minDelay...maxDelay, failures: failures, seed: seed)
        let node = try Node(.primary(listen: listen, journal: .sqlite(at: data, create: true)))
        _ = try node.store(Todo(service: service), named: TodoCommand.storeName)
        let logger = Logger(label: "todo")
        try await ServiceGroup(services: [node], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }
}

/// `todo open`: a replica with a terminal.
struct Open: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows the list, as it changes, and takes commands.")

    @Option(help: "The address at which the list is served.")
    var primary = "tcp://127.0.0.1:7430"

    func run() async throws {
        let node = try Node(.replica(of: primary))
        let list = try node.store(Todo(), named: TodoCommand.storeName)
        let screen = Screen()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            // True from whoever decides that it is over: the node that failed, or the user who left.
            group.addTask {
                try await node.run()
                return true
            }
            group.addTask {
                try await FlowTree().run(ListFlow(list, screen))
                return true
            }
            group.addTask {
                for await snapshot in list.states { await screen.show(snapshot.state) }
                return false
            }
            group.addTask {
                for await readiness in list.readinessChanges { await screen.show(readiness) }
                return false
            }
            for try await isOver in group where isOver { break }
            group.cancelAll()
        }
    }
}
