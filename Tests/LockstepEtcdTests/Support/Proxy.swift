#if Etcd
    import NIOCore
    import NIOPosix
    import Synchronization

    /// What stands between an arbiter and etcd, and spoils what passes.
    final class Proxy: Sendable {
        enum Way: Sendable {
            /// Everything passes.
            case open
            /// Requests pass, and answers do not; the connection stays open.
            case losesAnswers
            /// Requests pass, and the connection is closed when the answer comes.
            case closesAtAnswers
            /// Nobody is asked: each request of a connection that begins now is answered with these bytes.
            case answers(String)
        }

        /// Each request is refused, as by etcd's gateway, and its connection ends.
        static func refusal(_ status: Int, _ body: String) -> Way {
            .answers(
                "HTTP/1.1 \(status) Refused\r\nContent-Type: application/json\r\nConnection: close\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }

        let port: Int
        private let way: Mutex<Way>
        private let state = Mutex(State())

        private struct State: Sendable {
            var requests = 0
            var lostAnswers = 0
        }

        private init(port: Int, way: Way) {
            self.port = port
            self.way = Mutex(way)
        }

        var endpoint: String { "http://127.0.0.1:\(port)" }
        /// How often a request of HTTP began, on whatever connection.
        var requests: Int { state.withLock { $0.requests } }
        var lostAnswers: Int { state.withLock { $0.lostAnswers } }
        func turn(_ way: Way) { self.way.withLock { $0 = way } }

        private typealias Link = NIOAsyncChannel<ByteBuffer, ByteBuffer>

        /// Runs a body while connections to the proxy go to `target`, if it is not the proxy that answers.
        @concurrent static func with<Result: Sendable>(
            to target: Int, _ way: Way = .open, _ body: @concurrent (Proxy) async throws -> Result
        ) async throws -> Result {
            let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .bind(host: "127.0.0.1", port: 0) { channel in
                    channel.eventLoop.makeCompletedFuture { try Link(wrappingChannelSynchronously: channel) }
                }
            let proxy = Proxy(port: server.channel.localAddress?.port ?? 0, way: way)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await server.executeThenClose { links in
                        await withDiscardingTaskGroup { connections in
                            // The listener ends when the group is cancelled.
                            do {
                                for try await link in links { connections.addTask { await proxy.serve(link, target) } }
                            } catch {}
                            connections.cancelAll()
                        }
                    }
                }
                defer { group.cancelAll() }
                return try await body(proxy)
            }
        }

        /// A connection that breaks is one of the things that happen.
        @concurrent private func serve(_ link: Link, _ target: Int) async {
            try? await link.executeThenClose { requests, answers in
                if case .answers(let text) = way.withLock({ $0 }) {
                    // A request may come in several pieces, and gets one answer.
                    for try await piece in requests where count(piece) {
                        try await answers.write(ByteBuffer(string: text))
                    }
                    return
                }
                let upstream = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                    .connect(host: "127.0.0.1", port: target) { channel in
                        channel.eventLoop.makeCompletedFuture { try Link(wrappingChannelSynchronously: channel) }
                    }
                try await upstream.executeThenClose { replies, questions in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            for try await piece in requests {
                                self.count(piece)
                                try await questions.write(piece)
                            }
                        }
                        group.addTask {
                            for try await piece in replies {
                                switch self.way.withLock({ $0 }) {
                                case .open, .answers: try await answers.write(piece)
                                case .losesAnswers: self.state.withLock { $0.lostAnswers += 1 }
                                case .closesAtAnswers:
                                    self.state.withLock { $0.lostAnswers += 1 }
                                    return
                                }
                            }
                        }
                        defer { group.cancelAll() }
                        _ = try await group.next()
                    }
                }
            }
        }

        @discardableResult
        private func count(_ piece: ByteBuffer) -> Bool {
            guard piece.readableBytesView.starts(with: "POST ".utf8) else { return false }
            state.withLock { $0.requests += 1 }
            return true
        }
    }
#endif
