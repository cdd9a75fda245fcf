// The way from a WELCOME to following the stream (PROTOCOL, R-31, R-42, R-43).
extension ReplicaStateMachine {
    /// The node's client machine got a WELCOME from `endpoint`, for the first time or again.
    package mutating func welcomed(
        _ welcome: Welcome, endpoint: String, now: Tick, state: any FollowingState,
        into directives: inout [ReplicaDirective]
    ) {
        guard phase != .halted else { return }
        guard adopt(welcome) else {
            directives.append(.count(.framesRefused))
            return
        }
        primaryEndpoint = endpoint
        let previous = publisher
        let new = Publisher(
            boot: welcome.boot, incarnation: welcome.incarnation, isVolatile: welcome.isVolatile,
            epoch: welcome.commit.epoch, publishEndpoint: welcome.publishEndpoint, bulkEndpoint: welcome.bulkEndpoint)
        publisher = new
        // A durable primary, or one that this process never met before, is no reason to throw anything away: then the
        // plan says AHEAD or DIVERGED, and an operator decides.
        if let previous, previous.isVolatile, new.isVolatile, previous.incarnation != new.incarnation {
            discard(state: state, now: now, into: &directives)
        } else if new.epoch < highestEpoch {
            becomeAhead(of: KnownPosition(position: welcome.commit, boot: welcome.boot), now: now, into: &directives)
            return
        }
        highestEpoch = max(highestEpoch, new.epoch)
        let isSame = previous == new
        guard !isSame || (stage == .idle && phase != .ahead) else { return }
        // What an earlier boot has sent need not be of this history: an operator may have put an older copy back. A
        // batch from after that copy's end would show a hole that nobody can fill. What is of this history is repaired.
        if previous?.boot != new.boot || previous?.epoch != new.epoch { buffer.removeAll() }
        pending = nil
        target = .zero
        syncAttempts = 0
        directives.append(.connectBulk(endpoint: new.bulkEndpoint))
        subscribe(now: now, into: &directives)
        finish(now: now, state: state, into: &directives)
    }

    /// Whether a WELCOME is a primary's, and of this cluster and store, if they are known.
    package func accepts(_ welcome: Welcome) -> Bool {
        welcome.role == .primary && (cluster == nil || cluster == welcome.cluster)
            && welcome.store == StoreID(cluster: welcome.cluster, name: configuration.storeName)
            && (log.store == .none || log.store == welcome.store) && !welcome.publishEndpoint.isEmpty
            && !welcome.bulkEndpoint.isEmpty && welcome.channel != .none && welcome.commit.epoch > .zero
    }

    /// Takes over what a WELCOME tells of the store; false if it is another cluster's or another store's.
    private mutating func adopt(_ welcome: Welcome) -> Bool {
        guard accepts(welcome) else { return false }
        cluster = welcome.cluster
        channel = welcome.channel
        if log.store == .none { log = LogState(store: welcome.store) }
        return true
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

    /// Goes back to the beginning: the primary's memory, to which all this belonged, is gone.
    private mutating func discard(
        state: any FollowingState, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        stop()
        // What was wrong, or ahead, is gone with the rest.
        setPhase(.connecting, into: &directives)
        log = LogState(store: log.store)
        told = .none
        window.removeAll()
        highestEpoch = .zero
        healedAt = nil
        encoding = nil
        // The journal keeps its old batches until a snapshot replaces them, so nothing may be appended before.
        mustInstall = true
        state.reset()
        directives.append(.discarded)
        // What readers saw belongs to nobody any more; the next that they see is the new log's.
        holdsCluster = false
        view = ViewPlace(epoch: .zero, sequence: .zero, time: .zero)
        dropSnapshots(into: &directives)
    }

    /// Opens a new subscription; whatever was under way begins again after its first frame.
    mutating func subscribe(now: Tick, into directives: inout [ReplicaDirective]) {
        guard let publisher, let channel else { preconditionFailure("no stream is known before a WELCOME") }
        directives.append(
            .subscribe(endpoint: publisher.publishEndpoint, channel: channel))
        stage = .subscribing(deadline: now.advanced(byMilliseconds: ReplicaTiming.firstFrame + jitter(500)))
        repair = .none
        mustDrain = false
        floor = log.position.sequence
        lastHeard = now
        setPhase(phase == .quarantined ? .quarantined : .joining, into: &directives)
    }

    /// Asks the publisher how to go on from here.
    mutating func sync(
        now: Tick, patience: Int64 = ReplicaTiming.plan, into directives: inout [ReplicaDirective]
    ) {
        let nonce = generator.next()
        stage = .syncing(nonce: nonce, deadline: now.advanced(byMilliseconds: patience + jitter(100)))
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.planAwaitedLong) {
                stage = .syncing(nonce: nonce, deadline: now.advanced(byMilliseconds: 20_000))
            }
        #endif
        repair = .none
        mustDrain = false
        let sync = Sync(
            nonce: nonce, store: log.store, node: configuration.node, have: known, firstFrame: firstFrame,
            wantsSnapshot: mustInstall)
        directives.append(.sendBulk(stamp.frame(.sync(sync))))
        setPhase(phase == .quarantined ? .quarantined : .joining, into: &directives)
    }

    /// The plan did not come; every third time the socket is doubted.
    mutating func syncAgain(now: Tick, into directives: inout [ReplicaDirective]) {
        syncAttempts += 1
        if syncAttempts.isMultiple(of: 3) {
            syncOnNewSocket(now: now, into: &directives)
        } else {
            sync(now: now, into: &directives)
        }
    }

    /// Asks on a new socket: TCP may hold back for seconds what waits on the old one, also when the way is free again.
    ///
    /// What is sent before the new one is connected is lost, so the next SYNC follows soon.
    mutating func syncOnNewSocket(now: Tick, into directives: inout [ReplicaDirective]) {
        guard let publisher else { preconditionFailure("no bulk link is known before a WELCOME") }
        directives.append(.connectBulk(endpoint: publisher.bulkEndpoint))
        directives.append(.count(.reconnects))
        sync(now: now, patience: ReplicaTiming.planOnNewSocket, into: &directives)
    }

    /// Lets `milliseconds` and a little more pass before the next SYNC.
    mutating func wait(_ milliseconds: Int64, now: Tick) {
        repair = .none
        mustDrain = false
        stage = .waiting(until: now.advanced(byMilliseconds: milliseconds + jitter(UInt64(milliseconds / 4))))
    }

    /// Something contradicts what this replica has.
    ///
    /// A frame alone proves nothing: the publisher is asked by SYNC, at most once a second, which also tells it where
    /// this replica is, and its answer decides.
    mutating func doubt(now: Tick, into directives: inout [ReplicaDirective]) {
        directives.append(.count(.staleFrames))
        guard stage == .following, now >= nextDoubt else { return }
        nextDoubt = now.advanced(byMilliseconds: ReplicaTiming.doubt)
        sync(now: now, into: &directives)
    }

    mutating func planReceived(
        _ plan: SyncPlan, now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        guard case .syncing(plan.nonce, _) = stage else {
            directives.append(.count(.staleFrames))
            return
        }
        syncAttempts = 0
        switch plan.decision {
        case .tail:
            // Something that is to be replaced cannot be continued; a peer that says so did not read the question.
            guard !mustInstall, plan.commit.sequence >= log.position.sequence else {
                wait(ReplicaTiming.retry, now: now)
                return
            }
            // Whatever claimed more than the publisher has is forgotten; the stream shows what came since.
            target = plan.commit.sequence
            floor = min(floor, plan.commit.sequence)
            fetch = nil
            directives.append(.count(.joins))
            follow(now: now, state: state, into: &directives)
        case .snapshot(let info):
            target = plan.commit.sequence
            fetchSnapshot(info, now: now, into: &directives)
        case .diverged, .ahead:
            becomeAhead(of: KnownPosition(position: plan.commit, boot: plan.boot), now: now, into: &directives)
        case .busy(let retryAfter):
            wait(min(max(Int64(retryAfter) / 1_000, 10), 10_000), now: now)
        }
    }

    /// The publisher does not have this replica's history: it keeps what it has and follows nobody.
    mutating func becomeAhead(
        of primary: KnownPosition, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        #if LOCKSTEP_PLANTED_DEFECTS
            if PlantedDefect.isActive(.aheadReplicaFollows) { return giveUpHistory(now: now, into: &directives) }
        #endif
        stop()
        if alarmedAhead != primary { directives.append(.alarm(.ahead(own: known, primary: primary))) }
        alarmedAhead = primary
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
        alarmedAhead = nil
        repair = .none
        repairAttempts = 0
        repairedBytes = 0
        isPulling = false
        setPhase(.catchingUp, into: &directives)
        drain(now: now, state: state, into: &directives)
        // What the plan promised is asked for without delay; nobody else lost the same.
        if stage == .following, !mustDrain, wanted != nil { ask(now: now, into: &directives) }
    }
}
