import LockstepCore

/// The network between the simulated processes: links, the time that frames take, and what the faults do to them.
///
/// Without faults it is as good as TCP on one host: ordered, lossless, below a millisecond.
final class Network {
    unowned let simulation: Simulation
    var random: SplitMix64
    /// The open ones, oldest first; frames that are under way keep theirs.
    private var links: [Link] = []
    private var nextLink = 0
    private var byConnection: [Connection: Link] = [:]
    private var nextConnection: UInt64 = 1
    /// Who made each connection, also of those that have ended: frames of them may still come.
    private var owners: [Connection: SimulatedProcess] = [:]
    /// Directed pairs of processes between which nothing passes, with the time since when.
    private var blocked: [Pair: Int64] = [:]

    struct Pair: Hashable {
        var from: Int
        var to: Int
    }

    init(simulation: Simulation, random: SplitMix64) {
        self.simulation = simulation
        self.random = random
    }

    private var plan: FaultPlan { simulation.plan }

    // MARK: - Links

    /// A link; a subscription has the channel whose frames it gets.
    func connect(_ owner: SimulatedProcess, to target: Endpoint, channel: Channel? = nil) -> Link {
        let link = Link(id: nextLink, owner: owner, target: target, channel: channel)
        nextLink += 1
        links.append(link)
        simulation.add(.connectionAttempt(link), after: latency())
        return link
    }

    /// The owner closes it: what it had not sent is gone, what was under way may arrive.
    func close(_ link: Link) {
        guard link.isOpen else { return }
        link.isOpen = false
        breakConnection(link)
        link.toTarget.held = []
        link.toOwner.held = []
        links.removeAll { $0 === link }
    }

    /// A connection attempt ends: it succeeds if the target runs and both directions are open.
    func attemptEnded(_ link: Link) {
        guard link.isOpen, link.connection == nil, link.owner.isUp, link.owner.boot == link.ownerBoot else { return }
        let target = simulation.processes[link.target.process]
        guard target.isUp, target.listens(on: link.target.port), !isBlocked(link.owner.host, target.id),
            !isBlocked(target.id, link.owner.host)
        else {
            link.attempts += 1
            simulation.add(
                .connectionAttempt(link), after: min(Span.second, 50 * Span.millisecond << min(link.attempts, 5)))
            return
        }
        link.attempts = 0
        let connection = Connection(rawValue: nextConnection)
        nextConnection += 1
        link.connection = connection
        link.targetBoot = target.boot
        byConnection[connection] = link
        owners[connection] = link.owner
        simulation.trace(link.owner.id, .connected, UInt64(link.id), connection.rawValue)
    }

    /// Whose connection it is, for a primary with an access list; nil in a cluster without keys.
    func sender(on connection: Connection) -> Sender? { owner(of: connection)?.sender }

    /// Who made a connection; nil if nobody did.
    func owner(of connection: Connection) -> SimulatedProcess? { owners[connection] }

    /// The link's connection ends; a part of what is under way still comes.
    private func breakConnection(_ link: Link) {
        guard let connection = link.connection else { return }
        let next = max(link.toTarget.nextSerial, link.toOwner.nextSerial)
        let oldest = next > 64 ? next - 64 : 0
        let first = oldest + random.next(below: next - oldest + 1)
        link.fates[connection] = Link.Fate(delivered: first, sentAgain: first + random.next(below: next - first + 1))
        link.connection = nil
        byConnection[connection] = nil
        if link.fates.count > 8, let oldest = link.fates.keys.min() { link.fates[oldest] = nil }
    }

    /// The connection breaks, and libzmq makes a new one by itself.
    func reconnect(_ link: Link) {
        guard link.isOpen, link.connection != nil else { return }
        breakConnection(link)
        disturbed(link)
        simulation.add(.connectionAttempt(link), after: 50 * Span.millisecond)
    }

    /// Breaks the connection of a link that is open, if there is one.
    func reconnectAny() -> Int? {
        let open = links.filter { $0.isOpen && $0.connection != nil }
        guard !open.isEmpty else { return nil }
        let link = random.pick(open)
        reconnect(link)
        return link.id
    }

    /// A process is gone: its own links close, those of others look for it again.
    func wentDown(_ process: SimulatedProcess) {
        for link in links where link.isOpen {
            if link.owner === process {
                close(link)
            } else if link.target.process == process.id, link.connection != nil {
                reconnect(link)
            }
        }
    }

    // MARK: - Frames

    /// The owner sends; without a connection nothing is kept.
    func send(_ bytes: [UInt8], on link: Link) {
        simulation.frameRates.sent(bytes, by: link.owner.id)
        guard link.isOpen, let connection = link.connection else { return }
        let serial = link.toTarget.nextSerial
        link.toTarget.nextSerial += 1
        launch(Flight(link: link, isToTarget: true, connection: connection, serial: serial, bytes: bytes))
    }

    /// A node answers on one of its own sockets; a peer that is gone gets nothing.
    func reply(_ bytes: [UInt8], to connection: Connection, by process: SimulatedProcess) {
        guard let link = byConnection[connection] else { return }
        simulation.frameRates.sent(bytes, by: process.id)
        let serial = link.toOwner.nextSerial
        link.toOwner.nextSerial += 1
        launch(Flight(link: link, isToTarget: false, connection: connection, serial: serial, bytes: bytes))
    }

    /// Sends to every subscriber that is connected; returns how many there are.
    func publish(_ bytes: [UInt8], from process: SimulatedProcess) -> Int {
        var count = 0
        for link in links
        where link.isOpen && link.target.process == process.host && link.channel == process.store.channel {
            guard let connection = link.connection else { continue }
            count += 1
            simulation.frameRates.sent(bytes, by: process.id)
            let serial = link.toOwner.nextSerial
            link.toOwner.nextSerial += 1
            if drops(link) { continue }
            launch(Flight(link: link, isToTarget: false, connection: connection, serial: serial, bytes: bytes))
        }
        return count
    }

    private func disturbed(_ link: Link) {
        simulation.health.disturbed(link.owner.id, link.target.process, at: simulation.now)
    }

    /// A full pipe of a publisher drops runs of frames without a word.
    private func drops(_ link: Link) -> Bool {
        if link.toOwner.held.count > 1_024, link.toOwner.dropRun == 0 { link.toOwner.dropRun = 512 }
        if link.toOwner.dropRun == 0, random.chance(0.02 * plan[.publisherDrops]) {
            link.toOwner.dropRun = Int(random.between(1, 64))
            simulation.fired(.publisherDrops, UInt64(link.id))
            disturbed(link)
        }
        guard link.toOwner.dropRun > 0 else { return false }
        link.toOwner.dropRun -= 1
        return true
    }

    private func launch(_ flight: Flight) {
        if simulation.scriptedLoss > 0, random.chance(simulation.scriptedLoss) { return }
        if plan.isOn(.loss), random.chance(0.3 * plan[.loss] * plan[.loss]) {
            simulation.fired(.loss, flight.serial)
            disturbed(flight.link)
            return
        }
        var flight = flight
        if plan.isOn(.corruption), random.chance(0.05 * plan[.corruption] * plan[.corruption]) {
            simulation.fired(.corruption, flight.serial)
            disturbed(flight.link)
            flight = corrupted(flight)
        }
        arrive(flight, after: latency())
        if plan.isOn(.duplication), random.chance(0.5 * plan[.duplication] * plan[.duplication]) {
            simulation.fired(.duplication, flight.serial)
            disturbed(flight.link)
            simulation.add(.arrival(flight), after: latency() * 2)
        }
        if flight.isToTarget, flight.link.target.port == .ingress, plan.isOn(.lateRetry),
            random.chance(0.05 * plan[.lateRetry])
        {
            simulation.fired(.lateRetry, flight.serial)
            disturbed(flight.link)
            simulation.add(.arrival(flight), after: random.between(Span.millisecond, 20 * Span.second))
        }
    }

    private func corrupted(_ flight: Flight) -> Flight {
        guard !flight.bytes.isEmpty else { return flight }
        var bytes = flight.bytes
        bytes[Int(random.next(below: UInt64(bytes.count)))] ^= 1 << UInt8(random.next(below: 8))
        return Flight(
            link: flight.link, isToTarget: flight.isToTarget, connection: flight.connection, serial: flight.serial,
            bytes: bytes)
    }

    /// Queues a frame for its arrival, after those that were sent before it unless it may overtake them.
    private func arrive(_ flight: Flight, after delay: Int64) {
        var time = simulation.now + delay
        let overtakes = plan.isOn(.reorder) && random.chance(0.3 * plan[.reorder] * plan[.reorder])
        if overtakes {
            simulation.fired(.reorder, flight.serial)
            disturbed(flight.link)
        }
        if flight.isToTarget {
            if !overtakes { time = max(time, flight.link.toTarget.lastArrival + 1) }
            flight.link.toTarget.lastArrival = max(flight.link.toTarget.lastArrival, time)
        } else {
            if !overtakes { time = max(time, flight.link.toOwner.lastArrival + 1) }
            flight.link.toOwner.lastArrival = max(flight.link.toOwner.lastArrival, time)
        }
        simulation.add(.arrival(flight), at: time)
    }

    /// 50 to 500 microseconds, and what the delay fault adds.
    func latency() -> Int64 {
        let base = random.between(50, 500) * Span.microsecond
        guard plan.isOn(.delay), random.chance(0.5) else { return base }
        simulation.fired(.delay, 0)
        return base + Int64(random.fraction() * random.fraction() * plan[.delay] * Double(200 * Span.millisecond))
    }

    /// A frame is at the end of its way.
    func arrived(_ flight: Flight) {
        let link = flight.link
        let target = simulation.processes[link.target.process]
        let (from, to) = flight.isToTarget ? (link.owner, target) : (target, link.owner)
        guard !isBlocked(from.host, to.host) else {
            if flight.isToTarget { link.toTarget.held.append(flight) } else { link.toOwner.held.append(flight) }
            return
        }
        guard let connection = connection(of: flight), to.isUp else {
            simulation.trace(
                to.id, .lost, UInt64(flight.bytes.count > 5 ? flight.bytes[5] : 0), flight.connection.rawValue)
            return
        }
        if flight.isToTarget {
            guard target.boot == link.targetBoot else { return }
            serve(flight.bytes, on: link.target.port, connection, at: target)
        } else {
            guard link.isOpen, link.owner.boot == link.ownerBoot else { return }
            to.arrived(.link(link, flight.bytes))
        }
    }

    /// Gives a frame on one of a node's own sockets to the store that it is for, as nodes do.
    private func serve(_ bytes: [UInt8], on port: Port, _ connection: Connection, at first: SimulatedProcess) {
        guard port != .broadcast, first is NodeProcess else {
            return first.arrived(.server(port, connection, bytes))
        }
        let nodes = ([first] + simulation.others(onHostOf: first)).compactMap { $0 as? NodeProcess }
        var dispatch = FrameDispatch()
        for node in nodes { dispatch.add(node.store.name, channel: node.channel) }
        let rule = FrameHeader.ClusterRule.member(simulation.cluster.hash)
        switch withBytes(of: bytes, { dispatch.verdict(on: $0, rule: rule) }) {
        case .store(let index):
            if index > 0 { simulation.coverage.note(.secondStoreReached) }
            nodes[index].arrived(.server(port, connection, bytes))
        // There is no operator who asks.
        case .node: return
        case .resync(let stamp):
            simulation.coverage.note(.strangeRequestAnswered)
            let answer = stamp.frame(.resync)
            if let node = nodes.first(where: { $0.store.channel == stamp.channel }) {
                simulation.silence.turnedAway(bytes, with: answer, from: connection, at: node)
            }
            reply(answer, to: connection, by: first)
        case .dropped:
            // Silence where an answer is owed.
            guard let header = withBytes(of: bytes, { try? Message.decode($0, rule: rule).header }),
                header.kind.isRequest
            else { return }
            simulation.fail(.waiting, "\(first.name) drops a \(header.kind) that it owes an answer")
        }
    }

    /// The connection by which a frame comes, if it comes.
    private func connection(of flight: Flight) -> Connection? {
        let link = flight.link
        if link.connection == flight.connection { return flight.connection }
        guard let fate = link.fates[flight.connection] else { return nil }
        if flight.serial < fate.delivered { return flight.connection }
        guard flight.isToTarget, flight.serial >= fate.sentAgain, link.isOpen else { return nil }
        return link.connection
    }

    // MARK: - Cuts

    func isBlocked(_ from: Int, _ to: Int) -> Bool { !blocked.isEmpty && blocked[Pair(from: from, to: to)] != nil }

    /// Closes a direction between two hosts.
    func block(_ from: Int, _ to: Int) {
        for host in [from, to] {
            precondition(simulation.processes[host].host == host, "a cut is between hosts, not between stores of them")
        }
        blocked[Pair(from: from, to: to)] = simulation.now
        simulation.health.cut(from, to)
    }

    /// Opens a direction: what was held comes now; after more than 5 s TCP has given the connection up.
    func unblock(_ from: Int, _ to: Int) {
        guard let since = blocked.removeValue(forKey: Pair(from: from, to: to)) else { return }
        if !isBlocked(to, from) { simulation.health.joined(from, to, at: simulation.now) }
        let isBroken = simulation.now - since > 5 * Span.second
        for link in links where link.isOpen {
            let target = link.target.process
            if link.owner.host == from, target == to {
                let held = link.toTarget.held
                link.toTarget.held = []
                if isBroken { reconnect(link) }
                for flight in held { arrive(flight, after: latency()) }
            } else if link.owner.host == to, target == from {
                let held = link.toOwner.held
                link.toOwner.held = []
                if isBroken { reconnect(link) }
                for flight in held { arrive(flight, after: latency()) }
            }
        }
    }

    func unblockAll() {
        for pair in blocked.keys.sorted(by: { ($0.from, $0.to) < ($1.from, $1.to) }) { unblock(pair.from, pair.to) }
    }
}
