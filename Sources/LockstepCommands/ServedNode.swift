import ArgumentParser
import Counters
import Lockstep
import LockstepConsole
import LockstepFolders
import LockstepHTTP
import LockstepNode
import Logging
import ServiceLifecycle
import UnixSignals

/// What `serve` is told, and how a node then lives until it is told to stop.
package struct ServedNode: ParsableArguments {
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
    @Option(help: "HOST:PORT of the console, metrics and health over HTTP, such as 127.0.0.1:9100.")
    var http: String?
    @Option(help: "What is logged to standard error: trace, debug, info, notice, warning, error.")
    var logLevel: String = "info"

    package init() {}

    /// Runs the node until the process is told to stop.
    ///
    /// - Parameter others: Stores that this program hosts beside those of every program.
    /// - Throws: What keeps the node from starting, or ends it.
    package func run(hosting others: [HostedStore] = []) async throws {
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
        if http != nil { NodeHTTP.bootstrapMetrics() }
        let node = try Node(configuration, logger: logger)
        var services: [any Service] = []
        var shown: [ConsoleStore] = []
        for store in identity.stores {
            switch store {
            case Hosted.counters: shown.append(ConsoleStore(try node.store(Counters(), named: store)))
            case Hosted.search: services += try search.attach(to: node, configuration, shown: &shown, logger: logger)
            default:
                guard let other = others.first(where: { $0.name == store }) else {
                    throw CommandFailure("\(folder.path) has the store \(store), which this program does not know")
                }
                try other.attach(node)
            }
        }
        if let http {
            let console = Console(node: node, stores: shown)
            services.append(console)
            services += try NodeHTTP.services(
                for: node, address: http, allowsOtherHosts: insecure, routes: console.routes, logger: logger)
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [.init(service: node, successTerminationBehavior: .gracefullyShutdownGroup)]
                    + services.map { .init(service: $0) },
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }
}
