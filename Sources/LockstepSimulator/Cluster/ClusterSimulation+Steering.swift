package import LockstepCore

// A run that a script steers: first come the data nodes, then the clients, and last the arbiter, which runs nothing.

extension ClusterSimulation: SteeredCluster {
    /// A cluster of a workload whose clients and faults somebody else decides on.
    package static func steered(_ options: ClusterOptions, _ workload: any Workload) -> ClusterSimulation {
        let simulation = ClusterSimulation(options, workload, isSteered: true)
        simulation.isHealed = true
        simulation.callers = (0..<options.clients).map { ClusterCaller($0, simulation) }
        simulation.add(.look, after: 100 * Span.millisecond)
        return simulation
    }

    /// The number of the arbiter.
    package var arbiterIndex: Int { nodes.count + callers.count }

    /// The number of the data node that leads: of those that think so the one of the latest epoch; if none does, the one that
    /// the arbiter's record names.
    package var primaryIndex: Int {
        let leading = nodes.filter(\.isPrimary).max { epoch(of: $0) < epoch(of: $1) }
        return leading?.index ?? nodes.firstIndex { $0.name == arbiter.stored.record.primary.member.node } ?? 0
    }

    private func epoch(of node: ClusterNode) -> Epoch { node.epoch ?? .zero }

    private func caller(_ process: Int) -> ClusterCaller? {
        process >= nodes.count && process < arbiterIndex ? callers[process - nodes.count] : nil
    }

    // MARK: - Time

    package var virtualTime: Int64 { now }

    package func startAll() { for caller in callers { caller.start(timeToLive: options.timeToLive) } }

    @discardableResult
    package func pass(_ time: Int64, until isDone: () -> Bool = { false }) -> Bool { pass(until: now + time, isDone) }

    // MARK: - Calls

    package func call(_ call: Call, on process: Int) -> Int? {
        guard let caller = caller(process), caller.isUp else { return nil }
        return caller.call(call)
    }

    package func record(_ index: Int) -> CallRecord { history[index] }

    package func placeInLog(of index: Int) -> (epoch: Epoch, sequence: SequenceNumber)? {
        guard history[index].number > 0 else { return nil }
        let key = LogReply.Key(session: history[index].session, number: history[index].number)
        return answers.replies[key].map { ($0.epoch, $0.sequence) }
    }

    package func endInLog(of index: Int) -> RunNote.End? {
        answers.runs.runs[RunID(session: history[index].session, number: history[index].number)]?.end
    }

    package func cancelRun(of index: Int) {
        let record = history[index]
        guard record.number > 0 else { return }
        callers[record.caller].cancelRun(RunID(session: record.session, number: record.number))
    }

    // MARK: - Processes

    package func isUp(_ process: Int) -> Bool {
        if process < nodes.count { return nodes[process].isUp }
        return caller(process)?.isUp ?? (now >= arbiter.awayUntil)
    }

    package func kill(_ process: Int) {
        if let caller = caller(process) { return caller.end() }
        guard process < nodes.count else { return arbiter.awayUntil = .max }
        let node = nodes[process]
        node.staysDown = true
        guard node.isUp else { return }
        losePending(node)
        node.isHostDead = false
        crash(node)
    }

    package func restart(_ process: Int) {
        kill(process)
        if let caller = caller(process) { return caller.start(timeToLive: options.timeToLive) }
        guard process < nodes.count else { return arbiter.awayUntil = 0 }
        nodes[process].staysDown = false
        add(.boot(nodes[process]), after: 0)
    }

    package func pause(_ process: Int, for time: Int64) {
        if let caller = caller(process) { return caller.pausedUntil = now + time }
        guard process < nodes.count else { return arbiter.awayUntil = now + time }
        if nodes[process].isUp { nodes[process].pause(until: now + time) }
    }

    /// The process's disk does nothing for so many nanoseconds.
    package func stick(_ process: Int, for time: Int64) { nodes[process].stick(until: now + time) }

    /// A primary stops in order, and gives its post away; it comes up again by itself.
    package func stopInOrder(_ process: Int) {
        guard nodes[process].isPrimary else { return }
        nodes[process].isStopping = true
        withPrimary(nodes[process]) { machine, _ in machine.stop() }
    }

    // MARK: - Faults

    package func cut(from: Int, to: Int) {
        guard from != to else { return }
        if let node = [from, to].first(where: { $0 < nodes.count }), max(from, to) == arbiterIndex {
            return arbiter.cutUntil[node] = .max
        }
        guard max(from, to) < arbiterIndex else { return }
        cuts.insert([from, to])
        // As with TCP: nothing is lost by a short cut, and a long one breaks the connection.
        for link in links(between: from, to) { add(.cutLasts(link), after: 5 * Span.second) }
    }

    package func mend(from: Int, to: Int) {
        cuts.remove([from, to])
        if max(from, to) == arbiterIndex { arbiter.cutUntil[min(from, to)] = 0 }
    }

    private func links(between one: Int, _ other: Int) -> [ClusterLink] {
        let (low, high) = (min(one, other), max(one, other))
        guard high < nodes.count else { return [caller(high)?.link].compactMap { $0 }.filter { $0.target == low } }
        return [links[low][high], links[high][low]].compactMap { $0 }
    }

    /// Lets faults strike at random, instead of those that do.
    package func inject(_ plan: [ClusterFault: Double]) {
        options.plan = plan
        isHealed = plan.values.allSatisfy { $0 == 0 }
        if !isHealed { beginStrikes(after: 20 * Span.millisecond) }
    }

    package func healWorld() {
        inject([:])
        cuts = []
        // Who is killed stays so, and so does the arbiter.
        if arbiter.awayUntil < .max { arbiter.awayUntil = 0 }
        arbiter.cutUntil = [:]
        letAllGoOn()
        for node in nodes {
            node.wallOffset = 0
            if !node.isUp, !node.staysDown { add(.boot(node), after: random.between(0, Span.second)) }
        }
    }

    // MARK: - Looking

    package var isSettled: Bool {
        guard violation == nil, callers.allSatisfy({ $0.isUp && $0.isIdle }), nodes.allSatisfy(\.isUp) else {
            return false
        }
        let record = arbiter.stored.record
        guard let leader = nodes.first(where: { $0.isPrimary && $0.name == record.primary.member.node }),
            let machine = leader.primary, machine.epoch == record.epoch, machine.phase == .admitting,
            machine.isDrained, machine.committed.position == machine.log.position,
            machine.log.runs.unfinishedCount == 0
        else { return false }
        return nodes.allSatisfy { node in
            node.shown.log.position == machine.log.position && record.contains(node.member)
                && (node === leader || !node.isPrimary)
        }
    }

    package var whatIsOpen: String {
        let waiting = callers.filter { !$0.isIdle || !$0.isUp }.map { caller in
            caller.isUp ? "\(caller.name) waits, its machine is \(caller.phase)" : "\(caller.name) is down"
        }
        let record = arbiter.stored.record
        let away = now < arbiter.awayUntil ? ["the arbiter is down"] : []
        let places = nodes.map { node in
            let place = "at \(node.shown.log.position.sequence)"
            if let primary = node.primary {
                let runs = primary.log.runs.unfinishedCount
                return "\(node.name) is primary of epoch \(primary.epoch), \(primary.phase), \(place)"
                    + (runs > 0 ? ", \(runs) runs go on" : "")
            }
            return node.isUp ? "\(node.name) is a standby \(place)" : "\(node.name) is down"
        }
        return (waiting + away + places).joined(separator: "; ")
            + "; in sync are \(record.inSync.map(\.node.name).joined(separator: ", ")) of at least \(record.minimum)"
    }

    package func node(_ process: Int) -> NodeView? {
        guard process < nodes.count, nodes[process].isUp else { return nil }
        let node = nodes[process]
        let shown = node.shownState.unwrapped
        if let machine = node.primary, let state = node.state {
            return NodeView(
                state: state.unwrapped, committedState: shown, position: machine.log.position,
                committed: machine.committed.position, tables: machine.log.digest, isLive: machine.phase == .admitting,
                isDrained: machine.isDrained)
        }
        var isLive = false
        if case .streaming? = node.standby?.phase { isLive = true }
        return NodeView(
            state: shown, committedState: shown, position: node.shown.log.position, committed: node.shown.log.position,
            tables: node.shown.log.digest, isLive: isLive, isDrained: true)
    }

    package func checked(_ position: Position) -> (batch: SealedBatch, digest: Digest, remembered: any Sendable)? {
        answers.known[position.hash].map { ($0.batch, $0.digest, $0.remembered) }
    }

    package func checkPrimary() {
        for node in nodes where violation == nil && node.isPrimary {
            guard let view = self.node(node.index), view.isDrained, view.position == view.committed,
                let known = checked(view.position)
            else { continue }
            let own = view.state.digest + view.tables
            if own != known.digest {
                fail(
                    .digest,
                    "\(node.name), primary, has digest \(own) at \(view.position.sequence), not \(known.digest)")
            }
        }
    }

    package func checkSettled() {
        checkPrimary()
        for node in nodes where violation == nil {
            checker.shows(node.shown, node)
            if node.shown.log != checker.history.log {
                fail(.joinIntegrity, "\(node.name) stands at the log's end with other tables")
            }
        }
        if let found = checker.violation { fail(found.promise, found.text) }
    }
}
