import Lockstep
import LockstepSimulator

// What can be done to a cluster. None of it lets virtual time pass.

extension TestCluster {
    // MARK: - The network

    /// Cuts the network between two processes: what they send to each other is held until ``heal()``.
    ///
    /// As with TCP, nothing is lost by a short cut; after 5 s the connection breaks, and some of what was under way is
    /// gone.
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

    /// Cuts a process from all others.
    public func isolate(_ process: ClusterProcess) {
        let own = index(of: process)
        for other in 0...(replicas + clients) where other != own {
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
    public func lose(_ share: Double) {
        precondition((0...1).contains(share), "a share is from 0 to 1")
        simulation.lose(share)
    }

    // MARK: - Processes

    /// Kills a process as SIGKILL does: what was in its memory is gone, what was synced to its disk stays.
    ///
    /// Of a write that is under way all is durable or nothing, drawn from the seed.
    public func kill(_ process: ClusterProcess) { simulation.kill(index(of: process)) }

    /// Starts a process that is down; one that runs is killed first.
    ///
    /// It needs virtual time to be live again.
    public func restart(_ process: ClusterProcess) { simulation.restart(index(of: process)) }

    /// Kills a replica and starts it on an empty disk, as a new host would: it joins from nothing.
    public func replace(replica number: Int) { simulation.replace(index(of: .replica(number))) }

    /// Lets a process stand still, as if its host were suspended; what it is sent waits.
    public func pause(_ process: ClusterProcess, for time: Duration) {
        simulation.pause(index(of: process), for: time.wholeNanoseconds)
    }

    /// Lets a node's disk have no room.
    public func fillDisk(of node: ClusterProcess, for time: Duration) {
        simulation.fillDisk(of: index(of: node), for: time.wholeNanoseconds)
    }

    // MARK: - All

    /// Lets these faults strike at random from now on, instead of those that did; an empty dictionary ends them.
    public func inject(_ faults: [ClusterFault: Double]) { simulation.inject(FaultPlan(faults)) }

    /// Ends all faults: cuts, losses, pauses, full disks, wrong clocks, random faults.
    ///
    /// What ``kill(_:)`` killed stays down; what a random fault killed comes back in a while.
    public func heal() { simulation.healWorld() }
}
