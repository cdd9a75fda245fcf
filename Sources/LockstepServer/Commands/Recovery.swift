import Foundation
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite

/// Fetches from one node what a journal lacks, verified by the chain: the journal's side of `RecoveryStateMachine`.
struct Recovery {
    struct Report: Encodable {
        var store: String
        var keptAside: UInt64
        var fetched: UInt64
        var usedSnapshot: Bool
        var end: String
        /// Where the files are that were replaced.
        var oldFiles: String?
        /// The end of what the side mark says was written, if that is gone.
        var lost: String?
    }

    let folder: NodeFolder
    let identity: NodeFolder.Identity
    let cluster: ClusterID
    let store: String
    /// The program's stores, in the order of their channels.
    let known: [String]
    /// By which keys the node is asked, where nodes have some.
    var keys: NodeKeys?

    /// What is known of the journal before a recovery.
    struct Before {
        var end: Position
        /// The newest position that a commit returned for, as far as it is known (PROTOCOL, R-47).
        var mark: Position?
        /// A start would refuse the journal.
        var isRefused: Bool
    }

    func run(from node: String) throws -> Report {
        let ownLog = try readLog(through: nil)
        let end = ownLog.position
        let before = try before(end)
        let mark = before.mark
        let journal = RecoveredJournal(self, before: before, from: node)
        defer { journal.close() }
        var generator = SystemRandomNumberGenerator()
        let configuration = RecoveryConfiguration(
            storeName: store, cluster: cluster, boot: BootID(using: &generator), seed: generator.next())
        var machine = RecoveryStateMachine(configuration: configuration, log: ownLog)
        let link = try RecoveryLink(node: node, keys: keys)
        try link.run(&machine) { directive, machine, directives in
            var log = machine.log
            // Before anything is written: a place that is not there ends it.
            if case .continueFrom(let place) = directive, place != log.position {
                log = try readLog(through: place)
            }
            journal.source = machine.welcome
            try journal.execute(directive)
            switch directive {
            case .continueFrom, .replace: machine.continued(at: log, now: link.now, into: &directives)
            case .connectIngress, .connectBulk, .send, .append, .progressed, .finished, .failed: break
            }
        }
        let position = machine.log.position
        let common = journal.common ?? position
        let isLost = mark.map { $0.sequence > position.sequence } ?? false
        return Report(
            store: store, keptAside: end.sequence.rawValue - common.sequence.rawValue,
            fetched: position.sequence.rawValue - common.sequence.rawValue, usedSnapshot: journal.usedSnapshot,
            end: "\(position)", lost: isLost ? mark.map { "\($0)" } : nil)
    }

    /// The log's tables at the journal's end, or at a place in it.
    private func readLog(through position: Position?) throws -> LogState {
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
        defer { try? reader.close() }  // Nothing was written.
        let limit = position?.sequence ?? SequenceNumber(rawValue: UInt64(Int64.max))
        let nothing = NoState()
        var log = LogState(store: reader.identity.store)
        if let snapshot = try reader.snapshot(atOrBelow: limit) { log = snapshot.log }
        do {
            try reader.batches(after: log.position.sequence, through: limit) { batch in
                guard batch.head.last <= limit else { return }
                _ = try log.apply(batch, to: nothing)
            }
        } catch let error as LogState.ApplyError {
            throw LockstepError(
                .journalDamaged,
                "The journal of \(store) in \(folder.path) does not go on after \(log.position): \(error).")
        }
        if let position, log.position != position {
            throw CommandFailure("the journal has no batch that ends at \(position); nothing was changed")
        }
        return log
    }

    /// Reads what the side mark says, or said before a recovery that was interrupted.
    private func before(_ end: Position) throws -> Before {
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
        defer { try? reader.close() }  // Nothing was written.
        let noted = reader.note(.recovering).flatMap(KnownPosition.init(noteText:))?.position
        let marks = [noted, reader.mark?.position].compactMap { $0 }
        var isRefused = false
        do { try reader.checkStart() } catch { isRefused = true }
        return Before(end: end, mark: marks.max { $0.sequence < $1.sequence }, isRefused: isRefused)
    }
}

extension Recovery {
    /// Repairs the journal; one that cannot be read, or that a start would still refuse, is made anew.
    func repair(from node: String) throws -> Report {
        do {
            try checkCluster()
            let report = try run(from: node)
            let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
            defer { try? reader.close() }  // Nothing was written.
            try reader.checkStart()
            return report
        } catch let error as LockstepError where Self.isBeyondRepair(error) {
            Output.error("\(store): \(error.message)")
            Output.error("\(store) is made anew from \(node)")
            return try makeAnew(from: node)
        }
    }

    /// A journal that can be read and is another cluster's is no damage: a folder was mixed up.
    private func checkCluster() throws {
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
        defer { try? reader.close() }  // Nothing was written.
        guard reader.identity.cluster == cluster else {
            throw CommandFailure(
                "the journal of \(store) in \(folder.path) belongs to cluster \(reader.identity.cluster), the folder to "
                    + "\(cluster); put back the files that belong together")
        }
    }

    /// What no repair of the files helps against; that a journal is in use is none of it.
    ///
    /// `administration`: it no longer holds the place to which it would be set back.
    private static func isBeyondRepair(_ error: LockstepError) -> Bool {
        [.journalDamaged, .journalForeign, .journalMissing, .administration].contains(error.code)
    }

    /// Fills a new journal from the node, and puts it in the place of the old one when it is whole.
    func makeAnew(from node: String) throws -> Report {
        guard let channel = known.firstIndex(of: store) else {
            throw CommandFailure("\(folder.path) has the store \(store), which this program does not know")
        }
        try refuseArbitrated()
        // Before the folder is locked, which keeps readers away too.
        let (notes, mark) = (
            JournalReplacement.notesToKeep(folder: folder.path, store: store),
            SQLiteJournalReader.mark(folder: folder.path, storeName: store)?.position
        )
        let place = try JournalReplacement(folder: folder.path, store: store, node: identity.node)
        let fresh = NodeFolder(JournalReplacement.freshFolder(of: store, in: folder.path))
        if FileManager.default.fileExists(atPath: fresh.path) {
            // An interrupted command has left it.
            try FileManager.default.removeItem(atPath: fresh.path)
        }
        let request = JournalRequest(
            cluster: cluster, storeName: store, nodeName: identity.node, channel: Channel(rawValue: UInt16(channel)))
        try Self.begin(fresh, request, notes)
        let recovery = Recovery(
            folder: fresh, identity: identity, cluster: cluster, store: store, known: known, keys: keys)
        var report = try recovery.run(from: node)
        let reader = try SQLiteJournalReader(folder: fresh.path, storeName: store)
        let findings = try reader.verifyAll()
        let end = try reader.end()
        try reader.close()
        guard findings.isEmpty else {
            throw CommandFailure(
                "the new journal of \(store) is damaged: \(findings[0]). Nothing was changed; check the disk")
        }
        report.oldFiles = try place.swap(with: fresh.path)
        if let mark, mark.sequence > end.sequence { report.lost = "\(mark)" }
        try FileManager.default.removeItem(atPath: fresh.path)
        return report
    }

    /// A data node's journal is not replaced by one that is none, wherever it lies (PROTOCOL, R-85).
    private func refuseArbitrated() throws {
        // One that cannot be read does not say what it was.
        guard let reader = try? SQLiteJournalReader(folder: folder.path, storeName: store) else { return }
        defer { try? reader.close() }  // Nothing was written.
        guard reader.arbitration != nil else { return }
        throw CommandFailure(
            "the journal of \(store) in \(folder.path) is a data node's, and its node.json notes no etcd: put back the file "
                + "that was there; nothing was changed")
    }

    /// Makes the new journal, which has the notes before anything is fetched: where an interrupted command has moved
    /// the old one away, no other has them.
    private static func begin(_ fresh: NodeFolder, _ request: JournalRequest, _ notes: [JournalNote: String]) throws {
        let journal = try SQLiteJournal(folder: fresh.path, request: request, create: true)
        defer { journal.close() }
        try journal.openForRepair()
        for (note, text) in notes { try journal.setNote(note, to: text) }
    }
}
