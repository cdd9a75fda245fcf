package import LockstepCore

/// Whether a data node's arbiter answers, whatever it is asked and for whichever store, and takes what is written.
///
/// A node asks it at least every three seconds, so ``patience`` is several calls without an answer. It writes when
/// something is to be changed, and then asks again several times a second until that is settled.
package struct ArbiterWatch: Hashable, Sendable {
    /// An arbiter that has answered nothing, or has taken no write, for so long is away, in milliseconds.
    package static let patience: Int64 = 10_000

    /// When it answered last, or when the node began.
    package private(set) var lastAnswer: Tick
    /// Why the last call had no answer; nil if it had one, or none was made.
    package private(set) var problem: String?
    /// The writes that failed since one was taken; nil if none did.
    private var unwritten: Unwritten?

    private struct Unwritten: Hashable, Sendable {
        var since: Tick
        var last: Tick
        /// Of the last of them.
        var reason: String
    }

    package init(began: Tick) { lastAnswer = began }

    /// A call was answered, with a record, a refusal or a list.
    package mutating func answered(now: Tick) {
        // What failed while it answered nothing says nothing of writes.
        if isSilent(now: now) { unwritten = nil }
        lastAnswer = now
        problem = nil
    }

    /// A call had no answer that could be understood.
    package mutating func failed(because reason: String) { problem = reason }

    /// A write had no answer that says what became of it: it was refused or lost.
    package mutating func writeFailed(because reason: String, now: Tick) {
        let earlier = unwritten.flatMap { isLately($0, now: now) ? $0.since : nil }
        unwritten = Unwritten(since: earlier ?? now, last: now, reason: reason)
    }

    /// A write was done, or not done because the arbiter has another record than it was compared with.
    package mutating func written() { unwritten = nil }

    /// Whether it has answered nothing, or has taken no write, for ``patience``.
    package func isAway(now: Tick) -> Bool {
        if isSilent(now: now) { return true }
        // What failed once, and was settled by reading, is not asked again.
        guard let unwritten else { return false }
        return unwritten.last - unwritten.since >= Tick.milliseconds(Self.patience) && isLately(unwritten, now: now)
    }

    /// What an operator reads of one that is away.
    package func text(now: Tick) -> String {
        let seconds = Self.patience / 1_000
        let rest = "the store goes on, and no node can take over or become a member until it"
        guard !isSilent(now: now), let unwritten else {
            let reason = problem.map { " (\($0))" } ?? ""
            return "the arbiter has answered nothing for \(seconds) s\(reason): \(rest) answers; see to the arbiter"
        }
        return "the arbiter answers, and has taken no write for \(seconds) s (\(unwritten.reason)): \(rest) takes one; "
            + "see to the arbiter"
    }

    private func isSilent(now: Tick) -> Bool { now - lastAnswer >= Tick.milliseconds(Self.patience) }

    private func isLately(_ unwritten: Unwritten, now: Tick) -> Bool {
        now - unwritten.last < Tick.milliseconds(Self.patience)
    }
}

extension StoreHost {
    /// Raises ARBITER_AWAY when the arbiter has not answered, or has taken no write, for long enough, and ends it when
    /// that has passed.
    ///
    /// Nothing else depends on it: the store serves as long as its members are heard (PROTOCOL, R-78). The text stays what
    /// it is until the alarm ends.
    func watchArbiter(now: Tick) {
        guard services.arbiter != nil else { return }
        lookAtRecord(now: now)
        guard services.arbiterWatch.isAway(now: now) else { return clear(.arbiterAway) }
        guard alarms[.arbiterAway] == nil else { return }
        raise(.arbiterAway, services.arbiterWatch.text(now: now))
    }

    /// Has a standby read the record every ten seconds, and whoever says that it is missing or shows too little once a
    /// second: who hears its primary has no other reason to, and would learn neither that the arbiter was set back nor
    /// that it is right again (PROTOCOL, R-81).
    private func lookAtRecord(now: Tick) {
        let isAlarmed = alarms[.recordMissing] != nil || alarms[.arbiterSetBack] != nil
        if isAlarmed { nextRecordReading = min(nextRecordReading, now.advanced(byMilliseconds: 1_000)) }
        guard isAlarmed || standby != nil, now >= nextRecordReading, stop == nil else { return }
        nextRecordReading = now.advanced(byMilliseconds: isAlarmed ? 1_000 : 10_000)
        primary?.readRecord()
        standby?.readRecord()
    }

    /// What an operator reads of this store beside the node's address, whichever node is asked.
    var troubles: [NodeAddress.Trouble] {
        guard !alarms.isEmpty, let store = driver?.desk.journal?.identity.store else { return [] }
        // Who can list this has an arbiter.
        return alarms.all.filter { $0.kind != .arbiterAway }.map { .init(store: store, text: "\($0)") }
    }
}
