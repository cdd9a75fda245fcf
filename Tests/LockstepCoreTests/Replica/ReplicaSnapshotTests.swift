import LockstepCore
import Testing

struct ReplicaSnapshotTests {
    /// A joiner that needs a snapshot of many chunks, which waits for it at the publisher.
    private func fetching(megabytes: Int = 5) -> ReplicaHarness {
        var publisher = TestPublisher(windowBytes: 600)
        publisher.fatten(byMegabytes: megabytes)
        for value in 1...20 as ClosedRange<UInt8> { publisher.write([value]) }
        let harness = ReplicaHarness(publisher)
        harness.publisher.makeSnapshot(now: harness.now)
        harness.welcome()
        harness.beacon()
        return harness
    }

    /// Sixteen chunks at most are in flight, whatever the size (PROTOCOL R-32).
    @Test func aWindowOfChunksIsAskedFor() throws {
        let harness = fetching()
        let request = harness.requests.removeFirst()
        for answer in harness.publisher.answer(request, now: harness.now) { harness.bulk(answer) }
        var asked = 0
        for case .chunkRequest(let request) in harness.takeRequests() { asked += Int(request.window) }
        let status = try #require(harness.machine.status.fetch)
        #expect(status.count > 16)
        #expect(asked == 16)
    }

    /// Chunks that are lost are asked for again; those that came are kept.
    @Test func lostChunksAreAskedForAgain() {
        let harness = fetching()
        var index = 0
        for _ in 0..<200 where harness.machine.phase == .joining {
            let requests = harness.requests
            harness.requests = []
            for request in requests {
                for answer in harness.publisher.answer(request, now: harness.now) {
                    index += 1
                    if index % 3 != 2 { harness.prepare(harness.bulk(answer)) }
                }
            }
            harness.pass(300, settling: false)
        }
        harness.settle()
        harness.pass(1_000)
        harness.expectSame()
        #expect(harness.machine.phase == .live)
    }

    /// A chunk whose bytes are not what its hash says is refused, and asked for again.
    @Test func aCorruptedChunkIsRefused() {
        let harness = fetching()
        harness.settleOne()
        let request = harness.requests.removeFirst()
        let frames = harness.publisher.answer(request, now: harness.now)
        guard let frame = frames.first, case .chunk(var chunk)? = decoded(frame) else {
            Issue.record("the publisher sends chunks")
            return
        }
        chunk.hash ^= 1
        let forged = withBytes(of: frame) { harness.publisher.stamp.frame(.chunk(chunk), source: $0) }
        #expect(harness.bulk(forged) == [.count(.framesRefused)])
        #expect(harness.machine.status.fetch?.received == 0)
        harness.pass(3_000)
        harness.expectSame()
    }

    /// Chunks that are right one by one but do not make the plan's root are all thrown away (PROTOCOL R-32).
    @Test func aWrongRootStartsOver() throws {
        let harness = fetching(megabytes: 0)
        let sync = try #require(harness.takeSync())
        var info = try #require(harness.publisher.snapshots.values.first).info
        // The server reserves for the joiner; the plan that reaches it names another root.
        _ = harness.publisher.answer(harness.publisher.stamp.frame(.sync(sync)), now: harness.now)
        info.root ^= 1
        harness.plan(.snapshot(info), for: sync)
        harness.settle()
        #expect(harness.machine.phase == .joining)
        #expect(harness.count(.framesRefused) == 1)
        harness.pass(3_000)
        harness.expectSame()
    }

    /// A snapshot that the server dropped ends in a new SYNC and another snapshot, not in waiting.
    @Test func aSnapshotThatVanishesIsReplaced() {
        let harness = fetching()
        harness.settleOne()
        let request = harness.requests.removeFirst()
        for answer in harness.publisher.answer(request, now: harness.now).prefix(3) { harness.bulk(answer) }
        #expect(harness.machine.status.fetch?.received == 3)
        harness.publisher.joins = JoinServer()
        harness.publisher.snapshots = [:]
        harness.pass(10_000)
        harness.expectSame()
        #expect(harness.machine.phase == .live)
    }

    /// A break of the connection keeps the chunks that came (PROTOCOL R-31).
    @Test func aBrokenFetchResumes() throws {
        let harness = fetching()
        harness.settleOne()
        let request = harness.requests.removeFirst()
        for answer in harness.publisher.answer(request, now: harness.now).prefix(5) { harness.bulk(answer) }
        harness.requests = []
        harness.event { machine, directives in machine.linkLost(now: harness.now, into: &directives) }
        harness.welcome()
        harness.beacon()
        harness.settleOne()
        #expect(harness.machine.status.fetch?.received == 5)
        harness.settle()
        harness.expectSame()
    }

    /// A state whose digest is not the snapshot's is never installed.
    @Test func aStateWithAnotherDigestIsRefused() throws {
        let harness = fetching(megabytes: 0)
        var ticket: PrepareTicket?
        while ticket == nil {
            let request = try #require(harness.requests.first)
            harness.requests.removeFirst()
            for answer in harness.publisher.answer(request, now: harness.now) {
                for case .prepare(let number, _) in harness.bulk(answer) { ticket = number }
            }
        }
        let number = try #require(ticket)
        let directives = harness.event { machine, directives in
            machine.snapshotPrepared(
                number, CountingState.Prepared(sum: 4_711), now: harness.now, state: harness.state, into: &directives)
        }
        #expect(directives == [.count(.digestChecks), .count(.framesRefused)])
        #expect(harness.state.sum == 0)
        harness.pass(3_000)
        harness.expectSame()
    }

    /// A plan for more than the replica takes is refused before anything is allocated for it.
    @Test func anImmodestSnapshotIsRefused() {
        let harness = ReplicaHarness(TestPublisher(), largestSnapshotBytes: 1 << 20)
        harness.welcome()
        harness.beacon()
        let info = SnapshotInfo(
            id: 1, position: harness.publisher.log.position, boot: harness.publisher.boot, digest: .none,
            byteCount: 1 << 40, chunkSize: 1_024, root: 0)
        #expect(harness.plan(.snapshot(info), for: harness.takeSync()) == [.count(.framesRefused)])
        harness.pass(3_000)
        #expect(harness.machine.phase == .live)
    }

    /// The journal's snapshot is taken at the next mark whose digest was compared, and saved (PROTOCOL R-53).
    @Test func aDueSnapshotIsTakenAtTheNextMark() {
        let harness = ReplicaHarness(hasJournal: true)
        harness.join()
        harness.event { machine, _ in machine.snapshotDue() }
        harness.broadcast(harness.publisher.write([1]))
        let batch = harness.publisher.write([2], mark: true)
        let directives = harness.broadcast(batch)
        #expect(
            directives == [
                .count(.digestChecks), .applied([batch]),
                .captureSnapshot(1, log: harness.publisher.log, digest: harness.publisher.digest), .encodeSnapshot(1),
            ])
        let info = EncodedSnapshot(
            number: 1, bytes: [1, 2, 3], log: harness.machine.log, digest: harness.publisher.digest
        ).info
        let saved = harness.event { machine, directives in
            machine.snapshotEncoded(1, info: info, now: harness.now, into: &directives)
        }
        #expect(saved == [.saveSnapshot(1)])
        harness.pass(31_000)
        #expect(harness.trace.contains(.dropSnapshot(1)))
    }

    /// A journal that begins anew gets its snapshot at once, since a mark need not come (PROTOCOL R-83).
    @Test func aJournalThatBeginsAnewWaitsForNoMark() {
        let harness = ReplicaHarness(hasJournal: true)
        harness.join()
        harness.broadcast(harness.publisher.write([1]))
        let directives = harness.event { machine, directives in
            machine.takeSnapshot(state: harness.state, into: &directives)
        }
        #expect(
            directives == [
                .captureSnapshot(1, log: harness.publisher.log, digest: harness.publisher.digest), .encodeSnapshot(1),
            ])
        let info = EncodedSnapshot(
            number: 1, bytes: [1, 2, 3], log: harness.machine.log, digest: harness.publisher.digest
        ).info
        let saved = harness.event { machine, directives in
            machine.snapshotEncoded(1, info: info, now: harness.now, into: &directives)
        }
        #expect(saved == [.saveSnapshot(1)])
    }

    /// A mark may stand in the middle of what one event applies; the driver takes the image after all of it, so the
    /// snapshot's place is the end of the event (PROTOCOL R-50).
    @Test func aSnapshotShowsTheEndOfItsEvent() throws {
        let harness = ReplicaHarness(hasJournal: true)
        harness.join()
        harness.event { machine, _ in machine.snapshotDue() }
        _ = harness.publisher.write([1])
        let marked = harness.publisher.write([2], mark: true)
        let last = harness.publisher.write([3])
        harness.broadcast(marked)
        harness.broadcast(last)
        harness.pass(100)
        let captured = harness.trace.compactMap { directive -> (LogState, Digest)? in
            guard case .captureSnapshot(_, let log, let digest) = directive else { return nil }
            return (log, digest)
        }
        #expect(captured.count == 1)
        let (log, digest) = try #require(captured.first)
        #expect(log.position == last.position)
        #expect(digest == harness.state.digest + log.digest)
    }
}

extension ReplicaHarness {
    /// Delivers the oldest request and its answers.
    func settleOne() {
        guard !requests.isEmpty else { return }
        let request = requests.removeFirst()
        for answer in publisher.answer(request, now: now) { prepare(bulk(answer)) }
    }
}
