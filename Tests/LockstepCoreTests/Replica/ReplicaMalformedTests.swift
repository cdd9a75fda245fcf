import LockstepCore
import Testing

struct ReplicaMalformedTests {
    /// No truncation and no flipped bit of any frame that a replica gets ever traps or changes what it has
    /// (PROTOCOL R-10).
    @Test(arguments: ["broadcast", "bulk", "ingress", "join"])
    func damagedFramesChangeNothing(link: String) {
        let harness = ReplicaHarness()
        harness.join()
        let frames = samples(harness)
        // After the samples, so that every batch among them could be applied if it were whole.
        let log = harness.machine.log
        let sum = harness.state.sum
        for frame in frames {
            for count in 0..<frame.count { deliver(Array(frame[..<count]), link, harness) }
            for bit in 0..<min(frame.count * 8, 4_096) {
                var damaged = frame
                damaged[bit / 8] ^= 1 << (bit % 8)
                deliver(damaged, link, harness)
            }
        }
        harness.machine.checkInvariants()
        #expect(harness.machine.log == log)
        #expect(harness.state.sum == sum)
        #expect(harness.machine.phase == .live)
    }

    /// Whole frames on the wrong link are refused as well.
    @Test func framesOnTheWrongLinkAreRefused() {
        let harness = ReplicaHarness()
        harness.join()
        let log = harness.machine.log
        for frame in samples(harness) {
            guard let message = decoded(frame) else { continue }
            switch message {
            case .batch, .beacon: #expect(harness.bulk(frame) == [.count(.framesRefused)])
            case .syncPlan, .chunk, .repair, .resync: #expect(harness.broadcast(frame) == [.count(.framesRefused)])
            default: break
            }
        }
        #expect(harness.machine.log == log)
    }

    /// Frames with a right checksum and any byte of the body changed never trap, in whatever the replica waits for.
    ///
    /// They may change something, as any frame may that its sender meant; the invariants hold all the same.
    @Test(arguments: Waiting.allCases)
    func changedFramesNeverTrap(waiting: Waiting) throws {
        let harness = ReplicaHarness(TestPublisher(windowBytes: 600))
        let answers = waiting.prepare(harness)
        #expect(!answers.isEmpty)
        let machine = harness.machine
        let frames = answers + samples(harness)
        let sum = harness.state.sum
        for frame in frames {
            for offset in FrameHeader.byteCount..<min(frame.count, FrameHeader.byteCount + 160) {
                for change in [1, 0xFF] as [UInt8] {
                    let changed = try changing(frame, at: offset, by: change)
                    for link in waiting.links {
                        harness.machine = machine
                        harness.state.sum = sum
                        send(changed, link, harness)
                        harness.machine.checkInvariants()
                        _ = harness.machine.nextDeadline
                    }
                }
            }
        }
    }

    /// What a replica may be waiting for when a frame comes.
    enum Waiting: CaseIterable {
        case plan, chunks, repair

        /// The own sockets do not care what the replica waits for.
        var links: [String] { self == .plan ? ["broadcast", "bulk", "ingress", "join"] : ["broadcast", "bulk"] }

        /// Brings the replica there and returns the answers that it waits for.
        func prepare(_ harness: ReplicaHarness) -> [[UInt8]] {
            switch self {
            case .plan:
                harness.welcome()
                harness.beacon()
            case .chunks:
                for _ in 1...20 { harness.publisher.write() }
                harness.publisher.makeSnapshot(now: harness.now)
                harness.welcome()
                harness.beacon()
                harness.settleOne()
            case .repair:
                harness.join()
                harness.publisher.write()
                harness.broadcast(harness.publisher.write())
                harness.pass(60, beacons: false, settling: false)
            }
            return harness.requests.flatMap { harness.publisher.answer($0, now: harness.now) }
        }
    }

    /// The frame with one byte of its body changed and its checksum made right again.
    private func changing(_ frame: [UInt8], at offset: Int, by change: UInt8) throws -> [UInt8] {
        let header = try withBytes(of: frame) { try FrameHeader(from: $0, rule: .any) }
        var body = Array(frame[FrameHeader.byteCount...])
        body[offset - FrameHeader.byteCount] ^= change
        return header.frame { $0.writeRaw(body) }
    }

    private func samples(_ harness: ReplicaHarness) -> [[UInt8]] {
        var publisher = harness.publisher
        let stamp = publisher.stamp
        let position = publisher.log.position
        let content: [UInt8] = [1, 2, 3]
        let info = EncodedSnapshot(number: 1, bytes: content, log: publisher.log, digest: publisher.digest).info
        let chunk = withBytes(of: content) {
            stamp.frame(.chunk(Chunk(snapshot: 1, index: 0, hash: sha256Prefix(content), content: 0..<3)), source: $0)
        }
        let plans: [SyncDecision] = [.tail, .snapshot(info), .diverged([]), .ahead, .busy(retryAfter: 1)]
        let sync = Sync(
            nonce: 1, store: publisher.log.store, node: "n", have: .none, firstFrame: .zero, wantsSnapshot: false)
        let read = withBytes(of: [1]) {
            stamp.frame(
                .read(Read(id: 1, level: .local, minimum: .zero, isIndexOnly: false, query: 0..<1)), source: $0)
        }
        let sum = publisher.state.sum
        let batch = publisher.write([1, 2])
        harness.publisher.state.sum = sum
        return [
            publisher.frame(batch), publisher.beacon, chunk, read, stamp.frame(.resync),
            stamp.repairFrame(nonce: 1, batches: [batch]), stamp.frame(.sync(sync)),
            stamp.frame(.repairRequest(RepairRequest(nonce: 1, after: position, through: .zero, largestReply: 1))),
            stamp.frame(.chunkRequest(ChunkRequest(snapshot: 1, index: .max, window: .max))),
        ]
            + plans.map {
                stamp.frame(.syncPlan(SyncPlan(nonce: 1, commit: position, boot: publisher.boot, decision: $0)))
            }
    }

    private func deliver(_ frame: [UInt8], _ link: String, _ harness: ReplicaHarness) {
        let directives = send(frame, link, harness)
        // Thousands of frames: only one that is not refused is worth recording.
        if directives != [.count(.framesRefused)] { Issue.record("a damaged frame led to \(directives)") }
    }

    @discardableResult
    private func send(_ frame: [UInt8], _ link: String, _ harness: ReplicaHarness) -> [ReplicaDirective] {
        var directives: [ReplicaDirective] = []
        withBytes(of: frame) { span in
            let now = harness.now
            switch link {
            case "broadcast": harness.machine.broadcastReceived(span, now: now, state: harness.state, into: &directives)
            case "bulk": harness.machine.bulkReceived(span, now: now, state: harness.state, into: &directives)
            case "ingress":
                harness.machine.ingressReceived(
                    span, from: Connection(rawValue: 1), now: now, state: harness.state, into: &directives)
            default:
                harness.machine.joinReceived(
                    span, from: Connection(rawValue: 1), now: now, state: harness.state, into: &directives)
            }
        }
        return directives
    }
}
