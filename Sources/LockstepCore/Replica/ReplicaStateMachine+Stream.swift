// The stream: batches and beacons (PROTOCOL, R-30, R-33, R-35, R-51 to R-53).
extension ReplicaStateMachine {
    /// What one event applies at most before other events get their turn, beyond the batch that exceeds it.
    private static let drainBytes = 256 << 10

    /// A frame came in on the subscribing socket.
    package mutating func broadcastReceived(
        _ frame: RawSpan, now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        guard phase != .halted, phase != .ahead, stage != .idle, let publisher = upstream.publisher else { return }
        do throws(WireError) {
            let (header, message) = try Message.decode(frame, rule: upstream.clusterRule)
            guard header.channel == upstream.channel else { throw WireError(.wrongCluster, at: 2) }
            // A boot has one epoch. A lower one is a frame from the past. A higher one is of a boot that no
            // WELCOME has named yet: 1. the primary stops; 2. another boot publishes on the same address; 3. its
            // frames are here before its WELCOME. That WELCOME comes, and with it a new subscription.
            guard header.epoch == publisher.epoch else {
                if header.epoch > publisher.epoch { directives.append(.sayHello) }
                directives.append(.count(.staleFrames))
                return
            }
            guard let broadcast = BroadcastMessage(message) else { throw WireError(.unknownKind, at: 5) }
            switch broadcast {
            case .batch(let range, let isHeadOnly):
                var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
                let head = try BatchHead(from: frame, &reader)
                guard head.store == log.store, head.epoch == header.epoch else { throw WireError(.outOfRange, at: 32) }
                heard(first: head.first, now: now, into: &directives)
                let part = StreamBuffer.Part(head: head, bytes: isHeadOnly ? nil : copyBytes(of: frame, range))
                batchReceived(part, now: now, state: state, into: &directives)
            case .beacon(let beacon):
                guard beacon.boot == publisher.boot, beacon.commit.epoch <= header.epoch else {
                    directives.append(.count(.staleFrames))
                    return
                }
                heard(first: beacon.commit.sequence.next, now: now, into: &directives)
                beaconReceived(beacon, now: now, into: &directives)
            }
        } catch {
            directives.append(.count(.framesRefused))
        }
        finish(now: now, state: state, into: &directives)
    }

    /// A frame is proof that the subscription has reached the publisher; only then may SYNC be sent.
    private mutating func heard(first: SequenceNumber, now: Tick, into directives: inout [ReplicaDirective]) {
        stream.heard(now: now)
        guard case .subscribing = stage else { return }
        stream.began(with: first)
        upstream.trustSockets()
        sync(now: now, into: &directives)
    }

    private mutating func batchReceived(
        _ part: StreamBuffer.Part, now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        stream.showed(part.head, now: now)
        let fit = part.fit(after: log.position)
        if stage == .following, fit == .past {
            duplicateReceived(part, now: now, into: &directives)
            return
        }
        if stage == .following, fit == .next, stream.buffer.isEmpty, let bytes = part.bytes {
            // The way of nearly every batch: nothing is kept, nothing is searched.
            let batch = SealedBatch(head: part.head, hash: BatchHash(rawValue: sha256Prefix(bytes)), bytes: bytes)
            apply(batch, now: now, state: state, into: &directives)
            if stage == .following { advance(now: now, state: state, into: &directives) }
            return
        }
        switch stream.keep(part, isTiny: buggify(.tinyJoinBuffer)) {
        case .kept: break
        case .duplicate: directives.append(.count(.duplicateBatches))
        case .dropped(let count): for _ in 0..<count { directives.append(.count(.joinBufferDrops)) }
        }
        advance(now: now, state: state, into: &directives)
    }

    /// A batch at or below the position: a duplicate if its hash is the known one.
    ///
    /// Of places whose hash this replica no longer holds it need not ask: it follows only after a plan of this very
    /// boot proved that its position lies on the publisher's chain, and with the position everything below.
    private mutating func duplicateReceived(
        _ part: StreamBuffer.Part, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        let before = SequenceNumber(rawValue: part.head.first.rawValue - 1)
        let known = window.hash(at: part.head.last)
        if let known, let bytes = part.bytes, sha256Prefix(bytes) != known.rawValue {
            doubt(now: now, into: &directives)
        } else if known == nil, window.batch(containing: part.head.last) != nil {
            doubt(now: now, into: &directives)
        } else if let previous = window.hash(at: before), previous != part.head.previous {
            doubt(now: now, into: &directives)
        } else {
            directives.append(.count(.duplicateBatches))
        }
    }

    /// Applies what is next in the buffer, and takes care of the hole that is left.
    mutating func advance(now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]) {
        drain(now: now, state: state, into: &directives)
        if !stream.hasMore { scheduleRepair(now: now, into: &directives) }
    }

    /// Applies what is next in the buffer, as much as one event may.
    mutating func drain(now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]) {
        guard stage == .following else { return }
        stream.pause()
        var drained = 0
        let most = !stream.buffer.isEmpty && buggify(.drainOne) ? 1 : Self.drainBytes
        while let part = stream.buffer.first {
            let fit = part.fit(after: log.position)
            if fit == .past {
                stream.removeFirst()
                if part.bytes != nil { directives.append(.count(.duplicateBatches)) }
                continue
            }
            guard fit != .early else { break }
            guard fit == .next else {
                stream.removeFirst()
                doubt(now: now, into: &directives)
                if stage != .following { return }
                continue
            }
            guard let bytes = part.bytes else { break }
            guard drained < most else {
                stream.goOnLater()
                return
            }
            stream.removeFirst()
            drained += bytes.count
            let batch = SealedBatch(head: part.head, hash: BatchHash(rawValue: sha256Prefix(bytes)), bytes: bytes)
            apply(batch, now: now, state: state, into: &directives)
            if stage != .following { return }
        }
    }

    /// Applies the next batch, whose place and hash were compared.
    mutating func apply(
        _ batch: SealedBatch, now: Tick, state: any FollowingState, into directives: inout [ReplicaDirective]
    ) {
        let mark: LogState.Mark?
        do {
            mark = try log.apply(batch, to: state)
        } catch {
            halt(.logBroken(error), into: &directives)
            return
        }
        window.append(batch)
        if buggify(.shrinksWindow) { window.shrink(to: 4_096) }
        newlyApplied.append(batch)
        upstream.reached(batch.head.epoch)
        guard let mark else { return }
        directives.append(.count(.digestChecks))
        let own = state.digest + log.digest
        guard own == mark.digest else {
            diverged(at: mark, own: own, primary: mark.digest, now: now, into: &directives)
            return
        }
        if configuration.hasJournal, buggify(.snapshotAtMark) { snapshots.journalHasGrown() }
        snapshots.markReached()
    }

    private mutating func beaconReceived(_ beacon: Beacon, now: Tick, into directives: inout [ReplicaDirective]) {
        let commit = beacon.commit
        stream.claimed(commit.sequence)
        guard stage == .following else { return }
        if stream.goesBack(commit.sequence) || contradicts(commit)
            || upstream.mayBeDoubted(at: now) && buggify(.doubtsBeacon)
        {
            doubt(now: now, into: &directives)
            return
        }
        stream.confirmed(commit.sequence)
        if let mark = log.mark, mark.sequence == beacon.markSequence, mark.digest != beacon.markDigest {
            diverged(at: mark, own: mark.digest, primary: beacon.markDigest, now: now, into: &directives)
        } else if log.position.sequence >= commit.sequence {
            repairs.reachedHead()
            if phase == .catchingUp { setPhase(.live, into: &directives) }
        } else {
            scheduleRepair(now: now, into: &directives)
        }
    }

    /// Whether the hash at a commit that was applied here is another one.
    private func contradicts(_ commit: Position) -> Bool {
        if commit.sequence == log.position.sequence { return commit.hash != log.position.hash }
        guard commit.sequence > .zero, let known = window.hash(at: commit.sequence) else { return false }
        return known != commit.hash
    }

    /// The digest differs: nothing is served until a snapshot is in place; a second time within an hour, never.
    private mutating func diverged(
        at mark: LogState.Mark, own: Digest, primary: Digest, now: Tick, into directives: inout [ReplicaDirective]
    ) {
        handOver(into: &directives)
        directives.append(.count(.divergences))
        directives.append(
            .alarm(.diverged(at: mark.sequence, epoch: log.position.epoch, own: own, primary: primary)))
        snapshots.forget()
        dropSnapshots(into: &directives)
        guard install.heals(now: now) else {
            halt(.divergedAgain(at: mark.sequence, own: own, primary: primary), into: &directives)
            return
        }
        setPhase(.quarantined, into: &directives)
        sync(now: now, into: &directives)
    }
}
