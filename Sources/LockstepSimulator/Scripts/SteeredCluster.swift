package import LockstepCore

/// A simulated cluster of a user's workload that a script steers: one call, one fault, one look after the other, and
/// virtual time between them.
///
/// Processes are known by their numbers: first come the nodes, then the clients. Of a ``Simulation`` 0 is the one primary;
/// of a ``ClusterSimulation`` any data node may be it.
package protocol SteeredCluster: AnyObject {
    /// Nanoseconds since the run began.
    var virtualTime: Int64 { get }
    /// The first promise that was broken; it ends the run.
    var violation: Violation? { get }
    var traceHash: UInt64 { get }
    var traceText: [String] { get }

    func startAll()
    /// Lets virtual time pass until `isDone`, looked at before each event, or for so many nanoseconds at most.
    @discardableResult func pass(_ time: Int64, until isDone: () -> Bool) -> Bool

    /// Makes a call on a process; the number of its record, or nil if the process is down.
    func call(_ call: Call, on process: Int) -> Int?
    func record(_ index: Int) -> CallRecord
    /// Where the log has the action of a record, whether or not its caller knows.
    func placeInLog(of index: Int) -> (epoch: Epoch, sequence: SequenceNumber)?
    /// How the log ended the accepted action of a record, whether or not its caller knows.
    func endInLog(of index: Int) -> RunNote.End?
    /// The caller of a record asks for its effect to be ended; without effect if it has no number, or is gone.
    func cancelRun(of index: Int)

    func isUp(_ process: Int) -> Bool
    func kill(_ process: Int)
    /// Starts a process anew; one that runs is killed first.
    func restart(_ process: Int)
    func pause(_ process: Int, for time: Int64)
    /// Holds what the one sends to the other.
    func cut(from: Int, to: Int)
    func mend(from: Int, to: Int)
    /// Ends all faults that last; what is down stays down.
    func healWorld()

    /// Nothing is open: all runs, all is answered, all nodes are live at one place.
    var isSettled: Bool { get }
    /// What keeps the cluster from being settled.
    var whatIsOpen: String { get }
    /// A node as it is now; nil if it is down, or a client.
    func node(_ process: Int) -> NodeView?
    /// A place of the log that committed: the batch that ends there, the digest, and what the workload remembers.
    func checked(_ position: Position) -> (batch: SealedBatch, digest: Digest, remembered: any Sendable)?
    /// Compares the primary's state with that of the log, if nothing is under way.
    func checkPrimary()
    /// The checks over all that happened, of a cluster that is settled.
    func checkSettled()
}

/// A node of a script's cluster, at one moment.
package struct NodeView {
    /// The state that it works with; on the primary it may be ahead of what has committed.
    package var state: any ReplicatedState
    /// What has committed of it.
    package var committedState: any ReplicatedState
    /// Where ``state`` stands.
    package var position: Position
    package var committed: Position
    /// The digest of the session table that belongs to the state.
    package var tables: Digest
    package var isLive: Bool
    package var isDrained: Bool
}
