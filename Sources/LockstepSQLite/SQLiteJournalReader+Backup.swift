import Foundation
package import LockstepCore
import LockstepNode

extension SQLiteJournalReader {
    /// Puts the store into a backup: what follows an earlier backup's end if all of it is still kept, and else the newest
    /// snapshot with all batches after it.
    ///
    /// The journal is verified first, as a start does. A node that was killed may have left pages that are in the system's
    /// cache only; they are synced before anything is read, so that the backup has nothing that a power cut could still
    /// take from the node (PROTOCOL, R-46).
    ///
    /// `earlier` is where the earlier backup ends, nil for the whole store; `since` is its file, for messages. Throws
    /// ``LockstepError``: `journalDamaged`; `refused` if the log is not the one that the earlier backup is of.
    package func copy(to writer: BackupWriter, after earlier: LogState?, since: String?) throws {
        try syncFiles()
        try checkStart()
        let store = identity.storeName
        var log = LogState(store: identity.store)
        if let earlier, try holdsAll(after: earlier.position, since: since) {
            log = earlier
            writer.begin(store, since: earlier.position)
        } else {
            writer.begin(store, since: nil)
            if let content = try snapshot(atOrBelow: SequenceNumber(rawValue: UInt64(Int64.max))) {
                log = content.log
                try writer.replace(withSnapshot: content.encoded(), at: log.position)
            }
        }
        let nothing = NoState()
        try batches(after: log.position.sequence) { batch in
            do throws(LogState.ApplyError) { _ = try log.apply(batch, to: nothing) } catch {
                throw JournalFinding(.batch, batch.head.first, "it cannot be applied: \(error)")
            }
            try writer.append([batch])
        }
        try writer.end(
            at: log, channel: identity.channel, incarnation: identity.incarnation,
            audience: (note(.audience) ?? "").split(separator: ",").map(String.init))
    }

    /// Whether every batch after a place is kept; throws if the journal has another history there.
    private func holdsAll(after place: Position, since: String?) throws -> Bool {
        let end = try end()
        guard place.sequence <= end.sequence, place.sequence < end.sequence || place == end else {
            throw BackupHistory.parted(store: identity.storeName, at: place, since: since)
        }
        var first: SealedBatch?
        struct Enough: Error {}
        do {
            try batches(after: place.sequence) { batch in
                first = batch
                throw Enough()
            }
        } catch is Enough {}
        guard let first else { return place == end }
        let isOther =
            first.head.first == place.sequence.next
            ? first.head.previous != place.hash || first.head.epoch < place.epoch
            // No batch ends at the place.
            : first.head.first <= place.sequence
        if isOther {
            throw BackupHistory.parted(store: identity.storeName, at: place, since: since)
        }
        return first.head.first == place.sequence.next
    }

    /// Syncs the journal's files, whoever wrote them.
    private func syncFiles() throws {
        for path in [path, path + "-wal"] {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { if descriptor >= 0 { _ = Foundation.close(descriptor) } }
            if descriptor < 0, errno == ENOENT { continue }
            guard descriptor >= 0, retrying({ fsync(descriptor) }) == 0 else {
                throw LockstepError(.journalFailed, "\(path) cannot be synced (\(systemMessage())). Check the disk.")
            }
        }
    }
}
