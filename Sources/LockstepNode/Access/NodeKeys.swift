// Only the names of keys: the rest of ZeroMQ, such as its Context and Message, would be in a program's way.
@_exported public import struct ZeroMQ.CurveKeyPair
@_exported public import struct ZeroMQ.CurvePublicKey
@_exported public import struct ZeroMQ.CurveSecretKey
@_exported public import struct ZeroMQ.ZMQError
public import ZeroMQ

/// By what a node proves who it is, and by what it knows others.
///
/// With keys, each connection of the node's network is encrypted, and both ends prove who they are, also on loopback
/// addresses. Who listens needs the access list; who connects needs the public keys of those to whom it connects.
public struct NodeKeys: Sendable {
    /// The node's own keys.
    public var own: CurveKeyPair
    /// Who may talk to this node; needed by a node that listens.
    ///
    /// Its addresses also tell the keys of other nodes, where ``nodes`` does not; so a client may have one too. It is read
    /// again when it changes.
    public var access: AccessFile?
    /// The public keys of the nodes that this one connects to, by their address `tcp://HOST:PORT`.
    ///
    /// One each, or two while one takes the place of the other: a connection that fails with one is tried with the
    /// other next.
    public var nodes: [String: [CurvePublicKey]]

    /// Puts keys together; they are checked with the node's configuration.
    ///
    /// - Parameters:
    ///   - own: The node's own keys.
    ///   - access: Who may talk to this node; `nil`, the default, of one that does not listen.
    ///   - nodes: Public keys by address; none by default.
    public init(own: CurveKeyPair, access: AccessFile? = nil, nodes: [String: [CurvePublicKey]] = [:]) {
        self.own = own
        self.access = access
        self.nodes = nodes
    }
}

/// By what one connection's end proves who it is, and by what it knows the other.
package struct DialKeys: Hashable, Sendable {
    package var own: CurveKeyPair
    /// The public key of the node that is connected to: whoever lacks its secret cannot be that node.
    package var server: CurvePublicKey

    package init(own: CurveKeyPair, server: CurvePublicKey) {
        self.own = own
        self.server = server
    }
}

extension NodeKeys {
    /// With what to connect to an address, in the order in which to try.
    ///
    /// - Parameters:
    ///   - endpoint: `tcp://HOST:PORT` of a node's ingress.
    ///   - list: The access list, if there is one; ``nodes`` goes before it.
    /// - Returns: One for each key of that node; none if no key of it is known.
    package func dialing(_ endpoint: String, list: AccessList? = nil) -> [DialKeys] {
        // What is no address has no keys.
        let name = (try? TCPEndpoint(endpoint, use: "an address"))?.description ?? endpoint
        let configured = nodes.first { (try? TCPEndpoint($0.key, use: "an address"))?.description == name }?.value
        let keys = configured ?? list?.keys(at: name) ?? []
        return keys.map { DialKeys(own: own, server: $0) }
    }

    /// Checks what a configuration says; `listens` of a node that others connect to, `upstreams` are where it connects.
    func check(listens: Bool, upstreams: [TCPEndpoint]) throws {
        func refuse(_ text: String) -> LockstepError { LockstepError(.invalidConfiguration, text) }
        guard ZMQ.has("curve") else {
            throw refuse("the libzmq of this host was built without CURVE, which keys need: install another")
        }
        guard !listens || access != nil else {
            throw refuse("a node that has keys and listens needs an access list: name its file")
        }
        for (address, keys) in nodes.sorted(by: { $0.key < $1.key }) {
            let endpoint = try TCPEndpoint(address, use: "the address of a public key")
            guard endpoint.port != 0, !endpoint.isWildcard else {
                throw refuse("\(address) cannot be connected to: name host and port of the node whose key it is")
            }
            guard (1...2).contains(keys.count), Set(keys).count == keys.count, !keys.contains(where: \.isZero) else {
                throw refuse(
                    "\(address) has \(keys.count) public keys; give it one, or two different ones while one replaces "
                        + "the other")
            }
        }
        guard access == nil, let unknown = upstreams.first(where: { dialing($0.description).isEmpty }) else { return }
        throw refuse("no public key of \(unknown) is known: add it, or an access list that has this address")
    }
}
