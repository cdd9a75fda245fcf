package import LockstepCore

/// The place in the log that session reads of this node's callers must include: the highest that they were told of.
///
/// In one history the opening of an epoch comes before all of its numbers: a later epoch has higher numbers. A
/// lower number of a later epoch says that the log with the higher one is gone, and takes its place; a read that waited
/// for the higher one would wait until the new log is as long.
///
/// What callers are told are answers and ends of runs. The opening of the session counts too: where the log is another
/// one, the session is lost and another one opened. What WELCOME names does not count, since a primary that is behind
/// may stand aside for one that has the rest.
package struct AcknowledgedPlace: Sendable {
    private var epoch = Epoch.zero
    package private(set) var sequence = SequenceNumber.zero
    /// Of the primary that opened the session; nil before there is one.
    private var incarnation: Incarnation?

    package init() {}

    /// A session is open, which the entry at this place opened.
    package mutating func opened(_ session: SessionID, by incarnation: Incarnation) {
        self.incarnation = incarnation
        note(session.epoch, session.sequence)
    }

    /// An answer names an entry; answers to questions come in any order.
    package mutating func note(_ epoch: Epoch, _ sequence: SequenceNumber) {
        guard (epoch, sequence) > (self.epoch, self.sequence) else { return }
        (self.epoch, self.sequence) = (epoch, sequence)
    }

    /// A node said WELCOME: of a volatile primary that is not the one before nothing is left.
    package mutating func welcomed(isVolatile: Bool, _ incarnation: Incarnation) {
        guard isVolatile, let before = self.incarnation, before != incarnation else { return }
        self = AcknowledgedPlace()
    }
}
