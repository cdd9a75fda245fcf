internal import LockstepCore
internal import Logging

// How a store of a data node changes its role while the node runs (PROTOCOL, R-82, R-86, R-89).
extension StoreHost {
    // MARK: - Standby to primary

    /// This node is the primary of the record's epoch: the rest of its log is applied to the state, and the epoch opened.
    func won(_ stored: StoredRecord) {
        guard let standby else { return }
        let (replica, kept) = (standby.replica.machine, standby.machine.log)
        guard let tail = kept.tail(after: replica) else { return readJournal(toOpen: stored) }
        var recovered = RecoveredStore(log: replica.log, window: kept.window)
        recovered.window.removeLast(after: replica.log.position.sequence)
        recovered.tail = tail
        reign(stored, from: recovered)
    }

    /// A state that is wrong, or too old for what is in memory, is made anew from the journal, of which each mark is
    /// compared.
    ///
    /// That is read when nothing is under way there.
    private func readJournal(toOpen stored: StoredRecord) {
        guard let standby else { return }
        let mailbox = mailbox
        // It answers when all is done that was asked before.
        standby.journal.store(commit: standby.machine.log.committed) { outcome in
            mailbox.put { host in
                switch outcome {
                // What found no room this process knows.
                case .success, .failure(.diskFull): host.reignFromJournal(stored)
                case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
                }
            }
        }
    }

    private func reignFromJournal(_ stored: StoredRecord) {
        guard let standby,
            let read = recover(standby.journal, into: standby.state, committed: standby.machine.log.committed)
        else { return }
        feed.restart(at: read.log.position)
        reign(stored, from: read)
        // The store may have stopped meanwhile: the post is given away again.
        if standby.isStopping { driver?.beginStop() }
    }

    private func reign(_ stored: StoredRecord, from recovered: RecoveredStore) {
        guard let standby else { return }
        let now = MonotonicClock.now
        let wall = services.heardClock.atTakeover(MonotonicClock.wall, now: now)
        let kept = standby.machine.log
        let identity = standby.journal.identity
        var configuration = PrimaryConfiguration(
            cluster: identity.cluster, node: services.node, incarnation: identity.incarnation, boot: services.boot,
            channel: identity.channel, storeName: name, isVolatile: standby.journal.isVolatile,
            publishEndpoint: services.broadcastEndpoint, bulkEndpoint: services.bulkEndpoint)
        // Who knows more than a member does knows a later record.
        configuration.audienceMilliseconds = 0
        configuration.holdsEffects = services.configuration.given.holdsEffects
        configuration.reign = Reign(
            won: stored, member: standby.machine.configuration.member, memory: standby.machine.election.memory,
            seed: services.generator.next())
        let machine = PrimaryStateMachine(
            configuration: configuration, recovered: recovered.log, window: recovered.window, wall: wall, now: now)
        logger.debug(
            "is the primary now",
            metadata: [
                LogKey.epoch: "\(stored.record.epoch)", LogKey.sequence: "\(kept.end.sequence)",
                LogKey.count: "\(recovered.tail.count)",
            ])
        standby.desk.roleChanged(retries: false)
        let driver = PrimaryDriver(
            host: self, state: standby.state, journal: standby.journal, machine: machine, desk: standby.desk,
            inheriting: recovered.tail)
        driver.kept.inherited = kept.committed
        role = .primary(driver)
        endAlarms(Self.alarmsOfStandby)
        lostPrimary = nil
        links.close()
        driver.start(now: now, wall: wall)
        relocate(to: Self.ownEndpoint, now: now)
        tellPeers(of: stored, log: kept.summary)
    }

    /// Other standbys need not wait for the silence of the primary before, nor that for its own look at the record; and a
    /// primary that knows a lower number reads what an operator has written.
    func tellPeers(of stored: StoredRecord, log: FollowerLog) {
        guard let identity = driver?.desk.journal?.identity else { return }
        let epoch = stored.record.epoch
        let stamp = FrameStamp(channel: identity.channel, clusterHash: identity.cluster.hash, epoch: epoch)
        var shown = ArbiterMemory()
        shown.wrote(stored)
        let report = RecordReport(
            nonce: 0, highest: epoch, log: log, shown: shown, leads: primary != nil, record: stored)
        let frame = stamp.frame(.replicationRequest(.stepDown(report)))
        services.attempt { try services.peers?.sendToAll(frame) }
    }

    // MARK: - Primary to standby

    /// Another node reigns, and the journal is at rest: what is not committed is forgotten, and the store begins anew as
    /// a standby's, with what the journal knows to be committed.
    func steppedDown() {
        // A node that stops begins nothing anew.
        guard stop == nil, let primary, primary.isDeposed, let journal = primary.journal as? any ArbitratedJournal
        else { return }
        let committed = primary.knownCommitted
        let mailbox = mailbox
        // What the machine knew to be committed stays shown.
        journal.store(commit: committed) { outcome in
            mailbox.put { host in
                switch outcome {
                case .success:
                    host.clear(.diskFull)
                    host.reopen(journal, committed)
                // The standby writes it when there is room.
                case .failure(.diskFull):
                    host.raise(.diskFull)
                    host.reopen(journal, committed)
                case .failure(.failed(let reason)): host.halt(.journalFailed(reason))
                }
            }
        }
    }

    private func reopen(_ journal: any ArbitratedJournal, _ committed: SequenceNumber) {
        guard let state, let primary else { return }
        let (desk, memory) = (primary.desk, primary.memory)
        let recovered: RecoveredStore
        if let kept = primary.committedStore {
            // Nothing has to be forgotten, as after a handover: state and consumers stay.
            recovered = kept
        } else {
            guard let read = recover(journal, into: state, committed: committed) else { return }
            recovered = read
            feed.restart(at: read.log.position)
        }
        let (now, wall) = (MonotonicClock.now, MonotonicClock.wall)
        desk.roleChanged(retries: true)
        let driver = makeStandby(journal, state, recovered, desk: desk, memory: memory, now: now)
        role = .standby(driver)
        endAlarms(Self.alarmsOfPrimary)
        driver.start(now: now, wall: wall)
    }

    /// The state as of what the journal, or this process, knows to be committed; nil if it cannot be read, and then the
    /// node ends.
    private func recover(
        _ journal: any ArbitratedJournal, into state: ObservedState, committed: SequenceNumber
    ) -> RecoveredStore? {
        state.reset()
        do {
            return try RecoveredStore(
                journal, named: name, into: state, committed: committed, logger: services.logger)
        } catch {
            services.halt(error)
            return nil
        }
    }

    /// The standby and its replica of a journal that was read; `memory` is what a primary before it knew of the arbiter.
    func makeStandby(
        _ journal: any ArbitratedJournal, _ state: ObservedState, _ recovered: RecoveredStore,
        desk: JournalDesk? = nil, memory: ArbiterMemory? = nil, now: Tick
    ) -> StandbyDriver {
        let identity = journal.identity
        let arbitration = journal.arbitration
        let given = services.configuration.given
        let candidate = ConfigurationRecord.Primary(
            member: Member(node: given.node, incarnation: identity.incarnation), boot: services.boot,
            endpoints: [services.ingressEndpoint])
        let log = recovered.log
        var kept = KeptLog(
            store: log.store, end: log.position, epochEnds: log.allEpochEnds, committed: log.position.sequence,
            window: recovered.window)
        do { for batch in recovered.tail { try kept.append(batch) } } catch {
            preconditionFailure("the journal checks that its batches follow: \(error)")
        }
        kept.wrote(through: kept.end.sequence)
        let stamp = FrameStamp(channel: identity.channel, clusterHash: identity.cluster.hash, epoch: .zero)
        let machine = StandbyStateMachine(
            .init(election: .init(candidate: candidate), stamp: stamp, seed: services.generator.next()), log: kept,
            promised: arbitration?.promised ?? .zero, memory: memory ?? arbitration?.arbiter ?? ArbiterMemory(),
            now: now)
        var configuration = ReplicaConfiguration(
            storeName: name, node: services.node, cluster: identity.cluster, boot: services.boot,
            incarnation: identity.incarnation, channel: identity.channel, hasJournal: true,
            bulkEndpoint: services.bulkEndpoint, seed: services.generator.next())
        configuration.isBesideStandby = true
        let isEmpty = log.position.sequence == .zero
        let replica =
            isEmpty
            ? ReplicaStateMachine(configuration: configuration)
            : ReplicaStateMachine(configuration: configuration, recovered: log, window: recovered.window)
        return StandbyDriver(host: self, state: state, journal: journal, machine: machine, replica: replica, desk: desk)
    }

    // MARK: - The alarms of a role

    /// What only a machine of a primary raises and takes back: nobody else would ever end it.
    private static let alarmsOfPrimary: [AlarmKind] = [.primaryBehind, .duplicateNode, .sessionsNearLimit]

    /// What a standby raises and its primary does not take back.
    ///
    /// Who wins has the log and the arbiter's word, and follows nobody; a primary whose disk is still full finds out
    /// with its first write. A divergence stays in sight for the life of the process.
    private static let alarmsOfStandby: [AlarmKind] = [.ahead, .diskFull, .noPrimary, .arbiterSetBack]

    /// The role in which they were raised is over.
    private func endAlarms(_ kinds: [AlarmKind]) {
        for kind in kinds { clear(kind) }
    }

    // MARK: - Whom the store follows

    /// Where the client's machine finds the primary that runs in this process.
    static let ownEndpoint = "local"

    /// The node's own callers go to another primary, with the same session and the same numbers.
    func relocate(to endpoint: String, now: Tick) {
        client.relocate(to: endpoint, now: now, into: &directives)
        execute(now: now)
    }

    func connectReplication(to primary: ConfigurationRecord.Primary, anew: Bool, now: Tick) {
        guard let endpoint = primary.endpoints.first else { return }
        services.connectReplication(to: primary.member.node, at: endpoint, anew: anew)
    }

    func sendReplication(_ frame: [UInt8], to node: NodeID) {
        count(isSent: services.attempt { try services.peers?.send(frame, to: node) ?? false })
    }

    /// A standby stops for good.
    func halt(_ fault: StandbyFault) {
        let error =
            switch fault {
            case .committedIsLost(let own, let committed):
                LockstepError(
                    .ahead,
                    "what \(name) knows to be committed, through \(committed), is not in its primary's log; its own ends "
                        + "at \(own.sequence): nothing was changed, and an operator must say which of them holds")
            case .wasSetBack:
                LockstepError(
                    .journalForeign,
                    "the journal of \(name) has less than it acknowledged: it is an older copy; give the node a new one"
                )
            case .isCopy:
                LockstepError(
                    .journalForeign, "the journal of \(name) is a copy of its primary's: give the node a new one")
            }
        services.halt(error)
    }
}
