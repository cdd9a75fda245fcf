/// The in-sync set as the primary of an epoch knows it, and the one change of it that is under way (PROTOCOL, R-76).
///
///     steady ---propose---> proposed ---applied---> steady, changed
///                              |-------refused by a record of this reign---> steady, as that record says
///                              \-------anything else---> the reign is over
///
/// ``required`` is the stricter of both readings: who is proposed is required at once, since the arbiter may already
/// have its name; who is to leave is required until the arbiter has said that it left.
package struct InSyncSet: Hashable, Sendable {
    package enum Change: Hashable, Sendable {
        case adds(Member)
        case removes(Member)
        /// The same record again.
        case rewrites
    }

    /// What an answer of the arbiter means to the primary.
    package enum Outcome: Hashable, Sendable {
        case changed(Change)
        /// Another record of this reign holds; the change is given up.
        case refused
        /// Not settled: the attempt is to be asked again.
        case open
        /// Somebody else reigns, or the arbiter was set back: the primary steps down.
        case over
    }

    package private(set) var confirmed: StoredRecord
    package private(set) var attempt: RecordAttempt?
    private var change: Change?

    /// Begins with the record that the node has won.
    package init(_ won: StoredRecord) { confirmed = won }

    package var epoch: Epoch { confirmed.record.epoch }
    package var primary: ConfigurationRecord.Primary { confirmed.record.primary }
    package var minimum: Int { confirmed.record.minimum }
    package var isChanging: Bool { attempt != nil }

    /// Whose disks must have a batch before it is committed, the primary's own among them; sorted.
    package var required: [Member] {
        guard case .adds(let member)? = change, !confirmed.record.contains(member) else {
            return confirmed.record.inSync
        }
        return (confirmed.record.inSync + [member]).sorted()
    }

    /// Whether so many members are confirmed that anything may commit; a proposed one does not count.
    package var hasMinimum: Bool { confirmed.record.inSync.count >= minimum }

    /// Whether `member` could leave and the minimum stay.
    package func canLose(_ member: Member) -> Bool {
        member != primary.member && confirmed.record.contains(member) && confirmed.record.inSync.count > minimum
    }

    /// Begins a change, one at a time; the attempt is to be asked until it is settled.
    package mutating func propose(_ change: Change, attempt id: AttemptID) -> RecordAttempt {
        precondition(attempt == nil, "one change is under way at a time")
        let record = confirmed.record
        let proposed =
            switch change {
            case .adds(let member): record.adding(member, attempt: id)
            case .removes(let member): record.removing(member, attempt: id)
            case .rewrites: record.rewritten(attempt: id)
            }
        let attempt = RecordAttempt(replacing: confirmed, with: proposed)
        (self.change, self.attempt) = (change, attempt)
        return attempt
    }

    /// The arbiter has applied `id`, at `revision`; an answer to something older is ignored.
    package mutating func applied(_ id: AttemptID, revision: Int64) -> Outcome {
        guard let attempt, attempt.attempt == id else { return .open }
        return end(StoredRecord(attempt.proposed, revision: revision))
    }

    /// The arbiter has shown this record, and ``ArbiterMemory`` holds it for the newest.
    package mutating func found(_ stored: StoredRecord) -> Outcome {
        let isOurs = stored.record.epoch == epoch && stored.record.primary.boot == primary.boot
        guard let attempt else {
            // An operator may change the set of a reign; the number says that it came after what is confirmed.
            guard isOurs, stored == confirmed || stored.record.number > confirmed.record.number else { return .over }
            confirmed = stored
            return .open
        }
        switch attempt.settlement(by: stored) {
        case .applied: return end(stored)
        case .open: return .open
        case .regressed: return .over
        case .refused:
            guard isOurs else { return .over }
            (confirmed, self.attempt, change) = (stored, nil, nil)
            return .refused
        }
    }

    private mutating func end(_ stored: StoredRecord) -> Outcome {
        guard let change else { preconditionFailure("an attempt is of a change") }
        (confirmed, attempt, self.change) = (stored, nil, nil)
        return .changed(change)
    }

    package func checkInvariants() {
        precondition((attempt == nil) == (change == nil), "an attempt is of a change")
        precondition(required.contains(primary.member), "the primary's own disk always counts")
        precondition(
            confirmed.record.inSync.allSatisfy { required.contains($0) }, "who is confirmed is required")
        if let attempt { precondition(attempt.compared == confirmed, "a change begins with what is confirmed") }
    }
}
