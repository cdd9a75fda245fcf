package import LockstepCore
package import LockstepNode

/// Puts into a backup what a running node sends of one store: the driver's side of `RecoveryStateMachine`.
package struct BackupRecording {
    /// The place that the backup is known to hold, and the node too.
    private var position: Position
    private let store: String
    private let since: String?
    private let writer: BackupWriter

    /// Begins the store in the backup.
    ///
    /// `log` is where an earlier backup ends, or the start of the log for a whole store; `since` is the earlier backup's
    /// file, for messages, and nil without one.
    package init(of store: String, from log: LogState, since: String?, into writer: BackupWriter) {
        self.store = store
        self.since = since
        self.writer = writer
        position = log.position
        writer.begin(store, since: since == nil ? nil : position)
    }

    /// Executes what the machine directs for a journal, and leaves what is for its sockets.
    ///
    /// - Throws: ``LockstepError``: `refused` if the node's log is not the one that the earlier backup is of, and what
    ///   the writer throws.
    package mutating func execute(_ directive: RecoveryDirective) throws {
        switch directive {
        case .continueFrom(let place): try check(place)
        case .replace(let snapshot):
            try check(snapshot.common)
            guard snapshot.position.sequence >= position.sequence else { throw otherLog() }
            try writer.replace(withSnapshot: snapshot.encoded, at: snapshot.position)
            position = snapshot.position
        case .append(let batches):
            try writer.append(batches)
            position = batches.last?.position ?? position
        case .connectIngress, .connectBulk, .send, .progressed, .finished, .failed: break
        }
    }

    /// The machine looks for an older place that both know, where a backup must not go back.
    private func check(_ place: Position) throws { guard place == position else { throw otherLog() } }

    private func otherLog() -> LockstepError {
        BackupHistory.parted(store: store, at: position, since: since)
    }
}

/// What an increment needs of the log that it goes on from.
package enum BackupHistory {
    /// The error of a log that does not have an earlier backup's end.
    package static func parted(store: String, at position: Position, since: String?) -> LockstepError {
        LockstepError(
            .refused,
            "The log of \(store) does not go on from \(position.epoch):\(position.sequence), where "
                + "\(since ?? "the log") ends: this node has less, or its log was cut or replaced. Make the increment of a "
                + "node that has more, or make a full backup, without --since.")
    }
}
