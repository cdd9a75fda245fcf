import LockstepCore
import Testing

/// The way of a batch from its construction to the commit (PROTOCOL ).
@Suite struct CommitPipelineTests {
    private static let store = StoreID(cluster: PrimaryHarness.cluster, name: "pipeline")
    private static let boot = BootID(rawValue: 7)

    /// A pipeline with the log that it carries.
    private struct Line {
        var log = LogState(store: CommitPipelineTests.store)
        var pipeline: CommitPipeline

        init() {
            pipeline = CommitPipeline(
                epoch: Epoch(rawValue: 1), recovered: LogState(store: CommitPipelineTests.store),
                window: ResendWindow())
        }

        /// Seals a batch of one entry, a mark if that is wanted; returns where it ends.
        @discardableResult
        mutating func seal(marked: Bool = false) -> SequenceNumber {
            pipeline.begin(
                BatchBuilder(
                    store: log.store, epoch: pipeline.epoch, after: log.position, time: log.time,
                    fullBytes: Limits.batchFullBytes))
            var mark: LogState.Mark?
            pipeline.withOpenBatch { batch in
                _ = batch.append(
                    .epochOpen(node: "n", incarnation: Incarnation(rawValue: 1), boot: CommitPipelineTests.boot))
                guard marked else { return }
                mark = LogState.Mark(sequence: batch.append(.digestMark(.none)), digest: .none)
            }
            guard let batch = pipeline.takeOpen() else { preconditionFailure("the batch was begun") }
            let head = batch.head
            let sealed = batch.sealed()
            log.finish(head: head, hash: sealed.hash, tells: true)
            pipeline.append(sealed, mark: mark)
            check()
            return head.last
        }

        mutating func persist() {
            _ = pipeline.handOver()
            check()
            pipeline.wasPersisted()
            check()
        }

        mutating func commit(through end: SequenceNumber) -> [SequenceNumber] {
            defer { check() }
            return pipeline.commit(through: end, boot: CommitPipelineTests.boot).map(\.head.last)
        }

        func check() { pipeline.checkInvariants(logEnd: log.position) }
    }

    /// Goal: batches commit in their order, with the mark that they carry, and the window ends there.
    @Test func itCommitsInOrder() {
        var line = Line()
        let first = line.seal(marked: true)
        let second = line.seal()
        #expect(line.pipeline.unpersistedBytes > 0 && !line.pipeline.isDrained)
        line.persist()
        // What is not committed counts, also when this disk has it.
        #expect(line.pipeline.unpersistedBytes > 0 && line.pipeline.isJournalFree && !line.pipeline.isDrained)
        #expect(line.pipeline.committed.position.sequence == .zero)
        #expect(line.commit(through: line.pipeline.persistedEnd) == [first, second])
        #expect(line.pipeline.committed == KnownPosition(position: line.log.position, boot: Self.boot))
        #expect(line.pipeline.committedMark?.sequence == first)
        #expect(line.pipeline.window.last?.head.last == second)
        #expect(line.pipeline.isDrained && line.pipeline.unpersistedBytes == 0)
    }

    /// Goal: what is in this journal waits for whoever else must have it, while the journal takes more.
    @Test func whatIsPersistedMayWait() {
        var line = Line()
        let first = line.seal()
        line.persist()
        let second = line.seal(marked: true)
        line.persist()
        let third = line.seal()
        _ = line.pipeline.handOver()
        line.check()
        #expect(line.commit(through: .zero).isEmpty)
        #expect(line.commit(through: first) == [first])
        #expect(line.pipeline.committedMark == nil && line.pipeline.persistedEnd == second)
        #expect(!line.pipeline.isBeforeHandOver(third) && line.pipeline.isBeforeHandOver(third.next))
        line.pipeline.wasPersisted()
        #expect(line.commit(through: second) == [second])
        #expect(line.pipeline.committedMark?.sequence == second)
        #expect(line.commit(through: second).isEmpty)
        #expect(line.commit(through: third) == [third])
    }

    /// Goal: one answer covers two numbers only if they commit together.
    @Test func aHandOverSeparates() {
        var line = Line()
        let first = line.seal()
        #expect(line.pipeline.isBeforeHandOver(first))
        _ = line.pipeline.handOver()
        #expect(!line.pipeline.isBeforeHandOver(first))
        line.pipeline.wasPersisted()
        #expect(!line.pipeline.isBeforeHandOver(first))
        _ = line.commit(through: first)
        #expect(line.pipeline.isBeforeHandOver(first))
    }
}
