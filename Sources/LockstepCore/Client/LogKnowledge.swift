/// The highest position of the log that a client knows: what it was given, or what its answers name (PROTOCOL, R-40).
struct LogKnowledge: Hashable, Sendable {
    /// What the replica of this node has applied, or what was kept elsewhere.
    private var given = KnownPosition.none
    /// The newest mark there.
    private(set) var mark: LogState.Mark?
    /// Of the newest entry that an answer named; answers carry no hash.
    private var answered = KnownPosition.none

    var highest: KnownPosition {
        let (named, own) = (answered.position, given.position)
        return (named.epoch, named.sequence) > (own.epoch, own.sequence) ? answered : given
    }

    /// What this node has applied.
    var applied: SequenceNumber { given.position.sequence }

    mutating func give(_ position: KnownPosition, _ mark: LogState.Mark?) {
        given = position
        self.mark = mark
    }

    /// An answer names an entry.
    mutating func noteAnswered(epoch: Epoch, sequence: SequenceNumber) {
        guard (epoch, sequence) > (answered.position.epoch, answered.position.sequence) else { return }
        answered.position = Position(epoch: epoch, sequence: sequence, hash: .none)
    }

    /// The log that the answers were of is gone.
    mutating func forgetAnswered() { answered = .none }
}
