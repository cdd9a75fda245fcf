extension Message {
    /// Writes the body; the byte layouts are PROTOCOL, section 4.
    func writeBody(to writer: inout ByteWriter, source: RawSpan) {
        switch self {
        case .hello(let hello): hello.write(to: &writer)
        case .welcome(let welcome): welcome.write(to: &writer)
        case .refused(let refused):
            writer.write(refused.nonce)
            writer.write(refused.reason.rawValue)
            writer.writeText(refused.text)
            writer.writeText(refused.endpoint)
        case .open(let open): open.write(to: &writer)
        case .opened(let opened):
            writer.write(opened.nonce)
            writer.writeSession(opened.session)
            writer.write(opened.timeToLive)
            writer.write(opened.windowNumbers)
            writer.write(opened.windowBytes)
        case .resume(let resume):
            writer.writeSession(resume.session)
            writer.write(resume.openNonce)
            writer.write(resume.connectionNonce)
            writer.writeVarint(resume.ackedThrough)
        case .resumed(let resumed):
            writer.writeSession(resumed.session)
            writer.write(resumed.connectionNonce)
            writer.writeVarint(resumed.expected)
        case .submit(let submit):
            writer.writeSession(submit.session)
            writer.writeVarint(submit.first)
            writer.writeVarint(submit.ackedThrough)
            writer.writeBool(submit.isVoid)
            writer.writeVarint(UInt64(submit.count))
            writer.writeRaw(source, submit.actions)
        case .result(let run):
            writer.writeSession(run.session)
            writer.writeVarint(run.first)
            writer.writeVarint(UInt64(run.count))
            writer.writeVarint(run.epoch.rawValue)
            writer.writeVarint(run.firstSequence.rawValue)
            writer.writeRaw(source, run.items)
        case .busy(let busy):
            writer.writeSession(busy.session)
            writer.writeVarint(busy.expected)
            writer.write(busy.retryAfter)
            writer.write(busy.reason.rawValue)
        case .outOfOrder(let session, let expected):
            writer.writeSession(session)
            writer.writeVarint(expected)
        case .sessionMoved(let session), .sessionExpired(let session), .sessionUnknown(let session),
            .close(let session), .closed(let session):
            writer.writeSession(session)
        case .keepAlive(let keepAlive):
            writer.writeSession(keepAlive.session)
            writer.writeVarint(keepAlive.ackedThrough)
            writer.writeVarint(keepAlive.applied.rawValue)
        case .read(let read):
            writer.write(read.id)
            writer.write(read.level.rawValue)
            writer.writeVarint(read.minimum.rawValue)
            writer.writeBool(read.isIndexOnly)
            writer.writeRange(source, read.query)
        case .readResult(let result):
            writer.write(result.id)
            writer.write(result.status.rawValue)
            writer.writeVarint(result.epoch.rawValue)
            writer.writeVarint(result.sequence.rawValue)
            writer.write(result.time.rawValue)
            writer.writeRange(source, result.answer)
        case .query(let query):
            writer.writeSession(query.session)
            writer.writeVarint(query.number)
        case .queryResult(let result):
            writer.writeSession(result.session)
            writer.writeVarint(result.number)
            writer.write(result.status.rawValue)
        case .resync: break
        case .runRequest(let request): request.write(to: &writer)
        case .runEnded(let ended): ended.write(to: &writer, source: source)
        case .runGone(let id):
            writer.writeSession(id.session)
            writer.writeVarint(id.number)
        case .sync(let sync): sync.write(to: &writer)
        case .syncPlan(let plan): plan.write(to: &writer)
        case .chunkRequest(let request):
            writer.write(request.snapshot)
            writer.write(request.index)
            writer.write(request.window)
        case .chunk(let chunk):
            writer.write(chunk.snapshot)
            writer.write(chunk.index)
            writer.write128(chunk.hash)
            writer.writeRange(source, chunk.content)
        case .repairRequest(let request):
            writer.write(request.nonce)
            writer.writePosition(request.after)
            writer.write(request.through.rawValue)
            writer.write(request.largestReply)
        case .repair(let repair):
            writer.write(repair.nonce)
            writer.write(repair.status.rawValue)
            writer.writeVarint(UInt64(repair.batches.count))
            for batch in repair.batches { writer.writeRange(source, batch) }
        case .batch(let range, _), .adminRequest(let range), .adminResponse(let range):
            writer.writeRaw(source, range)
        case .beacon(let beacon): beacon.write(to: &writer)
        }
    }
}

extension ByteWriter {
    /// A text for a person, cut at ``Limits/textBytes`` so that the receiver takes it.
    fileprivate mutating func writeText(_ text: String) {
        guard text.utf8.count > Limits.textBytes else { return writeString(text) }
        var cut = ""
        for character in text {
            guard cut.utf8.count + String(character).utf8.count <= Limits.textBytes else { break }
            cut.append(character)
        }
        writeString(cut)
    }

    package mutating func writeEpochEnds(_ ends: [EpochEnd]) {
        writeVarint(UInt64(ends.count))
        for end in ends {
            write(end.epoch.rawValue)
            write128(end.boot.rawValue)
            write(end.sequence.rawValue)
            write128(end.hash.rawValue)
        }
    }
}

extension Hello {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write(role.rawValue)
        writer.writeString(node)
        writer.write128(incarnation.rawValue)
        writer.write128(boot.rawValue)
        writer.writeString(store)
        writer.writeKnownPosition(known)
    }
}

extension Welcome {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write128(cluster.rawValue)
        writer.write(role.rawValue)
        writer.writeBool(isVolatile)
        writer.writeString(node)
        writer.write128(incarnation.rawValue)
        writer.write128(boot.rawValue)
        writer.write(channel.rawValue)
        writer.write128(store.rawValue)
        writer.writePosition(commit)
        writer.writeText(publishEndpoint)
        writer.writeText(bulkEndpoint)
        writer.writeText(primaryEndpoint)
        writer.write(creditActions)
        writer.write(creditBytes)
        writer.write(largestAction)
    }
}

extension Sync {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write128(store.rawValue)
        writer.writeString(node)
        writer.writeKnownPosition(have)
        writer.write(firstFrame.rawValue)
        writer.writeBool(wantsSnapshot)
    }
}

extension SyncPlan {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.writePosition(commit)
        writer.write128(boot.rawValue)
        switch decision {
        case .tail: writer.write(UInt8(1))
        case .snapshot(let info):
            writer.write(UInt8(2))
            info.write(to: &writer)
        case .diverged(let ends):
            writer.write(UInt8(3))
            writer.writeEpochEnds(ends)
        case .ahead: writer.write(UInt8(4))
        case .busy(let retryAfter):
            writer.write(UInt8(5))
            writer.write(retryAfter)
        }
    }
}

extension SnapshotInfo {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(id)
        writer.writePosition(position)
        writer.write128(boot.rawValue)
        writer.write128(digest.rawValue)
        writer.write(byteCount)
        writer.write(chunkSize)
        writer.write128(root)
    }
}

extension Beacon {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write128(boot.rawValue)
        writer.write128(incarnation.rawValue)
        writer.writePosition(commit)
        writer.write(time.rawValue)
        writer.write(markSequence.rawValue)
        writer.write128(markDigest.rawValue)
    }
}
