package import LockstepCore

/// What carries out the effects of a primary beside its machine, for the life of its process.
///
/// Everything comes between two events of the machine, in the order of its directives.
package protocol EffectExecutor: AnyObject {
    func begin(_ run: RunStart)
    func stop(_ id: RunID)
    func emissionEnded(_ ticket: UInt64, _ outcome: EmissionOutcome)
    func runEnded(_ id: RunID, _ outcome: EmissionOutcome)
    /// Everything up to this number has committed.
    func committed(through sequence: SequenceNumber)
    /// A wake-up that it asked for.
    func due(_ token: UInt64)
    /// The end of a turn of its process, when everything that the turn brings has been said.
    func turnEnded()
    /// Its process was killed; whatever it still does counts for nothing.
    func end()
}

extension EffectExecutor {
    // Of an executor that keeps nothing running between its calls.
    package func turnEnded() {}
    package func end() {}
}

/// What an executor may do.
package protocol EffectPort: AnyObject {
    /// Which of the hosts that may have effects its process is on.
    var host: Int { get }
    /// The primary's state, which holds the effects of its accepted actions.
    var effectState: any ReplicatedState { get }
    var effectEpoch: Epoch { get }
    /// Nanoseconds since the run began.
    var virtualTime: Int64 { get }
    /// The faults are over, and everything comes to rest.
    var isHealing: Bool { get }
    /// The machine was told to stop: it drops what an executor brings, and begins nothing (PROTOCOL R-62).
    var isMachineStopping: Bool { get }
    /// Accepted actions that have not ended, in the order of acceptance.
    var unfinishedRuns: [RunID] { get }
    /// What the committed log says of a run; nil if it was not accepted.
    func committedRun(_ id: RunID) -> RunNote?
    /// Whether an emission of this cause stands at a place.
    func isEmission(_ cause: EffectCause, at sequence: SequenceNumber) -> Bool
    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64)
    func finish(_ id: RunID, item: [UInt8])
    /// Asks for ``EffectExecutor/due(_:)`` after so many nanoseconds.
    func wake(after delay: Int64, token: UInt64)
    func note(_ event: EffectEvent, _ id: UInt64)
    func fail(_ promise: Violation.Promise, _ text: String)
}

/// What happens to effects, to be counted.
package enum EffectEvent: String, CaseIterable, Sendable, Hashable, Codable {
    // What executors see
    case begun
    case begunAgain
    case committedEmission
    case busyEmission
    case droppedEmission
    case droppedGhost
    case busyEnd
    case droppedEnd
    case stopped
    case abandoned
    // What the log has
    case accepted
    case ended
    case failed
    case cancelled
    case endedWhenResumed
    case acknowledged
    case timerFired
    case lateTimer
    case source
    case feedback
    // What senders learn
    case learnedEnd
    case learnedCancel
    case lostEnd
    case refusedByPolicy
}

/// An accepted action as the checkers read it in the log.
package struct RunNote: Hashable, Sendable {
    package var sequence: SequenceNumber
    package var action: [UInt8]
    /// 1, and one more for each epoch that began since.
    package var attempts: UInt64 = 1
    package var emissions: UInt64 = 0
    package var end: End?

    package init(sequence: SequenceNumber, action: [UInt8]) {
        self.sequence = sequence
        self.action = action
    }

    package struct End: Hashable, Sendable {
        package var epoch: Epoch
        package var sequence: SequenceNumber
        package var status: ActionStatus
        package var bytes: [UInt8]
        package var batch: BatchHash

        package init(
            epoch: Epoch, sequence: SequenceNumber, status: ActionStatus, bytes: [UInt8], batch: BatchHash
        ) {
            self.epoch = epoch
            self.sequence = sequence
            self.status = status
            self.bytes = bytes
            self.batch = batch
        }
    }
}
