import LockstepCore

// What clients do, and what nodes say to them.
extension ClusterSimulation {
    /// A client's next moment.
    func act(_ client: ClusterClient) {
        add(.client(client), after: random.between(1, 40) * Span.millisecond)
        guard !isQuiet else { return }
        guard let link = client.link else { return greet(client) }
        // Who hears nothing asks elsewhere.
        if !client.isIdle || client.stage != .ready, now - client.lastHeard > 700 * Span.millisecond {
            client.hint = nil
            return leave(client)
        }
        let wantsMore = wantsMore(client)
        if !client.isReader,
            let message = client.submit(isNew: wantsMore && random.chance(0.6), floor: checker.floor, now: now)
        {
            say([message], client, link)
        }
        if wantsMore, random.chance(client.isReader ? 0.5 : 0.2), let message = client.read(floor: checker.floor) {
            say([message], client, link)
        }
        // Now and then somebody comes to another node without need.
        if !isHealed, random.chance(0.003) { leave(client) }
    }

    private func greet(_ client: ClusterClient) {
        let target = client.hint ?? Int(random.next(below: UInt64(nodes.count)))
        client.hint = nil
        guard nodes[target].isUp else { return }
        let link = makeLink(.client(client.index), to: target, life: 0)
        clientLinks[link.connection] = link
        (client.link, client.lastHeard) = (link, now)
        say([client.hello(nonce: random.next())], client, link)
    }

    func leave(_ client: ClusterClient) {
        guard let link = client.link else { return }
        client.lost()
        close(link)
        link.down.isOver = true
    }

    private func say(_ messages: [Message], _ client: ClusterClient, _ link: ClusterLink) {
        let stamp = FrameStamp(
            channel: Self.channel, clusterHash: Self.cluster.hash, epoch: client.known.position.epoch)
        for message in messages {
            var actions: [UInt8] = []
            if case .submit(let submit) = message { actions = client.actions(Int(submit.count)) }
            send(withBytes(of: actions) { stamp.frame(message, source: $0) }, link, .up)
        }
    }

    /// A frame of a client comes to a node: who is no primary names whom it follows.
    func serve(_ frame: [UInt8], of client: ClusterClient, _ link: ClusterLink) {
        let node = nodes[link.target]
        guard !isTaken(frame, by: node, link) else { return }
        let hint = node.followed == nil ? nil : node.dials
        add(.redirect(client, link, hint: hint), after: random.between(0, 20 * Span.millisecond))
    }

    /// Gives a frame to a node's primary; false if it has none.
    func isTaken(_ frame: [UInt8], by node: ClusterNode, _ link: ClusterLink) -> Bool {
        guard let state = node.state, node.isPrimary else { return false }
        let (now, wall) = (tick(of: node), wall(of: node))
        var directives: [PrimaryDirective] = []
        withBytes(of: frame) { span in
            node.primary?.step(now: now, wall: wall, state: state, into: &directives) {
                $0.received(span, from: link.connection, &$1)
            }
        }
        finish(directives, at: node, isTurn: false)
        return true
    }

    func receive(_ frame: [UInt8], _ client: ClusterClient, _ link: ClusterLink) {
        guard client.link === link else { return }
        var outgoing: [Message] = []
        withBytes(of: frame) { span in
            guard let (header, message) = try? Message.decode(span, rule: .any) else {
                return fail(.invariant, "client \(client.index) cannot read a frame")
            }
            for learned in client.receive(message, span, now: now, outgoing: &outgoing) {
                checker.learned(learned, client: Int(client.tag), epoch: header.epoch)
            }
        }
        if client.link == nil { close(link) }
        say(outgoing, client, link)
    }
}
