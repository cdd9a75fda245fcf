#if Web
    import Foundation
    import NIOHTTP1
    import SearchCache

    /// An answer that is here as a whole.
    struct GitHubAnswer {
        var status: UInt
        var headers: HTTPHeaders
        var body: Data

        /// GitHub gives this many results of a search, however many there are.
        static let reachable = 1_000

        /// What a page looks like.
        private struct Page: Decodable {
            struct Item: Decodable {
                var fullName: String
                var url: String
                var description: String?

                enum CodingKeys: String, CodingKey {
                    case fullName = "full_name"
                    case url = "html_url"
                    case description
                }
            }

            var total: Int
            var items: [Item]

            enum CodingKeys: String, CodingKey {
                case total = "total_count"
                case items
            }
        }

        /// What an error looks like.
        private struct Problem: Decodable {
            struct Detail: Decodable { var message: String? }

            var message: String
            var details: [Detail]

            enum CodingKeys: String, CodingKey { case message, errors }

            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                message = try container.decode(String.self, forKey: .message)
                // Some kinds of answers have texts or nothing there; the message is enough then.
                details = (try? container.decode([Detail].self, forKey: .errors)) ?? []
            }
        }

        /// The page that an answer with status 200 has.
        func page(_ number: Int, of size: Int) throws(SearchError) -> SearchResult {
            if let coding = headers.first(name: "Content-Encoding"), coding.lowercased() != "identity" {
                throw SearchError(.badAnswer, "GitHub's answer is encoded in a way that was not asked for")
            }
            let page: Page
            do { page = try JSONDecoder().decode(Page.self, from: body) } catch {
                throw SearchError(.badAnswer, "GitHub's answer is no page of repositories: \(Self.place(of: error))")
            }
            guard page.total >= 0 else { throw SearchError(.badAnswer, "GitHub counts fewer than no results") }
            var hits: [SearchHit] = []
            for item in page.items.prefix(size) {
                // It becomes a link in front of a person.
                guard item.url.hasPrefix("https://") || item.url.hasPrefix("http://") else {
                    throw SearchError(.badAnswer, "GitHub's answer names a repository without a web address")
                }
                hits.append(SearchHit(title: item.fullName, url: item.url, snippet: item.description ?? ""))
            }
            let hasNext = !hits.isEmpty && number * size < Self.reachable && LinkHeader.hasNext(headers["Link"])
            return .page(hits, hasNext: hasNext, total: min(page.total, Self.reachable), etag: etag)
        }

        /// What the body of an error says, for a person; empty if it says nothing.
        var message: String {
            // An error without a text that can be read is an error all the same.
            guard let problem = try? JSONDecoder().decode(Problem.self, from: body) else { return "" }
            let detail = problem.details.compactMap(\.message).first.map { ": \($0)" } ?? ""
            let scalars = (problem.message + detail).prefix(400).map { $0.isNewline ? " " : $0 }
                .flatMap(\.unicodeScalars)
            // What would move the cursor of a terminal, or turn the direction of the text, is left out.
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars.filter { ![.control, .format].contains($0.properties.generalCategory) })
            return String(text)
        }

        /// The entity tag, if it is one that can be sent back (RFC 9110, section 8.8.3).
        private var etag: String? { headers.first(name: "ETag").flatMap { Self.isEntityTag($0) ? $0 : nil } }

        /// Whether a text is an entity tag, weak or strong.
        static func isEntityTag(_ text: String) -> Bool {
            let quoted = text.hasPrefix("W/") ? text.dropFirst(2) : text[...]
            guard text.utf8.count <= 256, quoted.utf8.count >= 2, quoted.hasPrefix("\""), quoted.hasSuffix("\"") else {
                return false
            }
            return quoted.utf8.dropFirst().dropLast().allSatisfy { $0 == 0x21 || 0x23...0x7e ~= $0 }
        }

        /// Where a body is wrong; nothing of what it holds.
        private static func place(of error: any Error) -> String {
            func path(_ context: DecodingError.Context) -> String {
                context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
            }
            switch error {
            case DecodingError.keyNotFound(let key, let context):
                return "\(path(context)) has no \(key.stringValue)"
            case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
                return "\(path(context)) is of another kind"
            default: return "it is no JSON"
            }
        }
    }
#endif
