import LockstepCore
import LockstepNode
import LockstepSQLite
import Synchronization
import Testing

/// What every journal of a data node does, in a file or in memory (PROTOCOL ).
@Suite(.timeLimit(.minutes(5)))
struct ArbitratedJournalTests {
    /// Goal: a journal without the mark stores no commit number; all that it holds is committed.
    @Test(arguments: JournalKind.allCases)
    func aJournalWithoutTheMarkHasNoTail(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        let batches = try await node.add(2) + node.add(2, committed: node.history.batches[0].head.last)
        try await node.journal.done { node.journal.store(commit: batches[0].head.last, completion: $0) }
        #expect(node.journal.arbitration == nil)
        #expect(try node.restarted() == Recovered(batches: batches))
        #expect(node.journal.arbitration == nil)
    }

    /// Goal: what was there at the adoption is committed, and of what comes later what the stored commit number covers;
    /// the rest is the tail, which the simple recovery leaves out (PROTOCOL ).
    @Test(arguments: JournalKind.allCases)
    func theCommitNumberPartsTheLog(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        let first = try await node.add(2)
        try await node.adopted()
        #expect(node.journal.arbitration == JournalArbitration(adopted: first[1].position))
        let second = try await node.add(3)
        #expect(try node.restarted() == Recovered(batches: first, tail: second))
        #expect(node.journal.arbitration?.adopted == first[1].position)
        let third = try await node.add(2, committed: second[1].head.last)
        #expect(node.journal.arbitration?.committed == second[1].head.last)
        #expect(try node.restarted() == Recovered(batches: first + second[...1], tail: second[2...] + third))
        // A lower one changes nothing, and neither does an append without one.
        let fourth = try await node.add(1, committed: second[0].head.last) + node.add(1)
        #expect(try node.restarted().tail == second[2...] + third + fourth)
        try await node.journal.done { node.journal.store(commit: fourth[0].head.last, completion: $0) }
        #expect(node.journal.arbitration?.committed == fourth[0].head.last)
        #expect(try node.restarted().tail == [fourth[1]])
        try await node.journal.done { node.journal.store(commit: third[0].head.last, completion: $0) }
        let found = try node.restarted()
        #expect(found.batches == Array(node.history.batches.dropLast()) && found.tail == [fourth[1]])
        var simple = Recovered()
        if kind == .memory { try node.journal.recover(snapshot: { _ in }, batch: { simple.batches.append($0) }) }
        #expect(kind == .sqlite || simple.batches == found.batches)
    }

    /// Goal: who is deposed reads the journal again while it is open, and goes on writing (PROTOCOL R-89).
    @Test(arguments: JournalKind.allCases)
    func anOpenJournalIsReadAgain(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        let first = try await node.add(3)
        let second = try await node.add(2, committed: first[2].head.last)
        #expect(try node.journal.recovered() == Recovered(batches: first, tail: second))
        let third = try await node.add(1, committed: second[1].head.last)
        #expect(try node.journal.recovered() == Recovered(batches: first + second, tail: third))
        #expect(try node.restarted() == Recovered(batches: first + second, tail: third))
    }

    /// Goal: so it is during a save, whose writes begin the write-ahead log anew all the time (PROTOCOL R-89).
    ///
    /// Method: what was appended last is in the write-ahead log when the reading begins, and is read last. Between two
    /// readings at least one step of the save is done, so there are many, and an end.
    @Test func anOpenJournalIsReadAgainDuringASave() async throws {
        let node = try DataNodeJournal(.sqlite)
        try await node.adopted()
        let count = try await node.add(100, bytes: 30_000).count
        let (bytes, end) = (node.history.snapshot(bytes: 300_000), node.history.end)
        let outcome = Mutex<Result<Void, JournalFailure>?>(nil)
        node.journal.save(snapshot: bytes, at: end) { result in outcome.withLock { $0 = result } }
        while outcome.withLock({ $0 == nil }) {
            let last = try await node.add(1)
            let found = try node.journal.recovered()
            #expect(found.batches == [] && found.tail.last == last[0])
            #expect(found.snapshot == nil || found.snapshot == end)
            let covered = found.snapshot == nil ? 0 : count
            #expect(found.tail.count == node.history.batches.count - covered)
        }
        guard case .success? = outcome.withLock({ $0 }) else {
            Issue.record("the snapshot was not saved")
            return
        }
        #expect(try node.restarted().snapshot == end)
    }

    /// Goal: a snapshot holds nothing but what is committed, so what it covers is, too; what follows stays the tail.
    @Test(arguments: JournalKind.allCases)
    func aSnapshotsEndIsCommitted(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        try await node.add(2)
        let (bytes, end) = (node.history.snapshot(), node.history.end)
        let later = try await node.add(2)
        try await node.journal.done { node.journal.save(snapshot: bytes, at: end, completion: $0) }
        let found = try node.restarted()
        #expect(found.snapshot == end && found.batches == [] && found.tail == later)
        #expect(
            node.journal.truncated(after: .start(of: node.history.store))
                == .failure(.committed(through: end.sequence)))
        #expect(node.journal.truncated(after: end) == .success(CutBatches(batches: 2, end: end)))
        let cut = try node.restarted()
        #expect(cut.snapshot == end && cut.tail == [])
    }

    /// Goal: a truncation cuts at a batch's end and keeps aside what it cut; the log goes on from there, also with another
    /// history, and the cut batches do not come back (PROTOCOL ).
    @Test(arguments: JournalKind.allCases)
    func aTruncationCutsTheTail(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        let kept = try await node.add(2, epoch: 1)
        let before = node.history
        let gone = try await node.add(3, bytes: 9_000, committed: kept[1].head.last)
        let answer = node.journal.truncated(after: kept[1].position, reason: "epoch 2 began there")
        #expect(answer == .success(CutBatches(batches: 3, end: kept[1].position)))
        #expect(node.journal.sizes.batches == kept.reduce(0) { $0 + $1.bytes.count })
        node.history = before
        let other = try await node.add(2, epoch: 2)
        #expect(try node.restarted() == Recovered(batches: kept, tail: other))
        let quarantined = try node.quarantined()
        #expect(quarantined.map(\.batch) == gone)
        #expect(Set(quarantined.map(\.reason)) == ["cut: epoch 2 began there"])
        // The end itself cuts nothing; a batch that was cut is no end any more.
        #expect(
            node.journal.truncated(after: other[1].position)
                == .success(CutBatches(batches: 0, end: other[1].position)))
        #expect(node.journal.truncated(after: gone[0].position) == .failure(.noEnd(gone[0].position)))
        #expect(try node.restarted() == Recovered(batches: kept, tail: other))
    }

    /// Goal: what is known to be committed is never cut, and a refusal changes nothing (PROTOCOL ).
    @Test(arguments: JournalKind.allCases)
    func nothingCommittedIsCut(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        let first = try await node.add(2)
        try await node.adopted()
        let second = try await node.add(2)
        for end in [first[0].position, .start(of: node.history.store)] {
            let committed = first[1].head.last
            #expect(node.journal.truncated(after: end) == .failure(.committed(through: committed)))
        }
        try await node.journal.done { node.journal.store(commit: second[0].head.last, completion: $0) }
        #expect(
            node.journal.truncated(after: first[1].position)
                == .failure(.committed(through: second[0].head.last)))
        #expect(try node.quarantined().isEmpty)
        #expect(try node.restarted() == Recovered(batches: first + [second[0]], tail: [second[1]]))
    }

    /// Goal: promise, withdrawal and what the arbiter said are there at the next start (PROTOCOL ).
    @Test(arguments: JournalKind.allCases)
    func promiseAndMemoryAreKept(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        let memory = ArbiterMemory(revision: 7, number: 3, epoch: Epoch(rawValue: 2), boot: BootID(rawValue: 5))
        try await node.journal.done { node.journal.promise(Epoch(rawValue: 5), completion: $0) }
        try await node.journal.done { node.journal.remember(memory, completion: $0) }
        _ = try node.restarted()
        #expect(node.journal.arbitration?.promised == Epoch(rawValue: 5))
        #expect(node.journal.arbitration?.arbiter == memory)
        try await node.journal.done { node.journal.promise(Epoch(rawValue: 6), completion: $0) }
        _ = try node.restarted()
        #expect(node.journal.arbitration?.promised == Epoch(rawValue: 6))
        try await node.journal.done { node.journal.promise(nil, completion: $0) }
        _ = try node.restarted()
        #expect(node.journal.arbitration?.promised == nil)
        #expect(node.journal.arbitration?.arbiter == memory)
        // After a withdrawal a lower one may follow.
        try await node.journal.done { node.journal.promise(Epoch(rawValue: 1), completion: $0) }
        #expect(node.journal.arbitration?.promised == Epoch(rawValue: 1))
    }

    /// Goal: who was fed anew counts all of the snapshot as committed, and nothing of what was known before.
    @Test(arguments: JournalKind.allCases)
    func aReplacementBeginsAnew(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        try await node.journal.done { node.journal.promise(Epoch(rawValue: 4), completion: $0) }
        try await node.add(4)
        try await node.journal.done { node.journal.store(commit: node.history.end.sequence, completion: $0) }
        var other = History(store: node.history.store)
        try other.add(epoch: 3)
        let (bytes, end) = (other.snapshot(), other.end)
        try await node.journal.done { node.journal.replace(withSnapshot: bytes, at: end, completion: $0) }
        node.history = other
        let next = try await node.add(2)
        let found = try node.restarted()
        #expect(found.snapshot == end && found.batches == [] && found.tail == next)
        #expect(node.journal.arbitration?.committed == end.sequence)
        #expect(node.journal.arbitration?.promised == Epoch(rawValue: 4))
    }

    /// Goal: without the mark the tail counts as committed; a second adoption begins at the end (PROTOCOL R-85).
    @Test(arguments: JournalKind.allCases)
    func theMarkIsTakenAwayAndSetAnew(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        let batches = try await node.add(3)
        try await node.adopted()
        #expect(node.journal.arbitration?.adopted.sequence == .zero, "the mark stays as it is")
        try await node.journal.done { node.journal.removeArbitratedMark(completion: $0) }
        #expect(node.journal.arbitration == nil)
        #expect(try node.restarted() == Recovered(batches: batches))
        try await node.adopted()
        #expect(node.journal.arbitration == JournalArbitration(adopted: batches[2].position))
        let more = try await node.add(1)
        #expect(try node.restarted() == Recovered(batches: batches, tail: more))
    }

    /// Goal: a closed journal answers each call of a data node with a failure.
    @Test(arguments: JournalKind.allCases)
    func aClosedJournalRefuses(kind: JournalKind) async throws {
        let node = try DataNodeJournal(kind)
        try await node.adopted()
        let journal = node.journal
        let batch = try node.history.add()
        journal.close()
        await #expect(throws: JournalFailure.self) { try await journal.appended([batch], committed: .zero) }
        await #expect(throws: JournalFailure.self) { try await journal.done { journal.promise(nil, completion: $0) } }
        await #expect(throws: JournalFailure.self) {
            try await journal.done { journal.store(commit: .zero, completion: $0) }
        }
        await #expect(throws: JournalFailure.self) {
            try await journal.done { journal.removeArbitratedMark(completion: $0) }
        }
        guard case .failure(.write) = node.journal.truncated(after: .start(of: journal.identity.store)) else {
            Issue.record("a closed journal was cut")
            return
        }
    }
}
