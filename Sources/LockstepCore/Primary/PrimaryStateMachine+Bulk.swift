// Joins, repairs and snapshots (PROTOCOL, R-31 to R-34); ``JoinServer`` decides.

extension PrimaryStateMachine {
    var joinLog: JoinLog {
        JoinLog(
            stamp: stamp, store: log.store, committed: committed, epochEnds: log.epochEnds, window: pipeline.window)
    }

    /// A frame came in on the bulk socket.
    package mutating func bulkReceived(_ frame: RawSpan, from connection: Connection, _ step: inout PrimaryStep) {
        guard isEpochOpen || isFeeding, !isOver else { return }
        // What cannot be read is not answered.
        guard let decoded = try? Message.decode(frame, rule: .member(configuration.cluster.hash)),
            let request = BulkRequest(decoded.message)
        else {
            step.directives.append(.count(.framesRefused))
            return
        }
        if case .sync(let sync) = request {
            guard isEpochOpen || isFed(sync.have) else { return }
            step.directives.append(.count(.joins))
            beacons.hurry(now: step.now)
        }
        var actions: [ServeAction] = []
        joins.received(
            request, from: connection, now: step.now, log: joinLog, bounds: buggify.bounds(for: request), into: &actions
        )
        serve(actions, &step)
    }

    mutating func serve(_ actions: [ServeAction], _ step: inout PrimaryStep) {
        step.directives.serve(actions)
        if actions.contains(.wantsSnapshot) { snapshots.want() }
    }

    // MARK: - Snapshots

    /// The driver saw that the journal has grown: the end of the next turn takes a snapshot, with a mark.
    ///
    /// One that is under way serves as well.
    package mutating func snapshotDue() { snapshots.wantSaved() }

    /// A snapshot is encoded: joiners may have it; the journal gets it if it has grown, since writing it delays commits.
    package mutating func snapshotEncoded(_ number: SnapshotNumber, info: SnapshotInfo, _ step: inout PrimaryStep) {
        let isSaved = snapshots.encoded(number)
        var actions: [ServeAction] = []
        joins.snapshotReady(info, now: step.now, into: &actions)
        if isSaved { step.directives.append(.saveSnapshot(number)) }
        serve(actions, &step)
    }

    /// The snapshot could not be encoded; joiners ask again.
    package mutating func snapshotFailed(_ number: SnapshotNumber, _ step: inout PrimaryStep) {
        snapshots.failed()
        joins.snapshotFailed()
        step.directives.append(.dropSnapshot(number))
    }
}
