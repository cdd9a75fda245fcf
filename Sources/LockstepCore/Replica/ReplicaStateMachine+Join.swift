// The way from a WELCOME to following the stream (PROTOCOL, R-31, R-42, R-43).
extension ReplicaStateMachine {
    /// The node's client machine got a WELCOME from `endpoint`, for the first time or again.
    package mutating func welcomed(
        _ welcome: Welcome, endpoint: String, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        guard phase != .halted else { return }
        guard accepts(welcome) else {
            directives.append(.count(.framesRefused))
            return
        }
        // Its primary speaks in an earlier epoch while the own one opens, and is asked again.
        guard !configuration.isBesideStandby || welcome.commit.epoch >= upstream.highestEpoch else {
            directives.append(.count(.staleFrames))
            return
        }
        if log.store == .none { log = LogState(store: welcome.store) }
        switch upstream.welcomed(welcome, at: endpoint) {
        case .none: guard stage == .idle, phase != .ahead else { return }
        case .moved: break
        // A batch from after the end of an older copy that an operator put back would show a hole that nobody can fill.
        // What is of this history is repaired.
        case .anotherBoot: stream.forgetBuffer()
        case .anotherMemory: discard(state: state, into: &directives)
        case .backwards:
            becomeAhead(of: KnownPosition(position: welcome.commit, boot: welcome.boot), now: now, into: &directives)
            return
        }
        install.endPreparing()
        stream.anotherPublisher()
        upstream.trustSockets()
        directives.append(upstream.bulkConnection)
        subscribe(now: now, into: &directives)
        finish(now: now, state: state, into: &directives)
    }

    /// Whether a WELCOME is a primary's, and of this cluster and store, if they are known.
    package func accepts(_ welcome: Welcome) -> Bool {
        upstream.accepts(welcome, of: configuration.storeName, log.store)
    }

    /// The connection to the primary's ingress is lost; a stream that is being followed goes on as long as it speaks.
    package mutating func linkLost(now: Tick, into directives: inout [ReplicaDirective]) {
        switch stage {
        case .idle, .following, .preparing: return
        case .subscribing, .syncing, .waiting, .fetching:
            stage = .idle
            if phase == .joining { setPhase(.connecting, into: &directives) }
        }
    }

    /// Goes back to the beginning: what there is belongs to nobody that can be followed.
    private mutating func discard(state: any FollowingState, into directives: inout [ReplicaDirective]) {
        stop()
        // What was wrong, or ahead, is gone with the rest.
        setPhase(.connecting, into: &directives)
        log = LogState(store: log.store)
        window.removeAll()
        snapshots.forget()
        // The journal keeps its old batches until a snapshot replaces them, so nothing may be appended before.
        install.requireAnew()
        state.reset()
        directives.append(.discarded)
        // What readers saw no longer belongs to anybody; the next that they see is the new log's.
        holdsCluster = false
        readers.forget()
        dropSnapshots(into: &directives)
    }

    /// What the publisher does not have was told to nobody: all is fetched from it anew.
    private mutating func giveUpEnd(state: any FollowingState, into directives: inout [ReplicaDirective]) {
        discard(state: state, into: &directives)
        upstream.endIsGivenUp()
        setPhase(.joining, into: &directives)
    }

    /// Opens a new subscription; whatever was under way begins again after its first frame.
    mutating func subscribe(now: Tick, into directives: inout [ReplicaDirective]) {
        directives.append(upstream.subscription)
        stage = .subscribing(deadline: now.advanced(byMilliseconds: ReplicaTiming.firstFrame + jitter(500)))
        pause()
        stream.subscribed(at: log.position.sequence, now: now)
        setPhase(phase == .quarantined ? .quarantined : .joining, into: &directives)
    }

    /// Asks the publisher how to go on from here, and waits `patience` milliseconds for its plan.
    mutating func sync(
        now: Tick, patience: Int64 = ReplicaTiming.plan, into directives: inout [ReplicaDirective]
    ) {
        let nonce = generator.next()
        stage = .syncing(nonce: nonce, deadline: now.advanced(byMilliseconds: patience + jitter(100)))
        pause()
        let sync = Sync(
            nonce: nonce, store: log.store, node: configuration.node, have: upstream.isAskedFromTold ? told : known,
            firstFrame: stream.firstFrame, wantsSnapshot: install.isRequired || upstream.isAskedFromTold)
        directives.append(.sendBulk(stamp.frame(.sync(sync))))
        setPhase(phase == .quarantined ? .quarantined : .joining, into: &directives)
    }

    /// The plan did not come; every third time the socket is doubted.
    mutating func syncAgain(now: Tick, into directives: inout [ReplicaDirective]) {
        if upstream.planIsMissed() {
            syncOnNewSocket(now: now, into: &directives)
        } else {
            sync(now: now, into: &directives)
        }
    }

    /// Asks on a new socket: TCP may hold back for seconds what waits on the old one, also when the way is free again.
    ///
    /// What is sent before the new one is connected is lost, so the next SYNC follows soon.
    mutating func syncOnNewSocket(now: Tick, into directives: inout [ReplicaDirective]) {
        directives.append(upstream.bulkConnection)
        directives.append(.count(.reconnects))
        sync(now: now, patience: ReplicaTiming.planOnNewSocket, into: &directives)
    }

    /// Lets `milliseconds` and a little more pass before the next SYNC.
    mutating func wait(_ milliseconds: Int64, now: Tick) {
        pause()
        stage = .waiting(until: now.advanced(byMilliseconds: milliseconds + jitter(UInt64(milliseconds / 4))))
    }

    /// Something contradicts what this replica has.
    ///
    /// A frame alone proves nothing: the publisher is asked by SYNC, at most once a second, which also tells it where
    /// this replica is, and its answer decides.
    mutating func doubt(now: Tick, into directives: inout [ReplicaDirective]) {
        directives.append(.count(.staleFrames))
        guard stage == .following, upstream.mayBeDoubted(at: now) else { return }
        upstream.doubted(at: now)
        sync(now: now, into: &directives)
    }

    mutating func planReceived(
        _ plan: SyncPlan, now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        guard case .syncing(plan.nonce, _) = stage else {
            directives.append(.count(.staleFrames))
            return
        }
        upstream.trustSockets()
        switch plan.decision {
        case .tail:
            // Something that is to be replaced cannot be continued; a peer that says so did not read the question.
            guard !install.isRequired, plan.commit.sequence >= log.position.sequence else {
                wait(ReplicaTiming.retry, now: now)
                return
            }
            stream.planned(through: plan.commit.sequence, isTail: true)
            install.endFetch()
            directives.append(.count(.joins))
            follow(now: now, state: state, into: &directives)
        case .snapshot(let info):
            // The publisher has all that was told.
            if upstream.isAskedFromTold { giveUpEnd(state: state, into: &directives) }
            stream.planned(through: plan.commit.sequence, isTail: false)
            fetchSnapshot(info, now: now, into: &directives)
        case .diverged, .ahead:
            let primary = KnownPosition(position: plan.commit, boot: plan.boot)
            guard told != known, upstream.mayAskFromTold() else {
                return becomeAhead(of: primary, now: now, into: &directives)
            }
            sync(now: now, into: &directives)
        case .busy(let retryAfter):
            wait(min(max(Int64(retryAfter) / 1_000, 10), 10_000), now: now)
        }
    }

    /// The publisher does not have this replica's history: it keeps what it has and follows nobody.
    mutating func becomeAhead(
        of primary: KnownPosition, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        stop()
        if upstream.isAhead(of: primary) { directives.append(.alarm(.ahead(own: known, primary: primary))) }
        guard phase == .quarantined else {
            setPhase(.ahead, into: &directives)
            return
        }
        // A state that is wrong must not be served, so it stays in quarantine and asks again.
        wait(ReplicaTiming.retry * 10, now: now)
    }

    /// Applies the stream from here on.
    mutating func follow(now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]) {
        stage = .following
        upstream.isFollowed()
        repairs.beginAnew()
        setPhase(.catchingUp, into: &directives)
        drain(now: now, state: state, into: &directives)
        // What the plan promised is asked for without delay; nobody else lost the same.
        if stage == .following, !stream.hasMore, wanted != nil { ask(now: now, into: &directives) }
    }
}
