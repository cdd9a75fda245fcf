import LockstepCore
import LockstepNode
import Testing

/// The journal that keeps nothing.
@Suite(.timeLimit(.minutes(5)))
struct MemoryJournalTests {
    private let request = JournalRequest(
        cluster: ClusterID(rawValue: 0xC1), storeName: "counters", nodeName: "node-1", channel: Channel(rawValue: 2))

    /// Goal: every start is a new incarnation of the same store (PROTOCOL ).
    @Test func everyStartIsANewIncarnation() throws {
        let first = try JournalSource.memory.open(request)
        let second = try JournalSource.memory.open(request)
        #expect(first.isVolatile)
        #expect(first.identity.store == second.identity.store)
        #expect(first.identity.incarnation != second.identity.incarnation)
        #expect(first.identity.channel == Channel(rawValue: 2))
        #expect(first.freeBytes() == nil)
    }

    /// Goal: writes succeed in the order of asking, are counted, and are refused after the close.
    @Test func writesAreAnsweredInOrder() async throws {
        let journal = MemoryJournal(request)
        var history = History(store: journal.identity.store)
        let batches = try history.add(count: 3)
        let answers = AsyncStream<Int>.makeStream()
        for (index, batch) in batches.enumerated() {
            journal.append([batch]) { _ in answers.continuation.yield(index) }
        }
        let bytes = history.snapshot()
        journal.save(snapshot: bytes, at: history.end) { result in
            if case .success = result { answers.continuation.yield(3) }
            answers.continuation.finish()
        }
        #expect(await answers.stream.reduce(into: []) { $0.append($1) } == [0, 1, 2, 3])
        #expect(journal.sizes == (batches: 0, snapshot: bytes.count))
        try journal.setNote(.reportedBehind, to: "x")
        #expect(try journal.note(.reportedBehind) == "x")
        journal.close()
        let refusals = AsyncStream<Int>.makeStream()
        journal.append([try history.add()]) { result in
            if case .failure = result { refusals.continuation.yield(9) }
            refusals.continuation.finish()
        }
        #expect(await refusals.stream.reduce(into: []) { $0.append($1) } == [9])
        try journal.recover(snapshot: { _ in Issue.record("nothing is kept") }, batch: { _ in })
    }
}

/// The error that users see.
struct LockstepErrorTests {
    /// Goal: a description is one line that begins with the code, whatever the message holds.
    @Test func anErrorIsOneLine() {
        let error = LockstepError(
            .outcomeUnknown, "the node stopped\nask again",
            pending: PendingOutcome(
                session: SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 2)), numbers: 3...4))
        #expect(error.description == "outcomeUnknown: the node stopped ask again")
        #expect(error.pending?.numbers == 3...4)
        #expect(error.fileID.hasSuffix("MemoryJournalTests.swift"))
        #expect(error.code != .timeout)
    }
}
