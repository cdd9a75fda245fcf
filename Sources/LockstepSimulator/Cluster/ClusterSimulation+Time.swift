import LockstepCore

// What time brings to the processes: deadlines, turns, heartbeats.
extension ClusterSimulation {
    func tick(of node: ClusterNode) -> Tick {
        Tick(rawValue: Self.firstTick + Int64(Double(now) * node.rate))
    }

    func wall(of node: ClusterNode) -> LogTime {
        LogTime(rawValue: Self.begin + node.wallOffset + Int64(Double(now) * node.rate) / 1_000)
    }

    /// Has the machine's next deadline come as an event.
    func schedule(_ node: ClusterNode) {
        let deadline = node.nextDeadline
        guard deadline != .never else { return }
        let due = Int64(Double(deadline.rawValue - Self.firstTick) / node.rate) + 1
        let time = max(due, now + 50 * Span.microsecond)
        guard time < node.tickAt else { return }
        node.tickAt = time
        add(.tick(node), after: time - now)
    }

    func tick(_ node: ClusterNode) {
        // An earlier one was scheduled since, or it is another life.
        guard now >= node.tickAt else { return }
        node.tickAt = .max
        if tick(of: node) >= node.nextDeadline {
            if node.isStandby {
                withStandby(node) { $0.ticked(now: $1, into: &$2) }
            } else {
                withPrimary(node) { $0.ticked(&$1) }
            }
        }
        schedule(node)
    }

    /// A primary has taken what came.
    func turn(_ node: ClusterNode) {
        node.isTurnDue = false
        guard node.isPrimary else { return }
        withPrimary(node, isTurn: true) { $0.turnEnded(&$1) }
        // A process that stops in order ends when its post is taken, or nobody takes it.
        if node.isStopping, inPlace(&node.primary, { $0?.isDrained }) == true {
            crash(node)
            add(.boot(node), after: random.between(100 * Span.millisecond, 2 * Span.second))
        }
    }

    func beat(_ node: ClusterNode) {
        add(.heartbeat(node, life: node.life), after: 100 * Span.millisecond)
        let (began, now) = (node.writeBegan, tick(of: node))
        guard let pulse = inPlace(&node.primary, { $0?.pulse(writingSince: began, now: now) }) else { return }
        let heartbeat = Heartbeat(node: node.name, boot: node.boot, time: wall(of: node), stores: [pulse])
        let stamp = FrameStamp(channel: .none, clusterHash: Self.cluster.hash, epoch: .zero)
        let frame = stamp.frame(.replicationReply(.heartbeat(heartbeat)))
        for other in nodes {
            if let link = links[other.index][node.index], link.hasFetched { send(frame, link, .down) }
        }
    }
}
