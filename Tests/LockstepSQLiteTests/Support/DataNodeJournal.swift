import LockstepCore
import LockstepNode
import LockstepSQLite

/// The journals that a data node may have.
enum JournalKind: String, CaseIterable, Sendable {
    case sqlite, memory
}

/// The journal of a data node of either kind, and what a test does with it: it begins anew as often as it likes.
final class DataNodeJournal {
    let kind: JournalKind
    let folder = JournalFolder()
    private(set) var journal: any ArbitratedJournal
    var history: History

    /// A new journal without anything in it, which is not arbitrated yet.
    init(_ kind: JournalKind) throws {
        self.kind = kind
        switch kind {
        case .sqlite: journal = try folder.dataNodeJournal(create: true)
        case .memory:
            var request = folder.request()
            request.isForDataNode = true
            journal = MemoryJournal(request)
        }
        history = History(store: journal.identity.store)
        _ = try journal.recovered()
    }

    /// Marks the journal as arbitrated.
    func adopted() async throws { try await journal.done { journal.markArbitrated(completion: $0) } }

    /// Begins anew from the journal: a file is closed and opened, memory is read again.
    func restarted() throws -> Recovered {
        if kind == .sqlite {
            journal.close()
            journal = try folder.dataNodeJournal()
        }
        return try journal.recovered()
    }

    /// Adds batches to the history and the journal, with what is known to be committed.
    @discardableResult
    func add(_ count: Int, bytes: Int = 200, epoch: UInt64? = nil, committed: SequenceNumber = .zero) async throws
        -> [SealedBatch]
    {
        let batches = try history.add(count: count, bytes: bytes, epoch: epoch)
        try await journal.appended(batches, committed: committed)
        return batches
    }

    /// What was cut off, in the order of cutting; a file is closed and opened for it.
    func quarantined() throws -> [(batch: SealedBatch?, reason: String)] {
        if let memory = journal as? MemoryJournal { return memory.quarantined.map { ($0.batch, $0.reason) } }
        journal.close()
        let reader = try SQLiteJournalReader(folder: folder.path, storeName: JournalFolder.storeName)
        let kept = try reader.quarantined()
        try reader.close()
        journal = try folder.dataNodeJournal()
        _ = try journal.recovered()
        return kept.map { ($0.batch, $0.reason) }
    }
}
