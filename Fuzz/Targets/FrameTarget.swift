import LockstepCore

/// Any bytes as a frame: refused, or a message that encodes to the same bytes (PROTOCOL, R-10).
enum FrameTarget {
    /// Length, checksum, magic and version are made right.
    static let repairs: UInt8 = 1
    /// The cluster stays as it is, also when the rest is made right.
    static let keepsCluster: UInt8 = 2

    static func run(_ input: inout FuzzInput, _ checks: Checks) throws(FuzzFinding) {
        let flags = input.byte()
        var frame = input.rest()
        if flags & repairs != 0 { repairFrame(&frame, keepsCluster: flags & keepsCluster != 0) }
        try withBytes(of: frame) { (span) throws(FuzzFinding) in try decode(span, frame, checks) }
    }

    private static func decode(_ span: RawSpan, _ frame: [UInt8], _ checks: Checks) throws(FuzzFinding) {
        let header: FrameHeader
        let message: Message
        do throws(WireError) {
            (header, message) = try Message.decode(span, rule: .any)
        } catch {
            try checks.holds((0...frame.count).contains(error.offset), "an error outside the frame: \(error)")
            // What is told to the sender of an unreadable HELLO is read from the same bytes.
            _ = FrameHeader.refusal(of: span, error)
            _ = FrameHeader.refusal(of: span, WireError(.wrongCluster, at: 8))
            return
        }
        let isOurs = header.clusterHash == Golden.cluster.hash || (header.clusterHash == 0 && header.kind == .hello)
        // The reason does not matter here, only that this rule refuses what it should.
        let isTaken = (try? Message.decode(span, rule: .member(Golden.cluster.hash))) != nil
        try checks.holds(isTaken == isOurs, "the cluster's rule took \(isTaken), should \(isOurs)")
        try checks.holds(header.kind == message.kind, "a \(header.kind) was read as \(message.kind)")
        let stamp = FrameStamp(channel: header.channel, clusterHash: header.clusterHash, epoch: header.epoch)
        try checks.same(stamp.frame(message, source: span), frame, "a \(message.kind) that was encoded again")
        try walk(message, span, checks)
    }

    /// Reads what lies in the message's ranges, as its receivers do.
    private static func walk(_ message: Message, _ frame: RawSpan, _ checks: Checks) throws(FuzzFinding) {
        switch message {
        case .hello(let hello): try follow(hello.known.position, checks)
        case .sync(let sync): try follow(sync.have.position, checks)
        case .beacon(let beacon): try follow(beacon.commit, checks)
        case .submit(let submit):
            var reader = ByteReader(offset: submit.actions.lowerBound, end: submit.actions.upperBound)
            for _ in 0..<submit.count {
                guard let action = try? reader.readRange(from: frame) else { break }  // Refused where it is taken.
                try checks.holds(submit.actions.contains(action), "an action lies outside its message")
            }
        case .result(let run):
            var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
            for _ in 0..<run.count {
                guard let item = try? ReplyItem(from: frame, &reader) else { break }  // Refused where it is taken.
                try checks.holds(run.items.contains(item.reply), "a reply lies outside its message")
            }
        case .runEnded(let ended):
            var reader = ByteReader(offset: ended.item.lowerBound, end: ended.item.upperBound)
            guard let item = try? ReplyItem(from: frame, &reader) else { return }  // Refused where it is taken.
            try checks.holds(ended.item.contains(item.reply), "an end's reply lies outside its message")
        case .runRequest(let request):
            let numbers = request.wishes.map(\.number)
            try checks.holds(zip(numbers, numbers.dropFirst()).allSatisfy(<), "wishes are not in order")
        case .syncPlan(let plan):
            guard case .snapshot(let info) = plan.decision else { return }
            let last = info.chunkRange(info.chunkCount - 1)
            try checks.holds(
                info.chunkRange(0).lowerBound == 0 && last.upperBound == Int(info.byteCount) && !last.isEmpty,
                "the chunks of \(info) do not cover it")
        case .batch(let range, isHeadOnly: false): try walk(batch: range, frame, checks)
        case .repair(let repair): for range in repair.batches { try walk(batch: range, frame, checks) }
        case .replicationReply(.append(let append)):
            for range in append.batches { try walk(batch: range, frame, checks) }
        case .replicationRequest(.fetch(let fetch)): try follow(fetch.log.end, checks)
        case .batch, .welcome, .refused, .open, .opened, .resume, .resumed, .sessionMoved, .busy, .outOfOrder,
            .sessionExpired, .sessionUnknown, .keepAlive, .close, .closed, .read, .readResult, .query, .queryResult,
            .resync, .runGone, .watch, .watchResult, .unwatch, .chunkRequest, .chunk, .repairRequest, .adminRequest,
            .adminResponse, .replicationRequest, .replicationReply:
            break
        }
    }

    /// What every receiver asks of a position: which number is the next.
    private static func follow(_ position: Position, _ checks: Checks) throws(FuzzFinding) {
        try checks.holds(position.sequence.next > position.sequence, "\(position) has no next number")
    }

    private static func walk(batch range: Range<Int>, _ frame: RawSpan, _ checks: Checks) throws(FuzzFinding) {
        guard let batch = try? SealedBatch(bytes: copyBytes(of: frame, range)) else { return }  // Refused by receivers.
        try checks.holds(batch.head.first <= batch.head.last, "a batch ends before it begins")
    }
}

extension Range<Int> {
    /// Whether `part` lies within; an empty part may stand at the end.
    func contains(_ part: Range<Int>) -> Bool { lowerBound <= part.lowerBound && part.upperBound <= upperBound }
}
