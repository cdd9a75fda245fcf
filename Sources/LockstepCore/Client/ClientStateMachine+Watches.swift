// Queries that are watched, which needs no session (PROTOCOL, R-56, R-59).
extension ClientStateMachine {
    /// Watches a query, now and on each new connection, until ``unwatch(_:into:)``; its answers come as
    /// ``ClientDirective/watchAnswered(_:)``.
    ///
    /// Returns false, and does nothing, if ``Limits/watchesOfConnection`` are watched.
    package mutating func watch(
        _ number: UInt64, query: [UInt8], interval: UInt32, now: Tick, into directives: inout [ClientDirective]
    ) -> Bool {
        guard !watches.isFull, phase != .stopped else { return false }
        watches.add(number, query: query, interval: interval)
        if phase == .welcomed { say(number, now: now, into: &directives) }
        return true
    }

    /// The driver no longer wants to know.
    package mutating func unwatch(_ number: UInt64, into directives: inout [ClientDirective]) {
        guard watches.remove(number), phase == .welcomed else { return }
        send(.unwatch(WatchID(client: configuration.client, number: number)), into: &directives)
    }

    private mutating func say(_ number: UInt64, now: Tick, into directives: inout [ClientDirective]) {
        guard let watch = watches.watches[number] else { return }
        watches.said(number, now: now, &generator)
        withBytes(of: watch.query) { bytes in
            let request = WatchRequest(
                id: WatchID(client: configuration.client, number: number), interval: watch.interval, has: watch.has,
                query: 0..<bytes.byteCount)
            directives.append(.send(stamp.frame(.watch(request), source: bytes)))
        }
    }

    mutating func repeatWatches(now: Tick, into directives: inout [ClientDirective]) {
        for number in watches.takeDue(now: now) { say(number, now: now, into: &directives) }
    }

    /// A node that knows nothing of the watches is told of all.
    mutating func watchesAreDue(at new: Welcome, now: Tick, into directives: inout [ClientDirective]) {
        watches.stands(at: new.commit.epoch, new.boot)
        guard watches.isNewPeer(nonce: link.nonce, boot: new.boot) else { return }
        for number in watches.takeAll() { say(number, now: now, into: &directives) }
    }

    mutating func watchResultReceived(
        _ result: ReadResult, _ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]
    ) {
        let fingerprint = ReadResult.fingerprint(result.status, frame, result.answer)
        switch watches.received(result, fingerprint, from: welcome?.boot ?? .none) {
        case .new: directives.append(.watchAnswered(result))
        case .known: directives.append(.count(.staleFrames))
        case .strange:
            // UNWATCH was lost.
            directives.append(.count(.staleFrames))
            send(.unwatch(WatchID(client: configuration.client, number: result.id)), into: &directives)
        }
        if watches.owesWord { say(result.id, now: now, into: &directives) }
    }
}
