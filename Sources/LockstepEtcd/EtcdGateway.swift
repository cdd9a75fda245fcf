#if Etcd
    import AsyncHTTPClient
    import Foundation
    import LockstepNode
    import NIOCore
    import NIOHTTP1
    import Synchronization

    /// Asks the members of etcd over HTTP, and bounds how long it takes and how much is read.
    ///
    /// The client makes connections and keeps them. It neither connects again for a request nor sends one twice: that is
    /// decided here for a read, and by whoever asks for a write (PROTOCOL, R-76). Requests of any number run side by
    /// side.
    final class EtcdGateway: Sendable {
        private let http: HTTPClient
        private let endpoints: [String]
        private let memberTimeout: Duration
        /// Which endpoint is asked first: the last one that answered.
        private let preferred = Mutex(0)

        /// The statuses of what passes by itself: an election, a start or an end, a limit of time or of requests.
        private static let passing: Set<UInt> = [408, 429, 503, 504]
        /// How much is read of an answer that refuses.
        private static let problemBytes = 16 << 10
        /// Far more than are under way: requests beyond wait for others, such as a watch that never ends.
        private static let connections = 1_024
        /// After how long members that are unavailable are asked again, at first and at most.
        private static let (pause, longestPause) = (Duration.milliseconds(50), Duration.milliseconds(400))

        init(_ configuration: CheckedEtcdConfiguration) {
            endpoints = configuration.endpoints
            memberTimeout = configuration.memberTimeout
            var settings = HTTPClient.Configuration(
                tlsConfiguration: configuration.tls, redirectConfiguration: .disallow, decompression: .disabled)
            settings.httpVersion = .http1Only
            settings.connectionPool.retryConnectionEstablishment = false
            settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connections
            settings.connectionPool.idleTimeout = .seconds(30)
            settings.timeout.connect = .nanoseconds(Int64(configuration.connectTimeout / .nanoseconds(1)))
            http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        }

        deinit {
            // Nobody can wait for it now; a second time has no effect.
            http.shutdown { _ in }
        }

        @concurrent func close() async {
            // The only error is that it is closed already.
            try? await http.shutdown()
        }

        // MARK: - Questions

        /// Asks one member after the other until one answers, in rounds.
        ///
        /// There is another round, with twice the time for each member, while one is silent or unavailable for the moment:
        /// a dead leader is silent, and so are the others until they have a new one.
        @concurrent func read<Answer: Decodable & Sendable>(
            _ path: String, _ body: some Encodable & Sendable, as type: Answer.Type, atMost bytes: Int,
            within limit: Duration
        ) async throws -> Answer {
            let end = ContinuousClock.now + limit
            var failure: ArbiterError?
            var (patience, pause, mayAnswer) = (memberTimeout, Self.pause, true)
            while mayAnswer {
                mayAnswer = false
                let first = preferred.withLock { $0 }
                for step in endpoints.indices {
                    let rest = ContinuousClock.now.duration(to: end)
                    guard rest > .zero else { throw failure ?? Self.noTime }
                    let time = endpoints.count == 1 ? rest : min(rest, patience)
                    do {
                        let index = (first + step) % endpoints.count
                        return try await ask(index, path, body, as: type, atMost: bytes, within: time)
                    } catch let error as ArbiterError {
                        if error.kind.weight >= failure?.kind.weight ?? 0 { failure = error }
                        let isSilent = ContinuousClock.now.duration(to: end) <= rest - time
                        mayAnswer = mayAnswer || isSilent || error.kind == .unavailable
                    }
                }
                guard mayAnswer else { break }
                try await Task.sleep(for: min(pause, max(.zero, ContinuousClock.now.duration(to: end))))
                (patience, pause) = (patience * 2, min(pause * 2, Self.longestPause))
            }
            throw failure ?? Self.noTime
        }

        /// Asks one member, once; whatever goes wrong, what was asked may have been done, or may still be.
        @concurrent func write<Answer: Decodable & Sendable>(
            _ path: String, _ body: some Encodable & Sendable, as type: Answer.Type, atMost bytes: Int,
            within limit: Duration
        ) async throws -> Answer {
            let index = preferred.withLock { $0 }
            guard limit > .zero else { throw Self.noTime }
            return try await ask(index, path, body, as: type, atMost: bytes, within: limit)
        }

        private static var noTime: ArbiterError { ArbiterError(.unreachable, "no time was left to ask etcd") }

        @concurrent private func ask<Answer: Decodable & Sendable>(
            _ index: Int, _ path: String, _ body: some Encodable & Sendable, as type: Answer.Type, atMost bytes: Int,
            within limit: Duration
        ) async throws -> Answer {
            let message = try message(index, path, body)
            return try await noting(index) {
                let data = try await self.withinTime(limit, index) {
                    // The time is kept around this; the client has one of its own, which is set far beyond it.
                    let response = try await self.http.execute(message, timeout: .hours(2))
                    return try await self.content(of: response, index, atMost: bytes)
                }
                return try Self.decoded(data, as: type, from: self.endpoints[index])
            }
        }

        private func message(_ index: Int, _ path: String, _ body: some Encodable) throws -> HTTPClientRequest {
            var message = HTTPClientRequest(url: endpoints[index] + path)
            message.method = .POST
            message.headers = ["Content-Type": "application/json", "Accept-Encoding": "identity"]
            message.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
            return message
        }

        // MARK: - Answers

        @concurrent private func content(of response: HTTPClientResponse, _ index: Int, atMost bytes: Int) async throws
            -> Data
        {
            let isFine = response.status == .ok
            let most = isFine ? bytes : Self.problemBytes
            var data = Data()
            for try await chunk in response.body {
                guard data.count + chunk.readableBytes <= most else {
                    throw ArbiterError(.badAnswer, "the answer of \(endpoints[index]) has more than \(most) bytes")
                }
                data.append(contentsOf: chunk.readableBytesView)
            }
            // The body of a cancelled request ends as if it were complete.
            try Task.checkCancellation()
            guard isFine else { throw Self.refusal(response.status.code, data, endpoints[index]) }
            return data
        }

        private static func refusal(_ status: UInt, _ data: Data, _ endpoint: String) -> ArbiterError {
            // What is no such object has no text, and the status says what there is to say.
            let text = (try? JSONDecoder().decode(ErrorAnswer.self, from: data))?.text
            let words = "\(endpoint) refused (\(status))" + (text.map { ": \($0.prefix(200))" } ?? "")
            guard passing.contains(status) else { return ArbiterError(.refused, words) }
            // Else its gateway speaks, which is a client of etcd itself.
            let isEtcd = text?.hasPrefix("etcdserver: ") == true
            let hint = endpoint.hasPrefix("https:") && !isEtcd ? "; is its certificate one for clients, too?" : ""
            return ArbiterError(.unavailable, words + hint)
        }

        static func decoded<Answer: Decodable>(
            _ data: Data, as type: Answer.Type, from endpoint: String
        ) throws(ArbiterError) -> Answer {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            do { return try decoder.decode(type, from: data) } catch {
                throw ArbiterError(
                    .badAnswer,
                    "the answer of \(endpoint) is not etcd's: name the address that clients of etcd use (\(error))")
            }
        }

        // MARK: - A stream

        /// Sends a request whose answer is a stream of objects, each on a line, and hands out each.
        ///
        /// `part` says whether an object is the one that must come within `limit`. Returns when it has
        /// come and `duration` has passed since the call; throws if the stream ends before, or has not begun by then.
        @concurrent func stream<Part: Decodable & Sendable>(
            _ path: String, _ body: some Encodable & Sendable, of type: Part.Type, line bytes: Int,
            within limit: Duration,
            for duration: Duration, _ part: @escaping @Sendable (Part) throws -> StreamStep
        ) async throws {
            let index = preferred.withLock { $0 }
            let message = try message(index, path, body)
            let (start, began) = (StreamStart(), ContinuousClock.now)
            let ended = try await noting(index) {
                try await withThrowingTaskGroup(of: ArbiterError?.self) { group in
                    group.addTask {
                        let response = try await self.http.execute(message, timeout: .hours(24 * 365))
                        guard response.status == .ok else {
                            _ = try await self.content(of: response, index, atMost: Self.problemBytes)
                            return nil
                        }
                        var lines = LineSplitter(atMost: bytes)
                        for try await chunk in response.body {
                            for line in try lines.split(chunk.readableBytesView) {
                                let step = try part(try self.part(line, of: type, index))
                                if step == .begun { start.note() }
                            }
                        }
                        try Task.checkCancellation()
                        return ArbiterError(.unreachable, "\(self.endpoints[index]) ended a watch")
                    }
                    group.addTask {
                        try await Task.sleep(for: min(limit, duration))
                        if !start.isNoted { try await Task.sleep(for: limit - min(limit, duration)) }
                        guard start.isNoted else { return self.silence(index, limit) }
                        try await Task.sleep(until: began + duration, clock: .continuous)
                        return nil
                    }
                    defer { group.cancelAll() }
                    return try await group.next() ?? nil
                }
            }
            try Task.checkCancellation()
            guard let ended else { return }
            failed(index)
            throw ended
        }

        private func part<Part: Decodable & Sendable>(_ line: Data, of type: Part.Type, _ index: Int) throws -> Part {
            let answer = try Self.decoded(line, as: StreamAnswer<Part>.self, from: endpoints[index])
            if let part = answer.result { return part }
            throw ArbiterError(
                .refused,
                "\(endpoints[index]) ended a stream: \((answer.error?.message ?? "without a word").prefix(200))")
        }

        // MARK: - Time and failures

        @concurrent private func withinTime(
            _ limit: Duration, _ index: Int, _ body: @escaping @Sendable @concurrent () async throws -> Data
        ) async throws -> Data {
            try await withThrowingTaskGroup(of: Data.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw self.silence(index, limit)
                }
                defer { group.cancelAll() }
                guard let data = try await group.next() else { throw CancellationError() }
                return data
            }
        }

        private func silence(_ index: Int, _ limit: Duration) -> ArbiterError {
            ArbiterError(.unreachable, "\(endpoints[index]) did not answer within \(limit)")
        }

        /// Turns the client's errors into an arbiter's; after one, another member is asked first.
        @concurrent private func noting<Result: Sendable>(
            _ index: Int, _ body: @concurrent () async throws -> Result
        ) async throws -> Result {
            do {
                let result = try await body()
                preferred.withLock { $0 = index }
                return result
            } catch {
                // Whatever a connection that is closed says: the reason is that the task was cancelled.
                try Task.checkCancellation()
                failed(index)
                if let error = error as? ArbiterError { throw error }
                throw ArbiterError(
                    .unreachable, "\(endpoints[index]) cannot be reached: \(Self.reason(error, endpoints[index]))")
            }
        }

        /// What a connection that failed means to whoever has set it up.
        private static func reason(_ error: any Error, _ endpoint: String) -> String {
            if let error = error as? HTTPClientError {
                let hint =
                    error == .remoteConnectionClosed && endpoint.hasPrefix("http:") ? " (does it want https?)" : ""
                return error.shortDescription + hint
            }
            let text = "\(error)"
            return text.contains("CERTIFICATE_VERIFY_FAILED")
                ? "its certificate is not of the authority that is named, or has ended" : text
        }

        private func failed(_ index: Int) {
            preferred.withLock { if $0 == index { $0 = (index + 1) % endpoints.count } }
        }
    }

    extension ArbiterError.Kind {
        /// Of several members' errors the one with the most weight says most of etcd: one that it gives itself.
        fileprivate var weight: Int {
            switch self {
            case .unreachable: 0
            case .refused, .badAnswer: 1
            case .unavailable: 2
            }
        }
    }

    /// Whether a stream has begun, as the tasks of one call tell each other.
    private final class StreamStart: Sendable {
        private let noted = Mutex(false)
        var isNoted: Bool { noted.withLock { $0 } }
        func note() { noted.withLock { $0 = true } }
    }

    /// Whether an object of a stream is the one by which it begins.
    enum StreamStep: Hashable, Sendable {
        case begun, goesOn
    }
#endif
