internal import LockstepCore

// The frames of peers, each to the store that it is for.
extension Node {
    /// Handles up to 64 frames of the ingress, for at most 2 ms, and some of the bulk link.
    func handlePeers(now: Tick, wall: LogTime) -> Bool {
        let end = MonotonicClock.now.advanced(byMilliseconds: 2)
        // No frame of a peer changes what is known of a channel or of the cluster: both stay for the turn.
        for (store, host) in hosts.enumerated() { dispatch.setChannel(host.channel, of: store) }
        let rule = services?.cluster.map { FrameHeader.ClusterRule.member($0.hash) } ?? .any
        var count = 0
        while count < 64, let (frame, connection) = ingressRing.popFirst() {
            count += 1
            let isLarge = frame.isLarge
            if isKnown(connection, on: .ingress),
                let host = host(
                    of: frame, rule, from: connection, on: .ingress, answer: { try $0.send($1, to: connection) }),
                let frame = admitted(frame, from: connection, on: .ingress, for: host, now: now)
            {
                host.driver?.ingressReceived(frame, from: connection, now: now, wall: wall)
            }
            if isLarge || count % 4 == 0, MonotonicClock.now >= end { break }
        }
        while count < 96, let (frame, connection) = bulkRing.popFirst() {
            count += 1
            guard isKnown(connection, on: .bulk),
                let host = host(
                    of: frame, rule, from: connection, on: .bulk, answer: { try $0.sendBulk($1, to: connection) }),
                let frame = admitted(frame, from: connection, on: .bulk, for: host, now: now)
            else { continue }
            host.driver?.bulkReceived(frame, from: connection, now: now, wall: wall)
        }
        let dropped = ingressRing.dropped + bulkRing.dropped + subscriptionsRefused
        if dropped > reportedDrops {
            hosts.first?.metrics.dropped(.received, dropped - reportedDrops)
            reportedDrops = dropped
        }
        return count > 0
    }

    /// The store that a frame is for; nil for what is nobody's, which is counted, and answered where that is owed.
    ///
    /// The first store counts for all.
    private func host(
        of frame: WaitingFrame, _ rule: FrameHeader.ClusterRule, from connection: Connection, on link: AccessLink,
        answer: (ServerSockets, [UInt8]) throws -> Bool
    ) -> StoreHost? {
        switch frame.withFrame({ dispatch.verdict(on: $0, rule: rule) }) {
        case .store(let store): return hosts[store]
        case .node:
            // Anybody who may connect may ask, and is told of the stores that are theirs.
            let peer = services?.server.peer(connection, on: link)
            let response =
                administered(frame, by: peer)
                ?? remoteStatus.answer(to: frame, visible: peer?.principal.stores, now: MonotonicClock.now) {
                    try status(listing: RemoteStatus.listLimit)
                }
            guard let response, let services else {
                hosts.first?.count(.framesRefused)
                return nil
            }
            if services.attempt({ try answer(services.server, response) }) == false {
                hosts.first?.metrics.dropped(.sent)
            }
        case .dropped: hosts.first?.count(.framesRefused)
        case .resync(let stamp):
            hosts.first?.count(.framesRefused)
            guard let services else { return nil }
            if services.attempt({ try answer(services.server, stamp.frame(.resync)) }) == false {
                hosts.first?.metrics.dropped(.sent)
            }
        }
        return nil
    }
}
