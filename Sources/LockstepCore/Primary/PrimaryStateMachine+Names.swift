extension PrimaryStateMachine {
    /// Two processes are heard under one name, a replica's and another replica's or this node's own: raises the alarm, or
    /// takes it back.
    ///
    /// A restart is no reason: the process before it is silent then. What that sent before its end may be read late, in a
    /// burst when a network heals; so only frames count that came 2 s after the other's first HELLO, and both must have
    /// been heard within 2 s at five looks in a row, a second apart. A live replica says HELLO more often.
    mutating func lookForDuplicates(now: Tick, into directives: inout [PrimaryDirective]) {
        var lives: [String: [BootID: (first: Tick, last: Tick)]] = [:]
        for peer in peers.values where peer.hello.role == .replica {
            let known = lives[peer.hello.node]?[peer.hello.boot]
            lives[peer.hello.node, default: [:]][peer.hello.boot] = (
                min(known?.first ?? .never, peer.firstHeard), max(known?.last ?? .zero, peer.lastHeard)
            )
        }
        lives[configuration.node]?[configuration.boot] = (.zero, now)
        var suspected: [String: Int] = [:]
        var duplicates: [String] = []
        for (name, processes) in lives.sorted(by: { $0.key < $1.key }) {
            let both = Array(processes.values)
            if isDuplicated(both, within: 2_000, now: now) { suspected[name] = suspectedNames[name, default: 0] + 1 }
            let stays = alarmedDuplicates.contains(name) && isDuplicated(both, within: 5_000, now: now)
            if stays || suspected[name, default: 0] >= 5 { duplicates.append(name) }
        }
        suspectedNames = suspected
        guard duplicates != alarmedDuplicates else { return }
        alarmedDuplicates = duplicates
        directives.append(.alarm(.duplicateNodes(duplicates)))
    }

    /// Whether two of these lives go on beside each other, both heard within so many milliseconds.
    private func isDuplicated(_ lives: [(first: Tick, last: Tick)], within milliseconds: Int64, now: Tick) -> Bool {
        guard let youngest = lives.map(\.first).max() else { return false }
        return lives.filter { life in
            now - life.last < Tick.milliseconds(milliseconds) && life.last - youngest >= Tick.milliseconds(2_000)
        }.count > 1
    }
}
