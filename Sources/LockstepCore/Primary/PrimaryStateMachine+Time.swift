// What time brings (PROTOCOL, R-19, R-23, R-30, R-45).

extension PrimaryStateMachine {
    /// When ``ticked(_:)`` is due.
    package var nextDeadline: Tick {
        guard phase != .created, !isOver else { return .never }
        return min(
            min(isViewMissing ? readers.viewDue : .never, beaconDue, bindings.nextSweep, watchDeadline),
            min(journalRoom.retry, phase == .awaiting ? audience.awaitEnds : .never),
            min(due.next, joins.nextDeadline, readers.nextDeadline, pipeline.heldDeadline),
            replication?.nextDeadline ?? .never)
    }

    /// Does what time brings: beacons, expiry, acknowledgements, marks before rest, another try of a full disk.
    package mutating func ticked(_ step: inout PrimaryStep) {
        guard phase != .created, !isOver else { return }
        if let deadline = replication?.nextDeadline, step.now >= deadline {
            replicate(&step) { server, log, now, directives in server.ticked(now: now, log: log, into: &directives) }
            guard !isOver else { return }
        }
        pipeline.holdEnds(now: step.now)
        admitIfHeard(&step)
        if journalRoom.isRetryDue(now: step.now) { step.directives.append(.persist(pipeline.atJournal)) }
        if step.now >= beaconDue {
            beacons.left(now: step.now)
            if !buggify(.skipsBeacon) { step.directives.append(.publish(stamp.frame(.beacon(beacon)))) }
        }
        if step.now >= bindings.nextSweep {
            bindings.excuse(step.now - bindings.nextSweep, now: step.now)
            bindings.sweeps(at: step.now.advanced(byMilliseconds: 1_000))
            if !buggify(.skipsSweep) { sweep(&step) }
        }
        if scheduler.isHeld { beginRuns(&step) }
        if step.now >= due.next { emitDue(&step) }
        readers.advanceWatches(now: step.now)
        refreshView(&step)
        answerReads(&step)
        answerWatches(&step)
        for answer in readers.takeExpired(now: step.now, stamp) {
            step.directives.append(.send(answer.frame, to: answer.connection))
        }
        var actions: [ServeAction] = []
        joins.ticked(now: step.now, chunksAtOnce: joins.isHolding && buggify(.oneChunkATime) ? 1 : .max, into: &actions)
        serve(actions, &step)
    }

    private var beaconDue: Tick { isEpochOpen || isFeeding ? beacons.due : .never }

    private var beacon: Beacon {
        var beacon = Beacon(
            boot: configuration.boot, incarnation: configuration.incarnation, commit: committed.position,
            time: committedTime, markSequence: .zero, markDigest: .none)
        if let mark = committedMark { (beacon.markSequence, beacon.markDigest) = (mark.sequence, mark.digest) }
        return beacon
    }

    /// Once a second: sessions that were silent too long, acknowledgements, peers that are gone, a last mark.
    private mutating func sweep(_ step: inout PrimaryStep) {
        lookAtAudience(&step)
        peers.forgetSilent(now: step.now)
        sessionRoom.budgets.sweep(now: step.now)
        if let names = peers.lookForDuplicates(own: (configuration.node, configuration.boot), now: step.now) {
            step.directives.append(.alarm(.duplicateNodes(names)))
        }
        guard admits else { return }
        endSessions(bindings.expired(log.sessions, now: step.now), &step)
        noteSessionCount(&step)
        let acknowledged = bindings.takeAcknowledged()
        if !acknowledged.isEmpty {
            append(.sessionAck(acknowledged), &step) { machine, _ in
                for item in acknowledged { _ = machine.log.sessions.acknowledge(item.session, through: item.through) }
            }
        }
        acknowledgeEnds(&step)
        // The last writes before a rest get their mark too, or nobody would compare them.
        let isWanted = marks.isUnmarked && marks.isDue(step.now) || marks.isOverdue(step.now)
        if isWanted, pipeline.isJournalFree { seal(forcingMark: true, &step) }
    }
}
