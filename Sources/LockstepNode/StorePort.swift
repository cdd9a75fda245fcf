internal import DequeModule
package import LockstepCore
internal import Synchronization
internal import Tracing

/// The bytes of one frame with answers, kept alive by whoever still has to decode its own.
package final class ReplyFrame: Sendable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The answers to one submission, in order; a submission's answers may lie in several frames.
package struct RawReplies: Sendable {
    package struct Piece: Sendable {
        package var frame: ReplyFrame
        package var session: SessionID
        package var first: RequestNumber
        package var count: Int
        package var epoch: Epoch
        package var firstSequence: SequenceNumber
        /// ``ReplyItem``s, end to end, in the frame's bytes.
        package var items: Range<Int>
        package init(
            frame: ReplyFrame, session: SessionID, first: RequestNumber, count: Int, epoch: Epoch,
            firstSequence: SequenceNumber, items: Range<Int>
        ) {
            self.frame = frame
            self.session = session
            self.first = first
            self.count = count
            self.epoch = epoch
            self.firstSequence = firstSequence
            self.items = items
        }
    }
    package var pieces: [Piece]
    package init(pieces: [Piece]) { self.pieces = pieces }
}

/// A store of a node, as its callers reach it from any thread: bytes in, bytes out.
///
/// It works before `run()`, whose callers then wait, and after it, when they get `stopped`.
package final class StorePort: Sendable {
    package let name: String
    package let inbox: Inbox
    /// Runs this store's effects where it is primary.
    package let executor: (any RunExecutor)?
    package let readiness = ReadinessBoard()
    /// Follows actions in spans; nil without a tracer.
    package let traces: ActionTraces?
    /// Whether this node's state may be read.
    package let gate = ReadGate()
    /// The highest sequence number that readers see, for reads that need not wait.
    private let published = Atomic<UInt64>(0)
    /// What ``AcknowledgedPlace`` has, for callers on any thread.
    private let acknowledgedNumber = Atomic<UInt64>(0)
    private let lastID = Atomic<UInt64>(0)
    private let sends = Atomic<UInt64>(0)

    package init(name: String, inbox: Inbox, executor: (any RunExecutor)? = nil) {
        self.name = name
        traces = ActionTraces(store: name)
        self.inbox = inbox
        self.executor = executor
    }

    /// What readers of this node see.
    package var publishedSequence: SequenceNumber {
        SequenceNumber(rawValue: published.load(ordering: .acquiring))
    }

    package func setPublished(_ sequence: SequenceNumber) { published.store(sequence.rawValue, ordering: .releasing) }

    /// What a session read of this node's callers must include.
    package var acknowledged: SequenceNumber {
        SequenceNumber(rawValue: acknowledgedNumber.load(ordering: .acquiring))
    }

    /// The node's thread alone sets it, before it resumes a caller with what is acknowledged.
    func setAcknowledged(_ sequence: SequenceNumber) {
        acknowledgedNumber.store(sequence.rawValue, ordering: .releasing)
    }

    func makeID() -> UInt64 { lastID.add(1, ordering: .relaxed).newValue }

    /// When a send was made, of the one in ``NodeMetrics/sendSample`` that is timed; the clock is not read for others.
    func timeOfSend() -> Tick {
        let count = sends.add(1, ordering: .relaxed).oldValue
        return count % NodeMetrics.sendSample == 0 ? MonotonicClock.now : .zero
    }

    /// When a time limit that begins now is over.
    static func deadline(after timeout: Duration?) -> Tick {
        guard let timeout else { return .never }
        return MonotonicClock.now.advanced(byMicroseconds: min(max(0, timeout.wholeMicroseconds), 1 << 50))
    }

    // MARK: - Actions

    /// Submits actions, each a length and its bytes, and waits for their answers.
    ///
    /// The actions get consecutive numbers of one session. Costs a lock and a resumption, whatever the count. If the
    /// session ends, or the node, when only the first of them have numbers, the rest is not submitted; `pending` names
    /// the first.
    ///
    /// - Throws: ``LockstepError``: `tooLarge` for an action above its limit; `timeout` or `stopped` if nothing was
    ///   submitted; `outcomeUnknown`, whose `pending` can be given to ``resolve(_:timeout:)``, if something was. A caller
    ///   that is cancelled gets `CancellationError` or `outcomeUnknown` in the same way.
    package func submit(_ actions: consuming [UInt8], count: Int, timeout: Duration?) async throws -> RawReplies {
        guard count > 0 else { return RawReplies(pieces: []) }
        let waiter = Waiter(count: count, deadline: Self.deadline(after: timeout))
        waiter.sent = timeOfSend()
        if traces != nil { waiter.context = ServiceContext.current }
        let parts = try Self.parts(of: actions, count: count, waiter: waiter)
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                waiter.wait(continuation)
                inbox.put(parts)
            }
        } onCancel: {
            inbox.leave(waiter)
        }
    }

    /// Cuts the actions into parts of the size that frames like.
    private static func parts(
        of actions: consuming [UInt8], count: Int, waiter: Waiter
    ) throws -> [Submission] {
        let target = Limits.frameTargetBytes
        if actions.count <= target, count <= Limits.frameTargetActions {
            return [Submission(actions: actions, count: count, waiter: waiter, isSingle: count == 1)]
        }
        let whole = actions
        var parts: [Submission] = []
        try withBytes(of: whole) { bytes in
            var reader = ByteReader(bytes)
            var (start, first) = (0, 0)
            for index in 0..<count {
                let before = reader.offset
                let range: Range<Int>
                do { range = try reader.readRange(from: bytes) } catch {
                    preconditionFailure("\(count) actions were announced, the bytes hold \(index): \(error)")
                }
                guard range.count <= Limits.actionBytes else {
                    throw LockstepError(
                        .tooLarge, "an action of \(range.count) bytes is above the limit of \(Limits.actionBytes)")
                }
                if index > first, reader.offset - start > target || index - first == Limits.frameTargetActions {
                    parts.append(part(start..<before, index - first))
                    (start, first) = (before, index)
                }
            }
            parts.append(part(start..<reader.offset, count - first))
        }
        return parts

        func part(_ range: Range<Int>, _ count: Int) -> Submission {
            Submission(actions: Array(whole[range]), count: count, waiter: waiter, isSingle: waiter.count == 1)
        }
    }

    /// Asks what became of actions whose caller got `outcomeUnknown`.
    ///
    /// Waits for an answer that is still to come. Actions that had not reached the log are answered as void then. The
    /// primary is asked about ``AskDesk/numberBound`` numbers at a time.
    ///
    /// - Throws: ``LockstepError``: `sessionEnded` if nobody knows it; `timeout`, after which it may be called again.
    package func resolve(_ pending: PendingOutcome, timeout: Duration) async throws -> RawReplies {
        let deadline = Self.deadline(after: timeout)
        let whole = try await resolve(pending, until: deadline)
        guard whole.pieces.isEmpty else { return whole }
        var pieces: [RawReplies.Piece] = []
        var rest: ClosedRange<RequestNumber>? = pending.numbers
        while let numbers = rest {
            let count = min(numbers.upperBound - numbers.lowerBound, UInt64(AskDesk.numberBound) - 1)
            let last = numbers.lowerBound + count
            let part = PendingOutcome(session: pending.session, numbers: numbers.lowerBound...last)
            do {
                pieces += try await resolve(part, until: deadline).pieces
            } catch let error as LockstepError where error.pending != nil {
                // Who asks again asks about all: no part of the answers was handed out.
                throw LockstepError(
                    error.code, error.message, underlying: error.underlying, pending: pending, fileID: error.fileID,
                    line: error.line)
            }
            rest = last < numbers.upperBound ? (last + 1)...numbers.upperBound : nil
        }
        return RawReplies(pieces: pieces)
    }

    private func resolve(_ pending: PendingOutcome, until deadline: Tick) async throws -> RawReplies {
        let id = makeID()
        return try await waiting(id) { host, continuation in
            host.resolve(id, pending, deadline: deadline) { continuation.resume(with: $0) }
        }
    }

    // MARK: - Reads

    /// Waits until the state that readers of this node see is as fresh as asked.
    ///
    /// `.local` returns at once; `.session` when it includes `minimum`; `.linearizable` when it includes everything that
    /// was acknowledged anywhere before the call, for which the primary is asked.
    ///
    /// - Throws: ``LockstepError``: `unavailable` if the state must not be read, `.local` also while it is not the
    ///   cluster's yet (PROTOCOL, R-37), for which the others wait; `timeout`; `stopped`.
    package func waitUntilReadable(
        _ level: ReadLevel, minimum: SequenceNumber, timeout: Duration
    ) async throws {
        switch level {
        // Who does not pass since the node has ended learns the cause from the inbox.
        case .local: if try gate.admits() { return }
        case .session: if publishedSequence >= minimum, gate.isOpen { return }
        case .linearizable: break
        }
        let deadline = Self.deadline(after: timeout)
        let id = makeID()
        try await waiting(id) { host, continuation in
            host.waitUntilReadable(id, level, minimum: minimum, deadline: deadline) { continuation.resume(with: $0) }
        }
    }

    /// Waits until the state that readers of this node see includes `minimum`: the order between what is shown and who
    /// is told of it, which holds also while nobody may read.
    package func waitUntilShown(_ minimum: SequenceNumber, timeout: Duration) async throws {
        if publishedSequence >= minimum { return }
        let deadline = Self.deadline(after: timeout)
        let id = makeID()
        try await waiting(id) { host, continuation in
            host.waitUntilShown(id, minimum, deadline: deadline) { continuation.resume(with: $0) }
        }
    }

    /// Asks the store's reactor a question: of this node's state if it has one, else of the node it is connected to.
    package func ask(
        _ query: [UInt8], level: ReadLevel, minimum: SequenceNumber, timeout: Duration
    ) async throws -> (answer: [UInt8], position: (Epoch, SequenceNumber), time: LogTime) {
        let deadline = Self.deadline(after: timeout)
        let id = makeID()
        let answer: ReadAnswer = try await waiting(id) { host, continuation in
            host.ask(id, query, level: level, minimum: minimum, deadline: deadline) { continuation.resume(with: $0) }
        }
        return (answer.bytes, (answer.view.epoch, answer.view.sequence), answer.view.time)
    }

    /// The store as an operator sees it, with the digest of its state.
    package func status() async throws -> StoreStatus {
        try await waiting(makeID()) { host, continuation in
            continuation.resume(returning: host.status(withDigest: true))
        }
    }

    /// The committed batches after `sequence`, as they come; of one that ends within a batch, that batch again first.
    ///
    /// Each step takes what the resend window holds, at most 1,024 batches at a time; so a consumer costs no memory, and
    /// one that is slower than the window lasts gets `positionTooOld`. So does one whose log was replaced by another,
    /// from its first step on if it knows the epoch of the entry at `sequence`.
    package func batches(
        after sequence: SequenceNumber, in epoch: Epoch? = nil
    ) -> AsyncThrowingStream<SealedBatch, any Error> {
        let cursor = BatchCursor(FeedPlace(sequence: sequence, epoch: epoch))
        return AsyncThrowingStream { [self] in
            if let batch = cursor.pop() { return batch }
            let id = makeID()
            let place = cursor.place
            cursor.fill(
                try await waiting(id) { host, continuation in
                    host.batches(id, after: place) { continuation.resume(with: $0) }
                })
            return cursor.pop()
        }
    }

    /// Who opened each session that is open now and for which somebody is named (PROTOCOL, R-71).
    package func senders() async throws -> [SessionID: String] {
        try await waiting(makeID()) { host, continuation in continuation.resume(returning: host.senders) }
    }

    func waiting<Value: Sendable>(
        _ id: UInt64, _ body: @escaping @Sendable (StoreHost, CheckedContinuation<Value, any Error>) -> Void
    ) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                inbox.ask(
                    Errand(
                        run: { body($0, continuation) }, refuse: { continuation.resume(throwing: $0) }))
            }
        } onCancel: {
            // It may overtake the question; the store then remembers it. If it is refused, the time limit ends the wait.
            inbox.ask(Errand(run: { $0.cancel(id) }))
        }
    }
}

/// An answer to a question, and the place of the state that gave it.
package struct ReadAnswer: Sendable {
    package var bytes: [UInt8]
    package var view: ViewPlace
    package init(bytes: [UInt8], view: ViewPlace) {
        self.bytes = bytes
        self.view = view
    }
}

/// Where a consumer of batches stands.
///
/// `@unchecked Sendable`: used by the stream's own steps only, of which a stream runs one at a time.
private final class BatchCursor: @unchecked Sendable {
    private(set) var place: FeedPlace
    private var batches: Deque<SealedBatch> = []

    init(_ place: FeedPlace) { self.place = place }

    func fill(_ answer: FeedAnswer) {
        batches = Deque(answer.batches)
        place.generation = answer.generation
    }

    func pop() -> SealedBatch? {
        guard let batch = batches.popFirst() else { return nil }
        place.sequence = batch.head.last
        place.epoch = batch.head.epoch
        return batch
    }
}
