#if Web
    internal import Hummingbird
    internal import HummingbirdCore
    public import Lockstep
    public import Logging
    internal import NIOCore
    internal import NIOPosix
    public import SearchCache
    public import ServiceLifecycle

    /// A node's searches over HTTP, for programs that are not written in Swift, and for a person with a browser.
    ///
    ///     let search = CachedSearch(try node.store(SearchCache(backend), named: "search"))
    ///     let face = try SearchFace(search, node: configuration)
    ///     // Run node, search and face side by side.
    ///
    /// It answers `/search?q=…&page=…`, `/health`, `/metrics`, `/openapi.yaml`, which describes them, and a page at `/`.
    /// Any node may have one, primary or replica, as many as there are nodes. It reads only: nothing but what a search
    /// itself asks for is written to the log.
    public struct SearchFace: Service {
        /// Bounds of a face.
        public struct Settings: Hashable, Sendable {
            /// How long a search may wait for the backend before it is answered with 504: 1 ms to 10 minutes.
            public var timeout: Duration = .seconds(20)
            /// Searches that may wait at once; one more is answered with 503.
            ///
            /// A hit does not wait.
            public var waitingSearches = 512
            /// Connections that may be open; a request on one more is answered with 503.
            public var connections = 1_024
            /// How long a connection may take to send a whole request, or none.
            public var idleTime: Duration = .seconds(30)
            /// How long a client may leave answers unread.
            public var unreadTime: Duration = .seconds(20)
            /// The most bytes of pages that are kept as JSON: at least 1 MiB.
            public var encodedBytes = 16 << 20

            /// The defaults.
            public init() {}

            func check() throws {
                func demand(_ isRight: Bool, _ what: String) throws {
                    if !isRight { throw LockstepError(.invalidConfiguration, "a search face needs \(what)") }
                }
                try demand(timeout >= .milliseconds(1) && timeout <= .seconds(600), "a timeout of 1 ms to 10 minutes")
                try demand(waitingSearches >= 1, "room for a search that waits")
                try demand(connections >= 1, "room for a connection")
                try demand(idleTime >= .milliseconds(1), "an idle time of at least 1 ms")
                try demand(unreadTime >= .milliseconds(1), "an unread time of at least 1 ms")
                try demand(encodedBytes >= 1 << 20, "room for at least 1 MiB of JSON")
            }
        }

        private let responder: FaceResponder
        private let host: String
        private let port: Int
        private let waitsForAddress: Bool
        private let onRunning: @Sendable (Int) async -> Void

        /// Checks where to listen; ``run()`` listens.
        ///
        /// - Parameters:
        ///   - search: What is searched.
        ///   - node: The configuration of the node that keeps it: its name and role are shown, and it says whether
        ///     anything but loopback is allowed (``NodeConfiguration/allowsPlaintext``), since everybody who reaches the
        ///     address may search, and whether an address that this host does not have yet is waited for
        ///     (``NodeConfiguration/waitsForAddress``).
        ///   - host: An address of this host. On a loopback address requests must name loopback, or the address, as
        ///     their host.
        ///   - port: 0 lets the system choose one; see `onRunning`.
        ///   - settings: Bounds.
        ///   - logger: Gets what goes wrong; by default nothing is logged.
        ///   - onRunning: Called once, when the face listens, with its port.
        /// - Throws: ``LockstepError`` of code `invalidConfiguration`.
        public init(
            _ search: CachedSearch, node: NodeConfiguration, host: String = "127.0.0.1", port: Int = 8080,
            settings: Settings = Settings(),
            logger: Logger = Logger(label: "lockstep.search", factory: { _ in SwiftLogNoOpLogHandler() }),
            onRunning: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
        ) throws {
            try self.init(
                search, node: node, host: host, port: port, settings: settings, logger: logger,
                now: { FaceTimes.now() }, onRunning: onRunning)
        }

        /// The same with a clock of its own.
        package init(
            _ search: CachedSearch, node: NodeConfiguration, host: String, port: Int, settings: Settings,
            logger: Logger, now: @escaping @Sendable () -> LogTime, onRunning: @escaping @Sendable (Int) async -> Void
        ) throws {
            try settings.check()
            guard (0...65_535).contains(port) else {
                throw LockstepError(.invalidConfiguration, "\(port) is no port: choose 0 to 65535")
            }
            guard node.allowsPlaintext || Self.isLoopback(host) else {
                throw LockstepError(
                    .invalidConfiguration,
                    "\(host) is not a loopback address, and everybody who reaches it may search: "
                        + "use 127.0.0.1, or set allowsPlaintext in a network that you trust")
            }
            let role =
                switch node.role {
                case .primary: "primary"
                case .data: "data"
                case .replica, .client: "replica"
                }
            let own = host == "localhost" ? "127.0.0.1" : host
            let address = TCPEndpoint(host: own.contains(":") ? "[\(own)]" : own, port: UInt16(port))
            self.host = own
            self.port = port
            waitsForAddress = node.waitsForAddress
            self.onRunning = onRunning
            responder = FaceResponder(
                search, node: node.node, role: role, settings: settings, hosts: AdmittedHosts(of: address),
                counts: FaceCounts(), logger: logger, now: now)
        }

        private static func isLoopback(_ host: String) -> Bool {
            let isIPv4 = host.hasPrefix("127.") && host.utf8.allSatisfy { $0 == 46 || (48...57).contains($0) }
            return isIPv4 || host == "localhost" || host == "::1"
        }

        /// Listens and answers until the task is cancelled or graceful shutdown is asked for.
        ///
        /// A shutdown lets what is under way be answered, for ``Settings/timeout`` at most.
        ///
        /// - Throws: ``LockstepError`` of code `addressInUse`, `invalidConfiguration` where there is no such address, or
        ///   `unavailable`.
        public func run() async throws {
            let responder = responder
            var wait = AddressWait(logger: responder.logger)
            while true {
                do {
                    return try await Self.serve(
                        host: host, port: port, settings: responder.settings, counts: responder.counts,
                        logger: responder.logger, now: responder.now, onRunning: onRunning
                    ) { await responder.respond(to: $0.head) }
                } catch let error as LockstepError {
                    let code = (error.underlying as? IOError)?.errnoCode
                    guard waitsForAddress, code == EADDRNOTAVAIL else { throw error }
                    // Only the end of the service ends a pause early.
                    guard (try? await wait.pause(because: error.message)) != nil else { return }
                }
            }
        }

        /// What a benchmark compares with: Hummingbird's own application and router, and a route `/constant` whose
        /// handler returns a text.
        package static func constantHandler(
            _ text: String, host: String = "127.0.0.1", port: Int = 0,
            onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
        ) -> some Service {
            let router = Router()
            let body = ByteBuffer(string: text)
            router.get("constant") { _, _ in Response(status: .ok, body: ResponseBody(byteBuffer: body)) }
            return Application(
                router: router, configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
                onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? port) },
                logger: Logger(label: "constant", factory: { _ in SwiftLogNoOpLogHandler() }))
        }

        private static func serve(
            host: String, port: Int, settings: Settings, counts: FaceCounts, logger: Logger,
            now: @escaping @Sendable () -> LogTime, onRunning: @escaping @Sendable (Int) async -> Void,
            respond: @escaping @Sendable (Request) async -> Response
        ) async throws {
            let channel = HTTP1Channel.Configuration(
                additionalChannelHandlers: [
                    ConnectionGuard(
                        counts: counts, connections: settings.connections, unreadTime: settings.unreadTime, now: now)
                ],
                idleTimeout: TimeAmount(settings.idleTime),
                httpDecoderConfiguration: HTTP1Channel.Configuration.DecoderConfiguration(
                    maxHeaderFieldSize: ConnectionGuard.headBytes, maxHeaderListSize: ConnectionGuard.headBytes,
                    maxHeaderFieldCount: ConnectionGuard.headFields))
            // Those above the face's own bound are told so; the system's queue holds what is far beyond.
            let accepted = settings.connections + 256
            let server = try HTTPServerBuilder.http1(configuration: channel).buildServer(
                configuration: ServerConfiguration(
                    address: .hostname(host, port: port),
                    availableConnectionsDelegate: .maximum(accepted, logger: logger)),
                eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger,
                responder: { request, writer, _ in
                    let response = await respond(request)
                    try await writer.write(response: response.head, body: response.body)
                },
                onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? port) })
            do {
                try await server.run()
            } catch let error as IOError where error.errnoCode == EADDRINUSE {
                throw LockstepError(.addressInUse, "another process listens on \(host):\(port)", underlying: error)
            } catch let error as IOError {
                throw LockstepError(.unavailable, "cannot listen on \(host):\(port): \(error)", underlying: error)
            } catch let error as SocketAddressError {
                throw LockstepError(.invalidConfiguration, "there is no address \(host): \(error)", underlying: error)
            }
        }
    }
#endif
