import Counters
import Lockstep
import LockstepCore

/// The counters as a node runs them, with bytes that no client of ours would send.
enum ReactorRuns {
    private static let session = SessionID(epoch: Golden.epoch, sequence: SequenceNumber(rawValue: 2))

    /// Performs any actions on any state; a replica that applies what came of it has the same (PROTOCOL, R-50).
    static func perform(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let primary = state(input.block())
        let replica = try copy(primary)
        let actions = input.rest()
        var builder = opened()
        let before = builder.nextSequence
        var count = 0
        withBytes(of: actions) { span in
            var reader = ByteReader(span)
            builder.beginSeries(session: session, first: 1, ackedThrough: 0)
            while reader.remaining > 0, count < 16 {
                let context = PerformContext(
                    session: session, firstNumber: UInt64(count) + 1, epoch: Golden.epoch,
                    firstSequence: before.advanced(by: count), time: builder.head.time)
                count += primary.perform(span, &reader, count: 16 - count, context: context, into: &builder)
            }
            if count == 0 {
                count = 1
                builder.appendItem(.void)
            }
            _ = builder.endSeries()
        }
        try checks.holds(builder.nextSequence == before.advanced(by: count), "an action has no entry, or two")
        var log = LogState(store: Golden.store)
        do throws(LogState.ApplyError) {
            _ = try log.apply(builder.sealed(), to: replica)
        } catch {
            throw FuzzFinding(description: "what a primary logged cannot be applied: \(error)")
        }
        try same(primary, replica, checks)
    }

    /// Applies any mutations to any state, then performs actions on what became of it.
    static func apply(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let state = state(input.block())
        let mutations = input.block()
        withBytes(of: mutations) { span in
            var reader = ByteReader(span)
            while reader.remaining > 0 {
                let start = reader.offset
                let place = (Golden.epoch, SequenceNumber(rawValue: UInt64(start) + 1))
                // A mutation that cannot be decoded stops a replica; what it did before stays.
                guard (try? reader.readRange(from: span)) != nil,
                    (try? state.apply(
                        span, mutations: start..<reader.offset, count: 1, at: place,
                        time: LogTime(rawValue: Int64(start) * 1_000_000))) != nil
                else { return }
            }
        }
        try same(state, try copy(state), checks)
        var builder = opened()
        let actions = input.rest()
        withBytes(of: actions) { span in
            var reader = ByteReader(span)
            builder.beginSeries(session: session, first: 1, ackedThrough: 0)
            let context = PerformContext(
                session: session, firstNumber: 1, epoch: Golden.epoch, firstSequence: builder.nextSequence,
                time: LogTime(rawValue: .max))
            _ = state.perform(span, &reader, count: 8, context: context, into: &builder)
        }
        try same(state, try copy(state), checks)
    }

    /// Any query of any state: an answer that can be read, or a refusal.
    static func ask(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let state = state(input.block())
        state.capture(at: SequenceNumber(rawValue: 1), epoch: Golden.epoch, time: .zero)
        state.publish(through: SequenceNumber(rawValue: 1))
        let query = input.rest()
        // A refusal is an answer.
        guard let answer = withBytes(of: query, { try? state.answer($0, 0..<query.count) }) else { return }
        do {
            let value = try Coding<Counters.Answer>.wire.decoded(answer)
            try checks.same(try Coding<Counters.Answer>.wire.encoded(value), answer, "an answer")
        } catch let finding as FuzzFinding {
            throw finding
        } catch {
            throw FuzzFinding(description: "an answer cannot be read: \(error)")
        }
    }

    private static func empty() -> ReactorState<Counters> {
        ReactorState(
            Counters(), published: PublishedState(Snapshot(state: Counters().initialState, place: .start, time: .zero)))
    }

    /// The state that the bytes are, or an empty one.
    private static func state(_ bytes: [UInt8]) -> ReactorState<Counters> {
        let state = empty()
        if let prepared = try? state.prepare(bytes) { state.install(prepared) }  // Otherwise it is empty.
        return state
    }

    /// What a joiner gets: the same by way of its bytes.
    private static func copy(_ state: ReactorState<Counters>) throws(FuzzFinding) -> ReactorState<Counters> {
        let copy = empty()
        do { copy.install(try copy.prepare(try state.image().encoded())) } catch {
            throw FuzzFinding(description: "a state's own bytes are refused: \(error)")
        }
        return copy
    }

    private static func same(
        _ left: ReactorState<Counters>, _ right: ReactorState<Counters>, _ checks: Checks
    ) throws(FuzzFinding) {
        try checks.same(left.workingState, right.workingState, "two nodes' states")
        try checks.same(left.digest, right.digest, "two nodes' digests")
    }

    /// A batch in which the session is open.
    private static func opened() -> BatchBuilder {
        var builder = BatchBuilder(
            store: Golden.store, epoch: Golden.epoch, after: .start(of: Golden.store),
            time: LogTime(rawValue: 1_750_000_000_000_000))
        builder.append(.epochOpen(node: "node", incarnation: Golden.incarnation, boot: Golden.boot))
        builder.append(
            .sessionOpen(
                Open(
                    client: ClientKey(rawValue: 1), nonce: 1, timeToLive: 1_000_000, windowNumbers: 64,
                    windowBytes: 1 << 16)))
        return builder
    }
}
