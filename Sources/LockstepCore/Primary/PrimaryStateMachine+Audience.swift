import DequeModule

extension PrimaryStateMachine {
    private var joinLog: JoinLog {
        JoinLog(stamp: stamp, store: log.store, committed: committed, epochEnds: log.epochEnds, window: window)
    }

    /// Whether a peer knows of a history that this log does not have.
    ///
    /// A volatile log began with this process; who knows of an earlier one learns that from WELCOME, and discards.
    func isAhead(_ known: KnownPosition) -> Bool {
        guard !configuration.isVolatile, !isAccepted(known) else { return false }
        if known.position.epoch == epoch, known.boot != .none, known.boot != configuration.boot { return true }
        switch joinLog.verdict(on: known) {
        case .known, .tooOld: return false
        case .ahead, .diverged: return true
        }
    }

    /// Whether the epoch is one that no clock can have led to: more than a year above this log's and the time.
    static func isImpossible(_ reported: Epoch, own: Epoch, wall: LogTime) -> Bool {
        let milliseconds = UInt64(max(0, wall.rawValue / 1_000))
        return reported.rawValue > max(own.rawValue, milliseconds) &+ 366 * 86_400_000
    }

    /// Whether an operator accepted the loss of what this position had.
    ///
    /// What was written since has a higher epoch than what was accepted, so that no later loss is covered.
    private func isAccepted(_ known: KnownPosition) -> Bool {
        guard let accepted = configuration.lossAccepted else { return false }
        let (lost, limit) = (known.position, accepted.position)
        guard lost.epoch == limit.epoch else { return lost.epoch < limit.epoch }
        // An epoch belongs to one boot, which wrote one history.
        if known.boot != .none, accepted.boot != .none, known.boot != accepted.boot { return false }
        guard lost.sequence == limit.sequence else { return lost.sequence < limit.sequence }
        return lost.hash == .none || limit.hash == .none || lost.hash == limit.hash
    }

    /// Raises the alarm for a position higher than those reported before; a replica's report also ends admission,
    /// unless an operator accepted that loss.
    mutating func audienceIsAhead(
        _ known: KnownPosition, by node: String, stopsAdmitting: Bool, into directives: inout [PrimaryDirective]
    ) {
        // A volatile log never had what its audience remembers of an earlier one; WELCOME tells them.
        guard !configuration.isVolatile, !isAccepted(known) else { return }
        let stops = stopsAdmitting && (phase == .admitting || phase == .awaiting)
        if stops {
            phase = .behind
            refuseReads(into: &directives)
        }
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.behindPrimaryAdmits), stops { phase = .admitting }
        #endif
        if let before = alarmedBehind?.position, !stops,
            (known.position.epoch, known.position.sequence) <= (before.epoch, before.sequence)
        {
            return
        }
        alarmedBehind = known
        directives.append(.alarm(.primaryBehind(own: committed, reported: known, by: node)))
    }

    /// A frame came in on the bulk socket.
    package mutating func bulkReceived(
        _ frame: RawSpan, from connection: Connection, now: Tick, into directives: inout [PrimaryDirective]
    ) {
        guard isEpochOpen, phase != .halted else { return }
        // What cannot be read is not answered.
        guard let decoded = try? Message.decode(frame, rule: .member(configuration.cluster.hash)),
            let request = BulkRequest(decoded.message)
        else {
            directives.append(.count(.framesRefused))
            return
        }
        if case .sync = request {
            directives.append(.count(.joins))
            hurryBeacons(now: now)
        }
        var actions: [ServeAction] = []
        joins.received(
            request, from: connection, now: now, log: joinLog, bounds: buggify.bounds(for: request), into: &actions)
        serve(actions, into: &directives)
    }

    mutating func serve(_ actions: [ServeAction], into directives: inout [PrimaryDirective]) {
        for action in actions {
            switch action {
            case .frame(let frame, let connection): directives.append(.sendBulk(frame, to: connection))
            case .chunks(let snapshot, let indices, let connection):
                directives.append(.sendChunks(snapshot: snapshot, indices: indices, to: connection))
            case .wantsSnapshot: if snapshot == .none { isSnapshotWanted = true }
            // The plan says so to the joiner. What it was told of its history, its HELLO says, and that decides.
            case .audienceAhead: break
            case .dropSnapshot(let snapshot): directives.append(.dropSnapshot(snapshot))
            case .count(let counter): directives.append(.count(counter))
            }
        }
    }

    // MARK: - Snapshots

    /// The driver saw that the journal has grown: the next mark takes a snapshot.
    ///
    /// One that is under way serves as well.
    package mutating func snapshotDue() {
        isSaveDue = true
        if snapshot == .none { isSnapshotWanted = true }
    }

    /// A snapshot is encoded: joiners may have it; the journal gets it if it has grown, since writing it delays commits.
    package mutating func snapshotEncoded(
        _ number: SnapshotNumber, info: SnapshotInfo, now: Tick, into directives: inout [PrimaryDirective]
    ) {
        precondition(snapshot == .encoding(number), "this snapshot is not being encoded")
        snapshot = .none
        var actions: [ServeAction] = []
        joins.snapshotReady(info, now: now, into: &actions)
        if isSaveDue { directives.append(.saveSnapshot(number)) }
        isSaveDue = false
        serve(actions, into: &directives)
    }

    /// The snapshot could not be encoded; joiners ask again.
    package mutating func snapshotFailed(_ number: SnapshotNumber, into directives: inout [PrimaryDirective]) {
        snapshot = .none
        joins.snapshotFailed()
        directives.append(.dropSnapshot(number))
    }

    // MARK: - Time

    /// When ``ticked(now:wall:state:into:)`` is due.
    package var nextDeadline: Tick {
        guard phase != .created, phase != .halted else { return .never }
        let isViewBehind = view.sequence < committed.position.sequence && head == committed.position.sequence
        return min(
            min(isViewBehind ? views.due : .never, beaconDue, nextSweep),
            min(retryPersist, phase == .awaiting ? awaitEnds : .never),
            min(nextDue, joins.nextDeadline, reads.nextDeadline, handOverHeld == .zero ? .never : handOverHeld))
    }

    /// Does what time brings: beacons, expiry, acknowledgements, marks before rest, another try of a full disk.
    package mutating func ticked(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        guard phase != .created, phase != .halted else { return }
        if now >= handOverHeld { handOverHeld = .zero }
        admitIfHeard(now: now, wall: wall, state: state, into: &directives)
        if now >= retryPersist, isDiskFull {
            retryPersist = .never
            directives.append(.persist(inFlight))
        }
        if now >= beaconDue {
            lastBeacon = now
            if !buggify(.skipsBeacon) { directives.append(.publish(stamp.frame(.beacon(beacon)))) }
        }
        if now >= nextSweep {
            excuse(now - nextSweep)
            nextSweep = now.advanced(byMilliseconds: 1_000)
            if !buggify(.skipsSweep) { sweep(now: now, wall: wall, state: state, into: &directives) }
        }
        if areRunsHeld { beginRuns(into: &directives) }
        if now >= nextDue { emitDue(now: now, wall: wall, state: state) }
        refreshView(now: now, state: state)
        answerReads(state: state, into: &directives)
        for read in reads.expire(now: now) {
            directives.append(.send(stamp.readUnavailable(id: read.id, view: view), to: read.connection))
        }
        var actions: [ServeAction] = []
        joins.ticked(now: now, chunksAtOnce: joins.isHolding && buggify(.oneChunkATime) ? 1 : .max, into: &actions)
        serve(actions, into: &directives)
    }

    /// What beacons say has changed, or somebody came who waits for one: for a second they leave every 100 ms.
    mutating func hurryBeacons(now: Tick) { livelyUntil = now.advanced(byMilliseconds: 1_000) }

    /// Every 100 ms, at rest every 300 ms, at even parts of the clock, so that the stores of a node wake it, and its
    /// replicas, together.
    private var beaconDue: Tick {
        guard isEpochOpen else { return .never }
        let period = Tick.milliseconds(lastBeacon < livelyUntil ? 100 : 300)
        return Tick(rawValue: (lastBeacon.rawValue / period + 1) * period)
    }

    private var beacon: Beacon {
        var beacon = Beacon(
            boot: configuration.boot, incarnation: configuration.incarnation, commit: committed.position,
            time: committedTime, markSequence: .zero, markDigest: .none)
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.beaconWithoutMark) { return beacon }
        #endif
        if let mark = committedMark { (beacon.markSequence, beacon.markDigest) = (mark.sequence, mark.digest) }
        return beacon
    }

    /// Time in which this process did not run is nobody's silence: what was sent meanwhile is still to be read.
    private mutating func excuse(_ pause: Int64) {
        guard pause > Tick.milliseconds(1_000) else { return }
        bindings = bindings.mapValues { binding in
            var binding = binding
            binding.lastHeard = Tick(rawValue: binding.lastHeard.rawValue + pause)
            return binding
        }
    }

    /// Once a second: sessions that were silent too long, acknowledgements, peers that are gone, a last mark.
    private mutating func sweep(
        now: Tick, wall: LogTime, state: any ReplicatedState, into directives: inout [PrimaryDirective]
    ) {
        lookAtAudience(now: now, into: &directives)
        forgetSilentPeers(now: now)
        lookForDuplicates(now: now, into: &directives)
        guard admits else { return }
        let expired = bindings.filter { session, binding in
            guard let standing = log.sessions.standing(of: session) else { return false }
            return now - binding.lastHeard > Self.nanoseconds(standing.timeToLive)
        }.keys.sorted()
        endSessions(expired, now: now, wall: wall, state: state, into: &directives)
        noteSessionCount(into: &directives)
        let acknowledged = acknowledgements.sorted { $0.key < $1.key }.map {
            SessionAcknowledgement(session: $0.key, through: $0.value)
        }
        acknowledgements = [:]
        if !acknowledged.isEmpty {
            append(.sessionAck(acknowledged), now: now, wall: wall, state: state) { machine, _ in
                for item in acknowledged { _ = machine.log.sessions.acknowledge(item.session, through: item.through) }
            }
        }
        acknowledgeEnds(now: now, wall: wall, state: state)
        // The last writes before a rest get their mark too, or nobody would compare them.
        if isUnmarked, isMarkDue(now), inFlight.isEmpty {
            seal(now: now, wall: wall, forcingMark: true, state: state)
        }
    }

    private static func nanoseconds(_ microseconds: Int64) -> Int64 {
        let (product, overflow) = microseconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? .max : product
    }

    package var status: PrimaryStatus {
        PrimaryStatus(
            phase: phase, epoch: epoch, head: head, committed: committed, time: committedTime, mark: committedMark,
            unpersistedBytes: unpersistedBytes, isDiskFull: isDiskFull || isSpaceLow, behind: alarmedBehind,
            awaited: phase == .awaiting ? audience.awaited : [])
    }

    /// The relations that the machine's header names.
    package func checkInvariants() {
        var position = committed.position
        for batch in inFlight + sealed {
            precondition(batch.head.previous == position.hash, "sealed batches follow the commit without holes")
            position = batch.position
        }
        precondition(position == log.position, "the log ends with the last sealed batch")
        if let last = window.last { precondition(last.position == committed.position, "the window ends at the commit") }
        if let open, !open.isEmpty { precondition(open.head.first == position.sequence.next, "the open batch is next") }
        var waited = committed.position.sequence
        for answer in answers {
            precondition(answer.sequence > committed.position.sequence, "an answer waits for what has not committed")
            precondition(answer.sequence >= waited, "answers are in order")
            waited = answer.sequence
        }
        precondition(phase != .admitting || awaitEnds == .never, "who admits waits for nobody")
        audience.checkInvariants()
        log.sessions.checkInvariants()
        precondition(sessionCounts.values.allSatisfy { $0 > 0 }, "a connection without sessions is not counted")
        log.runs.checkInvariants()
        scheduler.checkInvariants(log.runs)
        joins.checkInvariants()
    }
}
