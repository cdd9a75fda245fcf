internal import Foundation

/// `tcp://host:port`, taken apart: the one address that is configured, and the two that follow from it.
package struct TCPEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// A name or an address; an IPv6 address has its brackets; `*` is every interface.
    package var host: String
    package var port: UInt16

    /// Reads an endpoint; `use` says what for, in the error.
    ///
    /// - Throws: ``LockstepError`` of code `invalidConfiguration`, with the form that is expected.
    package init(_ text: String, use: String) throws {
        let scheme = "tcp://"
        guard text.hasPrefix(scheme), let colon = text.lastIndex(of: ":") else {
            throw LockstepError(
                .invalidConfiguration,
                "\(use) is \"\(text)\"; write it as tcp://HOST:PORT, such as tcp://127.0.0.1:7400")
        }
        let host = String(
            text[
                text.index(
                    text.startIndex, offsetBy: scheme.count)..<max(
                        colon, text.index(text.startIndex, offsetBy: scheme.count))])
        let digits = text[text.index(after: colon)...]
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]") && host.count > 2
        guard !host.isEmpty, isBracketed || !host.contains(":"), !host.contains("/"),
            let port = UInt16(digits), digits.allSatisfy(\.isNumber)
        else {
            throw LockstepError(
                .invalidConfiguration,
                "\(use) is \"\(text)\"; write it as tcp://HOST:PORT with a port of 1 to 65533, IPv6 in brackets")
        }
        self.host = host == "localhost" ? "127.0.0.1" : (host == "0.0.0.0" ? "*" : host)
        self.port = port
    }

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String { "tcp://\(host):\(port)" }

    /// Reaches this host only.
    package var isLoopback: Bool {
        host == "[::1]" || (host.hasPrefix("127.") && host.allSatisfy { $0.isNumber || $0 == "." })
    }

    /// Every interface: an address to listen on, none to connect to.
    package var isWildcard: Bool { host == "*" || host == "[::]" }

    package var isIPv6: Bool { host.hasPrefix("[") }

    /// The endpoint `offset` ports further on.
    ///
    /// With port 0, which the system replaces by a free one, port 0.
    package func advanced(by offset: UInt16) -> TCPEndpoint {
        TCPEndpoint(host: host, port: port == 0 ? 0 : port + offset)
    }

    /// How many ports a listening node takes: ingress, broadcast, bulk.
    package static let portsOfNode: UInt16 = 3

    /// Checks that a node may listen here: the ports exist, and the system gives none of them to outgoing connections.
    ///
    /// A client that keeps dialling a local port out of the ephemeral range can connect to itself, and the port may be
    /// taken when the node starts again. Port 0 lets the system choose three free ports; that is for tests, on loopback.
    package func checkListening() throws {
        if port == 0 {
            guard isLoopback else {
                throw LockstepError(
                    .invalidConfiguration, "port 0 chooses a free port, which only tests on 127.0.0.1 want; name a port"
                )
            }
            return
        }
        guard port <= 65_535 - (Self.portsOfNode - 1) else {
            throw LockstepError(
                .invalidConfiguration,
                "a node listens on its port and the two after it, so \(self) is too high: choose a port up to 65533")
        }
        guard let range = Self.ephemeralPorts, Int(port) + Int(Self.portsOfNode) > Int(range.lowerBound) else { return }
        throw LockstepError(
            .invalidConfiguration,
            "ports \(port) to \(port + 2) reach the range that the system gives to outgoing connections "
                + "(\(range.lowerBound) to \(range.upperBound), net.ipv4.ip_local_port_range): choose a port below it")
    }

    /// The ports that the system gives to outgoing connections; nil where it does not tell.
    package static var ephemeralPorts: ClosedRange<UInt16>? {
        let path = "/proc/sys/net/ipv4/ip_local_port_range"
        // A system without this file has no such setting; then there is nothing to check.
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { UInt16($0) }
        guard numbers.count == 2, numbers[0] <= numbers[1] else { return nil }
        return numbers[0]...numbers[1]
    }

    /// The endpoint that a peer announced, as it can be reached from here: a peer that listens on every interface
    /// announces `*`, and is reached under the host that this node has connected to.
    package static func reachable(_ announced: String, through connected: TCPEndpoint) -> String {
        // What is no such endpoint is left as it is; connecting to it then fails by its name.
        guard var endpoint = try? TCPEndpoint(announced, use: "the announced endpoint"), endpoint.isWildcard else {
            return announced
        }
        endpoint.host = connected.host
        return endpoint.description
    }
}
