/// What the sender of frames fills into their headers.
package struct FrameStamp: Hashable, Sendable {
    package var channel: Channel
    package var clusterHash: UInt64
    package var epoch: Epoch

    package init(channel: Channel, clusterHash: UInt64, epoch: Epoch) {
        self.channel = channel
        self.clusterHash = clusterHash
        self.epoch = epoch
    }

    /// The frame of a message whose ranges, if it has any, point into `source`.
    package func frame(_ message: Message, source: RawSpan) -> [UInt8] {
        var header = FrameHeader(channel: channel, kind: message.kind, clusterHash: clusterHash, epoch: epoch)
        if case .batch(_, isHeadOnly: true) = message { header.flags = 1 }
        return header.frame(capacity: message.capacity) { message.writeBody(to: &$0, source: source) }
    }

    /// The frame of a message that has no ranges.
    package func frame(_ message: Message) -> [UInt8] {
        withBytes(of: []) { frame(message, source: $0) }
    }

    /// The frame that broadcasts a batch: whole, or its head alone if it is above `largest` bytes.
    package func frame(broadcasting batch: SealedBatch, largest: Int = Limits.broadcastBytes) -> [UInt8] {
        withBytes(of: batch.bytes) { bytes in
            let isHeadOnly = bytes.byteCount > largest
            let range = 0..<(isHeadOnly ? BatchHead.byteCount : bytes.byteCount)
            return frame(.batch(range, isHeadOnly: isHeadOnly), source: bytes)
        }
    }

    /// The frame of a REPAIR with whole batches.
    package func repairFrame(nonce: UInt64, batches: [SealedBatch]) -> [UInt8] {
        let header = FrameHeader(channel: channel, kind: .repair, clusterHash: clusterHash, epoch: epoch)
        let size = batches.reduce(0) { $0 + $1.bytes.count + 4 }
        return header.frame(capacity: size + 16) { writer in
            writer.write(nonce)
            writer.write(RepairStatus.batches.rawValue)
            writer.writeVarint(UInt64(batches.count))
            for batch in batches { writer.writeBytes(batch.bytes) }
        }
    }
}

extension Message {
    /// Reads a whole frame: header first, then the body of its kind; every byte must be used.
    package static func decode(
        _ frame: RawSpan, rule: FrameHeader.ClusterRule
    ) throws(WireError) -> (header: FrameHeader, message: Message) {
        let header = try FrameHeader(from: frame, rule: rule)
        var reader = ByteReader(offset: FrameHeader.byteCount, end: frame.byteCount)
        let message = try Message(header.kind, flags: header.flags, from: frame, &reader)
        try reader.finish()
        return (header, message)
    }

    package var kind: MessageKind {
        switch self {
        case .hello: .hello
        case .welcome: .welcome
        case .refused: .refused
        case .open: .open
        case .opened: .opened
        case .resume: .resume
        case .resumed: .resumed
        case .sessionMoved: .sessionMoved
        case .submit: .submit
        case .result: .result
        case .busy: .busy
        case .outOfOrder: .outOfOrder
        case .sessionExpired: .sessionExpired
        case .sessionUnknown: .sessionUnknown
        case .keepAlive: .keepAlive
        case .close: .close
        case .closed: .closed
        case .read: .read
        case .readResult: .readResult
        case .query: .query
        case .queryResult: .queryResult
        case .resync: .resync
        case .runRequest: .runRequest
        case .runEnded: .runEnded
        case .runGone: .runGone
        case .watch: .watch
        case .watchResult: .watchResult
        case .unwatch: .unwatch
        case .sync: .sync
        case .syncPlan: .syncPlan
        case .chunkRequest: .chunkRequest
        case .chunk: .chunk
        case .repairRequest: .repairRequest
        case .repair: .repair
        case .batch: .batch
        case .beacon: .beacon
        case .adminRequest: .adminRequest
        case .adminResponse: .adminResponse
        case .replicationRequest(let request): request.kind
        case .replicationReply(let reply): reply.kind
        }
    }

    /// How many bytes the body takes, roughly and rather too many.
    fileprivate var capacity: Int {
        switch self {
        case .submit(let submit): submit.actions.count + 64
        case .result(let series): series.items.count + 64
        case .read(let read): read.query.count + 64
        case .readResult(let result), .watchResult(let result): result.answer.count + 64
        case .watch(let request): request.query.count + 64
        case .runRequest(let request): request.wishes.count * 11 + 64
        case .runEnded(let ended): ended.item.count + 64
        case .chunk(let chunk): chunk.content.count + 64
        case .repair(let repair): repair.batches.reduce(64) { $0 + $1.count + 10 }
        case .batch(let range, _): range.count
        case .adminRequest(let range), .adminResponse(let range): range.count
        case .replicationReply(.append(let append)): append.batches.reduce(64) { $0 + $1.count + 10 }
        case .hello, .welcome, .refused, .open, .opened, .resume, .resumed, .sessionMoved, .busy, .outOfOrder,
            .sessionExpired, .sessionUnknown, .keepAlive, .close, .closed, .query, .queryResult, .resync, .runGone,
            .unwatch, .sync, .syncPlan, .chunkRequest, .repairRequest, .beacon, .replicationRequest,
            .replicationReply:
            256
        }
    }
}
