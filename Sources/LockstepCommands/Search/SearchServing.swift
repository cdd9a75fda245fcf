import Foundation
import LockstepNode
import LockstepServer
import Logging
import SearchCache
import SearchCacheSQLite
import SearchCacheWeb
import ServiceLifecycle

/// What `lockstep serve` is told about searches.
struct SearchServing: ParsableArguments {
    @Option(help: "The index that the primary searches; see \"lockstep search index\".")
    var searchIndex: String?
    @Flag(help: "The primary searches GitHub's repositories (built with the trait Web).")
    var searchGithub = false
    @Option(help: "A file with GitHub's token, which nobody else may read.")
    var githubToken: String?
    @Option(help: "Where GitHub's interface is.")
    var githubUrl: String?
    @Option(help: "How long a page is fresh, in seconds. (default: 60)", transform: Within.seconds(1...32_000_000))
    var searchFresh: Double = 60
    @Option(
        help: "How long a query is kept after its newest answer, in seconds. (default: 3600)",
        transform: Within.seconds(1...32_000_000))
    var searchKept: Double = 3_600
    @Option(help: "The most MiB of all answers. (default: 64)", transform: Within.whole(1...1 << 20))
    var searchMebibytes: Int = 64
    @Option(help: "HOST:PORT of an HTTP face of the searches, on any node (built with the trait Web).")
    var searchHttp: String?

    func validate() throws {
        guard searchIndex == nil || !searchGithub else {
            throw ValidationError("give --search-index or --search-github: a primary searches in one place")
        }
    }

    /// Puts the store of searches on a node; what has to run beside it.
    ///
    /// Every node gets the backend: the one that is the primary uses it.
    func host(
        _ hosting: Hosting<SearchCache, SearchOptions>
    ) throws -> (store: Store<SearchCache>, services: [any Service]) {
        var settings = SearchCache.Settings()
        settings.fresh = .milliseconds(Int64(searchFresh * 1_000))
        settings.timeToLive = .milliseconds(Int64(searchKept * 1_000))
        settings.bytes = searchMebibytes << 20
        let logger = hosting.logger
        let (backend, services) = try makeBackend(logger)
        let store = try hosting.store(try SearchCache(backend, settings: settings))
        return (store, try services + makeFace(CachedSearch(store), hosting.configuration, logger: logger))
    }

    private func makeBackend(_ logger: Logger) throws -> (any SearchBackend, [any Service]) {
        if let searchIndex {
            // Only a path that is there: a mistyped one would search nothing.
            guard FileManager.default.fileExists(atPath: searchIndex) else {
                throw CommandFailure(
                    "there is no index \(searchIndex): make it with \"lockstep search index FOLDER --index \(searchIndex)\"",
                    status: .usage)
            }
            return (try LateIndex(path: searchIndex, logger: logger), [])
        }
        guard searchGithub else { return (NoBackend(), []) }
        #if Web
            var github = GitHubBackend.Configuration()
            github.tokenFile = githubToken
            if let githubUrl { github.baseURL = githubUrl }
            let backend = try GitHubBackend(github, logger: logger)
            return (backend, [backend])
        #else
            throw CommandFailure(Self.withoutWeb("--search-github"), status: .usage)
        #endif
    }

    private func makeFace(
        _ search: CachedSearch, _ configuration: NodeConfiguration, logger: Logger
    ) throws -> [any Service] {
        guard let http = searchHttp else { return [] }
        guard let colon = http.lastIndex(of: ":"), let port = Int(http[http.index(after: colon)...]) else {
            throw CommandFailure("--search-http takes HOST:PORT", status: .usage)
        }
        #if Web
            let host = http[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
            let face = try SearchFace(search, node: configuration, host: host, port: port, logger: logger)
            return [face, ReadReports(search: search)]
        #else
            _ = port
            throw CommandFailure(Self.withoutWeb("--search-http"), status: .usage)
        #endif
    }

    private static func withoutWeb(_ option: String) -> String {
        "\(option) needs a program with the trait Web: build it with \"deploy/up --web\", or swift build --traits Web"
    }
}

/// Reports what this node answered from memory, for as long as it runs.
private struct ReadReports: Service {
    let search: CachedSearch

    func run() async throws {
        // A shutdown ends it; what was read in the last second counts for nothing.
        try? await cancelWhenGracefulShutdown { try await search.run() }
    }
}
