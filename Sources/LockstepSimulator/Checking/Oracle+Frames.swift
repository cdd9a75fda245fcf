import LockstepCore

// What leaves a node must have committed (PROTOCOL R-16), whatever kind of frame it is.
extension Oracle {
    /// A node sends a frame, before any fault touches it.
    func wasSent(_ frame: [UInt8], by process: NodeProcess) {
        withBytes(of: frame) { bytes in
            guard let (_, message) = try? Message.decode(bytes, rule: .any) else {
                fail(.invariant, "\(process.name) sends a frame that cannot be read")
                return
            }
            check(message, bytes, frame, process)
        }
    }

    private func check(_ message: Message, _ bytes: RawSpan, _ frame: [UInt8], _ process: NodeProcess) {
        switch message {
        case .result(let run): check(run, bytes, frame, process)
        case .batch(let range, _):
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            guard let head = try? BatchHead(from: bytes, &reader), isKnown(head) else {
                fail(.committedOnly, "\(process.name) broadcasts what has not committed")
                return
            }
            checkIsKept(head, "broadcasts", process)
        case .beacon(let beacon):
            check(beacon.commit, "broadcasts", process)
            checkMark(of: beacon, process)
        case .welcome(let welcome): check(welcome.commit, "welcomes with", process)
        case .syncPlan(let plan):
            check(plan.commit, "plans with", process)
            checkPlan(plan.decision, process)
            if case .snapshot(let info) = plan.decision {
                check(info.position, "offers a snapshot at", process)
                if let known = batches[info.position.hash], known.digest != info.digest, !process.state.isTainted {
                    fail(.digest, "\(process.name) offers a snapshot at \(info.position.sequence) with another digest")
                }
            }
        case .repair(let repair):
            for range in repair.batches {
                var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
                guard let head = try? BatchHead(from: bytes, &reader), isKnown(head) else {
                    fail(.committedOnly, "\(process.name) repairs with what has not committed")
                    return
                }
                checkIsKept(head, "repairs with", process)
            }
            if repair.status == .batches { checkServes("repairs", process) }
        case .readResult(let result), .watchResult(let result):
            check(result, frame, process)
        case .sessionExpired(let session):
            checkEnded(session, process)
        case .closed(let session):
            if sessions[session]?.isOver == false, isOfPresent(process) {
                fail(.expiry, "\(process.name) says that \(session) is closed; the log does not")
            }
        case .opened(let opened):
            if sessions[opened.session] == nil, isOfPresent(process) {
                fail(.committedOnly, "\(process.name) opens \(opened.session), which is not in the log")
            }
        case .resumed(let resumed): check(resumed, process)
        case .queryResult(let result): check(result, process)
        case .runEnded(let ended): check(ended, bytes, process)
        case .runGone(let id): checkGone(id, process)
        case .hello, .refused, .open, .resume, .sessionMoved, .submit, .busy, .outOfOrder, .sessionUnknown,
            .keepAlive, .close, .read, .query, .resync, .runRequest, .watch, .unwatch, .sync, .chunkRequest, .chunk,
            .repairRequest, .adminRequest, .adminResponse, .replicationRequest, .replicationReply:
            break
        }
    }

    private func check(_ run: ResultSeries, _ bytes: RawSpan, _ frame: [UInt8], _ process: NodeProcess) {
        var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        for place in 0..<run.count {
            guard let item = try? ReplyItem(from: bytes, &reader) else {
                fail(.invariant, "\(process.name) sends answers that cannot be read")
                return
            }
            let key = ReplyKey(session: run.session, number: run.first + UInt64(place))
            guard let reply = replies[key] else {
                fail(.committedOnly, "\(process.name) answers \(key.session) \(key.number), which has not committed")
                return
            }
            let sequence = run.firstSequence.advanced(by: place)
            if reply.sequence != sequence || reply.epoch != run.epoch || reply.status != item.status
                || reply.bytes != Array(frame[item.reply])
            {
                fail(.replyStability, "\(process.name) answers \(key.session) \(key.number) unlike the log")
                return
            }
        }
    }

    private func isKnown(_ head: BatchHead) -> Bool { heads(at: head.last).contains(head) }

    private func check(_ position: Position, _ does: String, _ process: NodeProcess) {
        guard position.sequence > .zero else { return }
        guard batches[position.hash] != nil else {
            fail(.committedOnly, "\(process.name) \(does) \(position), which has not committed")
            return
        }
    }
}
