/// Which hosts an HTTP request may name at an address.
///
/// A page of another site can have its name lead to 127.0.0.1 and then read what is answered; its requests still name
/// that site. On a loopback address only the names of loopback are answered; elsewhere the host has names that nobody
/// knows here, and everybody who reaches the address may read it anyhow.
package struct AdmittedHosts: Hashable, Sendable {
    /// In lower case, without a port; nil where any host is admitted.
    private let names: Set<String>?

    /// The hosts that a request to this address may name.
    package init(of address: TCPEndpoint) {
        names = address.isLoopback ? ["localhost", "127.0.0.1", "[::1]", address.host.lowercased()] : nil
    }

    /// Whether a request that names this host, with or without a port, was meant for the address.
    package func admits(_ host: String) -> Bool {
        guard let names else { return true }
        return names.contains(Self.withoutPort(host.lowercased()))
    }

    private static func withoutPort(_ host: String) -> String {
        guard let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") else { return host }
        let port = host[host.index(after: colon)...]
        return port.allSatisfy { ("0"..."9").contains($0) } ? String(host[..<colon]) : host
    }
}
