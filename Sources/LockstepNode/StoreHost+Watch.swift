package import LockstepCore

/// A replica's watch over its primary: an operator must see that nothing can be written now.
extension StoreHost {
    /// A primary that is there answers within a second; nothing for so long is a loss, in milliseconds.
    static let primaryPatience: Int64 = 3_000

    /// How long nothing was heard of the primary, in nanoseconds; nil if nothing ever was.
    package func primarySilence(now: Tick) -> Int64? {
        let heard = inPlace(&client) { $0.lastHeard }
        return heard > .zero ? max(0, now - heard) : nil
    }

    /// Raises NO_PRIMARY when the primary has been away for long enough, and ends it when there is one again.
    ///
    /// An alarm of this kind with another reason stays what it is.
    func watchPrimary(now: Tick) {
        guard let replica else { return }
        if replica.hasPrimary {
            if lostPrimary.take() != nil { clear(.noPrimary) }
            return
        }
        let since = max(inPlace(&client) { $0.lastHeard }, services.started)
        guard lostPrimary == nil, alarms[.noPrimary] == nil,
            now - since >= Tick.milliseconds(Self.primaryPatience)
        else { return }
        lostPrimary = since
        raise(.noPrimary, "nothing is heard of the primary at \(places): \(primaryAdvice)")
    }

    /// What to look at when there is no primary, in words.
    var primaryAdvice: String {
        services.arbiter == nil
            ? "does it run, and does the network let it through?"
            : "\"cluster status\" says which node leads, and who is missing"
    }

    /// Where the primary is looked for, in words.
    ///
    /// A data node that was the primary itself, and has not learned who is now, has no place.
    var places: String {
        let known = inPlace(&client) { $0.places.filter { $0 != Self.ownEndpoint } }
        return known.isEmpty ? "any data node" : known.joined(separator: " or ")
    }

    /// The alarms; the loss of the primary with its age, which no line of the log has.
    func alarms(at now: Tick) -> [StoreStatus.Alarm] {
        guard lostPrimary != nil else { return alarms.all }
        return alarms.all.map { $0.kind == .noPrimary ? .init(.noPrimary, lossText(now: now)) : $0 }
    }

    private func lossText(now: Tick) -> String {
        if let silence = primarySilence(now: now) {
            return "the primary at \(places) was lost \(silence / 1_000_000_000) s ago: \(primaryAdvice)"
        }
        let waited = (now - services.started) / 1_000_000_000
        return "nothing answers at \(places) since the start \(waited) s ago: \(primaryAdvice)"
    }
}

extension ReplicaDriver {
    /// Whether this replica knows what its primary has: by the stream, or by the connection of the client's machine.
    package var hasPrimary: Bool {
        switch machine.phase {
        case .catchingUp, .live: true
        case .connecting, .joining, .quarantined, .ahead, .halted: inPlace(&host.client) { $0.welcome != nil }
        }
    }
}
