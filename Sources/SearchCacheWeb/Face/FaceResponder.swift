#if Web
    internal import HTTPTypes
    internal import Hummingbird
    internal import HummingbirdCore
    internal import Lockstep
    internal import Logging
    internal import NIOCore
    internal import SearchCache

    /// Answers requests; without a connection of its own.
    struct FaceResponder: Sendable {
        let search: CachedSearch
        /// `primary` or `replica`.
        let role: String
        let node: String
        let settings: SearchFace.Settings
        /// Which hosts a request may name.
        let hosts: AdmittedHosts
        let counts: FaceCounts
        let logger: Logger
        /// This host's clock.
        let now: @Sendable () -> LogTime
        private let date = DateHeader()
        private let pages: EncodedPages
        private let common: HTTPFields
        private let description = ByteBuffer(string: SearchFace.description)

        init(
            _ search: CachedSearch, node: NodeID, role: String, settings: SearchFace.Settings, hosts: AdmittedHosts,
            counts: FaceCounts, logger: Logger, now: @escaping @Sendable () -> LogTime
        ) {
            self.search = search
            self.node = node.name
            self.role = role
            self.settings = settings
            self.hosts = hosts
            self.counts = counts
            self.logger = logger
            self.now = now
            pages = EncodedPages(limit: settings.encodedBytes)
            var common = HTTPFields()
            common.append(HTTPField(name: .lockstepNode, value: node.name))
            common.append(HTTPField(name: .xContentTypeOptions, value: "nosniff"))
            self.common = common
        }

        /// The answer; it does not throw, since each failure is an answer.
        func respond(to request: HTTPRequest) async -> Response {
            let start = ContinuousClock.now
            var response = await route(request, start)
            response.headers[.date] = date.text(at: now())
            counts.answered(response.status.code, after: start.duration(to: .now))
            return request.method == .head ? response.createHeadResponse() : response
        }

        private func route(_ request: HTTPRequest, _ start: ContinuousClock.Instant) async -> Response {
            // What the absolute form of a target names is not looked at: no browser sends that form to a server.
            guard request.authority.map({ hosts.admits($0) }) ?? true else { return response(.otherHost) }
            let target = FaceTarget(request.path ?? "/")
            let answer: (() async -> Response)? =
                switch target.path {
                case "/search": { await search(target.query, request.headerFields, start) }
                case "/health": { health() }
                case "/metrics": { metrics() }
                case "/openapi.yaml": { response(.ok, "application/yaml; charset=utf-8", description) }
                case "/": { page() }
                default: nil
                }
            guard let answer else { return response(.notFound) }
            guard request.method == .get || request.method == .head else { return response(.methodNotAllowed) }
            return await answer()
        }

        // MARK: - Searches

        private func search(
            _ query: Substring?, _ headers: HTTPFields, _ start: ContinuousClock.Instant
        ) async -> Response {
            guard !Self.isOfAnotherSite(headers) else { return response(.otherSite) }
            do {
                return try response(await answer(to: SearchParameters(query)), headers[.ifNoneMatch], start)
            } catch let problem as FaceProblem {
                return response(problem)
            } catch {
                logger.error("an answer cannot be encoded", metadata: ["error": "\(error)"])
                return response(FaceProblem(500, "failed", "the answer cannot be encoded"))
            }
        }

        /// Whether a browser asks on behalf of a page of another site.
        ///
        /// Such a page cannot read the answer, but each of its questions could cost a request to the backend. Programs
        /// do not send the field.
        private static func isOfAnotherSite(_ headers: HTTPFields) -> Bool {
            guard let site = headers[.secFetchSite] else { return false }
            return site == "cross-site" || site == "same-site"
        }

        private func answer(to wanted: SearchParameters) async throws(FaceProblem) -> FaceAnswer {
            do {
                if let answer = try search.remembered(wanted.text, page: wanted.page) {
                    return FaceAnswer(remembered: answer)
                }
            } catch {
                // The text is all that it looks at.
                throw .queryTooLong
            }
            let key = SearchCache.normalized(wanted.text)
            // No node has to be asked to know that there is nothing.
            guard !key.isEmpty else { return FaceAnswer(emptyQueryOfPage: wanted.page) }
            let before = search.state.look(key, page: wanted.page)
            let answer: SearchAnswer
            do {
                answer = try await ask(key, wanted.page)
            } catch {
                // A page of before is better than being told to come again.
                guard error.isTemporary, before.page != nil else { throw error }
                return FaceAnswer(key, wanted.page, stale: before, error)
            }
            if answer.page == nil, let failure = answer.failure { throw FaceProblem(failure) }
            return FaceAnswer(answer, wasStale: before.page != nil)
        }

        private func ask(_ key: String, _ page: Int) async throws(FaceProblem) -> SearchAnswer {
            guard counts.beginWaiting(limit: settings.waitingSearches) else { throw .busy }
            defer { counts.endWaiting() }
            do {
                return try await search.search(key, page: page, timeout: settings.timeout)
            } catch {
                let problem = FaceProblem(error)
                if problem.status == 500 { logger.error("a search failed", metadata: ["error": "\(error)"]) }
                throw problem
            }
        }

        private func response(
            _ answer: FaceAnswer, _ known: String?, _ start: ContinuousClock.Instant
        ) throws -> Response {
            let encoded = try pages.encoded(answer.content)
            let tag = encoded.tag(with: answer.failure)
            // A replica whose clock is behind the primary's shows 0.
            let age = answer.content.page.map { max(0, (now().rawValue - $0.fetchedAt.rawValue) / 1_000_000) }
            var headers = common
            headers.append(HTTPField(name: .eTag, value: tag))
            // Only this node knows whether a page is still fresh, so what is kept elsewhere has to be asked about; the
            // tag makes that cheap.
            headers.append(HTTPField(name: .cacheControl, value: "private, no-cache"))
            headers.append(HTTPField(name: .cacheStatus, value: answer.cacheStatus))
            if let age { headers.append(HTTPField(name: .age, value: String(age))) }
            if let known, Self.isKnown(tag, in: known) {
                var response = Response(status: .notModified, headers: headers)
                response.headers[.contentLength] = nil
                return response
            }
            headers.append(HTTPField(name: .contentType, value: "application/json; charset=utf-8"))
            let took = Int64(start.duration(to: .now) / .microseconds(1))
            let body = encoded.finished(answer.source, age: age, took: took, failure: answer.failure)
            return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
        }

        /// Whether a list of entity tags has this one, by the weak comparison of RFC 9110, 8.8.3.2.
        static func isKnown(_ tag: String, in list: String) -> Bool {
            if list.utf8.elementsEqual("*".utf8) { return true }
            // Tags hold neither quotes nor, as these are, commas, so one in its quotes is found where it is.
            return list.contains(tag.drop { $0 != "\"" })
        }

        // MARK: - The rest

        private func health() -> Response {
            let readiness = search.store.readiness
            let place = search.store.place
            let shape = Health(
                node: node, role: role, store: search.store.name, readiness: readiness.rawValue,
                place: Health.Place(epoch: place.epoch.rawValue, sequence: place.sequence.rawValue))
            // Texts and numbers: this cannot fail.
            let bytes = (try? FaceJSON.encode(shape)).map { ByteBuffer(bytes: $0) } ?? ByteBuffer()
            let status: HTTPResponse.Status = readiness == .live ? .ok : .serviceUnavailable
            return response(status, "application/json; charset=utf-8", bytes)
        }

        private struct Health: Encodable {
            struct Place: Encodable {
                var epoch: UInt64
                var sequence: UInt64
            }

            var node: String
            var role: String
            var store: String
            var readiness: String
            var place: Place
        }

        private func metrics() -> Response {
            let text = counts.exposition(search.state, encodedBytes: pages.size)
            return response(.ok, "text/plain; version=0.0.4; charset=utf-8", ByteBuffer(string: text))
        }

        private func page() -> Response {
            var answer = response(.ok, "text/html; charset=utf-8", FacePage.bytes)
            answer.headers.append(HTTPField(name: .contentSecurityPolicy, value: FacePage.policy))
            answer.headers.append(HTTPField(name: .referrerPolicy, value: "no-referrer"))
            return answer
        }

        private func response(_ status: HTTPResponse.Status, _ type: String, _ body: ByteBuffer) -> Response {
            var headers = common
            headers.append(HTTPField(name: .contentType, value: type))
            headers.append(HTTPField(name: .cacheControl, value: "no-store"))
            return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: body))
        }

        private func response(_ problem: FaceProblem) -> Response {
            var headers = common
            headers.append(contentsOf: problem.headers(now: now()))
            return Response(
                status: HTTPResponse.Status(code: problem.status), headers: headers,
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: problem.json)))
        }
    }

    extension FaceProblem {
        /// What an answer that is a problem has of its own; the length of its body is not among it.
        func headers(now: LogTime) -> [HTTPField] {
            var headers = [
                HTTPField(name: .contentType, value: "application/json; charset=utf-8"),
                HTTPField(name: .cacheControl, value: "no-store"),
            ]
            if let seconds = retryAfter(now: now) {
                headers.append(HTTPField(name: .retryAfter, value: String(seconds)))
            }
            if status == 405 { headers.append(HTTPField(name: .allow, value: "GET, HEAD")) }
            return headers
        }
    }

    extension HTTPField.Name {
        static let cacheStatus = named("Cache-Status")
        static let referrerPolicy = named("Referrer-Policy")
        static let secFetchSite = named("Sec-Fetch-Site")
        /// The node that answered.
        static let lockstepNode = named("Lockstep-Node")

        private static func named(_ text: String) -> HTTPField.Name {
            guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token") }
            return name
        }
    }
#endif
