internal import LockstepCore
internal import Logging
internal import ZeroMQ

// A node with keys: who says what (PROTOCOL, R-67 to R-70). Without keys everybody may say everything.
extension Node {
    /// Whether a frame that waited for its turn is still of somebody who may be here.
    func isKnown(_ connection: Connection, on link: AccessLink) -> Bool {
        guard let services, services.access != nil else { return true }
        return services.server.peer(connection, on: link) != nil
    }

    /// The frame as the store's machine may have it; nil if it may not: that is counted, written down, and answered where
    /// the sender waits for something.
    func admitted(
        _ frame: WaitingFrame, from connection: Connection, on link: AccessLink, for host: StoreHost, now: Tick
    ) -> WaitingFrame? {
        guard let services, let access = services.access else { return frame }
        guard let peer = services.server.peer(connection, on: link) else { return nil }
        switch access.door.judge(frame, of: peer, on: link, for: host.name, cluster: services.cluster) {
        case .pass(let passed, let nonce):
            if let nonce { services.server.greeted(connection, store: host.name, nonce: nonce) }
            return passed
        case .deny(let denial, let answer):
            access.denied(denial, peer, now: now)
            guard let answer else { return nil }
            let isSent = services.attempt {
                switch link {
                case .ingress: try services.server.send(answer, to: connection)
                case .bulk: try services.server.sendBulk(answer, to: connection)
                case .replication: try services.server.sendReplication(answer, to: connection)
                case .broadcast: false
                }
            }
            if isSent == false { host.metrics.dropped(.sent) }
            return nil
        }
    }

    /// The answer to what the role `admin` may ask over the network; nil to anything else, the status too (PROTOCOL,
    /// R-74).
    ///
    /// Each is written down with the name of who asked.
    func administered(_ frame: WaitingFrame, by peer: AccessPeer?) -> [UInt8]? {
        guard let peer, peer.principal.has(.admin), frame.withFrame(RemoteStatus.command) != "status",
            let request = frame.withFrame(AdministrationServer.request)
        else { return nil }
        return AdministrationServer.frame(
            AdministrationServer.answer(to: request) { request in
                if let store = request.store, !peer.principal.mayUse(store: store) {
                    throw LockstepError(
                        .administration, "\(peer.principal.name) has no access to the store \(store)")
                }
                logger.notice(
                    "administered over the network",
                    metadata: [
                        LogKey.peer: "\(peer.principal.name)", LogKey.address: "\(AccessText.escaped(peer.address))",
                        LogKey.kind: "\(request.word)", LogKey.store: "\(request.store ?? "-")",
                    ])
                return try answer(request)
            })
    }

    /// The name of the store that has a channel.
    func storeName(of channel: Channel) -> String? { hosts.first { $0.channel == channel }?.name }

    /// Another access list holds: the connections end whose rights have changed.
    func listChanged(_ services: NodeServices, now: Tick) {
        // A node that only connects has a list too, and lets nobody in.
        let left = hosts.count(where: { $0.reviewLink(now: now) }) + services.reviewPeers()
        if left > 0 {
            logger.info(
                "links were ended: the access list has changed", metadata: [LogKey.count: "\(left)"])
        }
        guard let access = services.access else { return }
        access.listChanged()
        let ended = services.server.review(access.list)
        guard ended > 0 else { return }
        logger.info("connections were ended: the access list has changed", metadata: [LogKey.count: "\(ended)"])
    }
}
