import ArgumentParser
import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepHarness
import LockstepLaboratory
import LockstepNode
#if LOCKSTEP_PLANTED_DEFECTS
    import LockstepSimulator
#endif
import LockstepSQLite
import Logging
import ServiceLifecycle
import UnixSignals

/// `lockstep serve`: runs a primary, or a replica of one.
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Runs a node until it is told to stop (SIGTERM, SIGINT).",
        discussion: """
            A node listens on its port and the two behind it.

              lockstep serve --data data/primary --listen tcp://127.0.0.1:7400
              lockstep serve --data data/replica-1 --replica-of tcp://127.0.0.1:7400 --listen tcp://127.0.0.1:7410
            """)

    @OptionGroup var place: NodePlace
    @Flag(help: "Allow plain text to other hosts: only in a network that you trust.")
    var insecure = false
    @Flag(help: "Do not run the accepted actions that the former primary left; see \"lockstep actions\".")
    var holdEffects = false
    @Option(
        help: "How many seconds a primary waits at its start for the replicas that it last had; 0: it does not.",
        transform: Within.seconds(0...600))
    var audienceTimeout = 5.0
    @OptionGroup(title: "Searches") var search: SearchServing
    @Option(help: "What is logged to standard error: trace, debug, info, notice, warning, error.")
    var logLevel: String = "info"

    func run() async throws {
        #if LOCKSTEP_PLANTED_DEFECTS
            SimulationResult.plantDefect()
        #endif
        let folder = NodeFolder(place.data)
        let identity = try folder.identity()
        guard let level = Logger.Level(rawValue: logLevel) else {
            throw ValidationError("--log-level is one of trace, debug, info, notice, warning, error")
        }
        var configuration = try place.configuration(identity)
        configuration.allowsPlaintext = insecure
        configuration.waitsForAddress = true
        configuration.holdsEffects = holdEffects
        configuration.audienceTimeout = .seconds(audienceTimeout)
        var logger = Logger(label: "lockstep") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = level
        let node = try Node(configuration, logger: logger)
        var services: [any Service] = []
        for store in identity.stores {
            switch store {
            case Hosted.counters: _ = try node.store(Counters(), named: store)
            case Hosted.workbench: _ = try node.store(Workbench(), named: store)
            case Hosted.search: services += try search.attach(to: node, configuration, logger: logger)
            default: throw CommandFailure("\(folder.path) has the store \(store), which this program does not know")
            }
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: node, successTerminationBehavior: .gracefullyShutdownGroup)]
                    + services.map { .init(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }
}

/// Where a node of this program keeps its journals, and with whom it talks.
struct NodePlace: ParsableArguments {
    @Option(help: "The node's folder, as \"lockstep init\" made it.")
    var data: String
    @Option(help: "Where the node listens: tcp://HOST:PORT. A replica may go without.")
    var listen: String?
    @Option(
        help: "The primary's tcp://HOST:PORT; without it the node is the primary. A folder keeps its role: see promote."
    )
    var replicaOf: String?
    @Option(
        help: "A snapshot is taken when the batches behind the last have so many bytes. Default: 67108864, 64 MiB.",
        transform: Within.whole((1 << 20)...Int.max))
    var snapshotAfter: Int?

    /// The node's configuration; `create` makes journals that "lockstep init" did not.
    func configuration(_ identity: NodeFolder.Identity, create: Bool = false) throws -> NodeConfiguration {
        let folder = NodeFolder(data)
        let journal = JournalSource.sqlite(at: folder.path, create: create)
        var configuration: NodeConfiguration
        if let replicaOf {
            configuration = .replica(of: replicaOf, listen: listen, journal: journal)
        } else {
            guard let listen else { throw ValidationError("a primary needs --listen tcp://HOST:PORT") }
            configuration = .primary(listen: listen, journal: journal)
        }
        configuration.node = try parseNode(identity.node)
        configuration.cluster = try parseCluster(identity.cluster)
        configuration.administrationFolder = folder.administration
        if let snapshotAfter { configuration.snapshotAfterBytes = snapshotAfter }
        return configuration
    }
}
