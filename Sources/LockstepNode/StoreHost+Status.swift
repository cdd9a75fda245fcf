package import LockstepCore

extension StoreHost {
    package var unanswered: Int { desk.unanswered }
    package var counterValues: [String: UInt64] {
        Dictionary(uniqueKeysWithValues: counters.map { ($0.key.rawValue, $0.value) })
    }

    /// The store's channel, as far as it is known.
    package var channel: Channel? {
        guard let driver else { return inPlace(&client) { $0.welcome?.channel } }
        return driver.channel
    }

    /// How far the store is.
    var phase: StoreStatus.Phase { driver?.phase ?? (client.welcome == nil ? .connecting : .connected) }

    /// The store as an operator sees it.
    ///
    /// Cost: the peers, and the lists, which have at most `limit` elements each; with `withDigest` also a walk over the
    /// state, unless its digest is kept (``ReplicatedState/digest``).
    package func status(withDigest: Bool = false, limit: Int = 1_000) -> StoreStatus {
        var status = StoreStatus(
            name: name, channel: channel.map { Int($0.rawValue) },
            phase: phase, incarnation: nil, isVolatile: true, epoch: 0,
            sequence: 0, commit: 0, hash: "", time: 0, digest: nil, mark: nil, sessions: [], sessionCount: 0, peers: [],
            peerCount: 0, lostReplicas: [], lag: 0, primarySilentSeconds: nil, unanswered: unanswered,
            counters: counterValues, journal: nil,
            alarms: alarms(at: MonotonicClock.now))
        guard let driver else {
            let known = client.known.position
            status.epoch = known.epoch.rawValue
            status.sequence = known.sequence.rawValue
            status.commit = client.welcome?.commit.sequence.rawValue ?? 0
            return status
        }
        driver.fill(&status, limit: limit)
        if status.digest == nil, withDigest { status.digest = driver.digest?.description }
        return status
    }
}

extension StoreStatus.Mark {
    init(_ mark: LogState.Mark) { self.init(sequence: mark.sequence.rawValue, digest: "\(mark.digest)") }
}

extension StoreStatus {
    mutating func setSessions(_ table: SessionTable, limit: Int) {
        sessionCount = table.count
        sessions = table.sorted.prefix(limit).map {
            Session(id: "\($0.id)", client: "\($0.client)", last: $0.last, acked: $0.ackedThrough)
        }
    }

    /// The newest mark, and the digest at ``sequence`` if it stands there.
    mutating func setMark(_ mark: LogState.Mark?) {
        self.mark = mark.map(Mark.init)
        if let mark = self.mark, mark.sequence == sequence { digest = mark.digest }
    }

    mutating func setJournal(_ journal: any LockstepNode.Journal) {
        let (batches, snapshot) = journal.sizes
        self.journal = Journal(batchBytes: batches, snapshotBytes: snapshot, freeBytes: journal.freeBytes())
    }
}
