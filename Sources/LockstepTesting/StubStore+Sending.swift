public import Lockstep
import LockstepCore

// The sender's side of a stub: what a store of a node does, with the answers of the test. Timeouts are the test's too.

extension StubStore {
    /// Records an action and answers it as the test said.
    @_disfavoredOverload
    public func send(_ action: R.Action, timeout: Duration?) async throws -> Receipt<R.Reply> {
        try await finished(record(action)).get()
    }

    /// Records actions and answers them as the test said; the outcomes come when the last is answered.
    @_disfavoredOverload
    public func send(contentsOf actions: [R.Action], timeout: Duration?) async throws -> Outcomes<R.Reply> {
        try await outcomes(of: actions.map { record($0) })
    }

    /// Records an action and returns its handle.
    public func submit(_ action: R.Action, timeout: Duration?) throws -> SubmittedAction<R> {
        SubmittedAction(StubStages(stub: self, index: record(action)))
    }

    /// Waits until the test ends an accepted action.
    public func end(of run: RunID, timeout: Duration?) async throws -> Outcome<R.Reply> {
        try await outcome(of: index(of: run.number), isEnd: true)
    }

    /// Records that somebody asked for the end of an accepted action; the test ends it.
    public func cancel(_ run: RunID) { noteCancelled(index(of: run.number)) }

    /// Answers again; an action with an unknown outcome stays unknown.
    public func outcomes(of pending: PendingOutcome, timeout: Duration) async throws -> Outcomes<R.Reply> {
        try await outcomes(of: pending.numbers.map(index(of:)))
    }

    /// Answers a question from the state that was pushed last.
    @_disfavoredOverload
    public func ask(
        _ query: R.Query, _ consistency: ReadConsistency, timeout: Duration
    ) async throws -> Answered<R.Answer> {
        let snapshot = snapshot
        do {
            let answer = try R.answer(query, in: snapshot.state, AnswerContext(snapshot))
            return Answered(answer: answer, place: snapshot.place, time: snapshot.time)
        } catch {
            let reason = (error as? Rejection)?.reason ?? String(describing: error)
            throw LockstepError(.refused, reason, underlying: error)
        }
    }

    private func index(of number: RequestNumber) -> Int {
        precondition(number > 0 && number <= actions.count, "no action of this stub has the number \(number)")
        return Int(number) - 1
    }

    fileprivate func finished(_ index: Int) async throws -> Outcome<R.Reply> {
        let outcome = try await outcome(of: index, isEnd: false)
        guard case .accepted(let run, _) = outcome else { return outcome }
        return try await withTaskCancellationHandler {
            try await self.outcome(of: index, isEnd: true)
        } onCancel: {
            cancel(run)
        }
    }

    /// The outcomes in the form in which a node has them.
    private func outcomes(of indices: [Int]) async throws -> Outcomes<R.Reply> {
        var pieces: [RawReplies.Piece] = []
        for index in indices {
            let outcome = try await outcome(of: index, isEnd: false)
            let (status, bytes, place): (ActionStatus, [UInt8], Place) =
                switch outcome {
                case .committed(let receipt): (.committed, try R.replyCoding.encoded(receipt.reply), receipt.place)
                case .rejected(let reason, let place): (.rejected, Array(reason.utf8), place)
                case .denied(let reason, let place): (.void, Array(reason.utf8), place)
                case .accepted(_, let place): (.accepted, [], place)
                case .void(let place), .failed(_, _, let place), .cancelled(_, let place), .unreadable(_, let place):
                    (.void, [], place)
                }
            var writer = ByteWriter()
            withBytes(of: bytes) { ReplyItem.write(status, $0, 0..<$0.byteCount, to: &writer) }
            pieces.append(
                RawReplies.Piece(
                    frame: ReplyFrame(bytes: writer.bytes), session: Self.session, first: RequestNumber(index + 1),
                    count: 1, epoch: place.epoch, firstSequence: place.sequence, items: 0..<writer.count))
        }
        return Outcomes(RawReplies(pieces: pieces), coding: R.replyCoding)
    }
}

/// One action that was sent to a stub.
private struct StubStages<R: Reactor>: SubmissionStages {
    let stub: StubStore<R>
    let index: Int

    func accepted() async throws -> Outcome<R.Reply> { try await stub.outcome(of: index, isEnd: false) }
    func finished() async throws -> Outcome<R.Reply> { try await stub.finished(index) }
    func cancel() async { stub.noteCancelled(index) }
}
