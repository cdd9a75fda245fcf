import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// The journal that a recovery writes, opened when the node has said where both histories part: until then, whatever
/// goes wrong has changed nothing.
final class RecoveredJournal {
    /// The last place that the journal and the node both knew; nil while nothing is written.
    private(set) var common: Position?
    private(set) var usedSnapshot = false
    /// How the node that is asked introduced itself.
    var source: Welcome?
    private let recovery: Recovery
    private let node: String
    private let before: Recovery.Before
    private var journal: SQLiteJournal?

    init(_ recovery: Recovery, before: Recovery.Before, from node: String) {
        self.recovery = recovery
        self.before = before
        self.node = node
    }

    func close() { journal?.close() }

    /// Executes a directive of the recovery's machine.
    func execute(_ directive: RecoveryDirective) throws {
        switch directive {
        case .continueFrom(let place): _ = try opened(keepingAsideAfter: place)
        case .replace(let snapshot):
            try opened(keepingAsideAfter: snapshot.common)
                .replaceRecovered(withSnapshot: snapshot.encoded, at: snapshot.position)
            usedSnapshot = true
        case .append(let batches): try journal?.appendRecovered(batches)
        case .progressed(.snapshot(let bytes, let all)):
            Output.progress("fetched \(bytes >> 20) of \(all >> 20) MiB")
        case .progressed(.log(let sequence, let last)): Output.progress("fetched through \(sequence) of \(last)")
        case .finished:
            Output.progress("")
            // What the alarm named is here now, or was not wanted; and the mark is that of the new end.
            try journal?.setNote(.reportedBehind, to: nil)
            try noteSource()
            try journal?.resetMark()
            try journal?.setNote(.recovering, to: nil)
        case .connectIngress, .connectBulk, .send, .failed: break
        }
    }

    /// A replica that a primary was recovered from may have applied more since: the next start hears it before it admits
    /// (PROTOCOL, R-48).
    ///
    /// A replica's folder has that note as well, since it may be promoted after that.
    private func noteSource() throws {
        guard let journal, let source, source.role == .replica else { return }
        let names = (try journal.note(.audience) ?? "").split(separator: ",").map(String.init)
        try journal.setNote(
            .audience, to: ([source.node] + names.filter { $0 != source.node }).joined(separator: ","))
    }

    /// Opens the journal and keeps aside what it has after `place`, the first time; then `place` is its end.
    private func opened(keepingAsideAfter place: Position) throws -> SQLiteJournal {
        if let journal { return journal }
        let journal = try recovery.folder.openJournal(
            recovery.identity, cluster: recovery.cluster, store: recovery.store)
        self.journal = journal
        try journal.openForRepair()
        // The folder was not locked while the node was asked.
        guard journal.head == before.end else {
            throw CommandFailure(
                "the journal of \(recovery.store) has changed while \(node) was asked: a node has run in "
                    + "\(recovery.folder.path). Nothing was changed; stop the node, then run recover again")
        }
        if before.isRefused {
            let mark = before.mark ?? before.end
            try journal.setNote(.recovering, to: KnownPosition(position: mark, boot: BootID(rawValue: 0)).noteText)
        }
        if place.sequence < before.end.sequence {
            _ = try journal.quarantine(after: place, reason: "recovered from \(node)")
        }
        common = place
        return journal
    }
}
