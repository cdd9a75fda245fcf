import LockstepConsole
import LockstepFolders
import LockstepHTTP
import LockstepNode
public import Logging
public import ServiceLifecycle
import UnixSignals

/// What `serve` is told, and how a node then lives until it is told to stop.
public struct ServedNode<Server: LockstepServer>: ParsableArguments {
    @OptionGroup package var place: NodePlace<Server>
    @Flag(help: "Allow plain text to other hosts, without keys and in HTTP: only in a network that you trust.")
    var insecure = false
    @Flag(
        help:
            "Do not run the accepted actions that the former primary left; see \"\(Server.name) actions\".")
    var holdEffects = false
    @Option(
        help: """
            How many seconds a primary waits at its start for the replicas that it last had; 0: it does not. (default: 5)
            """,
        transform: Within.seconds(0...600))
    package var audienceTimeout = 5.0
    @Option(help: "HOST:PORT of the console, metrics and health over HTTP, such as 127.0.0.1:9100.")
    var http: String?
    @OptionGroup var options: Server.ServeOptions
    @Option(
        help: "What is logged to standard error: trace, debug, info, notice, warning, error. (default: info)",
        transform: RunningLogLevel.read)
    package var logLevel: Logger.Level = .info
    @OptionGroup(title: "Configuration") var source: ConfigurationOptions

    /// Read from the command line.
    public init() {}

    /// Runs the node, with the program's stores that its folder has, until the process is told to stop.
    ///
    /// - Throws: What keeps the node from starting, or ends it.
    public func run() async throws {
        let read = try source.read()
        if try source.isPrinted(read) { return }
        let folder = NodeFolder(place.data)
        let identity = try folder.identity()
        var configuration = try place.configuration(identity)
        configuration.allowsPlaintext = insecure
        configuration.waitsForAddress = true
        configuration.holdsEffects = holdEffects
        configuration.audienceTimeout = .seconds(audienceTimeout)
        let level = RunningLogLevel(logLevel)
        let logger = level.logger(label: Server.name) { StreamLogHandler.standardError(label: $0) }
        if http != nil { NodeHTTP.bootstrapMetrics() }
        let node = try Node(configuration, logger: logger)
        let serving = HostedStore<Server.ServeOptions>.Serving(
            node: node, configuration: configuration, options: options, logger: logger)
        let stores = Server.stores
        try stores.check()
        var services = read?.services(level, logger) ?? []
        var shown: [ConsoleStore] = []
        for name in identity.stores {
            guard let store = stores[name] else {
                throw CommandFailure(
                    "\(folder.path) has the store \(name), which this program does not know", status: .usage)
            }
            let hosted = try store.attach(serving)
            services += hosted.services
            shown.append(hosted.shown)
        }
        var askers: [any Service] = []
        if let http {
            let console = Console(node: node, stores: shown, keys: configuration.keys)
            askers.append(console)
            askers += try NodeHTTP.services(
                for: node, address: http, allowsOtherHosts: insecure, waitsForAddress: configuration.waitsForAddress,
                routes: console.routes, logger: logger)
        }
        try await node.serve(beside: services, askedBy: askers, logger: logger)
    }
}

extension Node {
    /// Runs the node and services until SIGTERM or SIGINT, and ends them in good order.
    ///
    /// - Parameters:
    ///   - services: What runs beside the node; one that ends before ends the node too. At SIGTERM and SIGINT they are
    ///     told to end before the node is, the last first, and each is waited for: one that does not end by itself at a
    ///     graceful shutdown, such as a loop over a store alone, keeps the node from its end.
    ///   - askers: What waits for answers of the node's thread, which gives none while it reads its journals. They are
    ///     told to end when the node has ended; one that ends before ends the node too.
    ///   - logger: Says what starts and stops.
    /// - Throws: What ended the node or a service.
    public func serve(
        beside services: [any Service] = [], askedBy askers: [any Service] = [], logger: Logger
    ) async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: Self.order(self, beside: services, askedBy: askers),
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        try await group.run()
    }

    /// The services of a group that runs a node, which ends the last of them first.
    package static func order(
        _ node: any Service, beside services: [any Service], askedBy askers: [any Service]
    ) -> [ServiceGroupConfiguration.ServiceConfiguration] {
        let own = ServiceGroupConfiguration.ServiceConfiguration(
            service: node, successTerminationBehavior: .gracefullyShutdownGroup)
        return askers.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) } + [own]
            + services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
    }
}
