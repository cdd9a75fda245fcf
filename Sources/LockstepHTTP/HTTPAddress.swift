internal import FlyingSocks
internal import Foundation
internal import LockstepNode

/// Where a node listens for HTTP: `HOST:PORT`, such as `127.0.0.1:9100` or `[::1]:9100`.
struct HTTPAddress: Hashable, Sendable, CustomStringConvertible {
    private let endpoint: TCPEndpoint
    private let hosts: AdmittedHosts

    /// Reads an address; `allowsOtherHosts` lets it be another than a loopback address.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, with what to change.
    init(_ text: String, allowsOtherHosts: Bool) throws {
        do { endpoint = try TCPEndpoint("tcp://\(text)", use: "the HTTP address") } catch {
            throw LockstepError(
                .invalidConfiguration,
                "the HTTP address is \"\(text)\"; write it as HOST:PORT, such as 127.0.0.1:9100, IPv6 in brackets")
        }
        hosts = AdmittedHosts(of: endpoint)
        guard allowsOtherHosts || endpoint.isLoopback else {
            throw LockstepError(
                .invalidConfiguration,
                "\(text) is not a loopback address, and everybody who reaches the HTTP address may read what the node "
                    + "shows: use 127.0.0.1, or set \(SettingName.plaintext.property) in a network that you trust")
        }
        _ = try socketAddress
    }

    var description: String { "\(endpoint.host):\(endpoint.port)" }

    /// The same host with the port that the system chose.
    func at(port: UInt16) -> String { "\(endpoint.host):\(port)" }

    /// What a socket is bound to.
    var socketAddress: Bound {
        get throws {
            // An address, since a name may lead to several.
            do {
                guard endpoint.isIPv6 else {
                    return .four(try .inet(ip4: endpoint.isWildcard ? "0.0.0.0" : endpoint.host, port: endpoint.port))
                }
                return .six(try .inet6(ip6: String(endpoint.host.dropFirst().dropLast()), port: endpoint.port))
            } catch {
                throw LockstepError(
                    .invalidConfiguration, "the HTTP address \(self) has no IP address: name one, such as 127.0.0.1")
            }
        }
    }

    enum Bound {
        case four(sockaddr_in)
        case six(sockaddr_in6)
    }

    /// Whether a request that names this host was meant for here.
    func admits(host: String) -> Bool { hosts.admits(host) }
}
