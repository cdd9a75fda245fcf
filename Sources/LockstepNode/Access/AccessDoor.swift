package import LockstepCore

/// Decides on each frame of a peer before a store's machine sees it (PROTOCOL, R-68, R-69).
///
/// A value without state: who the peer is, and what it said before, comes in as an argument.
package struct AccessDoor: Hashable, Sendable {
    /// Whether a name is in the access list.
    private let list: AccessList

    /// Why something is denied; the raw value is a label of a metric.
    package enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The key is not in the access list.
        case key
        /// No role of the name allows it.
        case role
        /// The name is limited to other stores.
        case store
        /// HELLO or FETCH has a name that is not the peer's.
        case name
        /// The name has as many connections as its quota allows.
        case quota
    }

    /// What is denied, for the peer and the log.
    package struct Denial: Hashable, Sendable {
        package var reason: Reason
        /// What was tried: the name of a kind of message.
        package var what: String
        /// One line: who may not do what, and what to do.
        package var text: String

        package init(reason: Reason, what: String, text: String) {
            self.reason = reason
            self.what = what
            self.text = text
        }
    }

    /// What becomes of a frame.
    package enum Verdict {
        /// The machine gets this frame.
        ///
        /// With the nonce if it is a HELLO.
        case pass(WaitingFrame, greeting: UInt64?)
        /// The machine does not see it; `answer` is sent instead, if there is one.
        case deny(Denial, answer: [UInt8]?)
    }

    package init(list: AccessList) { self.list = list }

    /// Decides on a frame of a store.
    ///
    /// - Parameters:
    ///   - frame: As it came.
    ///   - peer: Who sent it.
    ///   - link: Where it came.
    ///   - store: The store that it is for.
    ///   - cluster: The node's cluster, for the answer.
    /// - Returns: What becomes of it.
    package func judge(
        _ frame: WaitingFrame, of peer: AccessPeer, on link: AccessLink, for store: String, cluster: ClusterID?
    ) -> Verdict {
        // A kind that there is not is for the machine to count: it decodes nothing of it.
        guard let kind = frame.withFrame(Self.kind) else { return .pass(frame, greeting: nil) }
        if kind == .hello, link == .ingress { return judgeHello(frame, of: peer, cluster: cluster) }
        let principal = peer.principal
        let wanted = AccessRule.roles(for: kind, on: link)
        let denial: Denial
        if !principal.hasAny(of: wanted) {
            denial = Self.roleDenial(principal, "\(kind)", wanted)
        } else if !principal.mayUse(store: store) {
            denial = Self.storeDenial(principal, "\(kind)", store)
        } else if kind == .fetch, let name = frame.withFrame(Self.follower), name != principal.name {
            denial = Self.nameDenial(principal, "\(kind)", name)
        } else {
            return .pass(frame, greeting: nil)
        }
        return .deny(denial, answer: answer(to: frame, of: peer, in: store, denial, cluster: cluster))
    }

    /// Decides on a subscription to a store's broadcast; `store` is nil if no store has the channel.
    package func judge(subscriptionOf principal: Principal, to store: String?) -> Denial? {
        let wanted = AccessRule.rolesToConnect(to: .broadcast)
        guard principal.hasAny(of: wanted) else { return Self.roleDenial(principal, Self.subscription, wanted) }
        // What it is told when there is such a store is decided when it asks again.
        guard let store, !principal.mayUse(store: store) else { return nil }
        return Self.storeDenial(principal, Self.subscription, store)
    }

    /// Decides on a connection, before any message of it.
    package func judge(connectionOf principal: Principal, to link: AccessLink) -> Denial? {
        let wanted = AccessRule.rolesToConnect(to: link)
        guard !principal.hasAny(of: wanted) else { return nil }
        return Self.roleDenial(principal, Self.connection, wanted)
    }

    /// A name has as many connections as it may.
    package static func connectionDenial(_ principal: Principal, most: Int) -> Denial {
        Denial(
            reason: .quota, what: connection,
            text: "\(principal.name) has the \(most) connections of this port that the access list allows it")
    }

    package static let subscription = "subscription"
    package static let connection = "connection"

    // MARK: - HELLO

    private func judgeHello(_ frame: WaitingFrame, of peer: AccessPeer, cluster: ClusterID?) -> Verdict {
        // Of another version, or damaged: the machine says so, and goes no further.
        guard let (header, hello) = frame.withFrame(Self.hello) else { return .pass(frame, greeting: nil) }
        let principal = peer.principal
        let wanted = AccessRule.roles(forHelloAs: hello.role)
        let what = "\(MessageKind.hello)"
        let denial: Denial
        if !principal.hasAny(of: wanted) {
            denial = Self.roleDenial(principal, what, wanted)
        } else if !principal.mayUse(store: hello.store) {
            denial = Self.storeDenial(principal, what, hello.store)
        } else if !mayBeCalled(hello, principal) {
            denial = Self.nameDenial(principal, what, hello.node)
        } else {
            return .pass(harmless(frame, header, hello, principal), greeting: hello.nonce)
        }
        let stamp = Self.stamp(header, cluster)
        let refused = Refused(nonce: hello.nonce, reason: .denied, text: denial.text)
        return .deny(denial, answer: stamp.frame(.refused(refused)))
    }

    /// A replica's name is its own, since what it says goes into the log's audience under that name; any other
    /// peer's is a label, but not somebody else's name.
    private func mayBeCalled(_ hello: Hello, _ principal: Principal) -> Bool {
        switch hello.role {
        case .replica: hello.node == principal.name
        case .client: hello.node == principal.name || !list.contains(name: hello.node)
        }
    }

    /// The HELLO without what only a replica may report: a made-up place must not stop a primary.
    private func harmless(
        _ frame: WaitingFrame, _ header: FrameHeader, _ hello: Hello, _ principal: Principal
    ) -> WaitingFrame {
        guard !principal.has(.replica), hello.known != .none || hello.mark != nil else { return frame }
        var hello = hello
        hello.known = .none
        hello.mark = nil
        let stamp = FrameStamp(channel: header.channel, clusterHash: header.clusterHash, epoch: .zero)
        return .copied(stamp.frame(.hello(hello)))
    }

    // MARK: - Answers

    /// REFUSED for what its sender waits for: OPEN, RESUME and SUBMIT (PROTOCOL, section 4).
    private func answer(
        to frame: WaitingFrame, of peer: AccessPeer, in store: String, _ denial: Denial, cluster: ClusterID?
    ) -> [UInt8]? {
        frame.withFrame { bytes in
            // What cannot be read is not answered.
            guard let (header, message) = try? Message.decode(bytes, rule: .any) else { return nil }
            let nonce: UInt64? =
                switch IngressRequest(message) {
                case .open(let open): open.nonce
                case .resume(let resume): resume.connectionNonce
                case .submit: peer.nonces[store]
                case .keepAlive, .close, .read, .query, .runRequest, .watch, .unwatch, nil: nil
                }
            guard let nonce else { return nil }
            let refused = Refused(nonce: nonce, reason: .denied, text: denial.text)
            return Self.stamp(header, cluster).frame(.refused(refused))
        }
    }

    /// The answer is of the node's cluster, or of the peer's while the node does not know its own.
    private static func stamp(_ header: FrameHeader, _ cluster: ClusterID?) -> FrameStamp {
        FrameStamp(channel: header.channel, clusterHash: cluster?.hash ?? header.clusterHash, epoch: .zero)
    }

    private static func roleDenial(_ principal: Principal, _ what: String, _ wanted: Set<AccessRole>) -> Denial {
        let own = principal.roles.sorted().map(\.rawValue).joined(separator: ", ")
        let needed = wanted.sorted().map(\.rawValue).joined(separator: " or ")
        let cure = needed.isEmpty ? "nobody may send that here" : "it needs \(needed) in the access list of this node"
        return Denial(
            reason: .role, what: what, text: "\(principal.name) (\(own)) may not send \(what): \(cure)")
    }

    private static func storeDenial(_ principal: Principal, _ what: String, _ store: String) -> Denial {
        let text =
            "\(principal.name) may not use store \(AccessText.escaped(store)): add it to its stores in the access list "
            + "of this node"
        return Denial(reason: .store, what: what, text: text)
    }

    private static func nameDenial(_ principal: Principal, _ what: String, _ name: String) -> Denial {
        let said = AccessText.escaped(name)
        let text = "the key is \(principal.name)'s, and the node says that it is \(said): give it its own name or key"
        return Denial(reason: .name, what: what, text: text)
    }

    private static func kind(of frame: RawSpan) -> MessageKind? {
        var reader = ByteReader(offset: 5, end: frame.byteCount)
        // What is too short has no kind.
        guard let byte = try? reader.read(UInt8.self, from: frame) else { return nil }
        return MessageKind(rawValue: byte)
    }

    private static func hello(in frame: RawSpan) -> (FrameHeader, Hello)? {
        guard let (header, message) = try? Message.decode(frame, rule: .any), case .hello(let hello) = message else {
            return nil
        }
        return (header, hello)
    }

    /// Who wants to follow: what its stream acknowledges counts for the member of that name.
    private static func follower(in frame: RawSpan) -> String? {
        let message = try? Message.decode(frame, rule: .any).message
        guard case .fetch(let fetch)? = message.flatMap(ReplicationRequest.init) else { return nil }
        return fetch.member.node.name
    }
}

/// Who is at the other end of one connection.
package struct AccessPeer: Hashable, Sendable {
    package var principal: Principal
    /// Without port; for the log.
    package var address: String
    /// The nonce of the connection's last HELLO to each store, which names the connection in REFUSED.
    package var nonces: [String: UInt64] = [:]

    package init(principal: Principal, address: String) {
        self.principal = principal
        self.address = address
    }
}
