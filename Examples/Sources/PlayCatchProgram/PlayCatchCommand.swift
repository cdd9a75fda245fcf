import ArgumentParser
import Lockstep
import LockstepSQLite
import Logging
import PlayCatch
import ServiceLifecycle

/// `play-catch`: one process serves the game, others play.
@main struct PlayCatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play-catch", abstract: "A ball that a human and a machine throw to each other.",
        subcommands: [Serve.self, Throw.self, Show.self])

    static let storeName = "play-catch"
}

/// `play-catch serve`: the primary, which is the machine too.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Serves the game until Ctrl-C.")

    @Option(help: "The folder of the journal; it is made if it is missing.")
    var data: String
    @Option(help: "Where to listen; the two ports after it are taken too.")
    var listen = "tcp://127.0.0.1:7420"
    @Option(help: "How long the machine holds the ball, in milliseconds.")
    var delay = 1_000

    func validate() throws {
        guard delay >= 0 else { throw ValidationError("--delay is a number of milliseconds, 0 or more") }
    }

    func run() async throws {
        let node = try Node(.primary(listen: listen, journal: .sqlite(at: data, create: true)))
        _ = try node.store(PlayCatch(delay: .milliseconds(delay)), named: PlayCatchCommand.storeName)
        let logger = Logger(label: "play-catch")
        try await ServiceGroup(services: [node], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger).run()
    }
}

/// The primary that is asked.
struct Primary: ParsableArguments {
    @Option(help: "The address at which the game is served.")
    var primary = "tcp://127.0.0.1:7420"

    /// Runs a client node for as long as `body` runs.
    func withGame<Value>(_ body: (RemoteStore<PlayCatch>) async throws -> Value) async throws -> Value {
        let node = try Node(.client(of: primary))
        let game = try node.remote(PlayCatch.self, named: PlayCatchCommand.storeName)
        return try await node.whileRunning { try await body(game) }
    }
}

/// `play-catch throw`.
struct Throw: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Throws the ball to the machine.")
    @OptionGroup var server: Primary

    func run() async throws {
        let place = try await server.withGame { try await $0.send(.throwBall, timeout: .seconds(10)).place }
        print("the machine has the ball, since entry \(place)")
    }
}

/// `play-catch show`.
struct Show: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows who has the ball, and who threw how often.")
    @OptionGroup var server: Primary

    func run() async throws {
        let state = try await server.withGame {
            try await $0.ask(.state, .linearizable, timeout: .seconds(10)).answer
        }
        print("the \(state.holder) has the ball; throws: human \(state.humanThrows), machine \(state.machineThrows)")
    }
}
