internal import FlyingSocks
internal import Foundation
internal import LockstepNode
package import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Answers HTTP requests at one address of a node: metrics, health, what else has a route.
///
/// It has bounds for all that a client can do, which ``HTTPConnection`` and ``ConnectionPlaces`` name. A client that is
/// beyond them is told so and its connection ends; nothing that a client does ends the server, and nothing that happens
/// here ends the node, but an address that cannot be listened at when the node starts.
package final class NodeHTTPServer: Service {
    private let address: HTTPAddress
    private let waitsForAddress: Bool
    private let routes: [String: HTTPRoute]
    private let logger: Logger
    private let bound = Mutex(Listening())
    private let times: HTTPTimes

    private struct Listening {
        var address: String?
        var waiting: [CheckedContinuation<String?, Never>] = []
        var hasEnded = false
    }

    /// Makes a server; ``run()`` binds its address.
    ///
    /// - Parameters:
    ///   - address: `HOST:PORT` with an IP address or `localhost`; IPv6 in brackets. Port 0 is a free port.
    ///   - allowsOtherHosts: Whether the address may be another than a loopback address.
    ///   - waitsForAddress: Whether an address that this host does not have yet is waited for, with a line in the log.
    ///   - routes: What is answered; of two with one path the last.
    ///   - logger: Gets the address at level `info`, and what goes wrong.
    ///   - times: The bounds of time.
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, with what to change.
    package init(
        address: String, allowsOtherHosts: Bool = false, waitsForAddress: Bool = false, routes: [HTTPRoute],
        logger: Logger, times: HTTPTimes = HTTPTimes()
    ) throws {
        self.waitsForAddress = waitsForAddress
        self.address = try HTTPAddress(address, allowsOtherHosts: allowsOtherHosts)
        self.routes = Dictionary(routes.map { ($0.path, $0) }) { $1 }
        self.logger = logger
        self.times = times
    }

    /// Where it listens, as soon as it does; nil if it ended before.
    package var listening: String? {
        get async {
            await withCheckedContinuation { continuation in
                let known: String?? = bound.withLock { bound in
                    if bound.address != nil || bound.hasEnded { return bound.address }
                    bound.waiting.append(continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }

    private func isListening(at address: String?) {
        let waiting = bound.withLock { bound in
            bound.address = address
            bound.hasEnded = address == nil
            defer { bound.waiting = [] }
            return bound.waiting
        }
        for continuation in waiting { continuation.resume(returning: address) }
    }

    /// Listens and answers until the task is cancelled or graceful shutdown is asked for; all connections end then.
    ///
    /// - Throws: ``LockstepError`` of code `addressInUse` or `unavailable` if the address cannot be listened at.
    package func run() async throws {
        defer { isListening(at: nil) }
        guard let listener = try await listenWithAddress() else { return }
        defer { Self.close(listener) }
        let port = try Self.port(of: listener)
        logger.info("serves HTTP", metadata: [LogKey.endpoint: "\(address.at(port: port))"])
        isListening(at: address.at(port: port))
        // What ends it is no error.
        try? await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                await self.serve(listener)
                // Only a failure of the system's queue of events comes here before the end.
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    // MARK: - Listening

    /// Listens; as long as this host lacks the address, again each second, if it is to be waited for; nil if it was told
    /// to end meanwhile.
    private func listenWithAddress() async throws -> Socket? {
        var wait = AddressWait(logger: logger)
        while true {
            do { return try listen() } catch let error as LockstepError {
                guard waitsForAddress, let cause = error.underlying as? SocketError,
                    case .failed(_, EADDRNOTAVAIL, _) = cause
                else { throw error }
                // Only the end of the service ends a pause early.
                guard (try? await wait.pause(because: error.message)) != nil else { return nil }
            }
        }
    }

    private func listen() throws -> Socket {
        do {
            switch try address.socketAddress {
            case .four(let address): return try Self.listen(at: address)
            case .six(let address): return try Self.listen(at: address)
            }
        } catch let error as SocketError {
            guard case .failed(_, let code, let message) = error else { throw error }
            throw LockstepError(
                code == EADDRINUSE ? .addressInUse : .unavailable,
                "cannot listen for HTTP at \(address): \(message); choose another address, or end what listens there",
                underlying: error)
        }
    }

    private static func listen(at address: some SocketAddress) throws -> Socket {
        let socket = try Socket(domain: Int32(type(of: address).family), type: .stream)
        do {
            try socket.setValue(true, for: .localAddressReuse)
            try socket.bind(to: address)
        } catch {
            close(socket)
            throw error
        }
        // It closes the socket itself when it fails.
        try socket.listen(maxPendingConnection: 128)
        return socket
    }

    private static func port(of listener: Socket) throws -> UInt16 {
        switch try listener.sockname() {
        case .ip4(_, let port), .ip6(_, let port): return port
        case .unix: return 0
        }
    }

    private static func close(_ socket: Socket) {
        // Closing frees the descriptor whatever it returns.
        try? socket.close()
    }

    // MARK: - Connections

    private func serve(_ listener: Socket) async {
        let pool = SocketQueue.make()
        let places = ConnectionPlaces()
        await withTaskGroup(of: Void.self) { group in
            do {
                try await pool.prepare()
                let listener = try AsyncSocket(socket: listener, pool: pool)
                group.addTask {
                    do { try await pool.run() } catch {
                        guard !Task.isCancelled else { return }
                        self.logger.error("HTTP failed and begins again", metadata: [LogKey.reason: "\(error)"])
                    }
                }
                group.addTask { await self.accept(listener, pool, places) }
            } catch {
                logger.error("HTTP failed and begins again", metadata: [LogKey.reason: "\(error)"])
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func accept(_ listener: AsyncSocket, _ pool: SocketQueue, _ places: ConnectionPlaces) async {
        var lines = LineLimit()
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                do {
                    let socket = try await listener.accept()
                    let kind: ConnectionPlaces.Kind = places.take(.connection) ? .connection : .refusal
                    guard kind == .connection || places.take(.refusal) else {
                        // Not even room to be told.
                        places.refused(.connections)
                        Self.close(socket.socket)
                        continue
                    }
                    let connection = HTTPConnection(
                        socket: socket, pool: pool, address: address, routes: routes, places: places, times: times)
                    group.addTask {
                        await connection.run(isRefused: kind == .refusal)
                        places.give(kind)
                    }
                } catch {
                    guard !Task.isCancelled else { break }
                    // A connection that ended before it was taken, or no descriptor left: the next may be luckier.
                    if let skipped = lines.take(now: MonotonicClock.now) {
                        logger.warning(
                            "an HTTP connection was not taken",
                            metadata: [LogKey.reason: "\(error)", LogKey.skipped: "\(skipped)"])
                    }
                    // Cancellation ends the loop.
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
            group.cancelAll()
        }
    }
}

/// The bounds of time at an HTTP address; tests take shorter ones.
package struct HTTPTimes: Hashable, Sendable {
    /// How long a connection may take for a request's head, the time before it included.
    package var idle = Duration.seconds(10)
    /// How long a client may take for an answer, or an event, that it is sent.
    package var reading = Duration.seconds(5)
    /// How long a route may take for its answer.
    ///
    /// One that comes later is not sent, and its connection ends when the route returns.
    package var answering = Duration.seconds(30)
    /// How often an event stream without events gives a sign of life.
    package var signOfLife = Duration.seconds(10)

    package init() {}
}

#if canImport(Darwin)
    typealias SocketQueue = SocketPool<kQueue>
#else
    typealias SocketQueue = SocketPool<ePoll>
#endif

extension SocketQueue {
    static func make() -> SocketQueue {
        #if canImport(Darwin)
            .kQueue()
        #else
            .ePoll()
        #endif
    }
}
