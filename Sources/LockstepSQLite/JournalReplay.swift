public import Lockstep
import LockstepCore
import LockstepNode

/// The journal of a node that does not run, folded through a reactor: no effect is run and nothing is written.
///
///     let replay = try JournalReplay(Counters(), folder: "data/primary", store: "counters")
///     let then = try replay.state(at: SequenceNumber(rawValue: 5_000))
///     try replay.forEachCommit { commit in print(CommitLogger.text(of: commit)) }
///
/// It holds the folder against nodes until ``close()``; calls block the caller's thread. Each batch is checked by the
/// chain of hashes as it is read.
public final class JournalReplay<R: Reactor>: Sendable {
    private let reader: SQLiteJournalReader
    private let initial: R.State

    /// Opens a store's journal.
    ///
    /// - Parameters:
    ///   - reactor: Whose mutations and states it holds; of the version that wrote it, or one that reads that.
    ///   - folder: The node's folder.
    ///   - name: The store's name.
    /// - Throws: ``LockstepError``: `journalMissing`, `journalInUse`, `journalForeign`, `journalNewer`, `journalDamaged`.
    public init(_ reactor: R, folder: String, store name: String) throws {
        reader = try SQLiteJournalReader(folder: folder, storeName: name)
        initial = reactor.initialState
    }

    /// The last entry of the journal.
    public func end() throws -> Place {
        let position = try reader.end()
        return Place(epoch: position.epoch, sequence: position.sequence)
    }

    /// Frees the folder; further calls fail.
    public func close() throws { try reader.close() }

    /// The state after an entry, or at the journal's end: from the newest snapshot at or below it, and the batches after.
    ///
    /// - Parameter sequence: The entry; one after the end is the end. Also one in the middle of a batch.
    /// - Returns: The state, with the place and the time of the entry.
    /// - Throws: ``LockstepError``: `positionTooOld` if neither a snapshot nor all batches before it are kept;
    ///   `journalDamaged`; `refused` for a state or mutations that this reactor cannot read.
    public func state(at sequence: SequenceNumber? = nil) throws -> Snapshot<R.State> {
        try base(at: sequence ?? SequenceNumber(rawValue: UInt64(Int64.max))).state
    }

    /// Calls `body` for each commit after an entry, in order, with the states before and after it.
    ///
    /// - Parameters:
    ///   - start: The entry; 0 begins with the first, or where the journal's oldest snapshot stands if that is later.
    ///   - end: The last entry; nil is the journal's end.
    ///   - body: May throw to end the replay.
    /// - Returns: The state at the end.
    /// - Throws: ``LockstepError`` as ``state(at:)`` does, and what `body` throws.
    @discardableResult
    public func forEachCommit(
        after start: SequenceNumber = .zero, through end: SequenceNumber? = nil, _ body: (Commit<R>) throws -> Void
    ) throws -> Snapshot<R.State> {
        let first = start == .zero ? try oldestBase() : try base(at: start)
        return try fold(from: first, through: end ?? SequenceNumber(rawValue: UInt64(Int64.max)), body).state
    }

    // MARK: - Folding

    /// Where a replay begins: a state, and who opened the sessions that are open there.
    private struct Base {
        var state: Snapshot<R.State>
        var names = SenderNames()
    }

    private var start: Base { Base(state: Snapshot(state: initial, place: .start, time: .zero)) }

    private func base(atOrBelow sequence: SequenceNumber) throws -> Base {
        guard let content = try reader.snapshot(atOrBelow: sequence) else { return start }
        return try decoded(content)
    }

    /// The earliest state from which everything that is kept follows.
    private func oldestBase() throws -> Base {
        var first: SequenceNumber?
        do {
            try reader.batches(after: .zero) { batch in
                first = batch.head.first
                throw Enough()
            }
        } catch is Enough {}
        // Without batches all that is kept is the newest snapshot.
        guard let first else { return try base(atOrBelow: SequenceNumber(rawValue: UInt64(Int64.max))) }
        if first == SequenceNumber.zero.next { return start }
        let oldest = try reader.snapshots().map(\.position.sequence).filter { $0.next >= first }.min()
        guard let oldest else {
            throw LockstepError(.positionTooOld, "the journal begins at \(first), with no snapshot to begin from")
        }
        return try base(atOrBelow: oldest)
    }

    private func decoded(_ content: SnapshotContent) throws -> Base {
        do {
            let position = content.log.position
            let state = Snapshot(
                state: try R.stateCoding.decoded(content.state),
                place: Place(epoch: position.epoch, sequence: position.sequence), time: content.log.time)
            return Base(state: state, names: SenderNames(of: content.log))
        } catch {
            throw LockstepError(
                .refused, "the snapshot at \(content.log.position.sequence) cannot be read by this reactor",
                underlying: error)
        }
    }

    private func base(at sequence: SequenceNumber) throws -> Base {
        try reader.checkReach(to: sequence)
        return try fold(from: base(atOrBelow: sequence), through: sequence) { _ in }
    }

    private func fold(
        from base: Base, through end: SequenceNumber, _ body: (Commit<R>) throws -> Void
    ) throws -> Base {
        var (current, names) = (base.state, base.names)
        let first = current.place.sequence
        let coding = R.mutationCoding
        var expected = first.next
        try reader.batches(after: first, through: end) { batch in
            guard batch.head.first <= expected else {
                throw LockstepError(
                    .positionTooOld,
                    "the journal has no entries from \(expected) to \(batch.head.first): they were taken away")
            }
            expected = batch.head.last.next
            for entry in try entries(of: batch, after: first, coding, &names) {
                guard entry.place.sequence <= end else { break }
                let commit = Commit(entry, before: current.state)
                try body(commit)
                current = commit.snapshot
            }
            let last = min(batch.head.last, end)
            if last > current.place.sequence {
                current = Snapshot(
                    state: current.state, place: Place(epoch: batch.head.epoch, sequence: last), time: batch.head.time)
            }
        }
        return Base(state: current, names: names)
    }

    private func entries(
        of batch: SealedBatch, after start: SequenceNumber, _ coding: Coding<R.Mutation>, _ names: inout SenderNames
    ) throws -> [LoggedEntry<R>] {
        do { return try LoggedEntry.entries(of: batch, after: start, coding, &names) } catch {
            throw LockstepError(
                .refused, "the entries from \(batch.head.first) on cannot be read by this reactor", underlying: error)
        }
    }

    // MARK: - Comparing

    /// Where this log and another node's log of the same store part.
    ///
    /// Logs that were written by one primary are equal batch by batch as far as both reach; only what both keep is
    /// compared.
    public func comparison(with other: JournalReplay) throws -> JournalComparison {
        var own: [SequenceNumber: (last: SequenceNumber, hash: BatchHash)] = [:]
        try reader.batches(after: .zero) { own[$0.head.first] = ($0.head.last, $0.hash) }
        var common: SequenceNumber?
        var parting: SequenceNumber?
        let begin = own.keys.min() ?? .zero
        let end = own.values.map(\.last).max() ?? .zero
        do {
            try other.reader.batches(after: .zero) { batch in
                guard batch.head.last >= begin, batch.head.first <= end else { return }
                guard let mine = own[batch.head.first], mine.hash == batch.hash else {
                    parting = batch.head.first
                    throw Enough()
                }
                common = batch.head.last
            }
        } catch is Enough {}
        guard let parting else { return JournalComparison(commonEnd: common, difference: nil) }
        return JournalComparison(commonEnd: common, difference: try difference(from: other, after: parting))
    }

    /// The first entry after `place` that is not the same in both.
    private func difference(from other: JournalReplay, after first: SequenceNumber) throws -> JournalDifference {
        let start = SequenceNumber(rawValue: first.rawValue - 1)
        let (mine, theirs) = (try lines(after: start), try other.lines(after: start))
        for (one, two) in zip(mine, theirs) where one != two {
            return JournalDifference(sequence: min(one.sequence, two.sequence), own: one.text, other: two.text)
        }
        let longer = mine.count > theirs.count ? mine : theirs
        guard mine.count != theirs.count else {
            // The same for the reactor: sessions, epochs or the cut of the batches differ.
            return JournalDifference(sequence: first, own: nil, other: nil)
        }
        let extra = longer[min(mine.count, theirs.count)]
        return JournalDifference(
            sequence: extra.sequence, own: mine.count > theirs.count ? extra.text : nil,
            other: mine.count > theirs.count ? nil : extra.text)
    }

    private struct Line: Equatable {
        var sequence: SequenceNumber
        var text: String
    }

    /// The reactor's entries of the next few batches, in words.
    private func lines(after start: SequenceNumber) throws -> [Line] {
        var lines: [Line] = []
        let coding = R.mutationCoding
        var names = SenderNames()
        do {
            try reader.batches(after: start) { batch in
                for entry in try entries(of: batch, after: start, coding, &names) {
                    lines.append(
                        Line(
                            sequence: entry.place.sequence,
                            text: "\(entry.place) \(entry.cause): \(entry.mutations.map { "\($0)" })"))
                }
                if lines.count >= 1_024 { throw Enough() }
            }
        } catch is Enough {}
        return lines
    }
}

/// How two nodes' logs of one store compare; see ``JournalReplay/comparison(with:)``.
public struct JournalComparison: Hashable, Sendable {
    /// The last entry up to which what both keep is the same; nil if they have nothing in common.
    public let commonEnd: SequenceNumber?
    /// Where they part; nil if they do not.
    public let difference: JournalDifference?
}

/// The first entry in which two logs differ.
public struct JournalDifference: Hashable, Sendable {
    /// Its sequence number, or that of the batch if only entries of the nodes differ.
    public let sequence: SequenceNumber
    /// What this log has there, in words; nil if nothing that concerns the reactor.
    public let own: String?
    /// What the other has.
    public let other: String?
}

/// Ends a walk over batches.
private struct Enough: Error {}
