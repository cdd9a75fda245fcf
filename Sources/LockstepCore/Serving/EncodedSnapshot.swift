/// An encoded snapshot, cut into chunks that joiners can check one by one: the same on every node that serves one
/// (PROTOCOL, R-32).
package struct EncodedSnapshot: Hashable, Sendable {
    /// A whole ``SnapshotContent``.
    package let bytes: [UInt8]
    package let info: SnapshotInfo
    /// Of each chunk.
    private let hashes: [UInt128]

    /// Cuts the snapshot into chunks of `chunkBytes`, as the machine's `snapshotChunkBytes` says, and names it.
    ///
    /// Cost: SHA-256 over all of it, so it is made where the snapshot is encoded.
    package init(
        number: SnapshotNumber, bytes: consuming [UInt8], log: LogState, digest: Digest,
        chunkBytes: Int = Limits.chunkBytes
    ) {
        var info = SnapshotInfo(
            id: number, position: log.position, boot: log.boot, digest: digest, byteCount: UInt64(bytes.count),
            chunkSize: UInt32(chunkBytes), root: 0)
        let hashes = withBytes(of: bytes) { span in
            (0..<info.chunkCount).map { sha256Prefix(span, info.chunkRange($0)) }
        }
        info.root = SnapshotInfo.root(of: hashes)
        self.info = info
        self.hashes = hashes
        self.bytes = bytes
    }

    /// CHUNK with one chunk; nil if there is no such chunk.
    package func frame(of index: Int, stamp: FrameStamp) -> [UInt8]? {
        guard hashes.indices.contains(index) else { return nil }
        let chunk = Chunk(
            snapshot: info.id, index: UInt32(index), hash: hashes[index], content: info.chunkRange(index))
        return withBytes(of: bytes) { stamp.frame(.chunk(chunk), source: $0) }
    }
}

extension SnapshotInfo {
    /// The hash of the chunks' hashes, end to end, each with its highest byte first.
    package static func root(of hashes: [UInt128]) -> UInt128 {
        var writer = ByteWriter(capacity: hashes.count * 16)
        for hash in hashes { writer.write128(hash) }
        return sha256Prefix(writer.bytes)
    }

    /// Where the chunk `index`, which must exist, lies in the encoded snapshot.
    package func chunkRange(_ index: Int) -> Range<Int> {
        precondition((0..<chunkCount).contains(index), "the snapshot has no such chunk")
        let start = index * Int(chunkSize)
        return start..<min(start + Int(chunkSize), Int(byteCount))
    }
}
