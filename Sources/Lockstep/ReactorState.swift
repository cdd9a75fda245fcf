package import LockstepCore

/// A reactor and its state as the node sees them: bytes in, bytes out (PROTOCOL, R-50).
///
/// Used on the node's thread only, except for ``prepare(_:)``. One action of a reactor whose types are `WireCodable`
/// costs no allocation beyond what the reactor itself does.
package final class ReactorState<R: Reactor>: ReplicatedState {
    private let reactor: R
    private let box: StateBox<R>
    private let codings = Codings<R>()
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
        let action: R.Action
        do {
            guard range.count <= Limits.actionBytes else { throw WireError(.wrongLength, at: range.lowerBound) }
            action = try codings.action.decode(bytes, range)
        } catch {
            batch.appendItem(.rejected, reason: "the action cannot be decoded: \(error)")
            return
        }
        do {
            let effect = try reactor.mutate(action, mutating)
            // Written first and reduced then: what cannot be written, or is too large, is certainly without effect.
            guard try write(effect, into: &batch) else {
                throw Rejection("the action's mutations and reply are larger than \(Limits.actionBytes) bytes")
            }
            switch effect.mutations {
            case .none: break
            case .one(let mutation): R.reduce(into: &box.state, mutation, reducing)
            case .many(let mutations):
                for mutation in mutations { R.reduce(into: &box.state, mutation, reducing) }
            }
        } catch let rejection as Rejection {
            batch.appendItem(.rejected, reason: rejection.reason)
        } catch {
            batch.appendItem(.rejected, reason: String(describing: error))
        }
    }

    /// Writes the item of an effect; false, and nothing is written, if it is too large.
    private func write(_ effect: Effect<R>, into batch: inout BatchBuilder) throws -> Bool {
        let start: BatchBuilder.ItemStart
        let replyStart: Int
        switch effect.mutations {
        case .none: start = batch.beginItem(mutationCount: 0)
        case .one: start = batch.beginItem(mutationCount: 1)
        case .many(let mutations): start = batch.beginItem(mutationCount: mutations.count)
        }
        do {
            switch effect.mutations {
            case .none: break
            case .one(let mutation): try batch.writer.writeMeasured { try codings.mutation.encode(mutation, &$0) }
            case .many(let mutations):
                for mutation in mutations {
                    try batch.writer.writeMeasured { try codings.mutation.encode(mutation, &$0) }
                }
            }
            replyStart = try batch.writer.writeMeasured { try codings.reply.encode(effect.reply, &$0) }
        } catch {
            batch.takeBack(start)
            throw error
        }
        return batch.endItem(start, replyStart: replyStart)
    }

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        let context = ReduceContext(time: time, epoch: position.0, sequence: position.1)
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let mutation = try codings.mutation.decodeChecked(bytes, try reader.readRange(from: bytes))
            R.reduce(into: &box.state, mutation, context)
        }
    }

    package var digest: Digest { StateDigest.digest(of: box.state) }

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
            let query = try codings.query.decode(query, range)
            return try codings.answer.encoded(try R.answer(query, in: published.current().state))
        } catch let rejection as Rejection {
            throw QueryRefusal(reason: rejection.reason)
        } catch {
            throw QueryRefusal(reason: String(describing: error))
        }
    }

    // MARK: - Snapshots

    package func image() -> any StateImage { Image(state: box.state, coding: codings.state) }

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

/// A reactor's codings, made once.
struct Codings<R: Reactor>: Sendable {
    let action = R.actionCoding
    let mutation = R.mutationCoding
    let state = R.stateCoding
    let reply = R.replyCoding
    let query = R.queryCoding
    let answer = R.answerCoding
}
