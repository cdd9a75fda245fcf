import LockstepCore

/// Replicas that reduce wrongly: until their next mark they cannot know, from then on they serve nobody (PROTOCOL R-53).
struct Divergence {
    /// Those that stand at or behind a mark that their digest contradicts, until they are fed anew.
    private var knowing: Set<Int> = []
    /// Answers to reads from states that were wrong before anybody could know.
    private var doubtful: Set<[UInt8]> = []

    /// A replica applied batches of which this is the last.
    ///
    /// One that differs at a mark applies nothing behind it, so the mark is the last batch's.
    mutating func applied(_ last: Oracle.Known?, by process: ReplicaProcess) {
        guard process.state.isTainted, let last, let machine = process.machine,
            machine.log.position.hash == last.batch.hash, last.print.mark?.sequence == last.batch.head.last,
            process.state.digest + machine.log.digest != last.digest
        else { return }
        knowing.insert(process.id)
    }

    /// It has a state that is not the one before.
    mutating func began(_ process: NodeProcess) { knowing.remove(process.id) }

    /// Whether it must know that its state is wrong.
    func isKnown(to process: NodeProcess) -> Bool { knowing.contains(process.id) }

    /// A state that is wrong has answered a read, and could not know.
    mutating func note(_ frame: [UInt8]) { doubtful.insert(frame) }
    func isDoubtful(_ frame: [UInt8]) -> Bool { !doubtful.isEmpty && doubtful.contains(frame) }
}

extension Oracle {
    func checkServes(_ does: String, _ process: NodeProcess) {
        guard divergence.isKnown(to: process) else { return }
        fail(.digest, "\(process.name) \(does), although its mark showed that its state is wrong")
    }

    func checkPlan(_ decision: SyncDecision, _ process: NodeProcess) {
        switch decision {
        case .tail, .snapshot: checkServes("serves a join", process)
        case .diverged, .ahead, .busy: break
        }
    }
}
