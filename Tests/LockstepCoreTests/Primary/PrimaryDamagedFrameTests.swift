import LockstepCore
import Testing

/// Frames that no correct peer sends never trap, and leave the machine's invariants whole (PROTOCOL R-10).
@Suite struct PrimaryDamagedFrameTests {
    static let one = Connection(rawValue: 1)

    /// A primary with a session, kept replies, something at the journal and something open.
    private func busyPrimary() -> (PrimaryHarness, SessionID) {
        let primary = PrimaryHarness.open()
        let session = primary.session(Self.one)
        primary.submit(session, 1, [1, 2, 3], from: Self.one)
        primary.commit()
        primary.submit(session, 4, [4], from: Self.one)
        primary.turn()
        primary.submit(session, 5, [5], from: Self.one)
        primary.forget()
        return (primary, session)
    }

    private func ingressFrames(_ primary: PrimaryHarness, _ session: SessionID) -> [[UInt8]] {
        let stamp = primary.stamp
        let read = Read(id: 1, level: .session, minimum: SequenceNumber(rawValue: 5), isIndexOnly: false, query: 0..<0)
        let hello = Hello(
            nonce: 1, role: .replica, node: "r", incarnation: Incarnation(rawValue: 1), boot: BootID(rawValue: 3),
            store: PrimaryHarness.storeName, known: primary.machine.committed)
        return [
            stamp.frame(.hello(hello)), stamp.frame(PrimaryHarness.openMessage(client: 7)),
            stamp.frame(.resume(Resume(session: session, openNonce: 1, connectionNonce: 2, ackedThrough: 1))),
            primary.submitFrame(session, 2, [[9], [8, 8], [7], [], [6], [0]], acked: 1),
            primary.submitFrame(session, 6, [[9], [8]], isVoid: true),
            stamp.frame(.keepAlive(KeepAlive(session: session, ackedThrough: 2, applied: .zero))),
            stamp.frame(.query(Query(session: session, number: 2))), stamp.frame(.read(read)),
            stamp.frame(.close(session)), stamp.frame(.resync),
        ]
    }

    private func bulkFrames(_ primary: PrimaryHarness) -> [[UInt8]] {
        let stamp = primary.stamp
        let committed = primary.machine.committed
        let sync = Sync(
            nonce: 1, store: PrimaryHarness.store, node: "r", have: committed, firstFrame: .zero, wantsSnapshot: false)
        let start = KnownPosition(position: primary.durable[0].position, boot: BootID(rawValue: 1))
        let repair = RepairRequest(
            nonce: 1, after: start.position, through: committed.position.sequence, largestReply: 100)
        return [
            stamp.frame(.sync(sync)), stamp.frame(.repairRequest(repair)),
            stamp.frame(.chunkRequest(ChunkRequest(snapshot: 1, index: 0, window: 4))),
        ]
    }

    /// Fills in the length and the checksum again, so that only the body is damaged.
    private func resealed(_ frame: [UInt8]) -> [UInt8] {
        guard frame.count >= FrameHeader.byteCount else { return frame }
        var frame = frame
        let length = UInt32(frame.count - FrameHeader.byteCount)
        for index in 0..<4 { frame[24 + index] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(index))) }
        let checksum = withBytes(of: frame) { span in
            var crc = CRC32C()
            crc.update(span, 0..<28)
            crc.update(span, FrameHeader.byteCount..<span.byteCount)
            return crc.value
        }
        for index in 0..<4 { frame[28 + index] = UInt8(truncatingIfNeeded: checksum >> (8 * UInt32(index))) }
        return frame
    }

    /// Every truncation, and every flip of a bit, with the old checksum and with a right one.
    private func damaged(_ frame: [UInt8]) -> [(frame: [UInt8], hasChecksum: Bool)] {
        var all: [(frame: [UInt8], hasChecksum: Bool)] = []
        for count in 0..<frame.count {
            all.append((Array(frame[..<count]), false))
            all.append((resealed(Array(frame[..<count])), true))
        }
        for bit in 0..<frame.count * 8 {
            var flipped = frame
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            all.append((flipped, false))
            all.append((resealed(flipped), true))
        }
        return all
    }

    /// Goal: no damage of an ingress frame traps; without a right checksum nothing changes (PROTOCOL R-10).
    @Test(arguments: 0..<10) func noDamagedIngressFrameTraps(kind: Int) {
        let (sample, sampled) = busyPrimary()
        harm(ingressFrames(sample, sampled)[kind]) { $0.receive($1, from: Self.one) }
    }

    /// Goal: no damage of a bulk frame traps; without a right checksum nothing changes (PROTOCOL ).
    @Test(arguments: 0..<3) func noDamagedBulkFrameTraps(kind: Int) {
        let (sample, _) = busyPrimary()
        harm(bulkFrames(sample)[kind]) { $0.receiveBulk($1, from: Self.one) }
    }

    /// One primary takes all damaged frames that it must refuse, and a fresh one each of the others.
    private func harm(_ frame: [UInt8], _ receive: (PrimaryHarness, [UInt8]) -> Void) {
        let (refusing, _) = busyPrimary()
        let before = refusing.machine
        var refused = 0
        for (frame, hasChecksum) in damaged(frame) {
            if hasChecksum {
                let (primary, _) = busyPrimary()
                receive(primary, frame)
                follow(primary)
            } else {
                receive(refusing, frame)
                refused += 1
                #expect(refusing.machine == before)
                #expect(refusing.counts[.framesRefused] == refused)
            }
        }
        follow(refusing)
    }

    /// Goal: frames that only a node sends are counted and change nothing (PROTOCOL R-10).
    @Test func framesOfOtherLinksAreCounted() {
        let (primary, session) = busyPrimary()
        let before = primary.machine
        let messages: [Message] = [
            .opened(Opened(nonce: 1, session: session, timeToLive: 1, windowNumbers: 1, windowBytes: 1)),
            .sessionMoved(session), .closed(session), .sessionExpired(session), .outOfOrder(session, expected: 9),
            .refused(Refused(nonce: 1, reason: .notPrimary, text: "")),
        ]
        for message in messages {
            primary.receive(message, from: Self.one)
            primary.receiveBulk(primary.stamp.frame(message), from: Self.one)
        }
        #expect(primary.counts[.framesRefused] == 2 * messages.count)
        #expect(primary.sent.isEmpty)
        #expect(primary.machine == before)
    }

    /// What was sequenced commits, time goes on, and who applies the log gets the primary's tables.
    private func follow(_ primary: PrimaryHarness) {
        primary.commit()
        primary.pass(milliseconds: 1_200)
        primary.commit()
        var log = LogState(store: PrimaryHarness.store)
        let state = CountingState()
        do {
            for batch in primary.durable { _ = try log.apply(batch, to: state) }
        } catch {
            Issue.record("the log cannot be applied: \(error)")
        }
        #expect(log == primary.machine.log)
        #expect(state.sum == primary.state.sum)
    }
}
