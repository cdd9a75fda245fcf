package import LockstepCore

/// An action as the log holds it.
public struct LoggedAction<R: Reactor>: Sendable {
    /// Its place in the log.
    public let place: Place
    /// The time of its entry.
    public let time: LogTime
    /// The session that sent it.
    public let session: SessionID
    /// Its number in the session.
    public let number: RequestNumber
    /// What it did: nothing if it was rejected, or had no effect.
    public let mutations: [R.Mutation]
    /// Why it was rejected; `nil` if it was not.
    public let rejection: String?
}

/// The committed actions of a store, in order; see ``Store/entries(after:)``.
public struct Entries<R: Reactor>: AsyncSequence {
    /// An action as the log holds it.
    public typealias Element = LoggedAction<R>
    /// ``LockstepError``.
    public typealias Failure = any Error

    let batches: AsyncThrowingStream<SealedBatch, any Error>
    let after: SequenceNumber

    package init(batches: AsyncThrowingStream<SealedBatch, any Error>, after: SequenceNumber) {
        self.batches = batches
        self.after = after
    }

    /// Starts behind the sequence number that was given.
    public func makeAsyncIterator() -> Iterator { Iterator(batches: batches.makeAsyncIterator(), after: after) }

    /// Waits for entries.
    public struct Iterator: AsyncIteratorProtocol {
        private var batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator
        private let after: SequenceNumber
        private let coding = R.mutationCoding
        /// The actions of the batch at hand, the next one last.
        private var ready: [LoggedAction<R>] = []

        init(batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator, after: SequenceNumber) {
            self.batches = batches
            self.after = after
        }

        /// The next action; `nil` when the node has stopped or the task is cancelled.
        public mutating func next() async throws -> LoggedAction<R>? {
            while ready.isEmpty {
                guard let batch = try await batches.next(isolation: #isolation) else { return nil }
                do {
                    ready = try Self.actions(of: batch, behind: after, coding).reversed()
                } catch {
                    throw LockstepError(
                        .refused, "the entries behind \(batch.head.previous) cannot be read; update this program",
                        underlying: error)
                }
            }
            return ready.removeLast()
        }

        private static func actions(
            of batch: SealedBatch, behind after: SequenceNumber, _ coding: Coding<R.Mutation>
        ) throws(WireError) -> [LoggedAction<R>] {
            try withBytes(of: batch.bytes) { (bytes) throws(WireError) in
                var actions: [LoggedAction<R>] = []
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                var sequence = batch.head.first
                while reader.remaining > 0 {
                    let entry = try Entry(from: bytes, &reader)
                    if case .actions(let run) = entry {
                        var items = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
                        for index in 0..<run.count {
                            let item = try Item(from: bytes, &items)
                            let place = Place(epoch: batch.head.epoch, sequence: sequence.advanced(by: index))
                            guard place.sequence > after else { continue }
                            actions.append(
                                LoggedAction(
                                    place: place, time: batch.head.time, session: run.session,
                                    number: run.first + RequestNumber(index),
                                    mutations: try mutations(of: item, bytes, coding),
                                    rejection: item.status == .rejected ? text(bytes, item.reply) : nil))
                        }
                    }
                    sequence = sequence.advanced(by: entry.sequenceCount)
                }
                return actions
            }
        }

        private static func mutations(
            of item: Item, _ bytes: RawSpan, _ coding: Coding<R.Mutation>
        ) throws(WireError) -> [R.Mutation] {
            var reader = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
            var mutations: [R.Mutation] = []
            for _ in 0..<item.mutationCount {
                mutations.append(try coding.decodeChecked(bytes, try reader.readRange(from: bytes)))
            }
            return mutations
        }

        private static func text(_ bytes: RawSpan, _ range: Range<Int>) -> String {
            String(decoding: copyBytes(of: bytes, range), as: UTF8.self)
        }
    }
}
