extension PrimaryStateMachine {
    /// Two processes are heard under one name, a replica's and another replica's or this node's own: raises the alarm, or takes it back.
    ///
    /// A restart is no reason: the process before it is silent then. Only frames that came 2 s after the other's first
    /// HELLO count, since those that a process sent before its end may be read late, and both must have been heard within
    /// 5 s; a live replica says HELLO at the latest 1.5 s after the primary was silent, and a primary is not.
    mutating func lookForDuplicates(now: Tick, into directives: inout [PrimaryDirective]) {
        var lives: [String: [BootID: (first: Tick, last: Tick)]] = [:]
        for peer in peers.values where peer.hello.role == .replica {
            let known = lives[peer.hello.node]?[peer.hello.boot]
            lives[peer.hello.node, default: [:]][peer.hello.boot] = (
                min(known?.first ?? .never, peer.firstHeard), max(known?.last ?? .zero, peer.lastHeard)
            )
        }
        lives[configuration.node]?[configuration.boot] = (.zero, now)
        let duplicates = lives.filter { isDuplicated(Array($0.value.values), now: now) }.keys.sorted()
        guard duplicates != alarmedDuplicates else { return }
        alarmedDuplicates = duplicates
        directives.append(.alarm(.duplicateNodes(duplicates)))
    }

    /// Whether two of these lives go on beside each other.
    private func isDuplicated(_ lives: [(first: Tick, last: Tick)], now: Tick) -> Bool {
        guard let youngest = lives.map(\.first).max() else { return false }
        return lives.filter { life in
            now - life.last < Tick.milliseconds(5_000) && life.last - youngest >= Tick.milliseconds(2_000)
        }.count > 1
    }
}
