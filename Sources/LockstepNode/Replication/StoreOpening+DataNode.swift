internal import LockstepCore

extension StoreOpening {
    /// Opens a store of a data node: it begins as a standby, whatever the record says.
    func openData(_ source: JournalSource) throws -> Opened {
        guard let journal = try openJournal(source, isForDataNode: true) as? any ArbitratedJournal,
            journal.arbitration != nil
        else {
            throw LockstepError(
                .journalForeign,
                "the journal of \(name) (\(source.description)) belongs to no cluster with an arbiter: create the store "
                    + "there first")
        }
        guard !journal.isVolatile else {
            throw LockstepError(
                .invalidConfiguration,
                "a data node needs a journal on a disk: with one in memory each start would be another member")
        }
        services.learned(journal.identity.cluster)
        let state = try makeState()
        let host = makeHost(role: .replica, incarnation: journal.identity.incarnation, state: state)
        let recovered = try recover(journal, into: state)
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        try checkClock(journal, last: recovered.log.time, wall: wall)
        let driver = host.makeStandby(journal, state, recovered, now: now)
        return opened(host, as: .standby(driver), with: recovered, from: journal)
    }
}
