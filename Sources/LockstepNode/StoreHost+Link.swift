internal import LockstepCore
internal import ZeroMQ

/// What the handshake of a store's link says: an operator must see why a node is not let in (PROTOCOL, R-67).
extension StoreHost {
    /// So many handshakes fail one after the other before it is said; a node that starts may break one off.
    private static let failuresToTell = 2

    /// A client tries again each second what was denied, in milliseconds.
    static let denialMemory: Int64 = 3_000

    /// No key is known of a node to which this one is to connect.
    func keyIsMissing(of endpoint: String) {
        raise(
            .refused,
            "no public key of \(endpoint) is known here, so nothing is said to it: add it to the nodes that this one knows"
        )
    }

    /// Another access list holds: ends the link if the key of its other end is in it no more; returns whether it did
    /// (PROTOCOL, R-70).
    func reviewLink(now: Tick) -> Bool {
        guard primary == nil, let keys = services.dialing(client.endpoint), links.withdraw(unless: keys) else {
            return false
        }
        client.connectionFailed(now: now, into: &directives)
        execute(now: now)
        return true
    }

    /// Notices a handshake that failed, and begins anew where libzmq itself does not.
    func lookAtLink(now: Tick) {
        if deniedUntil > .zero, now >= deniedUntil {
            deniedUntil = .zero
            if inPlace(&client, { $0.welcome != nil }) { clear(.refused) }
        }
        guard primary == nil, let trouble = services.attempt({ try links.trouble(now: now) }) ?? nil else { return }
        let endpoint = client.endpoint
        let keys = services.dialing(endpoint)
        switch trouble {
        case .notAdmitted:
            let own = services.configuration.given.keys.map { " \($0.own.publicKey)" } ?? ""
            raise(
                .refused,
                "\(endpoint) does not let the key of this node in: add\(own), with a name and roles, to its access list"
            )
            client.connectionFailed(now: now, into: &directives)
        case .otherSecurity:
            raise(
                .refused,
                keys == nil
                    ? "\(endpoint) talks only to who has keys, and this node has none: give it keys"
                    : "\(endpoint) has no keys, and this node talks only to nodes that have: give it keys")
            client.connectionFailed(now: now, into: &directives)
        case .handshake(let count):
            if keys != nil, count >= Self.failuresToTell {
                raise(
                    .refused,
                    "the handshake with \(endpoint) fails: is the public key that is known of it here its newest one?")
            }
            // libzmq goes on with the same key by itself; the other one needs a new connection.
            if let keys, keys.count > 1, inPlace(&client, { $0.phase }) == .greeting {
                client.connectionFailed(now: now, into: &directives)
            }
        case .broken: client.connectionBroke(now: now, into: &directives)
        }
        execute(now: now)
    }
}
