package import LockstepCore

/// Replicas that reduce wrongly: until their next mark they cannot know, from then on they serve nobody (PROTOCOL R-53).
package struct Divergence {
    /// Those that stand at or after a mark that their digest contradicts, until they are fed anew.
    private var knowing: Set<Int> = []
    /// Answers to reads from states that were wrong before anybody could know.
    private var doubtful: Set<[UInt8]> = []

    package init() {}

    /// A replica has applied everything up to `last`; the newest mark of the log there, and both digests.
    ///
    /// A replica that differs at a mark applies nothing after it, so the mark that shows it ends its last batch.
    package mutating func applied(
        through last: SequenceNumber, mark: SequenceNumber?, own: Digest, log: Digest, by process: Int
    ) {
        if mark == last, own != log { knowing.insert(process) }
    }

    /// It has a state that is not the one before.
    package mutating func began(_ process: Int) { knowing.remove(process) }

    /// Whether it must know that its state is wrong.
    package func isKnown(to process: Int) -> Bool { knowing.contains(process) }

    /// A state that is wrong has answered a read, and could not know.
    package mutating func note(_ frame: [UInt8]) { doubtful.insert(frame) }
    package func isDoubtful(_ frame: [UInt8]) -> Bool { !doubtful.isEmpty && doubtful.contains(frame) }
}

extension Divergence {
    /// A replica applied batches of which this is the last.
    mutating func applied(_ last: Oracle.Known?, by process: ReplicaProcess) {
        guard process.state.isTainted, let last, let machine = process.machine,
            machine.log.position.hash == last.batch.hash
        else { return }
        applied(
            through: last.batch.head.last, mark: last.print.mark?.sequence,
            own: process.state.digest + machine.log.digest,
            log: last.digest, by: process.id)
    }
}

extension Oracle {
    func checkServes(_ does: String, _ process: NodeProcess) {
        guard divergence.isKnown(to: process.id) else { return }
        fail(.digest, "\(process.name) \(does), although its mark showed that its state is wrong")
    }

    func checkPlan(_ decision: SyncDecision, _ process: NodeProcess) {
        switch decision {
        case .tail, .snapshot: checkServes("serves a join", process)
        case .diverged, .ahead, .busy: break
        }
    }
}
