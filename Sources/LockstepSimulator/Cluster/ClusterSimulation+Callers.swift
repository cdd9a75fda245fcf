import LockstepCore

// The clients of a steered run: their connections, and who answers them at a node that is no primary.
extension ClusterSimulation {
    func connect(_ caller: ClusterCaller, to target: Int) -> ClusterLink {
        let link = makeLink(.caller(caller.index), to: target, life: caller.life)
        clientLinks[link.connection] = link
        return link
    }

    /// A frame of a caller comes to a node: who is no primary names the one that it follows (PROTOCOL R-38).
    func serve(_ frame: [UInt8], of caller: ClusterCaller, _ link: ClusterLink) {
        let node = nodes[link.target]
        guard !isTaken(frame, by: node, link) else { return }
        let stamp = FrameStamp(channel: Self.channel, clusterHash: Self.cluster.hash, epoch: .zero)
        let message = withBytes(of: frame) { try? Message.decode($0, rule: .any).message }
        guard case .hello(let hello)? = message else { return send(stamp.frame(.resync), link, .down) }
        let known = node.followed?.member.node.name ?? ""
        let refused = Refused(
            nonce: hello.nonce, reason: .notPrimary, text: "this node is no primary",
            endpoint: known == node.name.name ? "" : known)
        send(stamp.frame(.refused(refused)), link, .down)
    }

    /// A primary says that a batch is committed.
    func committed(_ batch: SealedBatch, by node: ClusterNode) {
        let before = checker.committed
        checker.committed(batch, by: node)
        guard isSteered, checker.committed > before, let digest = checker.history.digests[checker.committed] else {
            return
        }
        let state = checker.history.state.unwrapped
        answers.committed(batch, digest: digest, remembered: workload.remember(state, at: batch.head))
    }

    func traceArrival(_ frame: [UInt8], _ link: ClusterLink, _ way: ClusterLink.Way) {
        let kind = UInt64(frame.count > 5 ? frame[5] : 0)
        if way == .up { return trace(nodes[link.target], .received, kind, link.connection.rawValue) }
        switch link.dialer {
        case .node(let index): trace(nodes[index], .received, kind, link.connection.rawValue)
        case .caller(let index): trace(callers[index], .received, kind, link.connection.rawValue)
        case .client: break
        }
    }
}
