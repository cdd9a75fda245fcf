package import LockstepCore

/// Questions of callers: what became of numbers, how fresh the state is, what a reactor answers, which batches follow.
extension StoreHost {
    /// Finds the answers to numbers, here or at the primary.
    ///
    /// An empty answer says that they are not here, and are too many to ask the primary about at once.
    package func resolve(
        _ id: UInt64, _ pending: PendingOutcome, deadline: Tick,
        resume: @escaping (Result<RawReplies, any Error>) -> Void
    ) {
        guard !wasCancelled(id) else { return resume(.failure(CancellationError())) }
        let waiter = Waiter(count: pending.numbers.count, deadline: deadline, asked: pending, resume: resume)
        guard case .unknown = desk.resolve(pending, for: waiter) else {
            asks.note(id, waiter)
            return
        }
        guard pending.numbers.count <= AskDesk.numberBound else { return waiter.succeed(RawReplies(pieces: [])) }
        guard asks.add(id, pending, waiter) else { return }
        for number in pending.numbers {
            guard client.query(pending.session, number, now: MonotonicClock.now, into: &directives) else {
                asks.refuse(id)
                return stopAsking()
            }
        }
    }

    /// What nobody waits for is no longer asked.
    func stopAsking() {
        for query in asks.takeOrphans() { client.cancelQuery(query.session, query.number) }
    }

    package func waitUntilReadable(
        _ id: UInt64, _ level: ReadLevel, minimum: SequenceNumber, deadline: Tick,
        resume: @escaping (Result<Void, any Error>) -> Void
    ) {
        guard !wasCancelled(id) else { return resume(.failure(CancellationError())) }
        guard state != nil else {
            return resume(.failure(LockstepError(.unavailable, "this node has no state to read: ask its primary")))
        }
        if let refusal = readRefusal, !refusal.mayPass { return resume(.failure(LockstepError(refusal))) }
        guard level == .linearizable else {
            return addReader(id, minimum: minimum, deadline: deadline, resume: resume)
        }
        ask(id, [], level: level, minimum: minimum, isIndexOnly: true, deadline: deadline) { [self] outcome in
            switch outcome {
            case .failure(let error): resume(.failure(error))
            case .success(let answer): addReader(id, confirmed: answer.view, deadline: deadline, resume: resume)
            }
        }
    }

    /// Waits until the view includes `minimum`, whether it may be read or not.
    package func waitUntilShown(
        _ id: UInt64, _ minimum: SequenceNumber, deadline: Tick, resume: @escaping (Result<Void, any Error>) -> Void
    ) {
        guard !wasCancelled(id) else { return resume(.failure(CancellationError())) }
        if let state, state.published.sequence >= minimum { return resume(.success(())) }
        readers.add(id, minimum: minimum, isObserver: true, deadline: deadline, resume: resume)
    }

    /// Lets a reader in at once if the view has come to its number, which nobody will be told again.
    private func addReader(
        _ id: UInt64, minimum: SequenceNumber, deadline: Tick, resume: @escaping (Result<Void, any Error>) -> Void
    ) {
        if let state, readRefusal == nil, state.published.sequence >= minimum { return resume(.success(())) }
        readers.add(id, minimum: minimum, deadline: deadline, resume: resume)
    }

    /// The same with the place that the primary named.
    ///
    /// A number that this node has in a lower epoch is of a history that the primary does not have: in one history, the
    /// opening of an epoch comes before all of its numbers.
    private func addReader(
        _ id: UInt64, confirmed: ViewPlace, deadline: Tick, resume: @escaping (Result<Void, any Error>) -> Void
    ) {
        if let own = state?.published, own.epoch < confirmed.epoch, own.sequence >= confirmed.sequence {
            let text = "this node's history is not its primary's: try again later, or ask the primary"
            return resume(.failure(LockstepError(.unavailable, text)))
        }
        addReader(id, minimum: confirmed.sequence, deadline: deadline, resume: resume)
    }

    package func ask(
        _ id: UInt64, _ query: [UInt8], level: ReadLevel, minimum: SequenceNumber, deadline: Tick,
        resume: @escaping (Result<ReadAnswer, any Error>) -> Void
    ) {
        guard let state else {
            return ask(
                id, query, level: level, minimum: minimum, isIndexOnly: false, deadline: deadline, resume: resume)
        }
        let answer = {
            resume(
                Result {
                    do throws(QueryRefusal) {
                        let bytes = try withBytes(of: query) { (span) throws(QueryRefusal) in
                            try state.answer(span, 0..<span.byteCount)
                        }
                        return ReadAnswer(bytes: bytes, view: state.published)
                    } catch {
                        throw LockstepError(.refused, "the query was refused: \(error.reason)")
                    }
                })
        }
        if level == .local {
            if let refusal = readRefusal { return resume(.failure(LockstepError(refusal))) }
            return answer()
        }
        waitUntilReadable(id, level, minimum: minimum, deadline: deadline) { outcome in
            if case .failure(let error) = outcome { resume(.failure(error)) } else { answer() }
        }
    }

    private func ask(
        _ id: UInt64, _ query: [UInt8], level: ReadLevel, minimum: SequenceNumber, isIndexOnly: Bool, deadline: Tick,
        resume: @escaping (Result<ReadAnswer, any Error>) -> Void
    ) {
        guard !wasCancelled(id) else { return resume(.failure(CancellationError())) }
        let isTaken = client.read(
            id: id, level: level, minimum: minimum, query: query, isIndexOnly: isIndexOnly, now: MonotonicClock.now,
            into: &directives)
        guard isTaken else { return resume(.failure(AskDesk.full)) }
        asks.add(
            id, query: query, minimum: level == .session ? minimum : .zero, deadline: deadline, resume: resume)
    }

    // MARK: - What was acknowledged

    func sessionOpened() {
        guard let session = client.session else { return }
        acknowledged.opened(session.id, by: session.incarnation)
        showAcknowledged()
    }

    func sessionLost(_ session: SessionID) {
        desk.sessionLost(session)
        ends.sessionLost(session)
    }

    func answered(_ answers: ClientDirective.Answers, in frame: ReplyFrame) {
        note(answers)
        desk.answered(answers, in: frame, session: client.session?.id ?? .none)
    }

    func runEnded(_ ended: RunEnded, in frame: ReplyFrame) {
        acknowledged.note(ended.epoch, ended.sequence)
        showAcknowledged()
        let item = withBytes(of: frame.bytes) { copyBytes(of: $0, ended.item) }
        let end = RunEnding(epoch: ended.epoch, sequence: ended.sequence, emissions: ended.emissions, item: item)
        ends.ended(ended.id, end)
    }

    func queryAnswered(_ session: SessionID, _ answers: ClientDirective.Answers, in frame: ReplyFrame) {
        note(answers)
        asks.queryAnswered(session, answers, in: frame)
    }

    private func note(_ answers: ClientDirective.Answers) {
        acknowledged.note(answers.epoch, answers.firstSequence.advanced(by: answers.count - 1))
        showAcknowledged()
    }

    /// Callers are told after this, so that whoever has an answer reads what it is about.
    func showAcknowledged() {
        let (before, sequence) = (port.acknowledged, acknowledged.sequence)
        guard sequence != before else { return }
        port.setAcknowledged(sequence)
        guard sequence < before else { return }
        // Questions that are under way would wait for a log that is gone; each has left the room that it takes again.
        for read in asks.lower(to: sequence) {
            client.cancelRead(read.id)
            _ = client.read(
                id: read.id, level: .session, minimum: sequence, query: read.query, isIndexOnly: false,
                now: MonotonicClock.now, into: &directives)
        }
    }

    func readAnswered(_ result: ReadResult, in frame: ReplyFrame, now: Tick) {
        let view = ViewPlace(epoch: result.epoch, sequence: result.sequence, time: result.time)
        let bytes = Array(frame.bytes[result.answer])
        switch result.status {
        case .answered: asks.answered(result.id, .success(ReadAnswer(bytes: bytes, view: view)))
        case .refused:
            asks.answered(result.id, .failure(LockstepError.refusal(of: bytes)))
        case .unavailable:
            asks.answered(
                result.id, .failure(LockstepError(.unavailable, "the node cannot answer now: try again later")))
        }
    }

    /// Who opened each session of the log for which somebody is named.
    package var senders: [SessionID: String] { driver?.senders ?? [:] }

    package func batches(
        _ id: UInt64, after place: FeedPlace, resume: @escaping (Result<FeedAnswer, any Error>) -> Void
    ) {
        guard !wasCancelled(id) else { return resume(.failure(CancellationError())) }
        guard state != nil else {
            return resume(.failure(LockstepError(.unavailable, "a client has no entries: read them on a replica")))
        }
        feed.request(id, after: place, resume: resume)
    }

    /// A caller no longer waits.
    package func cancel(_ id: UInt64) {
        if asks.cancel(id) {
            client.cancelRead(id)
            stopAsking()
            return
        }
        guard !feed.cancel(id), !readers.cancel(id), !ends.cancel(id) else { return }
        cancelledEarly.append(id)
        if cancelledEarly.count > 1_024 { cancelledEarly.removeFirst() }
    }

    func wasCancelled(_ id: UInt64) -> Bool {
        guard let index = cancelledEarly.firstIndex(of: id) else { return false }
        cancelledEarly.remove(at: index)
        return true
    }
}
