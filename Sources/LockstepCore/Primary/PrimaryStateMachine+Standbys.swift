// A primary with standbys: how its reign begins and ends, and what they and the arbiter say (PROTOCOL, R-76 to R-79 and
//

extension PrimaryStateMachine {
    /// Takes over the end of the log that is not known to be committed: the state gets it, and nobody sees it yet.
    ///
    /// False if it cannot be applied; then the machine has stopped.
    mutating func inherit(_ tail: [SealedBatch], _ step: inout PrimaryStep) -> Bool {
        for batch in tail {
            let mark: LogState.Mark?
            do {
                mark = try log.apply(batch, to: step.state)
            } catch {
                halt(.logBroken(error), &step)
                return false
            }
            if let mark {
                let own = step.state.digest + log.digest
                guard own == mark.digest else {
                    halt(.divergedAgain(at: mark.sequence, own: own, primary: mark.digest), &step)
                    return false
                }
            }
            pipeline.inherit(batch, mark: mark)
        }
        if !tail.isEmpty { clock = LogClock(last: log.time, wall: step.wall, now: step.now) }
        return true
    }

    private mutating func halt(_ reason: HaltReason, _ step: inout PrimaryStep) {
        phase = .halted
        step.directives.append(.halt(reason))
    }

    /// The batch that opens the epoch is sealed: from here on standbys may follow.
    mutating func reignBegins(_ reign: Reign, now: Tick) {
        replication = ReplicationServer(
            reign.won, own: reign.member, opening: log.position.sequence, memory: reign.memory, seed: reign.seed,
            now: now)
    }

    // MARK: - While the epoch opens

    /// Whether the epoch is not open, and data nodes get what has committed before it: one that begins anew may be needed
    /// for the opening to commit.
    var isFeeding: Bool { !isEpochOpen && !isOver && replication != nil && committed.position.epoch > .zero }

    /// Whether nothing that this peer knows is missing in what has committed here; else it waits for the opening.
    func isFed(_ known: KnownPosition) -> Bool {
        known.position.epoch <= committed.position.epoch && known.position.sequence <= committed.position.sequence
    }

    /// Has the state encoded with which the reign began, since the working state shows what has not committed.
    mutating func takeCommitted(_ step: inout PrimaryStep) {
        let place = committed.position.sequence
        let number = snapshots.captured(at: place, chunkBytes: buggify(.tinyChunks) ? 1_024 : Limits.chunkBytes)
        _ = snapshots.committed(through: place)
        step.directives.append(.encodeCommitted(number))
    }

    // MARK: - The post

    /// The driver wants `node`, or whoever has everything, to be the primary; nothing is admitted until that is decided.
    ///
    /// Why not, if it cannot be done; then nothing has changed.
    package mutating func giveAwayPost(to node: NodeID?) -> HandoverRefusal? {
        guard phase == .admitting, replication != nil else { return .notAdmitting }
        return replication?.giveAwayPost(to: node)
    }

    /// An operator wants the record read.
    package mutating func readRecord(_ step: inout PrimaryStep) {
        replicate(&step) { server, _, _, directives in server.readRecord(into: &directives) }
    }

    /// Whether it waits for another node to take its post.
    var isGivingAwayPost: Bool { replication?.isHandingOver ?? false }

    /// The log, if it ends with what is committed: then the state has nothing that could be lost.
    ///
    /// Nil else.
    package var committedLog: (log: LogState, window: ResendWindow)? {
        pipeline.isDrained && committed.position == log.position ? (log, pipeline.window) : nil
    }

    // MARK: - What comes

    /// A data node said this on the socket for standbys, in a frame of this epoch.
    package mutating func replicationReceived(
        _ request: ReplicationRequest, epoch sender: Epoch, from connection: Connection, _ step: inout PrimaryStep
    ) {
        replicate(&step) { server, log, now, directives in
            server.received(request, epoch: sender, from: connection, now: now, log: log, into: &directives)
        }
    }

    /// A connection to the socket for standbys is gone.
    package mutating func replicationDisconnected(_ connection: Connection, _ step: inout PrimaryStep) {
        replicate(&step) { server, _, _, _ in server.disconnected(connection) }
    }

    /// What the node's heartbeat says of this store, each time that one leaves; nil: it leaves the store out.
    ///
    /// `began` is when the write was begun that is under way; never: none is.
    package mutating func pulse(writingSince began: Tick, now: Tick) -> Heartbeat.Pulse? {
        guard !isOver else { return nil }
        let isWriting = began == .never || now - began < Tick.milliseconds(ReplicationServer.stuckMilliseconds)
        return replication?.pulse(
            channel: configuration.channel, end: log.position.sequence, isWriting: isWriting, now: now)
    }

    /// The arbiter has applied an attempt.
    package mutating func recordApplied(_ id: AttemptID, revision: Int64, _ step: inout PrimaryStep) {
        replicate(&step) { server, log, now, directives in
            server.applied(id, revision: revision, now: now, log: log, into: &directives)
        }
    }

    /// The arbiter has shown this record.
    package mutating func recordFound(_ stored: StoredRecord, request: UInt64, _ step: inout PrimaryStep) {
        replicate(&step) { server, log, now, directives in
            server.found(stored, request: request, now: now, log: log, into: &directives)
        }
    }

    /// The journal has what the arbiter had shown when it was asked for that: what waited for it commits.
    package mutating func remembered(_ memory: ArbiterMemory, _ step: inout PrimaryStep) {
        replication?.kept = memory
        replicate(&step) { _, _, _, _ in }
    }

    /// Lets the replication take an event, commits what that allows, and answers the reads that it confirms.
    mutating func replicate(
        _ step: inout PrimaryStep,
        _ event: (inout ReplicationServer, ReplicationLog, Tick, inout [ReplicationDirective]) -> Void
    ) {
        guard !isOver, var server = replication.take() else { return }
        var wanted: [ReplicationDirective] = []
        event(&server, replicationLog, step.now, &wanted)
        server.advanceRounds(log: replicationLog, into: &wanted)
        replication = server
        for directive in wanted {
            if case .over = directive { depose(&step) }
            step.directives.append(.replication(directive))
        }
        guard !isOver else { return }
        if commit(&step) { replicate(&step) { server, log, _, directives in server.pump(log: log, into: &directives) } }
        answerReads(&step)
    }

    /// A peer knows of a later reign: that is no history that this log lacks, but a reason to read the record.
    mutating func refuseOfLaterReign(_ hello: Hello, from connection: Connection, _ step: inout PrimaryStep) {
        peers.forget(connection)
        let text = "another node may be the primary since epoch \(hello.known.position.epoch): ask again"
        refuse(.unavailable, text, nonce: hello.nonce, connection, &step)
        readRecord(&step)
    }

    package var replicationLog: ReplicationLog {
        ReplicationLog(
            stamp: stamp(of: epoch), log: log, pipeline: pipeline, lacksRoom: journalRoom.isWriteHeldUp)
    }

    /// Somebody else reigns: nothing more is said, and what is not committed is forgotten by opening the store anew.
    private mutating func depose(_ step: inout PrimaryStep) {
        phase = .deposed
        refuseReads(&step)
    }

    /// Whether too few members are in the set for anything to commit.
    var lacksMembers: Bool { replication.map { !$0.inSync.hasMinimum } ?? false }
}
