import Foundation
import Lockstep
import LockstepCommands
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite
import Synchronization

/// Fetches from one node what a journal lacks, verified by the chain.
///
/// It asks as a joiner does, SYNC, chunks and REPAIR_REQ, but it is no replica, whose machine could not do this:
/// - It is needed when there is no primary. A replica follows primaries only (PROTOCOL, R-38), and sends SYNC only after
///   a first frame of the stream, which no replica publishes.
/// - The journal may hold what the node does not. A replica is AHEAD then and stays so; here an operator has
///   decided, so the last place that both know is looked for, and what is after it is kept aside.
/// - It has no state: a journal is also recovered that its reactor cannot be run on.
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

    func run(from node: String) throws -> Report {
        let (ownLog, _, mark) = try readLog(through: nil)
        let end = ownLog.position
        let link = try PeerLink(node: node, cluster: cluster, store: store)
        let (common, plan) = try findCommon(ownLog, link)
        var content: SnapshotContent?
        if case .snapshot(let info) = plan.decision { content = try fetch(info, link) }
        var log = try content?.log ?? readLog(through: common.position).log

        let journal = try folder.openJournal(identity, cluster: cluster, store: store)
        defer { journal.close() }
        try journal.openForRepair()
        if common.position.sequence < end.sequence {
            _ = try journal.quarantine(after: common.position, reason: "recovered from \(node)")
        }
        if let content { try replace(journal, with: content) }
        try fetchTail(link, journal: journal, log: &log, through: plan.commit.sequence)
        // What the alarm named is here now, or was not wanted; and the mark is that of the new end.
        try journal.setNote(.reportedBehind, to: nil)
        try journal.resetMark()
        let isLost = mark.map { $0.sequence > log.position.sequence } ?? false
        return Report(
            store: store,
            keptAside: end.sequence.rawValue - common.position.sequence.rawValue,
            fetched: log.position.sequence.rawValue - common.position.sequence.rawValue, usedSnapshot: content != nil,
            end: "\(log.position)", lost: isLost ? mark.map { "\($0)" } : nil)
    }

    /// The log's tables at the journal's end, or at a place in it.
    private func readLog(through position: Position?) throws -> (log: LogState, end: Position, mark: Position?) {
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: store)
        let limit = position?.sequence ?? SequenceNumber(rawValue: UInt64(Int64.max))
        let nothing = NoState()
        var log = LogState(store: reader.identity.store)
        if let snapshot = try reader.snapshot(atOrBelow: limit) { log = snapshot.log }
        try reader.batches(after: log.position.sequence, through: limit) { batch in
            guard batch.head.last <= limit else { return }
            _ = try log.apply(batch, to: nothing)
        }
        let (end, mark) = (try reader.end(), reader.mark?.position)
        try reader.close()
        if let position, log.position != position {
            throw CommandFailure("the journal has no batch that ends at \(position); nothing was changed")
        }
        return (log, end, mark)
    }

    /// Waits for the journal to begin anew with a snapshot.
    private func replace(_ journal: SQLiteJournal, with content: SnapshotContent) throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Mutex<Result<Void, JournalFailure>>(.success(()))
        journal.replace(withSnapshot: content.encoded(), at: content.log.position) { result in
            outcome.withLock { $0 = result }
            done.signal()
        }
        done.wait()
        if case .failure(let failure) = outcome.withLock({ $0 }) {
            throw CommandFailure("the snapshot could not be written: \(failure)")
        }
    }

    /// The last place that both histories know: this journal's end, or the end of one of its epochs, newest first.
    private func findCommon(_ log: LogState, _ link: PeerLink) throws -> (KnownPosition, SyncPlan) {
        let ends = log.epochEnds.reversed().map {
            KnownPosition(position: Position(epoch: $0.epoch, sequence: $0.sequence, hash: $0.hash), boot: $0.boot)
        }
        for candidate in [log.known] + ends {
            let plan = try sync(candidate, log, link)
            switch plan.decision {
            case .tail, .snapshot: return (candidate, plan)
            case .diverged, .ahead, .busy: continue
            }
        }
        throw CommandFailure(
            "this journal and the node share no place that both still know; recover from a node with a longer journal, or "
                + "say --anew: the journal is then made anew from that node, and the old files are kept")
    }

    private func sync(_ have: KnownPosition, _ log: LogState, _ link: PeerLink) throws -> SyncPlan {
        var generator = SystemRandomNumberGenerator()
        let began = ContinuousClock.now
        let notice = WaitNotice()
        while true {
            let sync = Sync(
                nonce: generator.next(), store: log.store, node: "recovery", have: have, firstFrame: .zero,
                wantsSnapshot: false)
            let plan = try link.ask(.sync(sync)) { message, _ -> SyncPlan? in
                guard case .syncPlan(let plan) = message, plan.nonce == sync.nonce else { return nil }
                return plan
            }
            guard case .busy(let retryAfter) = plan.decision else { return plan }
            guard ContinuousClock.now - began < .seconds(120) else {
                throw CommandFailure(
                    "the node has prepared no snapshot for 2 minutes: its log and its alarms say why it cannot",
                    status: .unreachable)
            }
            notice.waiting(for: "a snapshot that the node prepares")
            usleep(retryAfter)
        }
    }

    private func fetch(_ info: SnapshotInfo, _ link: PeerLink) throws -> SnapshotContent {
        var hashes: [UInt128] = []
        var bytes: [UInt8] = []
        for index in 0..<info.chunkCount {
            let request = ChunkRequest(snapshot: info.id, index: UInt32(index), window: 1)
            let (hash, content) = try link.ask(.chunkRequest(request)) { message, frame -> (UInt128, [UInt8])? in
                guard case .chunk(let chunk) = message, chunk.snapshot == info.id, Int(chunk.index) == index else {
                    return nil
                }
                let content = Array(frame[chunk.content])
                return sha256Prefix(content) == chunk.hash ? (chunk.hash, content) : nil
            }
            hashes.append(hash)
            bytes += content
            Output.progress("fetched \(bytes.count >> 20) of \(info.byteCount >> 20) MiB")
        }
        guard SnapshotInfo.root(of: hashes) == info.root else {
            throw CommandFailure("the snapshot's chunks do not belong together; try again")
        }
        let content = try SnapshotContent(bytes)
        guard content.log.position == info.position else {
            throw CommandFailure("the snapshot is not the one that was offered; try again")
        }
        return content
    }

    private func fetchTail(
        _ link: PeerLink, journal: SQLiteJournal, log: inout LogState, through last: SequenceNumber
    ) throws {
        let nothing = NoState()
        var generator = SystemRandomNumberGenerator()
        while log.position.sequence < last {
            let request = RepairRequest(
                nonce: generator.next(), after: log.position, through: last, largestReply: UInt32(Limits.actionBytes))
            let batches = try link.ask(.repairRequest(request)) { message, frame -> [SealedBatch]? in
                guard case .repair(let repair) = message, repair.nonce == request.nonce else { return nil }
                guard repair.status == .batches else {
                    throw CommandFailure("the node no longer holds what follows \(request.after); run recover again")
                }
                return try repair.batches.map { try SealedBatch(bytes: Array(frame[$0])) }
            }
            for batch in batches { _ = try log.apply(batch, to: nothing) }
            try journal.appendRecovered(batches)
            Output.progress("fetched through \(log.position.sequence) of \(last)")
        }
        Output.progress("")
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
        } catch let error as LockstepError where Self.isDamage(error) {
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
    private static func isDamage(_ error: LockstepError) -> Bool {
        [.journalDamaged, .journalForeign, .journalMissing].contains(error.code)
    }

    /// Fills a new journal from the node, and puts it in the place of the old one when it is whole.
    func makeAnew(from node: String) throws -> Report {
        guard let channel = Hosted.usual.firstIndex(of: store) else {
            throw CommandFailure("\(folder.path) has the store \(store), which this program does not know")
        }
        let place = try JournalReplacement(folder: folder.path, store: store, node: identity.node)
        let fresh = NodeFolder(folder.path + "/fresh-" + store)
        if FileManager.default.fileExists(atPath: fresh.path) {
            // An interrupted command has left it.
            try FileManager.default.removeItem(atPath: fresh.path)
        }
        let request = JournalRequest(
            cluster: cluster, storeName: store, nodeName: identity.node, channel: Channel(rawValue: UInt16(channel)))
        try JournalSource.sqlite(at: fresh.path, create: true).open(request).close()
        let recovery = Recovery(folder: fresh, identity: identity, cluster: cluster, store: store)
        var report = try recovery.run(from: node)
        let reader = try SQLiteJournalReader(folder: fresh.path, storeName: store)
        let findings = try reader.verifyAll()
        try reader.close()
        guard findings.isEmpty else {
            throw CommandFailure(
                "the new journal of \(store) is damaged: \(findings[0]). Nothing was changed; check the disk")
        }
        report.oldFiles = try place.swap(with: fresh.path)
        try FileManager.default.removeItem(atPath: fresh.path)
        return report
    }
}

/// A user's state that is not there: recovery needs the log's own tables only.
final class NoState: AppliedState {
    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {}

    var digest: Digest { .none }
}
