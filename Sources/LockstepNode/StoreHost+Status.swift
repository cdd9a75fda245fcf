package import LockstepCore

extension StoreHost {
    /// The store's channel, as far as it is known.
    ///
    /// A replica has it from its journal, or from its last WELCOME, and keeps it while its primary is away: it goes on
    /// answering reads, joins and repairs.
    package var channel: Channel? {
        primary?.machine.configuration.channel ?? replica?.machine.channel ?? client.welcome?.channel
    }

    /// The store as an operator sees it.
    ///
    /// Cost: the state's digest.
    package func status() -> StoreStatus {
        var status = StoreStatus(
            name: name, channel: channel.map { Int($0.rawValue) },
            phase: client.welcome == nil ? "connecting" : "connected", incarnation: nil, isVolatile: true, epoch: 0,
            sequence: 0, commit: 0, hash: "", time: 0, digest: nil, mark: nil, sessions: [], sessionCount: 0, peers: [],
            lag: 0, unanswered: unanswered, counters: counterValues, journal: nil,
            alarms: alarms.texts)
        if primary == nil, replica == nil {
            let known = client.known.position
            status.epoch = known.epoch.rawValue
            status.sequence = known.sequence.rawValue
            status.commit = client.welcome?.commit.sequence.rawValue ?? 0
        }
        primary?.fill(&status)
        replica?.fill(&status)
        return status
    }

    /// Sends chunks to a joiner; what finds no room is asked for again.
    package func sendChunks(
        _ snapshot: EncodedSnapshot?, _ indices: Range<Int>, to connection: Connection, stamp: FrameStamp
    ) {
        guard let snapshot else { return }
        for index in indices {
            guard let frame = snapshot.frame(of: index, stamp: stamp) else { return }
            if services.attempt({ try services.server.sendBulk(frame, to: connection) }) == false {
                metrics.dropped(.sent)
                return
            }
        }
    }
}

extension StoreStatus {
    mutating func setSessions(_ table: SessionTable) {
        sessionCount = table.count
        sessions = table.sorted.prefix(1_000).map {
            Session(id: "\($0.id)", client: "\($0.client)", last: $0.last, acked: $0.ackedThrough)
        }
    }

    mutating func setJournal(_ journal: any LockstepNode.Journal) {
        let (batches, snapshot) = journal.sizes
        self.journal = Journal(batchBytes: batches, snapshotBytes: snapshot, freeBytes: journal.freeBytes())
    }
}
