package import LockstepCore

/// Gives a store's journal what its ``JournalLine`` says, and makes snapshots; on the node's thread.
///
/// The driver of the store's role, whose desk it is, hears what became of writes and of snapshots. Without a journal it only makes the snapshots that joiners are served from.
package final class JournalDesk {
    private unowned let host: StoreHost
    package let journal: (any Journal)?
    private(set) var line: JournalLine
    private var shelf: SnapshotShelf
    private var encodingBegan = Tick.zero

    package init(host: StoreHost, journal: (any Journal)?, line: JournalLine) {
        self.host = host
        self.journal = journal
        self.line = line
        shelf = SnapshotShelf(queue: host.services.background)
    }

    // MARK: - Writes

    package func append(_ batches: [SealedBatch], now: Tick) {
        guard journal != nil else { return }
        line.append(batches)
        advance(now: now)
    }

    /// The journal begins anew with this snapshot.
    package func replace(with snapshot: [UInt8], at position: Position, now: Tick) {
        guard journal != nil else { return }
        line.replace(with: snapshot, at: position)
        advance(now: now)
    }

    /// Gives the journal what comes next.
    package func advance(now: Tick) {
        guard let journal else { return }
        let mailbox = host.mailbox
        while let work = line.next(now: now) {
            switch work {
            case .write(.batches(let batches)):
                journal.append(batches) { outcome in mailbox.put { $0.journalDesk?.written(outcome) } }
            case .write(.replacement(let bytes, let position)):
                journal.replace(withSnapshot: bytes, at: position) { outcome in
                    mailbox.put { $0.journalDesk?.written(outcome) }
                }
            case .save(let number):
                guard let snapshot = shelf[number] else {
                    line.saved(isFailed: false, at: now)
                    continue
                }
                journal.save(snapshot: snapshot.bytes, at: snapshot.info.position) { outcome in
                    mailbox.put { $0.journalDesk?.saved(outcome) }
                }
            }
        }
    }

    private func written(_ outcome: Result<Void, JournalFailure>) {
        let now = MonotonicClock.now
        switch outcome {
        case .success: line.written()
        case .failure(.diskFull): line.foundNoRoom(at: now)
        // The node ends; whether it was written only the next start will tell.
        case .failure(.failed): break
        }
        host.driver?.written(outcome, now: now)
        advance(now: now)
    }

    // MARK: - Snapshots

    /// Whether a snapshot is due and may be taken now.
    package func isSnapshotDue(at now: Tick) -> Bool {
        guard let journal, !journal.isVolatile else { return false }
        let (batches, snapshot) = journal.sizes
        return line.isSnapshotDue(
            batchBytes: batches, snapshotBytes: snapshot,
            atLeast: host.services.configuration.given.snapshotAfterBytes, now: now)
    }

    package func capture(_ number: SnapshotNumber, image: any StateImage, log: LogState, digest: Digest) {
        shelf.capture(number, image: image, log: log, digest: digest)
    }

    package func encode(_ number: SnapshotNumber, now: Tick) {
        encodingBegan = now
        shelf.encode(number, mailbox: host.mailbox) { $0.journalDesk?.encoded(number, $1) }
    }

    private func encoded(_ number: SnapshotNumber, _ outcome: Result<EncodedSnapshot, any Error>) {
        let now = MonotonicClock.now
        switch outcome {
        case .success(let snapshot):
            host.metrics.snapshotMade(nanoseconds: now - encodingBegan)
            shelf.put(snapshot)
            host.driver?.encoded(number, snapshot.info, now: now)
        case .failure(let error):
            host.snapshotFailed(error)
            line.snapshotFailed(at: now)
            host.driver?.encoded(number, nil, now: now)
        }
    }

    package func save(_ number: SnapshotNumber, now: Tick) {
        guard let snapshot = shelf[number] else { return }
        line.offer(number, at: snapshot.info.position.sequence)
        advance(now: now)
    }

    /// A snapshot that cannot be written loses nothing: the journal keeps what it has, and another is due after a pause.
    private func saved(_ outcome: Result<Void, JournalFailure>) {
        let now = MonotonicClock.now
        var isFailed = false
        if case .failure(let failure) = outcome {
            isFailed = true
            host.snapshotFailed(failure)
        }
        line.saved(isFailed: isFailed, at: now)
        advance(now: now)
    }

    package func drop(_ number: SnapshotNumber) { shelf.drop(number) }

    /// Sends chunks to a joiner; what finds no room is asked for again.
    package func sendChunks(
        of number: SnapshotNumber, _ indices: Range<Int>, to connection: Connection, stamp: FrameStamp
    ) {
        guard let snapshot = shelf[number] else { return }
        let services = host.services
        for index in indices {
            guard let frame = snapshot.frame(of: index, stamp: stamp) else { return }
            if services.attempt({ try services.server.sendBulk(frame, to: connection) }) == false {
                host.metrics.dropped(.sent)
                return
            }
        }
    }
}

extension StoreHost {
    /// The way to the store's journal; nil for a client.
    var journalDesk: JournalDesk? { driver?.desk }
}
