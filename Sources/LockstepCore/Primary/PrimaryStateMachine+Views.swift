// What readers see of a primary, and when (PROTOCOL, R-16, R-41, R-48).
//
// ``ReaderSide`` has the views and the reads that wait.

extension PrimaryStateMachine {
    // MARK: - Views

    /// Captures a view at the end of what is handed over: it may be shown when that has committed.
    ///
    /// Under load that is when the schedule says so; a few entries cost so little that they are always shown at once.
    mutating func captureView(_ step: inout PrimaryStep) {
        let isDue = readers.isViewDue(now: step.now, step.state)
        let isTaken = (isDue || isLittle(after: readers.captured.sequence)) && !buggify(.lateView)
        guard isTaken || buggify(.earlyView) else { return }
        readers.capture(log, now: step.now, step.state)
    }

    /// Whether so few entries follow `sequence` that a view costs little.
    private func isLittle(after sequence: SequenceNumber) -> Bool {
        log.position.sequence.rawValue - sequence.rawValue < 64
    }

    /// When nothing is waiting, the working state is the committed one and can be shown as it is.
    mutating func refreshView(_ step: inout PrimaryStep) {
        guard isViewMissing else { return }
        let isDue = readers.isViewDue(now: step.now, step.state)
        guard isDue || isLittle(after: view.sequence) else { return }
        readers.capture(log, now: step.now, step.state)
        readers.show(through: committed.position.sequence, step.state)
    }

    /// Whether there is more to show than readers see, and it has committed.
    var isViewMissing: Bool { view.sequence < committed.position.sequence && head == committed.position.sequence }

    // MARK: - Reads

    /// A READ is answered from the view, or waits until the view has reached what it needs.
    mutating func readReceived(
        _ read: Read, _ frame: RawSpan, from connection: Connection, _ step: inout PrimaryStep
    ) {
        // Until its replicas were heard, somebody may have been acknowledged more than is committed here.
        let isUnsure = !audience.isSettled && read.level == .linearizable
        let refusal = isUnsure ? .opening : readRefusal
        guard refusal == nil, !buggify(.refusesRead) else {
            step.directives.append(
                .send(stamp.readUnavailable(id: read.id, view: view, because: refusal), to: connection))
            return
        }
        var minimum = read.minimum
        var round: UInt64 = 0
        switch read.level {
        case .local: minimum = .zero
        case .session: break
        case .linearizable:
            // Everything acknowledged is committed here; a primary that is behind got no further.
            minimum = committed.position.sequence
            round = confirmationRound(&step)
        }
        // An index alone needs no view, only the commit: the asker waits for it in its own.
        let isConfirmed = round <= confirmedRound
        if isConfirmed, minimum <= (read.isIndexOnly ? committed.position.sequence : view.sequence),
            !buggify(.queuesRead)
        {
            var place = view
            if read.isIndexOnly { place.sequence = max(minimum, view.sequence) }
            let answer = stamp.readResult(
                id: read.id, isIndexOnly: read.isIndexOnly, query: read.query, in: frame, state: step.state, view: place
            )
            step.directives.append(.send(answer, to: connection))
        } else if !readers.add(
            read, frame: frame, minimum: minimum, round: round, from: connection, now: step.now)
        {
            step.directives.append(.send(stamp.readUnavailable(id: read.id, view: view), to: connection))
        }
    }

    /// The round of confirmation for which a linearizable read waits; 0 where nobody else could be primary.
    private mutating func confirmationRound(_ step: inout PrimaryStep) -> UInt64 {
        guard let server = replication, !server.isSole else { return 0 }
        var round: UInt64 = 0
        replicate(&step) { server, log, _, directives in round = server.confirm(log: log, into: &directives) }
        return round
    }

    private var confirmedRound: UInt64 { replication?.confirmedRound ?? .max }

    /// A WATCH is taken, or there is no room for it; it is answered when time comes to it.
    mutating func watchReceived(
        _ request: WatchRequest, _ frame: RawSpan, from connection: Connection, _ step: inout PrimaryStep
    ) {
        let refused = readers.watch(request, frame: frame, from: connection, now: step.now, stamp)
        if let refused { step.directives.append(.send(refused, to: connection)) }
    }

    /// Tells those who watch what is new, some in each turn.
    mutating func answerWatches(_ step: inout PrimaryStep) {
        for answer in readers.takeWatched(now: step.now, because: readRefusal, stamp, step.state) {
            step.directives.append(.send(answer.frame, to: answer.connection))
        }
    }

    /// When somebody who watches is to be told something.
    var watchDeadline: Tick {
        guard isEpochOpen else { return .never }
        return readers.watchDeadline(because: readRefusal, isBehind: view.sequence < head)
    }

    /// Why the state may not be read now: a primary that is behind lacks what was acknowledged.
    package var readRefusal: ReadRefusal? {
        switch phase {
        case .created: .opening
        // What was recovered is shown in this process while its epoch opens, on a full disk for long.
        case .opening, .stopping: view.sequence > .zero ? nil : .opening
        case .awaiting, .admitting: nil
        case .behind: .behind
        case .deposed: .opening
        case .halted: .halted
        }
    }

    /// Those that wait are told what those that come will be.
    mutating func refuseReads(_ step: inout PrimaryStep) {
        for answer in readers.takeAll(because: readRefusal, stamp) {
            step.directives.append(.send(answer.frame, to: answer.connection))
        }
    }

    /// Answers the reads whose sequence number the view has reached.
    mutating func answerReads(_ step: inout PrimaryStep) {
        for answer in readers.takeAnswered(confirmed: confirmedRound, stamp, step.state) {
            step.directives.append(.send(answer.frame, to: answer.connection))
        }
    }
}
