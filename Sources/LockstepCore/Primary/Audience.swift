/// The replicas that a primary knows of, by their names, and those for which it waits when it starts (PROTOCOL, R-48).
///
/// Invariants: at most ``Limits/audience`` names; what is awaited is one of them.
package struct Audience: Hashable, Sendable {
    /// By name, when it was heard last.
    private var heard: [String: Tick] = [:]
    /// Those who have not said HELLO in this boot.
    private var missing: Set<String> = []

    /// A replica of which nothing was heard for so long, while the primary ran, is forgotten.
    static let patienceMilliseconds: Int64 = 3_600_000

    /// Begins a boot with what the boot before had.
    package init(_ names: [String], now: Tick) {
        for name in names.prefix(Limits.audience) { heard[name] = now }
        missing = Set(heard.keys)
    }

    /// In the order of the names.
    package var names: [String] { heard.keys.sorted() }
    package var awaited: [String] { missing.sorted() }
    package var isComplete: Bool { missing.isEmpty }

    /// A replica said HELLO; true if it is new here.
    ///
    /// When there is no room, the one that was silent longest goes.
    mutating func came(_ name: String, now: Tick) -> Bool {
        missing.remove(name)
        let isNew = heard[name] == nil
        if isNew, heard.count >= Limits.audience,
            let oldest = heard.min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            heard[oldest.key] = nil
            missing.remove(oldest.key)
        }
        heard[name] = now
        return isNew
    }

    /// It is still there.
    mutating func spoke(_ name: String, at moment: Tick) {
        guard let before = heard[name], before < moment else { return }
        heard[name] = moment
    }

    /// It said goodbye; true if it was here.
    mutating func left(_ name: String) -> Bool {
        missing.remove(name)
        return heard.removeValue(forKey: name) != nil
    }

    /// Forgets who was silent too long; true if there was one.
    mutating func forgetSilent(now: Tick) -> Bool {
        let before = heard.count
        heard = heard.filter { now - $0.value < Tick.milliseconds(Self.patienceMilliseconds) }
        missing = missing.filter { heard[$0] != nil }
        return heard.count < before
    }

    /// Nobody is waited for any more.
    mutating func giveUp() { missing = [] }

    func checkInvariants() {
        precondition(heard.count <= Limits.audience, "the audience has its bound")
        precondition(missing.allSatisfy { heard[$0] != nil }, "what is awaited belongs to the audience")
    }
}

extension PrimaryStateMachine {
    /// The epoch is open: with an audience the primary listens before it admits.
    mutating func opened(now: Tick) {
        guard !configuration.isVolatile, configuration.audienceMilliseconds > 0, !audience.isComplete else {
            audience.giveUp()
            phase = .admitting
            return
        }
        phase = .awaiting
        awaitEnds = now.advanced(byMilliseconds: configuration.audienceMilliseconds)
    }

    /// Admits when everybody who is awaited has spoken, or the time for that is over.
    mutating func admitIfHeard(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        guard phase == .awaiting, audience.isComplete || now >= awaitEnds else { return }
        phase = .admitting
        awaitEnds = .never
        resumeRuns(now: now, wall: wall, state: state, into: &directives)
    }

    /// A replica of this log said HELLO.
    mutating func replicaCame(_ node: String, now: Tick, into directives: inout [PrimaryDirective]) {
        guard !configuration.isVolatile, audience.came(node, now: now) else { return }
        directives.append(.audienceChanged(audience.names))
    }

    /// A replica closed its session: it stops on purpose, and the next boot does not wait for it.
    mutating func replicaLeft(_ connection: Connection, into directives: inout [PrimaryDirective]) {
        guard let hello = peers[connection]?.hello, hello.role == .replica, audience.left(hello.node) else { return }
        directives.append(.audienceChanged(audience.names))
    }

    /// Once a second: who spoke since, and who has been silent too long.
    mutating func lookAtAudience(now: Tick, into directives: inout [PrimaryDirective]) {
        for peer in peers.values where peer.hello.role == .replica {
            audience.spoke(peer.hello.node, at: peer.lastHeard)
        }
        guard audience.forgetSilent(now: now) else { return }
        directives.append(.audienceChanged(audience.names))
    }
}
