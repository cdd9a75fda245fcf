#if Web
    package import Foundation

    /// Scheme, host and port: whom a request goes to.
    package struct GitHubOrigin: Hashable, Sendable {
        package var scheme: String
        package var host: String
        package var port: Int

        /// The origin of an absolute `http` or `https` URL; nil for others, and if a user is named in it.
        package init?(_ url: URL) {
            guard let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
                let host = url.host?.lowercased(), !host.isEmpty, url.user == nil, url.password == nil
            else { return nil }
            self.scheme = scheme
            self.host = host
            port = url.port ?? (scheme == "https" ? 443 : 80)
        }

        var isLoopback: Bool {
            ["localhost", "::1", "[::1]"].contains(host)
                || host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." }
        }

        /// Whether what was meant for this origin may go to another: the same, or the same host with TLS.
        package func allows(_ other: GitHubOrigin) -> Bool {
            if self == other { return true }
            guard host == other.host, scheme == "http", other.scheme == "https" else { return false }
            return other.port == port || (port == 80 && other.port == 443)
        }

        /// Where the field `Location` of an answer to a URL leads, if that is absolute or relative to the URL; nil where
        /// a request must not follow.
        package func redirect(_ location: String, from current: String) -> String? {
            guard let from = URL(string: current), let resolved = URL(string: location, relativeTo: from) else {
                return nil
            }
            // Parsed again: what is compared here is what the client parses, not what it was made of.
            let text = resolved.absoluteString
            guard let url = URL(string: text), let origin = GitHubOrigin(url), allows(origin) else { return nil }
            return text
        }
    }
#endif
