import LockstepCore
import Testing

/// What readers see of a state, and the place that their answers name.
@Suite struct ReaderSideTests {
    /// Readers with a state and the log that it follows.
    private struct Side {
        var readers = ReaderSide(at: ViewPlace(epoch: .zero, sequence: .zero, time: .zero))
        var log = LogState(store: StoreID(rawValue: 3))
        let state = CountingState()
        private static let stamp = FrameStamp(channel: Channel(rawValue: 1), clusterHash: 1, epoch: .zero)

        /// Captures a view of this sum at the end of a batch that ends with `sequence`.
        mutating func capture(_ sum: UInt64, at sequence: UInt64) {
            let head = BatchHead(
                store: log.store, epoch: Epoch(rawValue: 1), first: log.position.sequence.next,
                last: SequenceNumber(rawValue: sequence), time: LogTime(rawValue: Int64(sequence)),
                previous: log.position.hash)
            log.finish(head: head, hash: .none, tells: true)
            state.sum = sum
            readers.capture(log, now: .zero, state)
        }

        mutating func show(through sequence: UInt64) {
            readers.show(through: SequenceNumber(rawValue: sequence), state)
        }

        /// The sequence number, the log's time and the sum that a local read is answered with.
        mutating func read() throws -> [Int64] {
            let read = Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<0)
            let isAdded = withBytes(of: []) {
                readers.add(read, frame: $0, minimum: .zero, from: Connection(rawValue: 1), now: .zero)
            }
            #expect(isAdded)
            let answer = try #require(readers.takeAnswered(Self.stamp, state).first)
            return try withBytes(of: answer.frame) { span in
                guard case .readResult(let result) = try Message.decode(span, rule: .any).message else { return [] }
                let sum = copyBytes(of: span, result.answer)
                return [Int64(result.sequence.rawValue), result.time.rawValue] + sum.map { Int64($0) }
            }
        }
    }

    /// Goal: where a view is captured before the one before it has committed, each is shown with its own commit, and an
    /// answer names the place of the state that gave it (PROTOCOL ).
    @Test func anAnswerNamesThePlaceOfItsStateHoweverLateTheCommit() throws {
        var side = Side()
        side.capture(5, at: 2)
        side.capture(9, at: 4)
        side.show(through: 1)
        let before = try side.read()
        #expect(before == [0, 0, 0], "nothing has committed")
        side.show(through: 3)
        let first = try side.read()
        #expect(first == [2, 2, 5] && side.readers.captured.sequence == SequenceNumber(rawValue: 4))
        side.capture(11, at: 6)
        side.capture(12, at: 7)
        side.show(through: 6)
        let newest = try side.read()
        #expect(newest == [6, 6, 11], "of those that may be shown, the newest is")
        side.show(through: 7)
        let last = try side.read()
        #expect(last == [7, 7, 12] && side.readers.captured == side.readers.view)
    }

    /// Goal: what was captured of a log that is gone is not shown in the next one (PROTOCOL R-43).
    @Test func whatWasCapturedOfALogThatIsGoneIsForgotten() throws {
        var side = Side()
        side.capture(5, at: 2)
        side.readers.forget()
        side.state.reset()
        side.show(through: 9)
        let after = try side.read()
        #expect(after == [0, 0, 0] && side.readers.captured.sequence == .zero)
    }
}
