import Lockstep
import LockstepCore
import LockstepNode

/// Performs actions as a primary does and hands out the batches.
final class Run<R: Reactor> {
    let state: ReactorState<R>
    let published: PublishedState<R.State>
    private(set) var position = Position.start(of: StoreID(rawValue: 9))
    private(set) var batches: [SealedBatch] = []
    let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))
    private var next: RequestNumber = 1
    /// Who sends what is performed, and the kinds that it may send.
    var sender: String?
    var kinds: Set<String>?

    init(_ reactor: R) {
        published = PublishedState(Snapshot(state: reactor.initialState, place: .start, time: .zero))
        state = ReactorState(reactor, published: published)
    }

    /// Performs encoded actions, a batch for each fill, and returns their outcomes.
    func perform(encoded actions: [[UInt8]]) -> [Outcome<R.Reply>] {
        var writer = ByteWriter()
        for action in actions { writer.writeBytes(action) }
        return perform(raw: writer.bytes, count: actions.count)
    }

    func perform(raw actions: [UInt8], count: Int) -> [Outcome<R.Reply>] {
        var pieces: [RawReplies.Piece] = []
        var reader = ByteReader(offset: 0, end: actions.count)
        var left = count
        while left > 0 {
            let time = LogTime(rawValue: Int64(batches.count + 1) * 1_000)
            var batch = BatchBuilder(
                store: StoreID(rawValue: 9), epoch: Epoch(rawValue: 3), after: position, time: time)
            batch.beginSeries(session: session, first: next, ackedThrough: 0)
            let first = batch.nextSequence
            let done = withBytes(of: actions) { bytes in
                state.perform(
                    bytes, &reader, count: left,
                    context: PerformContext(
                        session: session, firstNumber: next, epoch: Epoch(rawValue: 3), firstSequence: first,
                        time: time, sender: sender, kinds: kinds),
                    into: &batch)
            }
            precondition(batch.endSeries() == done, "every action has its item")
            pieces.append(
                RawReplies.Piece(
                    frame: ReplyFrame(bytes: batch.replies.bytes), session: session, first: next, count: done,
                    epoch: Epoch(rawValue: 3), firstSequence: first, items: 0..<batch.replies.count))
            next += RequestNumber(done)
            left -= done
            let sealed = batch.sealed()
            batches.append(sealed)
            position = sealed.position
        }
        return Array(Outcomes(RawReplies(pieces: pieces), coding: R.replyCoding))
    }

    func perform(_ actions: [R.Action]) throws -> [Outcome<R.Reply>] {
        perform(encoded: try actions.map { try R.actionCoding.encoded($0) })
    }

    /// Shows the working state to readers.
    func publish() {
        state.capture(at: position.sequence, epoch: position.epoch, time: LogTime(rawValue: 1))
        state.publish(through: position.sequence)
    }
}

/// Applies the actions of batches as a replica does.
func apply<R: Reactor>(_ batches: [SealedBatch], to state: ReactorState<R>) throws(WireError) {
    for batch in batches {
        try withBytes(of: batch.bytes) { (bytes) throws(WireError) in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            var sequence = batch.head.first
            while reader.remaining > 0 {
                guard case .actions(let run) = try Entry(from: bytes, &reader) else { continue }
                var replies = ByteWriter()
                try state.apply(
                    bytes, items: run.items, count: run.count, at: (batch.head.epoch, sequence),
                    time: batch.head.time, replies: &replies)
                sequence = sequence.advanced(by: run.count)
            }
        }
    }
}

/// The replica's state of a run, before anything was applied to it.
func makeReplica<R: Reactor>(_ reactor: R) -> ReactorState<R> {
    ReactorState(
        reactor, published: PublishedState(Snapshot(state: reactor.initialState, place: .start, time: .zero)))
}
