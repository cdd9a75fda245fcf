package import LockstepCore

/// What an arbitrated journal knows besides its batches; both read at the start (PROTOCOL, R-81, R-84, R-85).
package struct JournalArbitration: Hashable, Sendable {
    /// The end at adoption, or of the snapshot that has replaced everything since: committed through here at least.
    package var adopted: Position
    /// The commit number that was stored last; zero before the first.
    package var committed: SequenceNumber = .zero
    /// The highest epoch that the node has promised to; nil if it has promised nothing, or has withdrawn it.
    package var promised: Epoch?
    /// The newest that the arbiter was seen to say.
    package var arbiter = ArbiterMemory()

    package init(adopted: Position) { self.adopted = adopted }

    /// A snapshot has taken the place of everything: all that is left is committed, also where that is less than was
    /// known before.
    package mutating func replaced(by position: Position) {
        adopted = position
        committed = position.sequence
    }

    /// Takes over a promise, or its withdrawal; a promise below one whose withdrawal found no room changes nothing.
    package mutating func promise(_ epoch: Epoch?) { promised = epoch.map { max($0, promised ?? .zero) } }

    /// Through which the log is committed, given its newest snapshot's end.
    package func committed(snapshot: SequenceNumber) -> SequenceNumber {
        max(committed, adopted.sequence, snapshot)
    }
}

/// Batches that a truncation has cut off and kept aside (PROTOCOL, R-84).
package struct CutBatches: Hashable, Sendable {
    /// How many were cut; 0 if the log ended there already.
    package var batches: Int
    /// The end that the log has now.
    package var end: Position

    package init(batches: Int, end: Position) { (self.batches, self.end) = (batches, end) }
}

/// Why a truncation did not happen.
package enum TruncationFailure: Error, Hashable, Sendable {
    /// It would have cut what this journal knows to be committed, through this number; nothing was changed.
    case committed(through: SequenceNumber)
    /// No batch or snapshot of this journal ends there; nothing was changed.
    case noEnd(Position)
    /// As of any other write.
    case write(JournalFailure)
}

/// The journal of a data node: its end may hold batches that are not committed yet (PROTOCOL, R-84, R-85).
///
/// Until it is marked as arbitrated it is as any other journal: it stores nothing of what is described here, and all of
/// its log counts as committed. Only the marked one keeps a commit number, has a tail, and can be cut.
///
///     static ---markArbitrated---> arbitrated ---append, store(commit:), promise, remember, truncate---+
///        ^                             |   ^                                                           |
///        +----removeArbitratedMark-----+   +-----------------------------------------------------------+
///
/// Writes are asked for on the node's thread and return at once. They are done one after the other, together with
/// those of ``Journal``; `completion` is called on the journal's own queue when the write is durable.
///
/// Shipping types: `SQLiteJournal` and ``MemoryJournal``.
package protocol ArbitratedJournal: Journal {
    /// What was stored last; nil if the journal is not arbitrated. Known from the opening on, before the recovery.
    var arbitration: JournalArbitration? { get }

    /// As ``Journal/recover(snapshot:batch:)``, and hands out what is not known to be committed, too, after the rest.
    ///
    /// `batch` gets the batches through the commit number, `tail` those after it, both in order. What `tail` gets must
    /// be neither shown nor applied before it is committed. Without the mark all goes to `batch`. The method without
    /// `tail` hands out the same, the tail left out.
    ///
    /// It may be called again when no batch is being written: it hands out what the journal has then. A snapshot may be
    /// in the middle of its save. The closures must not call the journal.
    func recover(
        snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void,
        tail: (SealedBatch) throws -> Void) throws

    /// Writes the batches and the commit number in one transaction and syncs.
    ///
    /// `committed` is a batch's end in this log, at most the last of `batches`; one below the stored number changes
    /// nothing. Without the mark it is not stored, and this is ``Journal/append(_:completion:)``.
    func append(
        _ batches: [SealedBatch], committed: SequenceNumber,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Stores the commit number alone: 1 s after the last append, as the caller decides.
    ///
    /// It answers without a write if that much is stored already, or if the journal is not arbitrated.
    func store(commit number: SequenceNumber, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Cuts off every batch after `end`, and keeps it aside for ``JournalQuarantine/keptDays`` days.
    ///
    /// `end` must be the end of a batch or snapshot of this log, and not below what the journal knows to be committed.
    /// When `completion` is called with success the cut is durable, and so is the side mark that goes with it. `reason`
    /// is a line for operators. Only for an arbitrated journal.
    func truncate(
        after end: Position, reason: String,
        completion: @escaping @Sendable (Result<CutBatches, TruncationFailure>) -> Void)

    /// Promises to acknowledge nothing below an epoch, durably, or withdraws the promise with nil.
    ///
    /// A promise that is lower than the one before, which was not withdrawn, changes nothing. Only for an arbitrated
    /// journal.
    func promise(_ epoch: Epoch?, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Keeps the newest that the arbiter was seen to say, durably. Only for an arbitrated journal.
    func remember(_ memory: ArbiterMemory, completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Marks the journal as arbitrated, durably: what it holds now is committed, what follows may not be.
    ///
    /// It comes before any record of the store is written. A journal that has the mark is left as it is.
    func markArbitrated(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)

    /// Takes the mark away, and with it commit number, promise and what the arbiter said; the log stays whole.
    ///
    /// For an operator who accepts the loss: a tail counts as committed from then on. What was cut stays aside.
    func removeArbitratedMark(completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void)
}

extension ArbitratedJournal {
    package func recover(snapshot: (SnapshotContent) throws -> Void, batch: (SealedBatch) throws -> Void) throws {
        try recover(snapshot: snapshot, batch: batch, tail: { _ in })
    }
}

/// How what was cut is kept aside.
package enum JournalQuarantine {
    /// So long, in days; then the next truncation or start takes it away.
    package static let keptDays: Int64 = 7
    /// How the reason of a cut begins.
    ///
    /// Of other reasons are the batches that an operator's recovery set aside, which stay.
    package static let cutPrefix = "cut: "

    /// Before when, in seconds since 1970, what was cut is no longer kept.
    package static var expiry: Int64 { MonotonicClock.wall.rawValue / 1_000_000 - keptDays * 86_400 }
}
