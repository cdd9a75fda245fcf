import LockstepCore
import Testing

/// How a snapshot is cut for those who join (PROTOCOL R-32).
@Suite struct EncodedSnapshotTests {
    private static let stamp = FrameStamp(channel: Channel(rawValue: 1), clusterHash: 1, epoch: .zero)

    /// Goal: chunks have the size that was asked for, lie end to end, and name the hashes that make the root
    /// (PROTOCOL R-32).
    @Test func aSnapshotIsCutAsItIsTold() throws {
        let bytes = (0..<2_500).map { UInt8(truncatingIfNeeded: $0) }
        let log = LogState(store: StoreID(rawValue: 3))
        let snapshot = EncodedSnapshot(number: 4, bytes: bytes, log: log, digest: .none, chunkBytes: 1_024)
        #expect(snapshot.info.id == 4 && snapshot.info.byteCount == 2_500 && snapshot.info.chunkSize == 1_024)
        #expect(snapshot.info.position == log.position && snapshot.info.chunkCount == 3)
        var (content, hashes): ([UInt8], [UInt128]) = ([], [])
        for index in 0..<3 {
            let frame = try #require(snapshot.frame(of: index, stamp: Self.stamp))
            let part = try withBytes(of: frame) { span -> [UInt8] in
                guard case .chunk(let chunk) = try Message.decode(span, rule: .any).message else { return [] }
                #expect(chunk.snapshot == 4 && Int(chunk.index) == index)
                hashes.append(chunk.hash)
                return copyBytes(of: span, chunk.content)
            }
            #expect(hashes.last == sha256Prefix(part))
            content += part
        }
        #expect(content == bytes && snapshot.info.root == SnapshotInfo.root(of: hashes))
        #expect(snapshot.frame(of: 3, stamp: Self.stamp) == nil && snapshot.frame(of: -1, stamp: Self.stamp) == nil)
    }
}
