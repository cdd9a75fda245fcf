package import LockstepCore

/// Carries out the effects of a store on its primary: bytes go out through ``StorePort/emit(_:mutations:ticket:)`` and
/// ``StorePort/finishRun(_:item:)``.
///
/// All members but ``run(port:)`` must return at once; all but that and ``ended()`` are called on the node's thread.
package protocol RunExecutor: Sendable {
    /// Runs effects until the task is cancelled; called once, on a task of the node.
    func run(port: StorePort) async
    /// The primary admits: what the state asks for, and the sources, may begin.
    func opened()
    /// The node is the primary no more: whatever runs is ended, and what was not answered stays open.
    ///
    /// It may become the primary again; then ``opened()`` follows.
    func closed()
    func begin(_ run: RunStart)
    func stop(_ id: RunID)
    func emission(_ ticket: UInt64, _ outcome: EmissionOutcome)
    func runEnd(_ id: RunID, _ outcome: EmissionOutcome)
    /// The node is gone, whether it ever ran or not: nobody waits for failures any longer.
    ///
    /// On any thread, after ``run(port:)`` has returned, and perhaps more than once.
    func ended()
}

/// The end of an accepted action as a caller gets it: a ``ReplyItem`` in bytes of its own.
package struct RunEnding: Sendable {
    package var epoch: Epoch
    package var sequence: SequenceNumber
    /// How many entries its effect wrote, of all attempts, without the end itself.
    package var emissions: UInt64
    package var item: [UInt8]

    package init(epoch: Epoch, sequence: SequenceNumber, emissions: UInt64, item: [UInt8]) {
        self.epoch = epoch
        self.sequence = sequence
        self.emissions = emissions
        self.item = item
    }
}
