internal import Dispatch
package import LockstepCore

/// An encoded snapshot, cut into chunks that joiners can check one by one.
package struct EncodedSnapshot: Sendable {
    package var bytes: [UInt8]
    package var hashes: [UInt128]
    package var info: SnapshotInfo

    /// Cuts the snapshot into chunks of `size`, and hashes the chunks and the hashes.
    package init(
        number: SnapshotNumber, bytes: consuming [UInt8], log: LogState, digest: Digest,
        chunkBytes size: Int = Limits.chunkBytes
    ) {
        let count = bytes.count
        hashes = withBytes(of: bytes) { span in
            stride(from: 0, to: count, by: size).map { sha256Prefix(span, $0..<min($0 + size, count)) }
        }
        var all = ByteWriter(capacity: 16 * hashes.count)
        for hash in hashes { all.write128(hash) }
        info = SnapshotInfo(
            id: number, position: log.position, boot: log.boot, digest: digest, byteCount: UInt64(count),
            chunkSize: UInt32(size), root: sha256Prefix(all.bytes))
        self.bytes = bytes
    }

    /// The frame of one chunk; nil if there is no such chunk.
    package func frame(of index: Int, stamp: FrameStamp) -> [UInt8]? {
        guard hashes.indices.contains(index) else { return nil }
        let range = info.chunkRange(index)
        return withBytes(of: bytes) { span in
            stamp.frame(
                .chunk(Chunk(snapshot: info.id, index: UInt32(index), hash: hashes[index], content: range)),
                source: span)
        }
    }
}

/// Executes what a store's machine directs about snapshots, whichever role it has; on the node's thread.
///
/// The image is taken at once, since the next event changes the state. Encoding and hashing run on a queue of their own,
/// and an image makes later writes dearer, so it goes when it is encoded. What is encoded stays until the machine drops
/// it: for joiners, and for the journal, whose ``JournalDesk`` knows when a save may begin.
package final class SnapshotDesk {
    private unowned let host: StoreHost
    private let state: ObservedState
    private var images: [SnapshotNumber: Captured] = [:]
    private var encoded: [SnapshotNumber: EncodedSnapshot] = [:]
    private var encodingBegan = Tick.zero

    private struct Captured: Sendable {
        var image: any StateImage
        var log: LogState
        var digest: Digest
    }

    package init(host: StoreHost, state: ObservedState) {
        self.host = host
        self.state = state
    }

    package func capture(_ number: SnapshotNumber, log: LogState, digest: Digest) {
        images[number] = Captured(image: state.image(), log: log, digest: digest)
    }

    /// Encodes elsewhere; the driver hears what became of it.
    package func encode(_ number: SnapshotNumber, now: Tick) {
        guard let captured = images.removeValue(forKey: number) else {
            preconditionFailure("snapshot \(number) was not captured")
        }
        encodingBegan = now
        let mailbox = host.mailbox
        host.services.background.async {
            let outcome = Result {
                let content = SnapshotContent(
                    log: captured.log, digest: captured.digest, state: try captured.image.encoded())
                return EncodedSnapshot(
                    number: number, bytes: content.encoded(), log: captured.log, digest: captured.digest)
            }
            mailbox.put { $0.driver?.snapshots.finished(number, outcome) }
        }
    }

    private func finished(_ number: SnapshotNumber, _ outcome: Result<EncodedSnapshot, any Error>) {
        let now = MonotonicClock.now
        switch outcome {
        case .success(let snapshot):
            host.metrics.snapshotMade(nanoseconds: now - encodingBegan)
            encoded[number] = snapshot
            host.driver?.encoded(number, snapshot.info, now: now)
        case .failure(let error):
            host.snapshotFailed(error)
            host.driver?.desk.snapshotFailed(at: now)
            host.driver?.encoded(number, nil, now: now)
        }
    }

    /// Gives it to the journal, when its time comes.
    package func save(_ number: SnapshotNumber, now: Tick) {
        guard let snapshot = encoded[number] else { return }
        host.driver?.desk.offer(number, at: snapshot.info.position.sequence, now: now)
    }

    package func drop(_ number: SnapshotNumber) {
        images[number] = nil
        encoded[number] = nil
    }

    /// What is encoded and not dropped.
    package subscript(number: SnapshotNumber) -> EncodedSnapshot? { encoded[number] }

    /// Sends chunks to a joiner; what finds no room is asked for again.
    package func sendChunks(
        of number: SnapshotNumber, _ indices: Range<Int>, to connection: Connection, stamp: FrameStamp
    ) {
        guard let snapshot = encoded[number] else { return }
        for index in indices {
            guard let frame = snapshot.frame(of: index, stamp: stamp), host.sendBulk(frame, to: connection) else {
                return
            }
        }
    }
}
