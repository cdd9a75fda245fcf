#if Web
    import Foundation
    import Lockstep

    extension GitHubBackend {
        /// Whom to ask, and how.
        public struct Configuration: Hashable, Sendable {
            /// Where the interface is; for GitHub Enterprise `https://HOST/api/v3`.
            ///
            /// With `http` instead of `https` a token is taken for the own machine only.
            public var baseURL = "https://api.github.com"
            /// Hits of a page: 1 to 100.
            public var perPage = 30
            /// How long a request may take with all its redirects, from the moment on which it is sent: 1 ms to 1 hour.
            public var timeLimit: Duration = .seconds(10)
            /// The most bytes of an answer's body: 1 KiB to 64 MiB; a longer one is not read to its end.
            public var bodyBytes = 2 << 20
            /// Requests that run at once: 1 to 64.
            public var concurrentRequests = 4
            /// Requests that may wait for their turn: 0 to 10,000; a further one fails as offline.
            public var waitingRequests = 256
            /// The path of a file with a token and nothing else, in UTF-8; nil to ask without one, as GitHub allows ten
            /// times a minute.
            ///
            /// It is read once, by `init`. It must be a file that others cannot read and its group cannot write, such as
            /// one of mode 0600 or 0640. The token goes to the host of ``baseURL`` and nowhere else.
            public var tokenFile: String?
            /// How the backend introduces itself; GitHub wants to know.
            public var userAgent = "lockstep-search-cache"

            /// The defaults.
            public init() {}
        }
    }

    /// A configuration that was looked at, with its token.
    struct CheckedConfiguration: Sendable {
        var base: GitHubOrigin
        var baseURL: String
        var token: GitHubToken?
        var values: GitHubBackend.Configuration
    }

    extension GitHubBackend.Configuration {
        /// Says what is wrong, or reads the token.
        func checked() throws -> CheckedConfiguration {
            func demand(_ isRight: Bool, _ what: String) throws {
                if !isRight { throw LockstepError(.invalidConfiguration, "the GitHub backend needs \(what)") }
            }
            try demand((1...100).contains(perPage), "1 to 100 hits on a page")
            try demand(timeLimit >= .milliseconds(1) && timeLimit <= .seconds(3_600), "a time limit of 1 ms to 1 h")
            try demand((1 << 10...64 << 20).contains(bodyBytes), "a longest body of 1 KiB to 64 MiB")
            try demand((1...64).contains(concurrentRequests), "1 to 64 requests at once")
            try demand((0...10_000).contains(waitingRequests), "0 to 10,000 requests that wait")
            try demand(
                !userAgent.isEmpty && userAgent.utf8.count <= 256 && userAgent.utf8.allSatisfy { 0x20...0x7e ~= $0 },
                "a user agent of 1 to 256 printable ASCII characters")
            guard let url = URL(string: baseURL), let base = GitHubOrigin(url), url.query == nil, url.fragment == nil
            else {
                throw LockstepError(
                    .invalidConfiguration,
                    "the GitHub backend needs a base URL such as https://api.github.com, with nothing after its path")
            }
            let token = try tokenFile.map { try GitHubToken(file: $0) }
            try demand(
                token == nil || base.scheme == "https" || base.isLoopback,
                "https for a token, which anybody on the way could read otherwise")
            var text = url.absoluteString
            while text.hasSuffix("/") { text.removeLast() }
            return CheckedConfiguration(base: base, baseURL: text, token: token, values: self)
        }
    }
#endif
