import LockstepSimulator

/// A process of a ``TestCluster``.
public enum ClusterProcess: Hashable, Sendable, CustomStringConvertible {
    /// The one primary; among data nodes the one that leads when this is used, or led last.
    case primary
    /// A replica, numbered from 1.
    case replica(Int)
    /// A data node, numbered from 1, whether it leads or not.
    case dataNode(Int)
    /// A process that only sends actions and asks questions, numbered from 1; it is connected to the primary.
    case client(Int)
    /// What says which data node leads, as etcd does; it has no state of the reactor.
    case arbiter

    /// The name under which reports speak of it, such as `replica-1`.
    public var description: String {
        switch self {
        case .primary: "primary"
        case .replica(let number): "replica-\(number)"
        case .dataNode(let number): "node-\(number)"
        case .client(let number): "client-\(number)"
        case .arbiter: "arbiter"
        }
    }
}

/// A fault that strikes at random; its strength is a number above 0 and at most 1.
///
/// Whatever strikes, the promises of the README's table hold, and ``TestCluster`` checks them.
public enum ClusterFault: String, CaseIterable, Hashable, Sendable {
    /// Frames are lost: at full strength 30 %.
    case loss
    /// Frames come twice: at full strength every second one.
    case duplication
    /// Frames take up to 200 ms.
    case delay
    /// Frames overtake others: at full strength 30 %.
    case reorder
    /// Frames have a flipped bit: at full strength 5 %.
    case corruption
    /// A process cannot reach another, or all others, for up to 10 s.
    case cut
    /// The same in one direction only.
    case oneWayCut
    /// The broadcast loses runs of up to 64 frames.
    case publisherDrops
    /// Connections break and are made anew.
    case reconnect
    /// The primary is killed and started again.
    case primaryCrash
    /// Replicas are killed and started again.
    case replicaCrash
    /// A node is killed again while it recovers.
    case crashWhileStarting
    /// A process stands still for up to 10 s.
    case pause
    /// A write of a journal takes up to 1 s.
    case journalLatency
    /// A crash forgets the write that was under way.
    case lostWrites
    /// A crash leaves a part of the write that was under way.
    case tornWrite
    /// Writes find no room for up to 10 s.
    case diskFull
    /// A replica loses its journal and joins from nothing.
    case wipedReplica
    /// Clocks run at half to twice their rate.
    case clockRate
    /// Wall clocks jump by up to 50 minutes; an entry's time never goes back all the same.
    case clockJump
    /// Old frames of clients come again much later.
    case lateRetry
    /// Clients are killed and start again; what they had under way has an unknown outcome.
    case clientCrash
}

extension FaultPlan {
    /// The simulator's plan of these faults.
    init(_ faults: [ClusterFault: Double]) {
        self.init()
        for (fault, strength) in faults {
            guard let known = FaultClass(rawValue: fault.rawValue) else {
                preconditionFailure("the simulator has no fault \(fault.rawValue)")
            }
            self[known] = strength
        }
    }
}
