import Lockstep
import LockstepSimulator

// What can be done to a cluster. None of it lets virtual time pass.

extension TestCluster {
    // MARK: - The network

    /// Cuts the network between two processes: what they send to each other is held until ``heal()``.
    ///
    /// As with TCP, nothing is lost by a short cut; after 5 s the connection breaks, and some of what was under way is
    /// gone. A data node that is cut from the arbiter gets no answer from it, in either direction.
    ///
    /// - Parameters:
    ///   - process: One of them.
    ///   - other: The other.
    ///   - isOneWay: Holds only what `process` sends to `other`.
    public func cut(_ process: ClusterProcess, from other: ClusterProcess, isOneWay: Bool = false) {
        let (first, second) = (index(of: process), index(of: other))
        simulation.cut(from: first, to: second)
        if !isOneWay { simulation.cut(from: second, to: first) }
    }

    /// Cuts a process from all others; a data node also from the arbiter.
    public func isolate(_ process: ClusterProcess) {
        let own = index(of: process)
        for other in 0..<processCount where other != own {
            simulation.cut(from: own, to: other)
            simulation.cut(from: other, to: own)
        }
    }

    /// Ends a cut between two processes, in both directions.
    public func mend(_ process: ClusterProcess, with other: ClusterProcess) {
        let (first, second) = (index(of: process), index(of: other))
        simulation.mend(from: first, to: second)
        simulation.mend(from: second, to: first)
    }

    /// Loses this share of all frames, from 0 to 1, drawn from the seed; 0 ends it.
    ///
    /// Not of data nodes: their connections lose nothing until they break.
    public func lose(_ share: Double) {
        precondition((0...1).contains(share), "a share is from 0 to 1")
        replicated("lose(_:)", instead: "cut(_:from:) or the fault .cutConnection").lose(share)
    }

    // MARK: - Processes

    /// Kills a process as SIGKILL does: what was in its memory is gone, what was synced to its disk stays.
    ///
    /// Of a write that is under way all is durable or nothing, drawn from the seed.
    /// The arbiter answers nobody until it is started again.
    public func kill(_ process: ClusterProcess) { simulation.kill(index(of: process)) }

    /// Starts a process that is down; one that runs is killed first.
    ///
    /// It needs virtual time to be live again. Among data nodes another may lead meanwhile, so say which one is meant:
    /// ``leader`` before the kill, or ``ClusterProcess/dataNode(_:)``.
    public func restart(_ process: ClusterProcess) { simulation.restart(index(of: process)) }

    /// Kills a replica and starts it on an empty disk, as a new host would: it joins from nothing.
    public func replace(replica number: Int) {
        replicated("replace(replica:)", instead: "the fault .lostDisk").replace(index(of: .replica(number)))
    }

    /// Stops the data node that leads in order: it gives its post to another, and comes up again within 2 s.
    ///
    /// It returns at once; the handover takes virtual time. Without effect while none leads.
    public func stopPrimary() { steered("stopPrimary()").stopInOrder(index(of: .primary)) }

    /// Lets a process stand still, as if its host were suspended; what it is sent waits.
    public func pause(_ process: ClusterProcess, for time: Duration) {
        simulation.pause(index(of: process), for: time.wholeNanoseconds)
    }

    /// Lets a node's disk have no room; not of a data node, see ``stickDisk(of:for:)``.
    public func fillDisk(of node: ClusterProcess, for time: Duration) {
        replicated("fillDisk(of:for:)", instead: "stickDisk(of:for:)")
            .fillDisk(of: index(of: node), for: time.wholeNanoseconds)
    }

    /// Lets a data node's disk do nothing; after 1 s it says so to the others, and one whose disk works takes over.
    public func stickDisk(of node: ClusterProcess, for time: Duration) {
        let (steered, index) = (steered("stickDisk(of:for:)"), index(of: node))
        precondition(index < dataNodes, "\(node) has no disk")
        steered.stick(index, for: time.wholeNanoseconds)
    }

    // MARK: - All

    /// Lets these faults strike at random from now on, instead of those that did; an empty dictionary ends them.
    ///
    /// Of data nodes there are others: ``inject(dataNodes:)``.
    public func inject(_ faults: [ClusterFault: Double]) {
        replicated("inject(_:)", instead: "inject(dataNodes:)").inject(FaultPlan(faults))
    }

    /// Lets these faults strike data nodes at random from now on, instead of those that did; an empty dictionary ends them.
    public func inject(dataNodes faults: [DataNodeFault: Double]) {
        steered("inject(dataNodes:)").inject(DataNodeFault.plan(faults))
    }

    /// Ends all faults: cuts, losses, pauses, full and stuck disks, wrong clocks, random faults.
    ///
    /// What ``kill(_:)`` killed stays down; what a random fault killed comes back in a while.
    public func heal() { simulation.healWorld() }

    // MARK: - Which kind of cluster it is

    private func replicated(_ call: String, instead: String) -> Simulation {
        guard let replicated = simulation as? Simulation else {
            preconditionFailure("\(call) is of a cluster with replicas; this is \(self): use \(instead)")
        }
        return replicated
    }

    private func steered(_ call: String) -> ClusterSimulation {
        guard let failover else {
            preconditionFailure("\(call) is of a cluster made with dataNodes:; this is \(self)")
        }
        return failover
    }
}
