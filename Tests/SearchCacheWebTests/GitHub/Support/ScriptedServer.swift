#if Web
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import NIOCore
    import NIOPosix
    import Synchronization

    /// What a server was asked.
    struct ServerRequest: Sendable {
        /// From 1, over all connections, in the order in which requests came.
        var number: Int
        /// Path and query as they were on the wire.
        var target: String
        /// Names in lower case.
        var headers: [(name: String, value: String)]

        func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

        /// The value of a field of the query, still escaped.
        func field(_ name: String) -> String? {
            target.split(separator: "?").last?.split(separator: "&").first { $0.hasPrefix(name + "=") }
                .map { String($0.dropFirst(name.count + 1)) }
        }
    }

    /// What it does then; bytes, so that it may be anything but HTTP.
    struct ServerAnswer: Sendable {
        enum End: Sendable {
            /// The connection stays open.
            case open
            /// It is closed when everything is sent.
            case close
            /// It is reset.
            case reset
            /// The last bytes are sent again and again, until nobody reads them.
            case endless([UInt8])
        }

        var bytes: [UInt8]
        var end = End.open

        init(_ text: String, _ end: End = .open) {
            bytes = Array(text.utf8)
            self.end = end
        }

        /// An answer as it should be.
        static func http(_ status: Int = 200, _ headers: [String] = [], _ body: String = "") -> ServerAnswer {
            let fields = (["Content-Length: \(body.utf8.count)"] + headers).map { $0 + "\r\n" }.joined()
            return ServerAnswer("HTTP/1.1 \(status) Some Reason\r\n\(fields)\r\n\(body)")
        }
    }

    /// An HTTP/1.1 server on the loopback interface that does what a test says, for each request.
    final class ScriptedServer: Sendable {
        typealias Script = @Sendable (ServerRequest) async throws -> ServerAnswer

        /// What it saw.
        struct Record: Sendable {
            var requests: [ServerRequest] = []
            var opened = 0
            var closed = 0
            /// Bytes of the endless part that somebody took.
            var endlessBytes = 0
            /// Requests without an answer, now and at most.
            var running = 0
            var mostRunning = 0
        }

        let port: Int
        private let desk: Desk

        var url: String { "http://127.0.0.1:\(port)" }
        var record: Record { desk.signal.value }
        var requestCount: Int { record.requests.count }

        /// Waits until what the server saw is as it should be.
        func wait(_ condition: (Record) -> Bool) async throws { try await desk.signal.wait(condition) }

        private init(port: Int, _ desk: Desk) {
            self.port = port
            self.desk = desk
        }

        /// Serves until the body returns.
        static func with<Value>(
            _ script: @escaping Script, _ body: (ScriptedServer) async throws -> Value
        ) async throws -> Value {
            let desk = Desk(script)
            let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Connection(desk))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            guard let port = listener.localAddress?.port else { throw ChannelError.unknownLocalAddress }
            let result: Result<Value, any Error>
            do { result = .success(try await body(ScriptedServer(port: port, desk))) } catch {
                result = .failure(error)
            }
            // It may be closed already, as each connection may be.
            try? await listener.close()
            for channel in desk.channels.value.values { try? await channel.close() }
            return try result.get()
        }
    }

    /// What the connections of a server share.
    private final class Desk: Sendable {
        let script: ScriptedServer.Script
        let signal = Signal(ScriptedServer.Record())
        let channels = Signal<[ObjectIdentifier: any Channel]>([:])

        init(_ script: @escaping ScriptedServer.Script) { self.script = script }

        /// Takes a request, which has no body, out of what was received.
        func take(from received: inout [UInt8]) -> ServerRequest? {
            guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
            received.removeSubrange(..<end.upperBound)
            let headers = lines.dropFirst().map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (name: parts[0].lowercased(), value: String(parts.last?.drop { $0 == " " } ?? ""))
            }
            let target = String(lines[0].split(separator: " ")[1])
            return signal.change { record in
                let request = ServerRequest(number: record.requests.count + 1, target: target, headers: headers)
                record.requests.append(request)
                record.running += 1
                record.mostRunning = max(record.mostRunning, record.running)
                return request
            }
        }

        func answer(_ request: ServerRequest, _ channel: any Channel) async {
            do {
                // It counts as answered before the client can send the next.
                let answer: ServerAnswer
                do {
                    defer { signal.change { $0.running -= 1 } }
                    answer = try await script(request)
                }
                try await channel.writeAndFlush(ByteBuffer(bytes: answer.bytes))
                switch answer.end {
                case .open: break
                case .close: try await channel.close()
                case .reset:
                    try await (channel as? any SocketOptionProvider)?.setSoLinger(Linger.atOnce).get()
                    try await channel.close()
                case .endless(let bytes):
                    let buffer = ByteBuffer(bytes: bytes)
                    while !Task.isCancelled {
                        try await channel.writeAndFlush(buffer)
                        signal.change { $0.endlessBytes += bytes.count }
                    }
                }
            } catch {
                // The client went, or the test is over.
            }
        }
    }

    /// Reads requests, and lets each be answered by a task, which ends with the connection.
    private final class Connection: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let desk: Desk
        private var received: [UInt8] = []
        private var answers: [Task<Void, Never>] = []

        init(_ desk: Desk) { self.desk = desk }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            desk.channels.change { $0[ObjectIdentifier(channel)] = channel }
            desk.signal.change { $0.opened += 1 }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            received += Array(unwrapInboundIn(data).readableBytesView)
            // The beginning of TLS, which is not spoken here.
            if received.first == 0x16 { context.close(promise: nil) }
            let (desk, channel) = (desk, context.channel)
            while let request = desk.take(from: &received) {
                answers.append(Task { await desk.answer(request, channel) })
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            for answer in answers { answer.cancel() }
            let channel = ObjectIdentifier(context.channel)
            desk.channels.change { _ = $0.removeValue(forKey: channel) }
            desk.signal.change { $0.closed += 1 }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            // A reset by the client, which many tests are about.
            context.close(promise: nil)
        }
    }

    private enum Linger {
        #if canImport(Darwin)
            static let atOnce = Darwin.linger(l_onoff: 1, l_linger: 0)
        #else
            static let atOnce = Glibc.linger(l_onoff: 1, l_linger: 0)
        #endif
    }
#endif
