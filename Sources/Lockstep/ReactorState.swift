package import LockstepCore

/// A reactor and its state as the node sees them: bytes in, bytes out (PROTOCOL, R-50).
///
/// Used on the node's thread only, except for ``prepare(_:)``. One action of a reactor whose types are `WireCodable`
/// costs no allocation beyond what the reactor itself does.
package final class ReactorState<R: Reactor>: ReplicatedState {
    private let reactor: R
    private let box: StateBox<R>
    private let codings = ReactorCodings<R>()
    package let published: PublishedState<R.State>
    package let runtime: EffectRuntime<R>?
    private var request: RunRequest?
    /// The effect of the action that is about to be accepted.
    private var pending: DeferredEffect<R>?
    /// A feedback's emission was let through: the state is looked at when it has been applied.
    ///
    /// If the primary had no room for it, that is after another entry, where the answer is as true.
    private var isFeedbackNext = false
    /// Working states at batch ends that wait for their commit, the oldest first.
    private var captured: [Snapshot<R.State>] = []
    /// Room for what is decoded before its turn; taken out while it is in use, so that no access has to be checked.
    private var actionsAhead: (places: ActionsAhead, decoded: [R.Action]) = (ActionsAhead(), [])
    private var mutationsAhead: (places: MutationsAhead, decoded: [R.Mutation]) = (MutationsAhead(), [])

    package init(_ reactor: R, published: PublishedState<R.State>, runtime: EffectRuntime<R>? = nil) {
        self.reactor = reactor
        self.published = published
        self.runtime = runtime
        box = StateBox(reactor.initialState, middleware: reactor.middleware)
        published.ownerBegan()
    }

    deinit { published.ownerEnded() }

    /// The state in use, for checks.
    package var workingState: R.State { box.state }

    // MARK: - Performing and applying

    package func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        var mutating = MutateContext<R>(
            box: box, time: context.time, session: context.session, request: context.firstNumber,
            sender: context.sender)
        var reducing = ReduceContext(time: context.time, epoch: context.epoch, sequence: context.firstSequence)
        request = nil
        var (ahead, decoded) = actionsAhead
        actionsAhead = (ActionsAhead(), [])
        var next = 0
        var done = 0
        while done < count {
            do {
                if next >= decoded.count {
                    ahead.look(at: actions, from: reader, count: count - done)
                    R._lookAhead(actions, ahead.ranges, mutating, coding: codings.action, into: &decoded)
                    next = 0
                }
                let range = try reader.readRange(from: actions)
                if let kinds = context.kinds, let kind = denied(actions, range, decoded, next, kinds) {
                    batch.appendDenied("the access list allows \(context.sender ?? "nobody") no action of kind \(kind)")
                } else if !perform(actions, range, decoded, next, mutating, reducing, into: &batch) {
                    break
                }
                next += 1
            } catch {
                // Where the next action begins is no longer known, so nothing after this one can be decoded either.
                reader.offset = reader.end
                batch.appendItem(.rejected, reason: "the action cannot be decoded: \(error)")
            }
            done += 1
            mutating.request &+= 1
            reducing = ReduceContext(
                time: context.time, epoch: context.epoch, sequence: reducing.sequence.next)
            if batch.isSeriesOver || request != nil { break }
        }
        // What a full batch, or an action that asks for something, leaves is decoded again.
        ahead.turnEnded(early: request != nil)
        decoded.removeAll(keepingCapacity: true)
        actionsAhead = (ahead, decoded)
        return done
    }

    /// The kind of an action that is of none of these kinds; nil for one that is, or that cannot be decoded.
    private func denied(
        _ bytes: RawSpan, _ range: Range<Int>, _ decoded: [R.Action], _ index: Int, _ kinds: Set<String>
    ) -> String? {
        let action = index < decoded.count ? decoded[index] : try? codings.action.decode(bytes, range)
        guard let kind = action.map(R.kind(of:)), !kinds.contains(kind) else { return nil }
        return kind
    }

    private func perform(
        _ bytes: RawSpan, _ range: Range<Int>, _ decoded: [R.Action], _ index: Int, _ mutating: MutateContext<R>,
        _ reducing: ReduceContext, into batch: inout BatchBuilder
    ) -> Bool {
        guard range.count <= Limits.actionBytes else {
            batch.appendItem(.rejected, reason: "the action is larger than \(Limits.actionBytes) bytes")
            return true
        }
        let start = batch.beginItem(mutationCount: 0)
        // The item's head counts towards the limit as well.
        let outcome = reactor._perform(
            bytes, range, decoded: decoded, index, mutating, reducing, codings: codings,
            limit: Limits.actionBytes - 16, into: &batch.writer)
        switch outcome {
        case .written(let mutationCount, let replyStart):
            let fits = batch.endItem(start, mutationCount: mutationCount, replyStart: replyStart)
            precondition(fits, "an item that was reduced is larger than the limit")
        case .rejected(let reason):
            batch.takeBack(start)
            batch.appendItem(.rejected, reason: reason)
            // What is without effect cancels nothing either.
            box.deferred = nil
            _ = box.takeEnded()
        case .deferred:
            batch.takeBack(start)
        }
        guard box.deferred != nil || box.isWatched else { return true }
        return noteRequest(range)
    }

    // MARK: - Effects that go on

    /// Notes what the action asks for besides its item; false if it is to be accepted.
    private func noteRequest(_ action: Range<Int>) -> Bool {
        let deferred = box.deferred.take()
        let ended = box.takeEnded()
        guard deferred != nil || !ended.isEmpty else { return true }
        pending = deferred?.isDeferred == true ? deferred : nil
        request = RunRequest(
            plan: pending?.plan, action: action, cancelledNames: deferred?.cancels ?? [], cancelledRuns: ended)
        return pending == nil
    }

    package func takeRequest() -> RunRequest? { request.take() }

    package func runAccepted(_ id: RunID) {
        guard let effect = pending.take() else { preconditionFailure("an accepted action has its effect") }
        keep(id, effect)
    }

    private func keep(_ id: RunID, _ effect: DeferredEffect<R>) {
        runtime?.keep(id, effect)
        if let until = effect.until { box.watchers.append((id, until)) }
    }

    package func runEnded(_ id: RunID) {
        runtime?.forget(id)
        if box.isWatched { box.watchers.removeAll { $0.run == id } }
    }

    package func resume(
        _ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter
    ) -> RunResumption {
        var mutating = MutateContext<R>(
            box: box, time: context.time, session: context.session, request: context.firstNumber,
            sender: context.sender)
        mutating.attempt = Int(clamping: run.attempt)
        let reducing = ReduceContext(time: context.time, epoch: context.epoch, sequence: context.firstSequence)
        var written = ByteWriter()
        let outcome = withBytes(of: action) { bytes in
            reactor._perform(
                bytes, 0..<bytes.byteCount, decoded: [], 0, mutating, reducing, codings: codings,
                limit: Limits.actionBytes - 16, into: &written)
        }
        let deferred = box.deferred.take()
        // Whom it cancels was cancelled when it was accepted.
        _ = box.takeEnded()
        switch outcome {
        case .deferred:
            guard let deferred else { preconditionFailure("an effect that goes on has a body") }
            keep(run.id, deferred)
            return .planned(deferred.plan)
        case .written(let mutationCount, _):
            item.writeVarint(UInt64(mutationCount) << 2 | UInt64(ActionStatus.committed.rawValue))
            item.writeRaw(written.bytes)
        case .rejected(let reason):
            item.writeItem(.rejected, reply: reason)
        }
        return .ended
    }

    package func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool {
        guard let runtime, runtime.isLive(cause, ticket: ticket, in: box.state) else { return false }
        if case .feedback = cause { isFeedbackNext = true }
        return true
    }

    package var nextDue: LogTime? { R.nextDue(in: box.state) }

    package func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int {
        let reducing = ReduceContext(time: context.time, epoch: context.epoch, sequence: context.sequence)
        var due = DueMutations<R>(at: time, reducing: reducing, coding: codings.mutation)
        due.take(from: &box.state)
        mutations.writeVarint(UInt64(due.count))
        mutations.writeRaw(due.written.bytes)
        return due.count
    }

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        let context = ReduceContext(time: time, epoch: position.0, sequence: position.1)
        var (ahead, decoded) = mutationsAhead
        mutationsAhead = (MutationsAhead(), [])
        try add(mutations, count: count, entry: 0, bytes, context, to: &ahead, &decoded)
        try apply(&ahead, &decoded, bytes, context)
        mutationsAhead = (ahead, decoded)
        guard isFeedbackNext else { return }
        isFeedbackNext = false
        runtime?.wasReduced(to: box.state, at: position.1)
    }

    package func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        let context = ReduceContext(time: time, epoch: position.0, sequence: position.1)
        var (ahead, decoded) = mutationsAhead
        mutationsAhead = (MutationsAhead(), [])
        var reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
        for index in 0..<count {
            let item = try Item(from: bytes, &reader)
            try add(item.mutations, count: item.mutationCount, entry: index, bytes, context, to: &ahead, &decoded)
            ReplyItem.write(item.status, bytes, item.reply, to: &replies)
        }
        try reader.finish()
        try apply(&ahead, &decoded, bytes, context)
        mutationsAhead = (ahead, decoded)
    }

    /// Takes note of an entry's mutations, and applies those that were noted whenever they are enough.
    private func add(
        _ mutations: Range<Int>, count: Int, entry: Int, _ bytes: RawSpan, _ context: ReduceContext,
        to ahead: inout MutationsAhead, _ decoded: inout [R.Mutation]
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            ahead.add(try reader.readRange(from: bytes), entry: entry)
            if ahead.isFull { try apply(&ahead, &decoded, bytes, context) }
        }
    }

    private func apply(
        _ ahead: inout MutationsAhead, _ decoded: inout [R.Mutation], _ bytes: RawSpan, _ context: ReduceContext
    ) throws(WireError) {
        try R._apply(bytes, ahead.places, context, coding: codings.mutation, decoded: &decoded, to: &box.state)
        ahead.removeAll()
    }

    package var digest: Digest {
        var digest = Digest.zero
        let duration = ContinuousClock().measure { digest = StateDigest.digest(of: box.state) }
        digestCost = duration.wholeMicroseconds * 1_000
        return digest
    }

    package private(set) var digestCost: Int64 = 0

    // MARK: - Showing

    package func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        captured.append(Snapshot(state: box.state, place: Place(epoch: epoch, sequence: sequence), time: time))
    }

    package var isViewWanted: Bool { published.isWanted }

    package func publish(through sequence: SequenceNumber) {
        // Few are ever captured at a time, since a view is taken at most every millisecond.
        guard let newest = captured.lastIndex(where: { $0.place.sequence <= sequence }) else { return }
        let snapshot = captured[newest]
        captured.removeSubrange(...newest)
        published.publish(snapshot)
    }

    package func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        let begin = ContinuousClock.now
        defer {
            let took = (ContinuousClock.now - begin).components
            answerCost = took.seconds * 1_000_000_000 + took.attoseconds / 1_000_000_000
        }
        do {
            let query = try R.queryCoding.decode(query, range)
            let snapshot = published.current()
            return try R.answerCoding.encoded(try R.answer(query, in: snapshot.state, AnswerContext(snapshot)))
        } catch let rejection as Rejection {
            throw QueryRefusal(reason: rejection.reason)
        } catch {
            throw QueryRefusal(reason: String(describing: error))
        }
    }

    package private(set) var answerCost: Int64 = 0

    // MARK: - Snapshots

    package func image() -> any StateImage { Image(state: box.state, coding: R.stateCoding) }

    package nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState {
        let state = try R.stateCoding.decoded(bytes)
        return Prepared(state: state, digest: StateDigest.digest(of: state))
    }

    package func install(_ prepared: any PreparedState) {
        guard let prepared = prepared as? Prepared else { preconditionFailure("another reactor's state") }
        captured = []
        box.state = prepared.state
    }

    package func reset() {
        captured = []
        box.state = reactor.initialState
    }

    private struct Image: StateImage {
        let state: R.State
        let coding: Coding<R.State>
        func encoded() throws -> [UInt8] { try coding.encoded(state) }
        var digest: Digest { StateDigest.digest(of: state) }
    }

    private struct Prepared: PreparedState {
        let state: R.State
        let digest: Digest
    }
}
