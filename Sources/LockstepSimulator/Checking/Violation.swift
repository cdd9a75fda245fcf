/// A promise that a run broke.
package struct Violation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The promises, by the names under which reports speak of them.
    package enum Promise: String, Hashable, Sendable, CaseIterable {
        /// Two nodes have different entries at one place.
        case agreement
        /// Two processes own an epoch, or one speaks as primary of an epoch that no record gave it.
        case leadership
        /// Something acknowledged is not in the log.
        case durability
        /// A number took effect twice, or a hole stands between a session's numbers.
        case exactlyOnce
        /// Two answers to one number differ.
        case replyStability
        /// Answers of a session are out of their order.
        case sessionOrder
        /// Something left a node before it was committed.
        case committedOnly
        /// Equal positions, different digests.
        case digest
        /// A joined node's tables are not those of the log.
        case joinIntegrity
        /// A session ended without an entry that says so, within its time to live, or not at all.
        case expiry
        /// Something of a client's session is in the log that the client did not do.
        case ownership
        /// A queue, a ring or a list is above its bound.
        case boundedMemory
        /// A position went back.
        case monotonic
        /// A read, or the order of answers, that no single copy of the state could give.
        case linearizability
        /// A counter's value that no order of the additions gives.
        case counterBounds
        /// A primary took something new that knows that it is behind, stops, or has not heard its replicas.
        case admission
        /// Log time went back.
        case logTime
        /// An accepted action has no end, or two, or something after it; or its sender does not learn it.
        case runEnd
        /// An effect ran, or counted, where it must not.
        case effects
        /// A timer fired early, late, twice, or out of order.
        case timers
        /// Somebody who watches a query is told what is no answer to it, or nothing new.
        case watching
        /// A node, or a command, did what it must refuse to an operator.
        case refusal
        /// An alarm, or a halt, for which no fault gave a reason.
        case falseAlarm
        /// A machine met something that it holds for impossible.
        case invariant
        /// Somebody waits too long for what it is owed, or a request has no answer.
        case waiting
        /// A process sends far more frames than its work needs.
        case storm
        /// A healed cluster did not come to rest in time.
        case convergence
    }

    package var promise: Promise
    package var text: String

    package init(_ promise: Promise, _ text: String) {
        self.promise = promise
        self.text = text
    }

    package var description: String { "\(promise.rawValue): \(text)" }
}
