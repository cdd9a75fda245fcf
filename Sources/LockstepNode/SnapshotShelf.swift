package import Dispatch
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

/// The snapshots of a store between the moment of their image and the day nobody needs them; on the node's thread.
///
/// Encoding and hashing run on a queue of their own. An image makes later writes dearer, so it goes when it is encoded.
package struct SnapshotShelf {
    private var images: [SnapshotNumber: Captured] = [:]
    private var encoded: [SnapshotNumber: EncodedSnapshot] = [:]
    private let queue: DispatchQueue

    private struct Captured: Sendable {
        var image: any StateImage
        var log: LogState
        var digest: Digest
    }

    package init(queue: DispatchQueue) { self.queue = queue }

    package mutating func capture(
        _ number: SnapshotNumber, image: any StateImage, log: LogState, digest: Digest
    ) {
        images[number] = Captured(image: image, log: log, digest: digest)
    }

    /// Encodes elsewhere and leaves the outcome in the mailbox.
    package mutating func encode(
        _ number: SnapshotNumber, mailbox: Mailbox,
        then finished: @escaping @Sendable (StoreHost, Result<EncodedSnapshot, any Error>) -> Void
    ) {
        guard let captured = images.removeValue(forKey: number) else {
            preconditionFailure("snapshot \(number) was not captured")
        }
        queue.async {
            let outcome = Result {
                let content = SnapshotContent(
                    log: captured.log, digest: captured.digest, state: try captured.image.encoded())
                return EncodedSnapshot(
                    number: number, bytes: content.encoded(), log: captured.log, digest: captured.digest)
            }
            mailbox.put { finished($0, outcome) }
        }
    }

    package mutating func put(_ snapshot: EncodedSnapshot) { encoded[snapshot.info.id] = snapshot }

    package subscript(number: SnapshotNumber) -> EncodedSnapshot? { encoded[number] }

    package mutating func drop(_ number: SnapshotNumber) {
        images[number] = nil
        encoded[number] = nil
    }
}
