import LockstepCore

/// What executors and senders do with runs.
extension PrimaryHarness {
    func emit(_ id: RunID, _ bytes: [UInt8], ticket: UInt64) {
        emit(.action(id.session, id.number), EffectAction.emission(bytes), ticket: ticket)
    }

    func emit(_ cause: EffectCause, _ mutations: [UInt8], ticket: UInt64) {
        run { $0.emitted(cause, mutations: mutations, ticket: ticket, &$1) }
    }

    func finish(_ id: RunID, _ item: [UInt8] = EffectAction.end()) {
        run { $0.runFinished(id, item: item, &$1) }
    }

    func abandon(_ id: RunID, reason: String? = "abandoned") -> Bool {
        var isEnded = false
        run { isEnded = $0.abandonRun(id, reason: reason, &$1) }
        return isEnded
    }

    func wish(_ session: SessionID, _ kind: RunWish, _ numbers: [RequestNumber], from connection: Connection) {
        let wishes = numbers.map { RunMessage.Wish(number: $0, kind: kind) }
        receive(.runRequest(RunMessage(session: session, wishes: wishes)), from: connection)
    }

    func submit(_ session: SessionID, _ first: RequestNumber, actions: [[UInt8]], from connection: Connection) {
        receive(submitFrame(session, first, actions), from: connection)
    }

    var begunNumbers: [RequestNumber] { begun.map(\.id.number) }
    var runEnds: [RunEnded] { sent.compactMap(\.runEnded) }
    var goneNumbers: [RequestNumber] { sent.compactMap { $0.runGone?.number } }

    /// The end that was sent for a number: its status and its reply.
    func end(of number: RequestNumber) -> (status: ActionStatus, reply: [UInt8])? {
        for sent in sent {
            guard let ended = sent.runEnded, ended.id.number == number else { continue }
            return withBytes(of: sent.frame) { span in
                var reader = ByteReader(offset: ended.item.lowerBound, end: ended.item.upperBound)
                guard let item = try? ReplyItem(from: span, &reader) else {
                    preconditionFailure("an end cannot be read")
                }
                return (item.status, copyBytes(of: span, item.reply))
            }
        }
        return nil
    }

    /// The boot after this one was killed: only what is durable is left.
    func killed(
        boot: UInt128, holdsEffects: Bool = false, buggify: Buggify = .off, endsOnResume: Set<RequestNumber> = []
    ) -> PrimaryHarness {
        let next = PrimaryHarness(
            durable: durable, boot: boot, now: now, wall: wall, buggify: buggify, hasEffects: true,
            holdsEffects: holdsEffects)
        next.state.endsOnResume = endsOnResume
        next.start()
        next.persist()
        return next
    }

    /// What a replica that applied everything durable has.
    func replica() throws -> (log: LogState, state: CountingState) {
        var log = LogState(store: Self.store)
        let state = CountingState()
        for batch in durable {
            guard let mark = try log.apply(batch, to: state) else { continue }
            precondition(mark.digest == state.digest + log.digest, "the mark at \(mark.sequence) has another digest")
        }
        return (log, state)
    }

    /// Compares a replica with the primary, which has nothing that is not durable.
    func isLikeReplica() throws -> Bool {
        precondition(machine.isDrained, "something is not durable")
        let (log, state) = try replica()
        return log == machine.log && log.digest == machine.log.digest && state.sum == self.state.sum
            && state.timers == self.state.timers
    }
}
