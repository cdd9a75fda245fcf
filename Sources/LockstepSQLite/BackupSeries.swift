import Foundation
package import LockstepCore
import LockstepNode

/// A full backup and the increments that follow it, in their order.
///
/// It is made only of files that belong together; their content is checked by ``fold(_:state:snapshot:batches:)``.
package final class BackupSeries: Sendable {
    package let files: [BackupReader]
    /// The newest one's.
    package var manifest: BackupManifest { files[files.count - 1].manifest }

    /// Opens the files.
    ///
    /// - Parameter paths: The full backup, then its increments, the oldest first; at least one.
    /// - Throws: ``LockstepError``: `refused` if they do not belong together or not in this order, and what
    ///   ``BackupReader`` throws.
    package init(_ paths: [String]) throws {
        precondition(!paths.isEmpty, "there is a file")
        files = try paths.map(BackupReader.init(path:))
        let first = files[0].manifest
        guard first.since == nil else {
            throw Self.refusal("\(paths[0]) is an increment: begin with the full backup that it goes back to")
        }
        for (index, file) in files.enumerated().dropFirst() {
            let manifest = file.manifest
            guard manifest.cluster == first.cluster else {
                throw Self.refusal("\(file.path) is of cluster \(manifest.cluster), \(paths[0]) of \(first.cluster)")
            }
            guard let since = manifest.since else {
                throw Self.refusal("\(file.path) is a full backup: begin with it, and leave out what is before it")
            }
            guard since == files[index - 1].manifest.id else { throw misplaced(index) }
            try checkPlaces(file)
        }
    }

    /// The stores that any of the files has, in the order in which they come.
    package var stores: [String] {
        files.flatMap(\.manifest.stores).map(\.name).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// What the newest file that has a store says of it.
    package func newest(_ store: String) -> BackupManifest.Store? {
        files.lazy.reversed().compactMap { $0.manifest.store(named: store) }.first
    }

    /// An increment that does not follow the file before it.
    private func misplaced(_ index: Int) -> LockstepError {
        let (since, path) = (files[index].manifest.since, files[index].path)
        let other = files.first { $0.manifest.id == since }
        let advice = other.map { "it follows \($0.path): name the files in that order" }
        return Self.refusal(
            "\(path) does not follow \(files[index - 1].path): "
                + (advice ?? "one between them is missing, or it is of other backups"))
    }

    /// Each store of an increment goes on from where the files before it end.
    private func checkPlaces(_ file: BackupReader) throws {
        for store in file.manifest.stores {
            let before = files.prefix { $0 !== file }.reversed().compactMap { $0.manifest.store(named: store.name) }
                .first
            if let since = store.since, since != before?.end {
                throw Self.refusal(
                    "\(file.path) goes on from \(store.name) \(since), and the files before it "
                        + (before.map { "end at \($0.end)" } ?? "do not have that store"))
            }
            if let before, store.end.sequence < before.end.sequence {
                throw Self.refusal("\(file.path) ends before the files that it follows, in the store \(store.name)")
            }
        }
    }

    private static func refusal(_ text: String) -> LockstepError { LockstepError(.refused, text) }
}

// MARK: - The content

extension BackupSeries {
    /// Reads a store from all files, and checks everything: hashes, the chain, each entry, the log's tables at the end of
    /// each file, and the digests of snapshot and marks.
    ///
    /// - Parameters:
    ///   - name: The store.
    ///   - state: A new state of the store's reactor, which the log is applied to so that digests can be compared; without
    ///     one they are not.
    ///   - snapshot: Gets the newest snapshot, if there is one, before any batch.
    ///   - batches: Gets what follows, some batches at a time.
    /// - Returns: The log at the end.
    /// - Throws: ``LockstepError`` of code `journalDamaged`, and what the closures throw.
    package func fold(
        _ name: String, state: (any FollowingState)?, snapshot: ([UInt8], Position) throws -> Void = { _, _ in },
        batches: ([SealedBatch]) throws -> Void = { _ in }
    ) throws -> LogState {
        guard let cluster = ClusterID(hexadecimal: manifest.cluster) else {
            throw BackupFile.damaged(files[0].path, "its cluster's ID is none")
        }
        var fold = BackupFold(log: LogState(store: StoreID(cluster: cluster, name: name)), state: state)
        let parts = files.compactMap { file in file.manifest.store(named: name).map { (file, $0) } }
        // What a later file has as a whole, the files before it are not needed for.
        let first = parts.lastIndex { $0.1.isWhole } ?? 0
        for (file, store) in parts[first...] { try file.fold(store, into: &fold, snapshot, batches) }
        return fold.log
    }
}

extension BackupReader {
    /// Checks everything that one file can show: hashes and the chain, and of a store that is whole all that
    /// ``BackupSeries/fold(_:state:snapshot:batches:)`` checks.
    ///
    /// `state` makes a new state of a store's reactor, and answers nil for one that the program does not know. Throws
    /// ``LockstepError`` of code `journalDamaged`, and what `state` throws.
    package func check(state: (String) throws -> (any FollowingState)?) throws {
        for store in manifest.stores {
            guard store.isWhole, let cluster = ClusterID(hexadecimal: manifest.cluster) else {
                _ = try read(store)
                continue
            }
            let log = LogState(store: StoreID(cluster: cluster, name: store.name))
            var fold = BackupFold(log: log, state: try state(store.name))
            try self.fold(store, into: &fold)
        }
    }

    /// Applies a store's parts to what the files before have led to.
    fileprivate func fold(
        _ store: BackupManifest.Store, into fold: inout BackupFold,
        _ snapshot: ([UInt8], Position) throws -> Void = { _, _ in },
        _ batches: ([SealedBatch]) throws -> Void = { _ in }
    ) throws {
        do {
            let tables = try read(store) { bytes in
                try fold.install(bytes)
                try snapshot(bytes, fold.log.position)
            } batch: { batch in
                if let full = try fold.apply(batch) { try batches(full) }
            }
            let rest = fold.takeBatches()
            if !rest.isEmpty { try batches(rest) }
            guard BackupFile.encoded(tables) == BackupFile.encoded(fold.log) else {
                throw JournalFinding(
                    .file, .zero, "store \(store.name): its log's tables do not follow from its batches")
            }
        } catch { throw BackupFile.readError(error, path: path) }
    }
}

/// A store's log, and its state if that is known, as they are after each batch.
private struct BackupFold {
    private(set) var log: LogState
    private let state: (any FollowingState)?
    private let nothing = NoState()
    private var batches: [SealedBatch] = []
    private var bytes = 0

    /// Batches are handed on together up to this size: each hand-over may cost a sync.
    private static let handOverBytes = 4 << 20

    init(log: LogState, state: (any FollowingState)?) {
        self.log = log
        self.state = state
    }

    mutating func install(_ bytes: [UInt8]) throws {
        let content: SnapshotContent
        do throws(WireError) { content = try SnapshotContent(bytes) } catch {
            throw JournalFinding(.snapshot, .zero, "it cannot be decoded: \(error)")
        }
        let position = content.log.position
        guard content.log.store == log.store else {
            throw JournalFinding(.snapshot, position.sequence, "it is of store \(content.log.store)")
        }
        log = content.log
        guard let state else { return }
        let prepared: any PreparedState
        do { prepared = try state.prepare(content.state) } catch {
            throw JournalFinding(.snapshot, position.sequence, "this program cannot read its state: \(error)")
        }
        try compare(prepared.digest + log.digest, content.digest, .snapshot)
        state.install(prepared)
    }

    /// Applies a batch; all that were applied since the last time, if they are enough to be handed on.
    mutating func apply(_ batch: SealedBatch) throws -> [SealedBatch]? {
        let mark: LogState.Mark?
        do throws(LogState.ApplyError) { mark = try log.apply(batch, to: state ?? nothing) } catch {
            throw JournalFinding(.batch, batch.head.first, "it cannot be applied: \(error)")
        }
        if let mark, let state { try compare(state.digest + log.digest, mark.digest, .batch) }
        batches.append(batch)
        bytes += batch.bytes.count
        return bytes >= Self.handOverBytes ? takeBatches() : nil
    }

    mutating func takeBatches() -> [SealedBatch] {
        defer { (batches, bytes) = ([], 0) }
        return batches
    }

    private func compare(_ own: Digest, _ noted: Digest, _ subject: JournalFinding.Subject) throws {
        guard own == noted else {
            throw JournalFinding(
                subject, log.position.sequence, "its digest is \(noted), but the state there has \(own)")
        }
    }
}
