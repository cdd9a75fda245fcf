package import SearchCache

/// What a primary has that was given no backend: it says so.
package struct NoBackend: SearchBackend {
    package init() {}
    package var name: String { "none" }

    package func search(_ request: SearchRequest) async throws -> SearchResult {
        throw SearchError(
            .refused, "this primary searches nothing: start it with --search-index FILE, or --search-github")
    }
}
