import LockstepCore

// Connections: of each data node to each other one, and of each client to one node.
extension ClusterSimulation {
    /// All connections of a process, as either end.
    func allLinks(of node: ClusterNode) -> [ClusterLink] {
        var found = links[node.index].compactMap { $0 }
        for other in nodes { if let link = links[other.index][node.index] { found.append(link) } }
        for client in clients { if let link = client.link, link.target == node.index { found.append(link) } }
        for caller in callers { if let link = caller.link, link.target == node.index { found.append(link) } }
        return found
    }

    func isCut(_ link: ClusterLink, _ way: ClusterLink.Way) -> Bool {
        guard let dialer = process(link.dialer), !cuts.isEmpty else { return false }
        return cuts.contains(way == .up ? [dialer, link.target] : [link.target, dialer])
    }

    /// The number under which cuts know who dialled; nil if nothing cuts it off.
    private func process(_ dialer: ClusterLink.Dialer) -> Int? {
        switch dialer {
        case .node(let index): index
        case .caller(let index): nodes.count + index
        case .client: nil
        }
    }

    func isReachable(_ one: Int, _ other: Int) -> Bool {
        cuts.isEmpty || !cuts.contains([one, other]) && !cuts.contains([other, one])
    }

    /// A process connects, if somebody is there; else it tries again.
    func dial(_ from: Int, _ to: Int) {
        guard nodes[from].isUp, links[from][to] == nil else { return }
        guard nodes[to].isUp, isReachable(from, to), now >= nodes[to].pausedUntil else {
            return add(.dial(from: from, to: to), after: random.between(100, 200) * Span.millisecond)
        }
        let link = makeLink(.node(from), to: to, life: nodes[from].life)
        links[from][to] = link
        nodeLinks[link.connection] = link
    }

    func makeLink(_ dialer: ClusterLink.Dialer, to target: Int, life: Int) -> ClusterLink {
        connections += 1
        return ClusterLink(
            dialer, to: target, connection: Connection(rawValue: connections), lives: (life, nodes[target].life))
    }

    // MARK: - Frames

    func send(_ frame: [UInt8], _ link: ClusterLink, _ way: ClusterLink.Way) {
        guard !link[way].isEnding else { return }
        if !isSteered { frameRates.sent(frame, by: sender(link, way)) }
        let delay =
            strikes(.slowFrames, 0.1)
            ? random.between(0, 300 * Span.millisecond)
            : random.between(50 * Span.microsecond, Span.millisecond)
        let due = max(link[way].lastDue, now + delay)
        link[way].lastDue = due
        link[way].frames.append((due, frame))
        schedule(link, way, at: due)
    }

    /// As frames are counted: nodes first, then clients.
    private func sender(_ link: ClusterLink, _ way: ClusterLink.Way) -> Int {
        guard way == .up else { return link.target }
        return switch link.dialer {
        case .node(let index): index
        case .client(let index), .caller(let index): nodes.count + index
        }
    }

    private func schedule(_ link: ClusterLink, _ way: ClusterLink.Way, at due: Int64) {
        guard !link[way].isPumping else { return }
        link[way].isPumping = true
        add(.pump(link, way), after: due - now)
    }

    /// Whether the process at the end of this way is still the one that was connected.
    private func isReceiverThere(_ link: ClusterLink, _ way: ClusterLink.Way) -> Bool {
        if way == .up { return nodes[link.target].isUp && nodes[link.target].life == link.lives.target }
        if case .caller(let index) = link.dialer { return callers[index].life == link.lives.dialer }
        guard case .node(let dialer) = link.dialer else { return true }
        return nodes[dialer].isUp && nodes[dialer].life == link.lives.dialer
    }

    func pump(_ link: ClusterLink, _ way: ClusterLink.Way) {
        link[way].isPumping = false
        guard !link[way].isOver, isReceiverThere(link, way) else { return link[way].frames.removeAll() }
        if isCut(link, way) { return schedule(link, way, at: now + 20 * Span.millisecond) }
        if let resumed = pauseEnd(link, way) { return schedule(link, way, at: resumed) }
        if let first = link[way].frames.first, first.due <= now {
            link[way].frames.removeFirst()
            deliver(first.bytes, link, way)
        }
        if let next = link[way].frames.first {
            schedule(link, way, at: max(now, next.due))
        } else if link[way].isEnding {
            link[way].isOver = true
            ended(link, way)
        }
    }

    private func pauseEnd(_ link: ClusterLink, _ way: ClusterLink.Way) -> Int64? {
        var receiver = way == .up ? nodes[link.target] : nil
        if way == .down, case .node(let dialer) = link.dialer { receiver = nodes[dialer] }
        if way == .down, case .caller(let index) = link.dialer, now < callers[index].pausedUntil {
            return callers[index].pausedUntil
        }
        guard let receiver, now < receiver.pausedUntil else { return nil }
        return receiver.pausedUntil
    }

    private func deliver(_ frame: [UInt8], _ link: ClusterLink, _ way: ClusterLink.Way) {
        if isSteered { traceArrival(frame, link, way) }
        switch (link.dialer, way) {
        case (.caller(let index), .up): serve(frame, of: callers[index], link)
        case (.caller(let index), .down): callers[index].received(frame, on: link)
        case (.node, .up): serve(frame, link)
        case (.node(let dialer), .down): follow(frame, link, nodes[dialer])
        case (.client(let client), .up): serve(frame, of: clients[client], link)
        case (.client(let client), .down): receive(frame, clients[client], link)
        }
    }

    // MARK: - Ends of connections

    /// The connection breaks: of what is under way a beginning still comes, on each way, soon or late.
    ///
    /// `goneNode`: its process is gone; nothing comes to it, and its host tells the other end, or does not.
    func close(_ link: ClusterLink, goneNode: ClusterNode? = nil, isSilent: Bool = false) {
        guard !link.isClosed else { return }
        link.isClosed = true
        for way in ClusterLink.Way.allCases {
            let count = link[way].frames.count
            link[way].frames.removeLast(Int(random.next(below: UInt64(count + 1))))
            link[way].isEnding = true
            var delay = random.between(0, 20 * Span.millisecond)
            if isSilent { delay = random.between(3, 6) * Span.second }
            if goneNode == nil, strikes(.cutConnection, 0.2) { delay = random.between(0, 4 * Span.second) }
            if !isHealed, delay > Span.second, way == .up { link.up.frames = delayed(link.up.frames, by: delay) }
            add(.pump(link, way), after: delay)
            link[way].isPumping = true
        }
    }

    /// The connection breaks at one end: all that is under way to its node still comes, so much later.
    func closeLate(_ link: ClusterLink, after delay: Int64) {
        guard !link.isClosed else { return }
        let frames = link.up.frames
        close(link)
        link.up.frames = delayed(frames, by: delay)
        // The pump that was scheduled when it was closed finds nothing due, and waits.
        link.up.isPumping = true
    }

    private func delayed<Frames: MutableCollection>(_ frames: Frames, by delay: Int64) -> Frames
    where Frames.Element == (due: Int64, bytes: [UInt8]) {
        var frames = frames
        for index in frames.indices { frames[index].due = max(frames[index].due, now + delay) }
        return frames
    }

    /// The end of this way learns that the connection is gone.
    private func ended(_ link: ClusterLink, _ way: ClusterLink.Way) {
        switch (link.dialer, way) {
        case (.node, .up):
            nodeLinks[link.connection] = nil
            withPrimary(nodes[link.target]) { $0.replicationDisconnected(link.connection, &$1) }
        case (.node(let dialer), .down): lost(link, nodes[dialer])
        case (.caller(let index), .down): callers[index].broke(link)
        case (.client, .up), (.caller, .up): clientLinks[link.connection] = nil
        case (.client(let client), .down): if clients[client].link === link { leave(clients[client]) }
        }
    }

    private func lost(_ link: ClusterLink, _ node: ClusterNode) {
        guard links[node.index][link.target] === link else { return }
        links[node.index][link.target] = nil
        add(.dial(from: node.index, to: link.target), after: random.between(20, 150) * Span.millisecond)
        guard node.dials == link.target else { return }
        if link.heard != nil { add(.refusal(link), after: random.between(150, 300) * Span.millisecond) }
        withStandby(node) { $0.disconnected(isRefused: false, now: $1, into: &$2) }
    }

    /// Two attempts to connect again were refused: the host is there, and nobody listens.
    func refused(_ link: ClusterLink) {
        guard case .node(let dialer) = link.dialer, nodes[dialer].isUp, nodes[dialer].dials == link.target,
            nodes[dialer].life == link.lives.dialer, links[dialer][link.target] == nil, !nodes[link.target].isUp,
            !nodes[link.target].isHostDead, isReachable(dialer, link.target)
        else { return }
        withStandby(nodes[dialer]) { $0.disconnected(isRefused: true, now: $1, into: &$2) }
    }

    /// A standby follows a primary: on the connection that is there, or on another one if it follows it already and no
    /// heartbeat comes.
    func follow(_ node: ClusterNode, _ primary: ConfigurationRecord.Primary) {
        let isSame = node.followed == primary
        node.followed = primary
        node.dials = nodes.firstIndex { $0.name == primary.member.node }
        guard isSame, let target = node.dials, let link = links[node.index][target],
            link.heard.map({ now - $0 >= Span.second }) ?? true
        else { return }
        links[node.index][target] = nil
        close(link)
        dial(node.index, target)
    }

    // MARK: - What data nodes say to each other

    private func serve(_ frame: [UInt8], _ link: ClusterLink) {
        let node = nodes[link.target]
        let decoded = withBytes(of: frame) { try? Message.decode($0, rule: .member(Self.cluster.hash)) }
        guard let (header, message) = decoded, let request = ReplicationRequest(message) else {
            return fail(.invariant, "\(node.name) cannot read what a data node says")
        }
        if case .fetch = request { link.hasFetched = true }
        guard !node.isStandby else {
            if case .stepDown(let report) = request {
                return withStandby(node) { $0.laterReignTold(report, into: &$2) }
            }
            if let answer = inPlace(&node.standby, { $0?.answer(to: request) }) { send(answer, link, .down) }
            return
        }
        withPrimary(node) { $0.replicationReceived(request, epoch: header.epoch, from: link.connection, &$1) }
    }

    private func follow(_ frame: [UInt8], _ link: ClusterLink, _ node: ClusterNode) {
        withBytes(of: frame) { span in
            guard let (header, message) = try? Message.decode(span, rule: .member(Self.cluster.hash)) else {
                return fail(.invariant, "\(node.name) cannot read what a data node answers")
            }
            if case .resync = message {
                // That of another node is of an earlier stream.
                guard node.dials == link.target else { return }
                return withStandby(node) { $0.resyncReceived(now: $1, into: &$2) }
            }
            guard let reply = ReplicationReply(message) else { return }
            if case .heartbeat(let heartbeat) = reply {
                link.heard = now
                for pulse in heartbeat.stores {
                    withStandby(node) {
                        $0.pulseReceived(pulse, from: heartbeat.node, boot: heartbeat.boot, now: $1, into: &$2)
                    }
                }
                return
            }
            if case .record(let report) = reply {
                let from = nodes[link.target].name
                return withStandby(node) { $0.reported(report, from: from, now: $1, into: &$2) }
            }
            guard node.dials == link.target, node.isStandby else { return }
            // A span cannot be captured by a closure, so this is done here.
            let now = tick(of: node)
            var directives: [StandbyDirective] = []
            node.standby?.received(reply, span, epoch: header.epoch, now: now, into: &directives)
            finish(directives, at: node)
        }
    }
}
