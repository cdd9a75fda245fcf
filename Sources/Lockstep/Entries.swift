package import LockstepCore
internal import LockstepNode

extension Error {
    /// Whether it says that the node has stopped or the task is cancelled: sequences end with that, and do not fail.
    var isEndOfSequence: Bool { self is CancellationError || (self as? LockstepError)?.code == .stopped }
}

/// The committed entries of a store, in order; see ``Store/entries(after:)``.
public struct Entries<R: Reactor>: AsyncSequence {
    /// An entry as the log holds it.
    public typealias Element = LoggedEntry<R>
    /// ``LockstepError``.
    public typealias Failure = any Error

    let batches: AsyncThrowingStream<SealedBatch, any Error>
    let after: SequenceNumber
    private let names: @Sendable () async throws -> SenderNames

    package init(
        batches: AsyncThrowingStream<SealedBatch, any Error>, after: SequenceNumber,
        names: @escaping @Sendable () async throws -> SenderNames = { SenderNames() }
    ) {
        self.batches = batches
        self.after = after
        self.names = names
    }

    /// Starts after the sequence number that was given.
    public func makeAsyncIterator() -> Iterator { Iterator(batches.makeAsyncIterator(), after: after, names) }

    /// Waits for entries.
    public struct Iterator: AsyncIteratorProtocol {
        private var batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator
        private let after: SequenceNumber
        private let coding = R.mutationCoding
        /// The entries of the batch at hand, the next one last.
        private var ready: [LoggedEntry<R>] = []
        private var names: SenderNames?
        private let firstNames: @Sendable () async throws -> SenderNames

        init(
            _ batches: AsyncThrowingStream<SealedBatch, any Error>.Iterator, after: SequenceNumber,
            _ names: @escaping @Sendable () async throws -> SenderNames
        ) {
            self.batches = batches
            self.after = after
            firstNames = names
        }

        /// The next entry; `nil` when the node has stopped or the task is cancelled.
        public mutating func next() async throws -> LoggedEntry<R>? {
            do {
                while ready.isEmpty {
                    guard let batch = try await batches.next(isolation: #isolation) else { return nil }
                    ready = try await Self.entries(of: batch, after: after, coding, &names, firstNames).reversed()
                }
                return ready.removeLast()
            } catch {
                guard error.isEndOfSequence else { throw error }
                return nil
            }
        }

        /// The entries of the next batch; before the first batch `names` is nil, and `firstNames` says which sessions
        /// are open.
        static func entries(
            of batch: SealedBatch, after: SequenceNumber, _ coding: Coding<R.Mutation>, _ names: inout SenderNames?,
            _ firstNames: @Sendable () async throws -> SenderNames
        ) async throws -> [LoggedEntry<R>] {
            var known = if let names { names } else { try await firstNames() }
            defer { names = known }
            do { return try LoggedEntry.entries(of: batch, after: after, coding, &known) } catch {
                throw LockstepError(
                    .refused, "the entries after \(batch.head.previous) cannot be read; update this program",
                    underlying: error)
            }
        }
    }
}
