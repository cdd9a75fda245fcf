import LockstepCore

/// The values that docs/golden-bytes.txt is made with, as far as inputs that are made to fit need them.
enum Golden {
    static let cluster = ClusterID(rawValue: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
    static let storeName = "counters"
    static let store = StoreID(cluster: cluster, name: storeName)
    static let boot = BootID(rawValue: 0x5555_5555_6666_6666_7777_7777_8888_8888)
    static let incarnation = Incarnation(rawValue: 0x1111_1111_2222_2222_3333_3333_4444_4444)
    static let epoch = Epoch(rawValue: 1_750_000_000_000)
    static let channel = Channel(rawValue: 7)
    static let stamp = FrameStamp(channel: channel, clusterHash: cluster.hash, epoch: epoch)
}

/// Makes length and checksum of a frame right, and what stands before them, so that its body is decoded.
func repairFrame(_ frame: inout [UInt8], keepsCluster: Bool) {
    if frame.count < FrameHeader.byteCount {
        frame += [UInt8](repeating: 0, count: FrameHeader.byteCount - frame.count)
    }
    var writer = ByteWriter(appendingTo: frame)
    writer.overwrite(FrameHeader.magic, at: 0)
    writer.overwrite(FrameHeader.wireVersion, at: 4)
    if !keepsCluster { writer.overwrite(Golden.cluster.hash, at: 8) }
    writer.overwrite(UInt32(frame.count - FrameHeader.byteCount), at: 24)
    let checksum = withBytes(of: writer.bytes) { span in
        var crc = CRC32C()
        crc.update(span, 0..<28)
        crc.update(span, FrameHeader.byteCount..<span.byteCount)
        return crc.value
    }
    writer.overwrite(checksum, at: 28)
    frame = writer.bytes
}
