package import LockstepCore

// A run that a script steers: 0 is the primary, then come the replicas, then the clients.

extension Simulation: SteeredCluster {
    // MARK: - Time

    /// Starts everything at once.
    package func startAll() {
        for process in processes { add(.start(process, boot: 0), after: 0) }
    }

    @discardableResult
    package func pass(_ time: Int64, until isDone: () -> Bool = { false }) -> Bool {
        step(until: now + time, lookEvery: 0, isDone)
    }

    // MARK: - Calls

    package func call(_ call: Call, on process: Int) -> Int? {
        let process = processes[process]
        let caller = (process as? ClientProcess)?.caller ?? (process as? NodeProcess)?.caller
        guard process.isUp, let caller else { return nil }
        let record = store.history.records.count
        caller.call(call)
        process.wake(at: now)
        return record
    }

    package func record(_ index: Int) -> CallRecord { store.history[index] }

    package func placeInLog(of index: Int) -> (epoch: Epoch, sequence: SequenceNumber)? {
        let record = store.history[index]
        guard record.number > 0 else { return nil }
        return store.oracle.replies[Oracle.ReplyKey(session: record.session, number: record.number)].map {
            ($0.epoch, $0.sequence)
        }
    }

    package func endInLog(of index: Int) -> RunNote.End? {
        let record = store.history[index]
        return store.oracle.runs.runs[RunID(session: record.session, number: record.number)]?.end
    }

    package func cancelRun(of index: Int) {
        let record = store.history[index]
        guard record.number > 0, let caller = callers.first(where: { $0.id == record.caller }) else { return }
        caller.cancelRun(RunID(session: record.session, number: record.number))
    }

    // MARK: - Processes

    package func isUp(_ process: Int) -> Bool { processes[process].isUp }

    package func kill(_ process: Int) { processes[process].stop() }

    package func restart(_ process: Int) {
        processes[process].stop()
        add(.start(processes[process], boot: processes[process].boot), after: 0)
    }

    package func pause(_ process: Int, for time: Int64) { processes[process].pause(for: time) }
    package func resume(_ process: Int) { processes[process].resume() }

    /// The process's disk has no room for so many nanoseconds.
    package func fillDisk(of process: Int, for time: Int64) {
        (processes[process] as? NodeProcess)?.fillDisk(for: time)
    }

    /// A replica that runs on with nothing: killed, its journal wiped, and started.
    package func replace(_ process: Int) {
        guard let replica = processes[process] as? ReplicaProcess else {
            preconditionFailure("only a replica may lose its journal")
        }
        replica.stop()
        replica.disk.wipe(incarnation: Incarnation(rawValue: replica.random.bits128()))
        add(.start(replica, boot: replica.boot), after: 0)
    }

    // MARK: - Faults

    package func cut(from: Int, to: Int) {
        if from != to, !network.isBlocked(from, to) { network.block(from, to) }
    }

    package func mend(from: Int, to: Int) { network.unblock(from, to) }

    /// Lets faults strike at random, beside or instead of those that do.
    package func inject(_ plan: FaultPlan) {
        self.plan = plan
        injector.begin()
    }

    package func healWorld() {
        plan = FaultPlan()
        scriptedLoss = 0
        network.unblockAll()
        for process in processes {
            process.resume()
            process.clock.setRate(1_000, at: now)
            process.clock.jump(to: 0)
            process.wake(at: now)
            (process as? NodeProcess)?.makeRoom()
        }
    }

    /// The share of all frames that are lost, from 0 to 1.
    package func lose(_ share: Double) { scriptedLoss = share }

    // MARK: - Looking

    package var isSettled: Bool { violation == nil && isAtRest() }

    package var whatIsOpen: String {
        let down = processes.filter { !$0.isUp }.map { "\($0.name) is down" }
        let others = openEnds.isEmpty ? [] : [openEnds]
        return (down.filter { !openEnds.contains($0) } + others).joined(separator: "; ")
    }

    package func node(_ process: Int) -> NodeView? {
        guard let node = processes[process] as? NodeProcess, node.isUp else { return nil }
        if let machine = (node as? PrimaryProcess)?.machine {
            return NodeView(
                state: node.state.base, committedState: store.oracle.state.base, position: machine.log.position,
                committed: machine.committed.position, tables: machine.log.digest,
                isLive: machine.phase == .admitting, isDrained: machine.isDrained)
        }
        guard let machine = (node as? ReplicaProcess)?.machine else { return nil }
        return NodeView(
            state: node.state.base, committedState: node.state.base, position: machine.log.position,
            committed: machine.log.position, tables: machine.log.digest, isLive: machine.phase == .live, isDrained: true
        )
    }

    package func checked(_ position: Position) -> (batch: SealedBatch, digest: Digest, remembered: any Sendable)? {
        store.oracle.batches[position.hash].map { ($0.batch, $0.digest, $0.remembered) }
    }

    package func checkPrimary() {
        guard violation == nil, let view = node(store.primary.id), view.isDrained, view.position == view.committed,
            let known = checked(view.position)
        else { return }
        let own = view.state.digest + view.tables
        if own != known.digest {
            fail(.digest, "primary has digest \(own) at \(view.position.sequence), not \(known.digest)")
        }
    }

    package func checkSettled() {
        checkPrimary()
        guard violation == nil, store.primary.isUp, let log = store.primary.machine?.log else { return }
        store.oracle.checkLearned()
        store.oracle.checkRuns()
        if log != store.oracle.reference { fail(.agreement, "the primary's tables are not those of its log") }
        for replica in store.replicas where replica.machine?.log != log {
            fail(.joinIntegrity, "\(replica.name) is live at the primary's place with other tables")
        }
    }
}
