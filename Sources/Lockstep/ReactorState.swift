package import LockstepCore

/// A reactor and its state as the node sees them: bytes in, bytes out (PROTOCOL, R-50).
///
/// Used on the node's thread only, except for ``prepare(_:)``. One action of a reactor whose types are `WireCodable`
/// costs no allocation beyond what the reactor itself does.
package final class ReactorState<R: Reactor>: ReplicatedState {
    private let reactor: R
    private let box: StateBox<R>
    private let codings = ReactorCodings<R>()
    private let published: PublishedState<R.State>
    /// Working states at batch ends that wait for their commit, the oldest first.
    private var captured: [Snapshot<R.State>] = []

    package init(_ reactor: R, published: PublishedState<R.State>) {
        self.reactor = reactor
        self.published = published
        box = StateBox(reactor.initialState)
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
            box: box, time: context.time, session: context.session, request: context.firstNumber)
        var reducing = ReduceContext(time: context.time, epoch: context.epoch, sequence: context.firstSequence)
        var done = 0
        while done < count {
            do {
                let range = try reader.readRange(from: actions)
                perform(actions, range, mutating, reducing, into: &batch)
            } catch {
                // Where the next action begins is not known any more, so nothing behind this one can be decoded either.
                reader.offset = reader.end
                batch.appendItem(.rejected, reason: "the action cannot be decoded: \(error)")
            }
            done += 1
            mutating.request &+= 1
            reducing.sequence = reducing.sequence.next
            if batch.isFull { break }
        }
        return done
    }

    private func perform(
        _ bytes: RawSpan, _ range: Range<Int>, _ mutating: MutateContext<R>, _ reducing: ReduceContext,
        into batch: inout BatchBuilder
    ) {
        guard range.count <= Limits.actionBytes else {
            batch.appendItem(.rejected, reason: "the action is larger than \(Limits.actionBytes) bytes")
            return
        }
        let start = batch.beginItem(mutationCount: 0)
        // The item's head counts towards the limit as well.
        let outcome = reactor._perform(
            bytes, range, mutating, reducing, codings: codings, limit: Limits.actionBytes - 16, into: &batch.writer)
        switch outcome {
        case .written(let mutationCount, let replyStart):
            let fits = batch.endItem(start, mutationCount: mutationCount, replyStart: replyStart)
            precondition(fits, "an item that was reduced is larger than the limit")
        case .rejected(let reason):
            batch.takeBack(start)
            batch.appendItem(.rejected, reason: reason)
        }
    }

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        let context = ReduceContext(time: time, epoch: position.0, sequence: position.1)
        try R._apply(bytes, mutations, count: count, context, coding: codings.mutation, to: &box.state)
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
        do {
            let query = try R.queryCoding.decode(query, range)
            return try R.answerCoding.encoded(try R.answer(query, in: published.current().state))
        } catch let rejection as Rejection {
            throw QueryRefusal(reason: rejection.reason)
        } catch {
            throw QueryRefusal(reason: String(describing: error))
        }
    }

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
    }

    private struct Prepared: PreparedState {
        let state: R.State
        let digest: Digest
    }
}
