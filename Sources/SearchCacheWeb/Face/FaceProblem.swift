#if Web
    internal import Foundation
    internal import Lockstep
    internal import SearchCache

    /// Why a request has no answer: a status, and a word and a sentence in JSON.
    struct FaceProblem: Error, Hashable {
        var status: Int
        /// A word that programs compare; part of the interface.
        var code: String
        var message: String
        /// Asking again before this time is in vain.
        var until: LogTime?
        /// What `Retry-After` says at least, where asking again helps.
        var retrySeconds: Int64?

        init(_ status: Int, _ code: String, _ message: String, until: LogTime? = nil, retrySeconds: Int64? = nil) {
            self.status = status
            self.code = code
            self.message = message
            self.until = until
            self.retrySeconds = retrySeconds
        }

        /// The backend's failure where there is no page to show.
        init(_ failure: SearchFailure) {
            let status =
                switch failure.kind {
                case .offline, .rateLimited: 503
                case .badAnswer, .server: 502
                case .refused: 422
                }
            // What is refused stays refused: there is no use in asking again.
            let isWorthIt = failure.kind != .refused
            self.init(
                status, failure.kind.rawValue, failure.message, until: failure.until,
                retrySeconds: isWorthIt ? 1 : nil)
        }

        /// What the store threw.
        init(_ error: any Error) {
            guard let error = error as? LockstepError else {
                self = error is CancellationError ? .stopping : FaceProblem(500, "failed", "the node cannot answer")
                return
            }
            switch error.code {
            case .timeout: self.init(504, "timeout", error.message, retrySeconds: 1)
            case .rejected: self.init(503, "busy", error.message, retrySeconds: 1)
            case .stopped, .cancelled: self = .stopping
            case .unavailable, .notPrimary, .primaryBehind, .outcomeUnknown, .sessionEnded:
                self.init(503, "unavailable", error.message, retrySeconds: 1)
            default: self.init(500, "failed", "the node cannot answer: \(error.code)")
            }
        }

        /// Whether a page of before is better than this.
        var isTemporary: Bool { status == 503 || status == 504 }

        func retryAfter(now: LogTime) -> Int64? {
            guard let retrySeconds else { return nil }
            let left = until.map { ($0.rawValue - now.rawValue + 999_999) / 1_000_000 } ?? 0
            return max(retrySeconds, left)
        }

        /// `{"error":…,"message":…,"until":…}`.
        var json: Data { (try? FaceJSON.encode(Shape(self))) ?? Data("{}".utf8) }

        private struct Shape: Encodable {
            var error: String
            var message: String
            var until: String?

            init(_ problem: FaceProblem) {
                error = problem.code
                message = problem.message
                until = problem.until.map(FaceTimes.rfc3339)
            }

            enum CodingKeys: String, CodingKey { case error, message, until }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(error, forKey: .error)
                try container.encode(message, forKey: .message)
                try container.encode(until, forKey: .until)
            }
        }
    }

    extension FaceProblem {
        static let missingQuery = FaceProblem(400, "missingQuery", "say what to search for: /search?q=WORDS")
        static let pageNotANumber = FaceProblem(400, "pageNotANumber", "page is a number from 1 to 1000")
        static let pageOutOfRange = FaceProblem(400, "pageOutOfRange", "pages have the numbers 1 to 1000")
        static let queryTooLong = FaceProblem(400, "queryTooLong", "a query has at most 256 bytes of UTF-8")
        static let badEncoding = FaceProblem(
            400, "badEncoding", "a parameter is no UTF-8 after percent-decoding, as in q=caf%C3%A9")
        static let badRequest = FaceProblem(400, "badRequest", "this is no request of HTTP/1.1")
        static let otherSite = FaceProblem(
            403, "otherSite", "a page of another site may not search here; it may link to /?q=WORDS")
        static let notFound = FaceProblem(
            404, "notFound", "there are /, /search, /health, /metrics and /openapi.yaml")
        static let methodNotAllowed = FaceProblem(405, "methodNotAllowed", "use GET or HEAD")
        static let lengthRequired = FaceProblem(411, "lengthRequired", "a body needs a Content-Length; none is wanted")
        static let contentTooLarge = FaceProblem(413, "contentTooLarge", "no body is wanted")
        static let uriTooLong = FaceProblem(414, "uriTooLong", "a request's path and query have at most 8 KiB")
        static let otherHost = FaceProblem(
            421, "otherHost", "name localhost, 127.0.0.1, [::1] or the address itself as the host")
        static let headersTooLarge = FaceProblem(
            431, "headersTooLarge", "a request's head has at most 64 KiB, 100 fields")
        static let busy = FaceProblem(
            503, "busy", "as many searches as may wait for the backend do so already", retrySeconds: 1)
        static let full = FaceProblem(503, "full", "as many connections as may be open are", retrySeconds: 1)
        static let stopping = FaceProblem(503, "stopping", "this node ends; ask another", retrySeconds: 1)

        static func repeated(_ name: String) -> FaceProblem {
            FaceProblem(400, "repeatedParameter", "\(name) is there more than once")
        }

        static func unknown(_ name: String) -> FaceProblem {
            FaceProblem(400, "unknownParameter", "there is no parameter \(name.prefix(64)): there are q and page")
        }
    }

    /// JSON whose texts and numbers are encoded in one way everywhere, so that nodes answer alike.
    enum FaceJSON {
        static func encode(_ value: some Encodable) throws -> Data {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(value)
        }
    }
#endif
