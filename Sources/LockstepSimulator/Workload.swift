package import LockstepCore

/// What callers do, and what the answers should be: the one part of a run that knows the user's reactor.
package protocol Workload: AnyObject {
    /// A state at its beginning, for a node or for the checkers.
    func makeState() -> any ReplicatedState
    /// What a caller does next; nil if it only does what a script tells it.
    func next(caller: Int, random: inout SplitMix64) -> Call?
    /// The checkers' own state has just taken a committed batch; return what ``isRight(_:to:at:)`` needs.
    func remember(_ state: any ReplicatedState, at head: BatchHead) -> any Sendable
    /// Whether `answer` is what a state that was remembered answers to a query.
    func isRight(_ answer: [UInt8], to query: [UInt8], at remembered: any Sendable) -> Bool
    /// Whether its actions may be ``EffectAction``s, whose promises the checkers know.
    var hasScriptedEffects: Bool { get }
    /// What carries out the effects of a primary's life; nil if nothing does.
    func makeExecutor(_ port: any EffectPort, random: SplitMix64) -> (any EffectExecutor)?
    /// The sender cancels the action this many nanoseconds after its submission; nil: never.
    func cancelDelay(of action: [UInt8]) -> Int64?
    /// An action's acceptance has committed.
    func wasAccepted(_ id: RunID)
    /// Whether the state waits for nothing.
    func isAtRest(_ state: any ReplicatedState) -> Bool
    /// What is wrong with the whole history, of which no entry was given up; nothing if all is well.
    ///
    /// `final` is what was remembered of the last state. Unknown outcomes were looked up in the log.
    func findings(in history: [CallRecord], final: any Sendable) -> [Violation]
}

extension Workload {
    // Of a workload without effects.
    package var hasScriptedEffects: Bool { false }
    package func makeExecutor(_ port: any EffectPort, random: SplitMix64) -> (any EffectExecutor)? { nil }
    package func cancelDelay(of action: [UInt8]) -> Int64? { nil }
    package func wasAccepted(_ id: RunID) {}
    package func isAtRest(_ state: any ReplicatedState) -> Bool { true }
}

/// One thing that a caller asks for.
package enum Call: Hashable, Sendable {
    /// An action's bytes.
    case action([UInt8])
    /// A query's bytes, and how fresh the answer must be.
    case read([UInt8], ReadLevel)
}

/// A call and what its caller learned.
package struct CallRecord: Sendable {
    /// What became of it.
    package enum Outcome: Hashable, Sendable {
        case pending
        case answered(ActionStatus, [UInt8])
        case read([UInt8])
        /// It may have taken effect, or may still; nobody will tell.
        case unknown
    }

    /// How the effect of an accepted action ended, as its caller learned.
    package enum End: Hashable, Sendable {
        case told(ActionStatus, [UInt8])
        /// It will never learn it.
        case lost
    }

    package var caller: Int
    package var call: Call
    /// Beginnings and ends of all calls are numbered in their order.
    package var invoked: Int64
    package var returned: Int64?
    package var outcome: Outcome = .pending
    /// Of an action whose outcome is `accepted`; nil until then.
    package var end: End?
    package var epoch = Epoch.zero
    package var sequence = SequenceNumber.zero
    package var session = SessionID.none
    /// The nonce with which its caller opened the session: an older copy may give the session's name to another one.
    package var opening: UInt64 = 0
    package var number: RequestNumber = 0
    /// What a session read was to include at least.
    package var minimum = SequenceNumber.zero

    package init(caller: Int, call: Call, invoked: Int64) {
        self.caller = caller
        self.call = call
        self.invoked = invoked
    }

    /// Whether the caller waits for something: its answer, or the end after it.
    package var isOpen: Bool {
        if case .answered(.accepted, _) = outcome { return end == nil }
        return outcome == .pending
    }
}
