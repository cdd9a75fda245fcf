/// How an encoded snapshot is cut into chunks and named, the same on every node that serves one (PROTOCOL, R-32).
extension SnapshotInfo {
    /// Describes an encoded snapshot that is cut into chunks of `chunkBytes`.
    ///
    /// Cost: SHA-256 over all of it, so it is made where the snapshot is encoded.
    package init(
        id: SnapshotNumber, log: LogState, digest: Digest, encoded bytes: [UInt8], chunkBytes: Int = Limits.chunkBytes
    ) {
        self.init(
            id: id, position: log.position, boot: log.boot, digest: digest, byteCount: UInt64(bytes.count),
            chunkSize: UInt32(chunkBytes), root: 0)
        let hashes = withBytes(of: bytes) { span in
            (0..<chunkCount).map { sha256Prefix(span, chunkRange($0)) }
        }
        root = Self.root(of: hashes)
    }

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

extension FrameStamp {
    /// CHUNK with one chunk of an encoded snapshot.
    ///
    /// Cost: SHA-256 over the chunk.
    package func chunkFrame(of info: SnapshotInfo, index: Int, encoded bytes: [UInt8]) -> [UInt8] {
        withBytes(of: bytes) { span in
            let range = info.chunkRange(index)
            let chunk = Chunk(
                snapshot: info.id, index: UInt32(index), hash: sha256Prefix(span, range), content: range)
            return frame(.chunk(chunk), source: span)
        }
    }
}
