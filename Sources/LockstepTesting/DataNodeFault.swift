import LockstepSimulator

/// A fault that strikes data nodes at random; its strength is a number above 0 and at most 1.
///
/// Whatever strikes, what was acknowledged stays, and takes effect once; ``TestCluster`` checks that. How often a fault
/// strikes at full strength is said with it; about a third of the strikes are at the primary.
public enum DataNodeFault: String, CaseIterable, Hashable, Sendable {
    /// A process is killed, and comes back within 6 s; about every 2 s.
    case kill
    /// A host is gone at once, and says nothing; every 7 s.
    case hostDeath
    /// A process stands still for up to 4 s; every 4 s.
    case pause
    /// The primary stops in order and gives its post away; every 4 s.
    case orderlyStop
    /// A disk does nothing for up to 5 s; every 4 s.
    case stuckDisk
    /// Writes take up to 300 ms.
    case slowDisk
    /// A node comes back under its name with an empty disk, if it may lose that one; every 7 s.
    case lostDisk
    /// A connection breaks; about every 2 s.
    case cutConnection
    /// Some nodes do not reach the others, until the next partition; every 4 s.
    case partition
    /// Frames from one node to another do not come, until the next partition; every 4 s.
    case oneWay
    /// Frames take up to 300 ms.
    case slowFrames
    /// Primaries remember few batches, so that nodes that come back need snapshots.
    case smallWindow
    /// Orders to the arbiter, or its answers, are lost.
    case arbiterLoss
    /// They take up to 5 s.
    case arbiterDelay
    /// They come twice.
    case arbiterDouble
    /// The arbiter answers nobody for up to 5 s; every 7 s.
    case arbiterAway
    /// One node does not reach the arbiter for up to 8 s; every 7 s.
    case arbiterCut
    /// Clocks go up to 10 % faster or slower, for the whole run; only when the cluster is made with it.
    case clockRate
    /// Wall clocks jump by up to 50 minutes; every 5 s.
    case wallClock

    /// The simulator's plan of these faults.
    static func plan(_ faults: [DataNodeFault: Double]) -> [LockstepSimulator.ClusterFault: Double] {
        var plan: [LockstepSimulator.ClusterFault: Double] = [:]
        for (fault, strength) in faults {
            precondition(strength > 0 && strength <= 1, "the strength of \(fault) is above 0, and at most 1")
            guard let known = LockstepSimulator.ClusterFault(rawValue: fault.rawValue) else {
                preconditionFailure("the simulator has no fault \(fault.rawValue)")
            }
            plan[known] = strength
        }
        return plan
    }
}
