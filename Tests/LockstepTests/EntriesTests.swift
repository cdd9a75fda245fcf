import Lockstep
import LockstepCore
import LockstepNode
import Testing

@Suite(.timeLimit(.minutes(5))) struct EntriesTests {
    private func stream(_ batches: [SealedBatch]) -> AsyncThrowingStream<SealedBatch, any Error> {
        AsyncThrowingStream { continuation in
            for batch in batches { continuation.yield(batch) }
            continuation.finish()
        }
    }

    private func collect<R: Reactor>(_ entries: Entries<R>) async throws -> [LoggedEntry<R>] {
        var all: [LoggedEntry<R>] = []
        for try await entry in entries { all.append(entry) }
        return all
    }

    /// Every action in order, with its cause, its mutations or its rejection; what lies before the start is left out.
    @Test func everyActionComesWithItsCause() async throws {
        let run = Run(Ledger())
        _ = try run.perform([.put("a", 1), .refuse])
        _ = try run.perform([.putAll(["b": 2, "c": 3]), .nothing])
        let entries = try await collect(Entries<Ledger>(batches: stream(run.batches), after: .zero))
        #expect(entries.map(\.place.sequence.rawValue) == [1, 2, 3, 4])
        #expect(entries.map(\.number) == [1, 2, 3, 4])
        #expect(entries.map(\.session) == Array(repeating: run.session, count: 4))
        #expect(entries.map(\.time.rawValue) == [1_000, 1_000, 2_000, 2_000])
        #expect(entries.map(\.mutations.count) == [1, 0, 4, 0])
        #expect(entries.map(\.rejection) == [nil, "no", nil, nil])
        let rest = try await collect(
            Entries<Ledger>(batches: stream(run.batches), after: SequenceNumber(rawValue: 3)))
        #expect(rest.map(\.place.sequence.rawValue) == [4])
    }

    /// Entries that are no actions take their sequence numbers and are left out.
    @Test func otherEntriesAreLeftOut() async throws {
        var batch = BatchBuilder(
            store: StoreID(rawValue: 9), epoch: Epoch(rawValue: 3), after: .start(of: StoreID(rawValue: 9)),
            time: .zero)
        batch.append(.digestMark(.zero))
        batch.beginSeries(session: SessionID(epoch: .zero, sequence: .zero), first: 1, ackedThrough: 0)
        batch.appendItem(.rejected, reason: "late")
        _ = batch.endSeries()
        let entries = try await collect(Entries<Ledger>(batches: stream([batch.sealed()]), after: .zero))
        #expect(entries.map(\.place.sequence.rawValue) == [2])
        #expect(entries.map(\.rejection) == ["late"])
    }

    /// Mutations of another program are an error that says so, and no trap.
    @Test func foreignMutationsAreAnError() async throws {
        let run = Run(Echo())
        _ = try run.perform([Echo.Action("not JSON")])
        await #expect(throws: LockstepError.self) {
            try await collect(Entries<Ledger>(batches: stream(run.batches), after: .zero))
        }
    }

    /// Answers whose bytes are not what they should be become outcomes that say so.
    @Test func brokenAnswersAreUnreadable() throws {
        let items: [UInt8] = [4, 0x22, 0x80]
        let replies = RawReplies(pieces: [
            RawReplies.Piece(
                frame: ReplyFrame(bytes: items), session: SessionID(epoch: .zero, sequence: .zero), first: 1, count: 3,
                epoch: .zero, firstSequence: SequenceNumber(rawValue: 5), items: 0..<3)
        ])
        let outcomes = Array(Outcomes(replies, coding: Coding<String>.json))
        #expect(outcomes.count == 3)
        for outcome in outcomes {
            guard case .unreadable = outcome else {
                Issue.record("\(outcome) should be unreadable")
                continue
            }
            #expect(throws: LockstepError.self) { try outcome.get() }
        }
    }
}
