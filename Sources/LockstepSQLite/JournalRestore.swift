import Foundation
package import LockstepCore
import LockstepNode

/// Makes a store's journal from a backup and its increments.
///
/// The journal is a new one, with an incarnation of its own (PROTOCOL, R-2), and holds the same log. A note keeps a node
/// from starting with it until it is whole.
package struct JournalRestore {
    package var series: BackupSeries
    package var folder: String
    /// The node that the folder is for.
    package var node: String
    package var cluster: ClusterID
    /// The role that the journal notes (PROTOCOL, R-49); nil notes none.
    package var role: JournalRole?
    /// Whether it is a data node's journal, of which all that the backup has is committed (PROTOCOL, R-85).
    package var isDataNode: Bool

    package init(
        _ series: BackupSeries, to folder: String, node: String, cluster: ClusterID, role: JournalRole?,
        isDataNode: Bool = false
    ) {
        self.series = series
        self.folder = folder
        self.node = node
        self.cluster = cluster
        self.role = role
        self.isDataNode = isDataNode
    }

    /// Makes the journal, and checks all of it as `journal verify` does.
    ///
    /// - Parameters:
    ///   - name: The store.
    ///   - state: As ``BackupSeries/fold(_:state:snapshot:batches:)`` takes it.
    /// - Returns: The journal's end.
    /// - Throws: ``LockstepError``: `journalDamaged` for a damaged backup, `diskFull`, `journalUnwritable`.
    package func make(_ name: String, state: (any FollowingState)?) throws -> Position {
        guard let newest = series.newest(name) else { preconditionFailure("the backup has the store \(name)") }
        let request = JournalRequest(
            cluster: cluster, storeName: name, nodeName: node, channel: Channel(rawValue: newest.channel))
        let journal = try SQLiteJournal(folder: folder, request: request, create: true)
        defer { journal.close() }
        try journal.openForRepair()
        let end = newest.end.position ?? journal.head
        try journal.setNote(.recovering, to: KnownPosition(position: end, boot: .none).noteText)
        let log = try series.fold(name, state: state) { bytes, position in
            try journal.replaceRecovered(withSnapshot: bytes, at: position)
        } batches: {
            try journal.appendRecovered($0)
        }
        try journal.setNote(.role, to: role?.rawValue)
        try journal.setNote(.audience, to: audience(newest))
        try journal.resetMark()
        if isDataNode { try journal.markArbitrated() }
        try journal.setNote(.recovering, to: nil)
        journal.close()
        try verify(name, endsAt: log.position)
        return log.position
    }

    /// A replica's journal waits for nobody.
    private func audience(_ store: BackupManifest.Store) -> String? {
        role == .primary && !store.audience.isEmpty ? store.audience.joined(separator: ",") : nil
    }

    private func verify(_ name: String, endsAt end: Position) throws {
        let reader = try SQLiteJournalReader(folder: folder, storeName: name)
        defer { try? reader.close() }  // Nothing was written.
        let findings = try reader.verifyAll()
        let found = try reader.end()
        guard findings.isEmpty, found == end else {
            throw LockstepError(
                .journalFailed,
                "The journal that was made of \(name) is not what was written: "
                    + (findings.first?.description ?? "it ends at \(found)") + ". Check the disk of \(folder).")
        }
    }
}
