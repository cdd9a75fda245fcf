// What the node answers to a recovery.
extension RecoveryStateMachine {
    /// A frame came on one of the two links; what is no answer to the present request is passed over.
    package mutating func received(
        _ frame: RawSpan, on link: RecoveryLinkName, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        switch link {
        case .ingress: greeted(frame, now: now, into: &directives)
        case .bulk:
            // What cannot be read is no answer: the request is repeated.
            let decoded = try? Message.decode(frame, rule: .member(configuration.cluster.hash))
            guard let reply = decoded.flatMap({ BulkReply($0.message) }) else { return }
            received(reply, frame, now: now, into: &directives)
        }
    }

    private mutating func greeted(_ frame: RawSpan, now: Tick, into directives: inout [RecoveryDirective]) {
        guard stage == .greeting else { return }
        let message: Message
        do {
            // Another cluster's node refuses under its own name.
            message = try Message.decode(frame, rule: .any).message
        } catch {
            // It may have been damaged on its way, so HELLO is repeated; if nothing better comes, this is what is said.
            unreadable = error
            return
        }
        guard let greeting = Greeting(message) else { return }
        switch greeting {
        case .welcome(let welcome):
            guard welcome.nonce == nonce, welcome.cluster == configuration.cluster else { return }
            guard !welcome.bulkEndpoint.isEmpty else { return fail(.servesNoSnapshots, into: &directives) }
            self.welcome = welcome
            directives.append(.connectBulk(endpoint: welcome.bulkEndpoint))
            go(to: .planning, now: now, into: &directives)
        case .refused(let refused):
            guard refused.nonce == nonce else { return }
            fail(.refused(refused.text), into: &directives)
        case .resync: break
        }
    }

    private mutating func received(
        _ reply: BulkReply, _ frame: RawSpan, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        switch reply {
        case .syncPlan(let plan):
            guard stage == .planning, plan.nonce == nonce else { return }
            planned(plan, now: now, into: &directives)
        case .chunk(let chunk):
            guard stage == .fetching else { return }
            took(chunk, frame, now: now, into: &directives)
        case .repair(let repair):
            guard stage == .repairing, repair.nonce == nonce else { return }
            repaired(repair, frame, now: now, into: &directives)
        case .resync:
            switch stage {
            case .created, .greeting, .continuing, .ended: break
            // The node's life is another one, or it has given up what was promised.
            case .planning, .fetching, .repairing: beginAgain(after: .asksToBeginAgain, now: now, into: &directives)
            }
        }
    }

    /// Says HELLO again, on new sockets: the node's channel and address may be others now.
    private mutating func beginAgain(
        after failure: RecoveryFailure, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        guard mayAskAgain(after: failure, now: now, into: &directives) else { return }
        isPreparing = false
        directives.append(.connectIngress)
        go(to: .greeting, after: configuration.patience.repeat, now: now, into: &directives)
    }

    // MARK: - The plan

    private mutating func planned(_ plan: SyncPlan, now: Tick, into directives: inout [RecoveryDirective]) {
        planEnd = plan.commit.sequence
        isPreparing = false
        switch plan.decision {
        case .busy(let retryAfter):
            guard mayAskAgain(after: .preparesTooLong, now: now, into: &directives) else { return }
            isPreparing = true
            let pause = min(max(Int64(retryAfter) / 1_000, 1), 10_000)
            go(to: .planning, after: pause, now: now, into: &directives)
        case .tail:
            stage = .continuing
            directives.append(.continueFrom(candidates[0].position))
        case .snapshot(let info): fetchSnapshot(info, now: now, into: &directives)
        case .diverged, .ahead:
            candidates.removeFirst()
            guard candidates.isEmpty else {
                gainedAt = now
                return go(to: .planning, now: now, into: &directives)
            }
            fail(hasBegun ? .noLongerHeld(after: log.position) : .noCommonPlace, into: &directives)
        }
    }

    // MARK: - The snapshot

    private mutating func fetchSnapshot(
        _ info: SnapshotInfo, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        guard info.byteCount <= configuration.largestSnapshotBytes else {
            return fail(.snapshotTooLarge(bytes: info.byteCount), into: &directives)
        }
        if fetch?.info == info {
            fetch?.restart(now: now)
        } else {
            guard snapshots < configuration.largestSnapshotCount else {
                return fail(.noLongerHeld(after: log.position), into: &directives)
            }
            snapshots += 1
            fetch = SnapshotFetch(info, now: now)
        }
        go(to: .fetching, now: now, into: &directives)
    }

    private mutating func took(
        _ chunk: Chunk, _ frame: RawSpan, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        // One that is refused is asked for again when it is overdue.
        guard fetch?.receive(chunk, frame, now: now) == .accepted, let fetch else { return }
        (answeredAt, gainedAt) = (now, now)
        let bytes = min(UInt64(fetch.receivedCount) * UInt64(fetch.info.chunkSize), fetch.info.byteCount)
        directives.append(.progressed(.snapshot(bytes: bytes, of: fetch.info.byteCount)))
        if fetch.isComplete {
            install(fetch, into: &directives)
        } else {
            ask(now: now, into: &directives)
        }
    }

    private mutating func install(_ fetch: SnapshotFetch, into directives: inout [RecoveryDirective]) {
        guard let encoded = fetch.content() else { return fail(.chunksDoNotBelongTogether, into: &directives) }
        let content: SnapshotContent
        do {
            content = try SnapshotContent(encoded)
        } catch {
            return fail(.snapshotUnreadable(error), into: &directives)
        }
        guard content.log.position == fetch.info.position, content.log.store == log.store else {
            return fail(.otherSnapshot, into: &directives)
        }
        directives.append(
            .replace(
                RecoverySnapshot(
                    common: candidates[0].position, position: content.log.position, encoded: encoded)))
        began(at: content.log)
        stage = .continuing
    }

    // MARK: - The rest of the log

    private mutating func repaired(
        _ repair: Repair, _ frame: RawSpan, now: Tick, into directives: inout [RecoveryDirective]
    ) {
        guard repair.status == .batches else {
            return beginAgain(after: .noLongerHeld(after: log.position), now: now, into: &directives)
        }
        // Without a batch it is no answer: it is asked again when that is due.
        guard !repair.batches.isEmpty else { return }
        var batches: [SealedBatch] = []
        for range in repair.batches {
            do throws(WireError) {
                batches.append(try SealedBatch(bytes: copyBytes(of: frame, range)))
            } catch {
                return fail(.batchUnreadable(error), into: &directives)
            }
        }
        var end = log
        let nothing = NoState()
        for batch in batches {
            do throws(LogState.ApplyError) {
                _ = try end.apply(batch, to: nothing)
            } catch {
                return fail(.batchUnfit(error), into: &directives)
            }
        }
        began(at: end)
        gainedAt = now
        directives.append(.append(batches))
        directives.append(.progressed(.log(through: log.position.sequence, of: planEnd)))
        goOn(now: now, into: &directives)
    }
}

/// A user's state that is not there: a recovery needs the log's own tables only.
package final class NoState: AppliedState {
    package init() {}

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {}

    package var digest: Digest { .none }
}
