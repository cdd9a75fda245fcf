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
    /// Its addresses also tell the keys of other nodes, where ``nodes`` does not.
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
