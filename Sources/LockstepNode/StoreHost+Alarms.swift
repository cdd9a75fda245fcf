package import LockstepCore
internal import Logging

// What is wrong with a store, and what ends its node.
extension StoreHost {
    /// Raises an alarm of the store's machines, or ends it.
    package func raise(_ alarm: Alarm) {
        switch alarm {
        case .primaryBehind(let own, let reported, let node):
            raise(.primaryBehind, "this log ends at \(own.position), \(node) knows \(reported.position)")
        case .diskFull:
            raise(.diskFull, "too little room is left for the journal: make some; a primary takes no new actions")
        case .diskHasRoom: clear(.diskFull)
        case .sessionsNearLimit(let count, let limit):
            raise(
                .sessionsNearLimit,
                "\(count) of \(limit) sessions are open; see who has them: \"sessions list\"")
        case .sessionsHaveRoom: clear(.sessionsNearLimit)
        case .duplicateNodes(let names):
            guard !names.isEmpty else { return clear(.duplicateNode) }
            raise(
                .duplicateNode,
                "two live nodes have the name \(names.joined(separator: ", ")): "
                    + "stop one, and give it another name by a folder of its own")
        case .diverged(let sequence, _, let own, let primary):
            raise(.diverged, "own digest at \(sequence) is \(own), the primary's \(primary)")
        case .ahead(let own, let primary):
            raise(.ahead, "this replica has \(own.position), its primary \(primary.position)")
        }
    }

    /// Raises an alarm, or changes its text, which says what is wrong and what to do, without the alarm's name.
    package func raise(_ kind: AlarmKind, _ text: String) { alarms.raise(kind, text, now: MonotonicClock.now) }

    /// Ends an alarm, if it was raised.
    package func clear(_ kind: AlarmKind) {
        guard alarms[kind] != nil else { return }
        alarms.clear(kind, now: MonotonicClock.now)
    }

    /// Older entries are damaged: the node goes on, since it needs none of them, and an operator must know (R-46).
    package func journalDamaged(_ findings: [String]) {
        raise(.journalDamaged, "\(findings.count) places, the first: \(findings[0])")
    }

    /// A snapshot could not be made, read or saved: nothing is lost, and it is tried again.
    package func snapshotFailed(_ error: any Error) {
        metrics.snapshotFailed()
        guard let skipped = snapshotLines.take(now: MonotonicClock.now) else { return }
        logger.warning("snapshot failed", metadata: [LogKey.reason: "\(error)", LogKey.skipped: "\(skipped)"])
    }

    package func halt(_ reason: HaltReason) {
        let error =
            switch reason {
            case .journalFailed(let text):
                LockstepError(
                    .journalFailed, "the journal of \(name) failed, what was in flight has an unknown outcome: \(text)")
            case .logBroken(let problem):
                LockstepError(.journalDamaged, "the log of \(name) cannot be applied: \(problem)")
            case .divergedAgain(let sequence, let own, let primary):
                LockstepError(
                    .diverged,
                    "the state of \(name) differed again at \(sequence): own digest \(own), the primary's \(primary); "
                        + "is the reactor deterministic, and the same version on every node?")
            }
        services.halt(error)
    }
}
