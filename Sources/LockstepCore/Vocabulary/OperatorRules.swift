// What a node and its commands refuse to an operator (PROTOCOL, R-41, R-49): decisions, apart from files and questions.

/// The role of a journal, as it is noted in it: how it was last served, or what it was made for (PROTOCOL, R-49).
package enum JournalRole: String, Hashable, Sendable, CaseIterable {
    case primary
    case replica

    /// Whether a node may serve a journal in this role.
    ///
    /// `noted` is what the journal says of itself; none if it is new, or was made before roles were noted.
    /// `changesRole` says that the node was told to change it.
    package func mayServe(noted: JournalRole?, changesRole: Bool) -> Bool {
        guard let noted, !changesRole else { return true }
        return noted == self
    }
}

/// What becomes of an operator's wish to give a history up: `recover --accept-loss` (PROTOCOL, R-41).
package enum LossVerdict: Hashable, Sendable {
    /// It is what the alarm of the last boot named: note this, and the alarm is used up.
    case accepted(KnownPosition)
    /// The primary has raised no alarm PRIMARY_BEHIND since its last start.
    case noAlarm
    /// The alarm named another position.
    case other(Position)
    /// No clock can have led to that epoch; the next one would be above it.
    case impossible(Epoch)

    /// Decides on the place that an operator names; `reported` is what the alarm of the last boot named.
    package init(_ epoch: Epoch, _ sequence: SequenceNumber, reported: KnownPosition?, wall: LogTime) {
        guard let reported else {
            self = .noAlarm
            return
        }
        let position = reported.position
        guard position.epoch == epoch, position.sequence == sequence else {
            self = .other(position)
            return
        }
        let isImpossible = PrimaryStateMachine.isImpossible(epoch, own: .zero, wall: wall)
        self = isImpossible ? .impossible(epoch) : .accepted(reported)
    }
}

/// Finds the end of a journal that `lockstep demote` keeps aside: epochs in which nobody was told anything (PROTOCOL,
///
package struct EmptyEnd: Hashable, Sendable {
    private var position: Position
    /// After this place there are only openings of epochs and marks; nil if the last epoch told something, or no
    /// opening was seen.
    package private(set) var start: Position?

    /// Begins at the newest snapshot's place, or at the log's start.
    package init(after position: Position) { self.position = position }

    /// Takes the next batch of the journal.
    package mutating func saw(_ batch: SealedBatch) {
        if batch.tellsSomething {
            start = nil
        } else if start == nil, batch.opensEpoch {
            start = position
        }
        position = batch.position
    }
}
