/// The 32 bytes in front of every message (PROTOCOL, section 3).
package struct FrameHeader: Hashable, Sendable {
    package var channel: Channel
    package var kind: MessageKind
    package var flags: UInt16
    package var clusterHash: UInt64
    /// The sender's epoch; a batch carries its own as well.
    package var epoch: Epoch

    package static let byteCount = 32
    package static let magic: UInt16 = 0x534C  // "LS" as two bytes on the wire
    package static let wireVersion: UInt8 = 1

    /// Where the sender of a frame got its cluster from, and hence which frames it takes.
    package enum ClusterRule: Hashable, Sendable {
        /// Only frames of this cluster, and those of a sender that does not know its cluster yet.
        case member(UInt64)
        /// Any: the receiver does not know its cluster yet.
        case any
    }

    package init(channel: Channel, kind: MessageKind, flags: UInt16 = 0, clusterHash: UInt64, epoch: Epoch) {
        self.channel = channel
        self.kind = kind
        self.flags = flags
        self.clusterHash = clusterHash
        self.epoch = epoch
    }

    /// Reads and checks the header of a whole frame: magic, version, kind, cluster, length and checksum.
    package init(from frame: RawSpan, rule: ClusterRule) throws(WireError) {
        var reader = ByteReader(frame)
        guard try reader.read(UInt16.self, from: frame) == Self.magic else { throw WireError(.wrongMagic, at: 0) }
        channel = Channel(rawValue: try reader.read(from: frame))
        guard try reader.read(UInt8.self, from: frame) == Self.wireVersion else {
            throw WireError(.wrongVersion, at: 4)
        }
        let kindByte = try reader.read(UInt8.self, from: frame)
        flags = try reader.read(from: frame)
        clusterHash = try reader.read(from: frame)
        epoch = Epoch(rawValue: try reader.read(from: frame))
        let length = try reader.read(UInt32.self, from: frame)
        let checksum = try reader.read(UInt32.self, from: frame)
        guard Int(length) == frame.byteCount - Self.byteCount else { throw WireError(.wrongLength, at: 24) }
        guard checksum == Self.checksum(of: frame) else { throw WireError(.wrongChecksum, at: 28) }
        guard let kind = MessageKind(rawValue: kindByte) else { throw WireError(.unknownKind, at: 5) }
        self.kind = kind
        if case .member(let hash) = rule, clusterHash != hash, !(clusterHash == 0 && kind == .hello) {
            throw WireError(.wrongCluster, at: 8)
        }
    }

    /// Why a HELLO that cannot be read is refused, and its nonce; `nil` for everything else that cannot be read.
    ///
    /// Kind and nonce stand at the same places in every version.
    package static func refusal(of frame: RawSpan, _ error: WireError) -> (reason: RefusalReason, nonce: UInt64)? {
        let reason: RefusalReason
        switch error.problem {
        case .wrongCluster: reason = .wrongCluster
        case .wrongVersion: reason = .wrongVersion
        default: return nil
        }
        var kind = ByteReader(offset: 5, end: frame.byteCount)
        var nonce = ByteReader(offset: byteCount, end: frame.byteCount)
        // A frame that is too short for either is no HELLO.
        guard let byte = try? kind.read(UInt8.self, from: frame), byte == MessageKind.hello.rawValue,
            let number = try? nonce.read(UInt64.self, from: frame)
        else { return nil }
        return (reason, number)
    }

    /// The version of a whole REFUSED with this nonce that nothing but its version makes unreadable; nil for other frames.
    ///
    /// Length, checksum and kind of every frame, and the nonce of REFUSED, stand at the same places in every version.
    package static func versionOfRefusal(in frame: RawSpan, nonce: UInt64) -> UInt8? {
        var reader = ByteReader(frame)
        // A frame that is too short for any of this is no REFUSED.
        guard let magic = try? reader.read(UInt16.self, from: frame), magic == Self.magic,
            (try? reader.skip(2)) != nil, let version = try? reader.read(UInt8.self, from: frame),
            let kind = try? reader.read(UInt8.self, from: frame), (try? reader.skip(18)) != nil,
            let length = try? reader.read(UInt32.self, from: frame),
            let checksum = try? reader.read(UInt32.self, from: frame),
            let number = try? reader.read(UInt64.self, from: frame)
        else { return nil }
        let isWhole = Int(length) == frame.byteCount - byteCount && checksum == Self.checksum(of: frame)
        return isWhole && kind == MessageKind.refused.rawValue && number == nonce ? version : nil
    }

    /// Builds a frame: this header, then what `body` writes, with length and checksum filled in.
    package func frame<Failure: Error>(
        capacity: Int = 96, _ body: (inout ByteWriter) throws(Failure) -> Void
    ) throws(Failure) -> [UInt8] {
        var writer = ByteWriter(capacity: Self.byteCount + capacity)
        writer.write(Self.magic)
        writer.write(channel.rawValue)
        writer.write(Self.wireVersion)
        writer.write(kind.rawValue)
        writer.write(flags)
        writer.write(clusterHash)
        writer.write(epoch.rawValue)
        writer.write(UInt32(0))
        writer.write(UInt32(0))
        try body(&writer)
        writer.overwrite(UInt32(writer.count - Self.byteCount), at: 24)
        let checksum = withBytes(of: writer.bytes) { Self.checksum(of: $0) }
        writer.overwrite(checksum, at: 28)
        return writer.bytes
    }

    /// CRC-32C over the frame without its last header field.
    private static func checksum(of frame: RawSpan) -> UInt32 {
        var crc = CRC32C()
        crc.update(frame, 0..<28)
        crc.update(frame, byteCount..<frame.byteCount)
        return crc.value
    }
}

/// What a frame holds.
///
/// The numbers are the wire's; those not named are refused (PROTOCOL, section 4).
package enum MessageKind: UInt8, Hashable, Sendable, CaseIterable {
    // L1, ingress
    case hello = 1
    case welcome = 2
    case refused = 3
    case open = 4
    case opened = 5
    case resume = 6
    case resumed = 7
    case sessionMoved = 8
    case submit = 9
    case result = 10
    case busy = 11
    case outOfOrder = 12
    case sessionExpired = 13
    case sessionUnknown = 14
    case keepAlive = 15
    case close = 16
    case closed = 17
    case read = 18
    case readResult = 19
    case query = 20
    case queryResult = 21
    case resync = 22
    case runRequest = 23
    case runEnded = 24
    case runGone = 25
    case watch = 26
    case watchResult = 27
    case unwatch = 28
    // L3, bulk
    case sync = 32
    case syncPlan = 33
    case chunkRequest = 34
    case chunk = 35
    case repairRequest = 36
    case repair = 37
    // L4, broadcast
    case batch = 48
    case beacon = 49
    // L7, administration
    case adminRequest = 64
    case adminResponse = 65
    // L2, between data nodes
    case fetch = 80
    case fetchPlan = 81
    case append = 82
    case acknowledge = 83
    case heartbeat = 84
    case confirmRequest = 85
    case confirm = 86
    case recordRequest = 87
    case record = 88
    case stepDown = 89
    case takeOver = 90
}

extension MessageKind {
    /// What a peer asks of the node to which it has connected: one that cannot be served gets RESYNC, not silence.
    package var isRequest: Bool {
        switch self {
        case .hello, .open, .resume, .submit, .keepAlive, .close, .read, .query, .runRequest, .watch, .unwatch, .sync,
            .chunkRequest, .repairRequest:
            true
        case .welcome, .refused, .opened, .resumed, .sessionMoved, .result, .busy, .outOfOrder, .sessionExpired,
            .sessionUnknown, .closed, .readResult, .queryResult, .resync, .runEnded, .runGone, .watchResult, .syncPlan,
            .chunk, .repair, .batch, .beacon, .adminRequest, .adminResponse, .fetch, .fetchPlan, .append, .acknowledge,
            .heartbeat, .confirmRequest, .confirm, .recordRequest, .record, .stepDown, .takeOver:
            false
        }
    }
}
