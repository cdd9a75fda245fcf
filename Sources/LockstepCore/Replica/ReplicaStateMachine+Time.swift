// Deadlines: every wait for a peer ends here if the peer does not end it.
extension ReplicaStateMachine {
    /// Whether ``ticked(now:state:into:)`` is due in this turn: a deadline has come, or somebody wants a newer view, which
    /// no deadline tells.
    package func isTickDue(now: Tick, state: any FollowingState) -> Bool {
        now >= nextDeadline || state.isViewWanted
    }

    /// When ``ticked(now:state:into:)`` is due if nobody wants a view before.
    package var nextDeadline: Tick {
        guard phase != .halted else { return .never }
        var deadline = min(readers.nextDeadline, joins.nextDeadline, nextView, watchDeadline)
        if stream.hasMore { deadline = .zero }
        if isListening { deadline = min(deadline, stream.silenceEnds(after: ReplicaTiming.silence)) }
        switch stage {
        case .idle, .preparing: break
        case .subscribing(let due), .syncing(_, let due), .waiting(let due): deadline = min(deadline, due)
        case .fetching: if let fetch = install.fetch { deadline = min(deadline, fetch.nextDeadline) }
        case .following: deadline = min(deadline, repairs.nextDeadline)
        }
        return deadline
    }

    /// Whether beacons are expected.
    private var isListening: Bool {
        switch stage {
        case .idle, .subscribing: false
        case .syncing, .waiting, .fetching, .preparing, .following: true
        }
    }

    /// Does what time brings; calling it early or late does no harm.
    package mutating func ticked(
        now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        guard phase != .halted else { return }
        for answer in readers.takeExpired(now: now, stamp) {
            directives.append(.send(answer.frame, to: answer.connection))
        }
        var actions: [ServeAction] = []
        joins.ticked(now: now, chunksAtOnce: joins.isHolding && buggify(.oneChunkATime) ? 1 : .max, into: &actions)
        directives.serve(actions)
        if isListening {
            let patience = patience(now: now)
            if now >= stream.silenceEnds(after: patience) { silent(now: now, into: &directives) }
        }
        stageTicked(now: now, into: &directives)
        if stream.hasMore { advance(now: now, state: state, into: &directives) }
        readers.advanceWatches(now: now)
        finish(now: now, state: state, into: &directives)
        answerWatches(now: now, state: state, into: &directives)
    }

    /// Frames of the stream wait at this node, whose journal is behind: that is no silence of the primary.
    package mutating func streamWaits(now: Tick) { stream.heard(now: now) }

    /// How long the stream may say nothing, in milliseconds.
    private mutating func patience(now: Tick) -> Int64 {
        guard stage == .following, now >= stream.silenceEnds(after: ReplicaTiming.shortSilence) else {
            return ReplicaTiming.silence
        }
        return buggify(.resubscribes) ? ReplicaTiming.shortSilence : ReplicaTiming.silence
    }

    private mutating func stageTicked(now: Tick, into directives: inout [ReplicaDirective]) {
        switch stage {
        case .idle, .preparing: break
        case .subscribing(let due):
            guard now >= due else { return }
            directives.append(.count(.reconnects))
            subscribe(now: now, into: &directives)
        case .syncing(_, let due):
            if now >= due { syncAgain(now: now, into: &directives) }
        case .waiting(let due):
            if now >= due { sync(now: now, into: &directives) }
        case .fetching:
            guard let fetch = install.fetch, now >= fetch.nextDeadline else { return }
            if now - fetch.lastProgress >= Tick.milliseconds(ReplicaTiming.fetchProgress) {
                syncOnNewSocket(now: now, into: &directives)
            } else {
                fetchMore(now: now, into: &directives)
            }
        case .following:
            switch repairs.progress {
            case .none: break
            case .scheduled(let due): if now >= due { repairDue(now: now, into: &directives) }
            case .asked(_, let due): if now >= due { repairOverdue(now: now, into: &directives) }
            }
        }
    }

    /// No beacon for 1.5 s: the subscription is dead, whatever its socket says.
    private mutating func silent(now: Tick, into directives: inout [ReplicaDirective]) {
        directives.append(.count(.reconnects))
        guard stage == .preparing else {
            subscribe(now: now, into: &directives)
            return
        }
        // What is being decoded is still of use; if the stream stays silent, the next silence finds it following.
        directives.append(upstream.subscription)
        stream.subscribed(at: log.position.sequence, now: now)
    }
}
