#if Web
    import AsyncHTTPClient
    import Foundation
    import Logging
    import NIOCore
    import NIOHTTP1
    import SearchCache

    /// Sends the requests, and says what their answers are.
    final class GitHubClient: Sendable, CustomReflectable {
        private let http: HTTPClient
        private let configuration: CheckedConfiguration
        private let slots: RequestSlots
        private let silence: GitHubSilence
        private let time: GitHubTime
        private let logger: Logger?

        /// How many redirects one request follows.
        private static let redirects = 5
        /// How much is read of the body of an error, which is a sentence.
        private static let problemBytes = 16 << 10

        init(_ configuration: CheckedConfiguration, logger: Logger?, time: GitHubTime) {
            self.configuration = configuration
            self.logger = logger
            self.time = time
            let values = configuration.values
            slots = RequestSlots(values.concurrentRequests, waiting: values.waitingRequests)
            silence = GitHubSilence(time)
            // Redirects are followed here, where it is known whom the token is for. An answer is not unpacked: its
            // bound is one of bytes on the way.
            var settings = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .disabled)
            settings.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = values.concurrentRequests
            settings.connectionPool.idleTimeout = .seconds(30)
            // The cache tries again, with its own delays.
            settings.connectionPool.retryConnectionEstablishment = false
            settings.timeout.connect = .nanoseconds(Int64(values.timeLimit / .nanoseconds(1)))
            http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: settings)
        }

        deinit {
            // Nobody can wait for it now; a second time has no effect.
            http.shutdown { _ in }
        }

        func close() async {
            // The only error is that it is closed already.
            try? await http.shutdown()
        }

        /// Its configuration only: behind the HTTP client are the connections of the whole process, with everybody's
        /// requests and their tokens, and other threads change them meanwhile.
        var customMirror: Mirror { Mirror(self, children: ["configuration": configuration]) }

        // MARK: - A request

        func search(_ request: SearchRequest) async throws -> SearchResult {
            let size = configuration.values.perPage
            if request.page > 1, (request.page - 1) * size >= GitHubAnswer.reachable {
                return .page([], hasNext: false)
            }
            do {
                try keepSilence()
                return try await slots.withSlot {
                    // A limit may have come while this waited.
                    try keepSilence()
                    let answer = try await withinTimeLimit { try await self.answer(to: request) }
                    log(answer, request)
                    return try result(of: answer, to: request)
                }
            } catch {
                // Whatever a connection that is closed says: the reason is that the task was cancelled.
                try Task.checkCancellation()
                throw error
            }
        }

        private func keepSilence() throws {
            guard let left = silence.left else { return }
            throw Self.limited(left)
        }

        private static func limited(_ left: Duration) -> SearchError {
            let seconds = left.components.seconds + (left.components.attoseconds > 0 ? 1 : 0)
            return SearchError(
                .rateLimited, "GitHub takes no requests for another \(seconds) s", retryAfter: left)
        }

        private func withinTimeLimit(
            _ body: @escaping @Sendable () async throws -> GitHubAnswer
        ) async throws -> GitHubAnswer {
            let limit = configuration.values.timeLimit
            return try await withThrowingTaskGroup(of: GitHubAnswer.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw SearchError(.offline, "GitHub did not answer within \(limit)")
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() else { throw CancellationError() }
                return answer
            }
        }

        private func answer(to request: SearchRequest) async throws -> GitHubAnswer {
            var url = configuration.baseURL + Self.target(request, perPage: configuration.values.perPage)
            for _ in 0...Self.redirects {
                let response: HTTPClientResponse
                do {
                    // The time limit is kept around this; the client has one of its own, which is set far beyond it.
                    response = try await http.execute(message(to: url, request), timeout: .hours(2))
                } catch { throw failure(error, isBegun: false) }
                let status = response.status.code
                guard [301, 302, 303, 307, 308].contains(status) else { return try await answer(response) }
                guard let location = response.headers.first(name: "Location"),
                    let next = configuration.base.redirect(location, from: url)
                else {
                    throw SearchError(.badAnswer, "GitHub sends the request elsewhere, where it must not follow")
                }
                url = next
            }
            throw SearchError(.badAnswer, "GitHub sent the request on more than \(Self.redirects) times")
        }

        private func message(to url: String, _ request: SearchRequest) -> HTTPClientRequest {
            var message = HTTPClientRequest(url: url)
            message.headers = [
                "Accept": "application/vnd.github+json", "Accept-Encoding": "identity",
                "User-Agent": configuration.values.userAgent, "X-GitHub-Api-Version": "2022-11-28",
            ]
            // The cache may have it from another backend.
            if let etag = request.etag, GitHubAnswer.isEntityTag(etag) {
                message.headers.add(name: "If-None-Match", value: etag)
            }
            if let token = configuration.token {
                message.headers.add(name: "Authorization", value: token.authorization)
            }
            return message
        }

        /// Path and query, everything but the unreserved characters of RFC 3986 escaped.
        static func target(_ request: SearchRequest, perPage: Int) -> String {
            var query = ""
            for byte in request.query.utf8 {
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    query.unicodeScalars.append(Unicode.Scalar(byte))
                default:
                    query += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
                }
            }
            return "/search/repositories?q=\(query)&page=\(request.page)&per_page=\(perPage)"
        }

        // MARK: - An answer

        /// Reads what came, up to the longest body.
        private func answer(_ response: HTTPClientResponse) async throws -> GitHubAnswer {
            let status = response.status.code
            var answer = GitHubAnswer(status: status, headers: response.headers, body: Data())
            let limit = status == 200 ? configuration.values.bodyBytes : Self.problemBytes
            let tooLarge = SearchError(.badAnswer, "GitHub's answer is longer than \(limit) bytes")
            do {
                if let length = response.headers.first(name: "Content-Length").flatMap({ Int($0) }), length > limit {
                    throw tooLarge
                }
                for try await chunk in response.body {
                    guard answer.body.count + chunk.readableBytes <= limit else { throw tooLarge }
                    answer.body.append(contentsOf: chunk.readableBytesView)
                }
                // The body of a cancelled request ends as if it were complete.
                try Task.checkCancellation()
            } catch {
                // What an error says is not needed to know what it is.
                guard status == 200 || error is CancellationError else { return answer }
                throw failure(error, isBegun: true)
            }
            return answer
        }

        private func result(of answer: GitHubAnswer, to request: SearchRequest) throws(SearchError) -> SearchResult {
            let wallClock = time.wallClock()
            let retryAfter = GitHubLimits.retryAfter(answer.headers, wallClock: wallClock)
            switch answer.status {
            case 200, 304:
                // The next one would be refused, so it is not sent.
                if let left = GitHubLimits.windowEnd(answer.headers, wallClock: wallClock) { silence.keep(for: left) }
                if answer.status == 200 { return try answer.page(request.page, of: configuration.values.perPage) }
                guard request.etag.map(GitHubAnswer.isEntityTag) ?? false else {
                    throw SearchError(.badAnswer, "GitHub says that a page is unchanged, and was not asked that")
                }
                return .unchanged
            case 403, 429:
                let message = text(of: answer)
                guard
                    let left = GitHubLimits.silence(
                        status: answer.status, answer.headers, message: message, wallClock: wallClock)
                else { throw SearchError(.refused, "GitHub refused the request (403): \(message)") }
                silence.keep(for: left)
                let failure = Self.limited(left)
                logger?.notice("GitHub limits the requests", metadata: ["reason": "\(failure.message)"])
                throw failure
            case 401:
                logger?.error("GitHub does not take the token, or wants one")
                throw SearchError(
                    .refused,
                    configuration.values.tokenFile.map {
                        "GitHub does not take the token in \($0) (401); put a valid one there and start anew"
                    } ?? "GitHub wants a token (401); name a token file")
            case 422 where text(of: answer).hasPrefix("Only the first \(GitHubAnswer.reachable)"):
                return .page([], hasNext: false)
            case 400..<500:
                throw SearchError(.refused, "GitHub refused the request (\(answer.status)): \(text(of: answer))")
            case 500...:
                throw SearchError(
                    .server, "GitHub failed (\(answer.status)): \(text(of: answer))", retryAfter: retryAfter)
            default:
                throw SearchError(.badAnswer, "GitHub answered with the status \(answer.status)")
            }
        }

        /// What an error says, without the token, which a server could put there.
        private func text(of answer: GitHubAnswer) -> String {
            let text = answer.message
            let shown = configuration.token?.removed(from: text) ?? text
            return shown.isEmpty ? "without a word" : String(shown.prefix(160))
        }

        // MARK: - Failures

        /// What an error of the client is to the cache; if the answer had begun, what breaks off is a bad answer.
        private func failure(_ error: any Error, isBegun: Bool) -> any Error {
            switch error {
            case is CancellationError, is SearchError: return error
            case let error as HTTPParserError:
                return SearchError(.badAnswer, "GitHub's answer is no HTTP: \(error)")
            case let error as HTTPClientError where error == .alreadyShutdown || error == .cancelled:
                return SearchError(.offline, "the connections to GitHub were closed")
            case let error as HTTPClientError where !isBegun:
                return SearchError(.offline, "GitHub cannot be reached: \(error.shortDescription)")
            default:
                if isBegun { return SearchError(.badAnswer, "GitHub's answer broke off") }
                let text = "GitHub cannot be reached: \(error)"
                return SearchError(.offline, configuration.token?.removed(from: text) ?? text)
            }
        }

        // MARK: - Log

        private func log(_ answer: GitHubAnswer, _ request: SearchRequest) {
            logger?.debug(
                "GitHub answered",
                metadata: [
                    "status": "\(answer.status)", "page": "\(request.page)", "bytes": "\(answer.body.count)",
                ])
        }
    }
#endif
