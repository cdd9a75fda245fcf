package import LockstepCore

/// Gives a store's journal what its ``JournalLine`` says; on the node's thread.
///
/// The driver of the store's role, whose desk it is, hears what became of writes. Without a journal it does nothing.
package final class JournalDesk {
    private unowned let host: StoreHost
    package let journal: (any Journal)?
    private(set) var line: JournalLine
    /// Since when the journal has written nothing of what it was given, for whatever reason; `never` if it has all.
    package private(set) var writeBegan = Tick.never

    package init(host: StoreHost, journal: (any Journal)?, line: JournalLine) {
        self.host = host
        self.journal = journal
        self.line = line
    }

    // MARK: - Writes

    package func append(_ batches: [SealedBatch], now: Tick) {
        guard journal != nil else { return }
        line.append(batches)
        advance(now: now)
    }

    /// The store has another role, whose driver has this desk from now on; what it is says whether writes that found no
    /// room come again by themselves.
    package func roleChanged(retries: Bool) {
        writeBegan = .never
        line.roleChanged(retries: retries)
    }

    /// The journal was cut off after this end of a batch (PROTOCOL, R-83).
    package func truncated(to end: SequenceNumber) { line.truncated(to: end) }

    /// The journal begins anew with this snapshot.
    package func replace(with snapshot: [UInt8], at position: Position, now: Tick) {
        guard journal != nil else { return }
        line.replace(with: snapshot, at: position)
        advance(now: now)
    }

    /// Gives the journal what comes next.
    package func advance(now: Tick) {
        guard let journal else { return }
        let (mailbox, id) = (host.mailbox, ObjectIdentifier(self))
        while let work = line.next(now: now) {
            switch work {
            case .write(.batches(let batches)):
                let (metrics, began) = (host.metrics, MonotonicClock.now)
                if writeBegan == .never { writeBegan = began }
                append(batches, to: journal) { outcome in
                    if case .success = outcome { metrics.synced(nanoseconds: MonotonicClock.now - began) }
                    mailbox.put { $0.journalDesk(id)?.written(outcome) }
                }
            case .write(.replacement(let bytes, let position)):
                journal.replace(withSnapshot: bytes, at: position) { outcome in
                    mailbox.put { $0.journalDesk(id)?.written(outcome) }
                }
            case .save(let number):
                guard let snapshot = host.driver?.snapshots[number] else {
                    line.saved(isFailed: false, at: now)
                    continue
                }
                journal.save(snapshot: snapshot.bytes, at: snapshot.info.position) { outcome in
                    mailbox.put { $0.journalDesk(id)?.saved(outcome) }
                }
            }
        }
    }

    /// The journal of a data node gets the commit number in the same transaction (PROTOCOL, R-84).
    private func append(
        _ batches: [SealedBatch], to journal: any Journal,
        completion: @escaping @Sendable (Result<Void, JournalFailure>) -> Void
    ) {
        guard let arbitrated = journal as? any ArbitratedJournal, arbitrated.arbitration != nil,
            let end = batches.last?.head.last
        else { return journal.append(batches, completion: completion) }
        arbitrated.append(batches, committed: min(host.committedNumber, end), completion: completion)
    }

    private func written(_ outcome: Result<Void, JournalFailure>) {
        let now = MonotonicClock.now
        switch outcome {
        case .success:
            writeBegan = .never
            line.written()
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

    /// The machine wants a snapshot saved, which shows the state at `sequence`.
    package func offer(_ number: SnapshotNumber, at sequence: SequenceNumber, now: Tick) {
        line.offer(number, at: sequence)
        advance(now: now)
    }

    /// A snapshot could not be made: the next is due after a pause.
    package func snapshotFailed(at now: Tick) { line.snapshotFailed(at: now) }

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
}

extension StoreHost {
    /// The way to the store's journal; nil for a client, and if the store's role has changed since this desk asked for
    /// what is done now.
    func journalDesk(_ id: ObjectIdentifier) -> JournalDesk? {
        driver.map(\.desk).flatMap { ObjectIdentifier($0) == id ? $0 : nil }
    }

    /// Through which everything is known to be committed, as an arbitrated journal keeps it.
    var committedNumber: SequenceNumber {
        standby?.machine.log.committed ?? primary?.knownCommitted ?? position?.sequence ?? .zero
    }

    private var position: Position? { driver?.position }
}
