package import LockstepCore

/// Whether a data node's arbiter answers, whatever it is asked and for whichever store.
///
/// A node asks it at least every three seconds, so ``patience`` is several calls without an answer.
package struct ArbiterWatch: Hashable, Sendable {
    /// An arbiter that has answered nothing for so long is away, in milliseconds.
    package static let patience: Int64 = 10_000

    /// When it answered last, or when the node began.
    package private(set) var lastAnswer: Tick
    /// Why the last call had no answer; nil if it had one, or none was made.
    package private(set) var problem: String?

    package init(began: Tick) { lastAnswer = began }

    /// A call was answered, with a record, a refusal or a list.
    package mutating func answered(now: Tick) {
        lastAnswer = now
        problem = nil
    }

    /// A call had no answer that could be understood.
    package mutating func failed(because reason: String) { problem = reason }

    /// Whether it has been away for ``patience``.
    package func isAway(now: Tick) -> Bool { now - lastAnswer >= Tick.milliseconds(Self.patience) }
}

extension StoreHost {
    /// Raises ARBITER_AWAY when the arbiter has not answered for long enough, and ends it with the next answer.
    ///
    /// Nothing else depends on it: the store serves as long as its members are heard (PROTOCOL, R-78). The text stays what
    /// it is until the alarm ends.
    func watchArbiter(now: Tick) {
        guard services.arbiter != nil else { return }
        lookAtRecord(now: now)
        guard services.arbiterWatch.isAway(now: now) else { return clear(.arbiterAway) }
        guard alarms[.arbiterAway] == nil else { return }
        let reason = services.arbiterWatch.problem.map { " (\($0))" } ?? ""
        raise(
            .arbiterAway,
            "the arbiter has answered nothing for \(ArbiterWatch.patience / 1_000) s\(reason): the store goes on, and no "
                + "node can take over or become a member until it answers; see to the arbiter")
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
