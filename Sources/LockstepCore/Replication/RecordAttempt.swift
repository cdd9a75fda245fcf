/// A record as the arbiter has it: the value, and the revision at which it was written.
package struct StoredRecord: Hashable, Sendable {
    package var record: ConfigurationRecord
    /// Of the arbiter; it compares this and the whole value.
    package var revision: Int64

    package init(_ record: ConfigurationRecord, revision: Int64) {
        self.record = record
        self.revision = revision
    }
}

/// One compare and set of a store's record, until its outcome is known (PROTOCOL, R-76).
///
///     asked ----applied----> settled: the record is ours
///       |  \----refused by a record----> settled, if that record says so
///       \-----no answer, or an error----> unknown ---ask again, or read---> settled
///
/// Every error leaves the outcome unknown: what was asked may have been done, or may still be done. Asking the same
/// once more settles it, since both compare with the same revision: at most one of them is applied, and then the
/// record carries ``attempt``.
package struct RecordAttempt: Hashable, Sendable {
    /// What the transaction compares with.
    package let compared: StoredRecord
    /// What it writes.
    package let proposed: ConfigurationRecord

    package init(replacing compared: StoredRecord, with proposed: ConfigurationRecord) {
        precondition(
            proposed.number == compared.record.number + 1 || proposed.bindings > compared.record.bindings,
            "a record's number grows by one, or is of another binding")
        precondition(proposed.problem == nil, "only a whole record is written")
        self.compared = compared
        self.proposed = proposed
    }

    package var attempt: AttemptID { proposed.attempt }

    /// What is known after a record was read, by the transaction itself when its comparison failed, or later.
    package enum Settlement: Hashable, Sendable {
        /// The record is the proposed one; a first asking, whose answer was lost, may have written it.
        case applied
        /// It was not applied, or another one has replaced it; it will not be applied any more.
        case refused
        /// The record is still the one that was compared: what was asked may still arrive.
        case open
        /// The record is another one of the same number or a lower one: the arbiter was set back.
        case regressed
    }

    /// Judges by a linearizable answer of the arbiter.
    package func settlement(by stored: StoredRecord) -> Settlement {
        if stored.record.attempt == attempt { return .applied }
        if stored.record.number > compared.record.number { return .refused }
        return stored == compared ? .open : .regressed
    }
}

/// The newest that a linearizable answer of the arbiter ever showed of a store, which the journal keeps.
///
/// An arbiter that was restored from an older copy answers as if nothing had happened: its identity and its terms are
/// those of before, and its revisions begin again. Answers also come late, and in another order than they were asked
/// for; so only an answer to what was asked *after* the newest was known can tell that the arbiter was set back.
///
/// A record of a later binding is newer than all others, whatever it shows besides: an operator has looked.
///
/// An epoch is one process's. Where another has it, the arbiter forgot the first, and gave it away once more: its numbers
/// and revisions may be beyond all that was known since.
package struct ArbiterMemory: Hashable, Sendable {
    package private(set) var revision: Int64 = 0
    package private(set) var number: UInt64 = 0
    package private(set) var epoch: Epoch = .zero
    /// Whose ``epoch`` is; none: an operator's, or not known.
    package private(set) var boot: BootID = .none
    /// What was asked in this life of the process, and how much of it when the newest became known.
    private var asked: UInt64 = 0
    private var askedBeforeNewest: UInt64 = 0

    package enum Verdict: Hashable, Sendable {
        /// At least as new as everything before.
        case newest
        /// Older, which says nothing: it was asked for before.
        case late
        /// Older, though asked for afterwards.
        case regressed
    }

    package init() {}
    package init(revision: Int64, number: UInt64, epoch: Epoch, boot: BootID) {
        (self.revision, self.number, self.epoch, self.boot) = (revision, number, epoch, boot)
    }

    /// What is kept of it, and told to others: nothing of this life's questions.
    package var stored: ArbiterMemory {
        ArbiterMemory(revision: revision, number: number, epoch: epoch, boot: boot)
    }

    /// Whether an arbiter that shows this record was set back since, or shows it to who asked before.
    package func isBeyond(_ stored: StoredRecord) -> Bool {
        let record = stored.record
        guard record.bindings <= ConfigurationRecord.bindings(of: number) else { return false }
        return stored.revision < revision || record.number < number || record.epoch < epoch
            || knowsOtherReign(than: record)
    }

    /// Whether the newest epoch that is known was another process's than this record says.
    func knowsOtherReign(than record: ConfigurationRecord) -> Bool {
        record.epoch == epoch && boot != .none && record.primary.boot != boot
    }

    /// Numbers what is asked now; its answer is judged by this number.
    package mutating func ask() -> UInt64 {
        asked += 1
        return asked
    }

    /// Takes in what the arbiter answered to `request`.
    package mutating func judge(_ stored: StoredRecord, request: UInt64) -> Verdict {
        let record = stored.record
        guard !isBeyond(stored) else { return request > askedBeforeNewest ? .regressed : .late }
        if (stored.revision, record.number) != (revision, number) { askedBeforeNewest = asked }
        (revision, number, epoch, boot) = (stored.revision, record.number, record.epoch, record.primary.boot)
        return .newest
    }

    /// What this process wrote itself is known, too.
    package mutating func wrote(_ stored: StoredRecord) { _ = judge(stored, request: 0) }
}
