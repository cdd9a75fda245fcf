extension Message {
    /// Writes the body; the byte layouts are PROTOCOL, section 4.
    func writeBody(to writer: inout ByteWriter, source: RawSpan) {
        switch self {
        case .hello(let hello): hello.write(to: &writer)
        case .welcome(let welcome): welcome.write(to: &writer)
        case .refused(let refused): refused.write(to: &writer)
        case .open(let open): open.write(to: &writer)
        case .opened(let opened): opened.write(to: &writer)
        case .resume(let resume): resume.write(to: &writer)
        case .resumed(let resumed): resumed.write(to: &writer)
        case .submit(let submit): submit.write(to: &writer, source: source)
        case .result(let series): series.write(to: &writer, source: source)
        case .busy(let busy): busy.write(to: &writer)
        case .outOfOrder(let session, let expected):
            writer.writeSession(session)
            writer.writeVarint(expected)
        case .sessionMoved(let session), .sessionExpired(let session), .sessionUnknown(let session),
            .close(let session), .closed(let session):
            writer.writeSession(session)
        case .keepAlive(let keepAlive): keepAlive.write(to: &writer)
        case .read(let read): read.write(to: &writer, source: source)
        case .readResult(let result), .watchResult(let result): result.write(to: &writer, source: source)
        case .query(let query): query.write(to: &writer)
        case .queryResult(let result): result.write(to: &writer)
        case .resync: break
        case .runRequest(let request): request.write(to: &writer)
        case .runEnded(let ended): ended.write(to: &writer, source: source)
        case .runGone(let id): id.write(to: &writer)
        case .watch(let request): request.write(to: &writer, source: source)
        case .unwatch(let id): id.write(to: &writer)
        case .sync(let sync): sync.write(to: &writer)
        case .syncPlan(let plan): plan.write(to: &writer)
        case .chunkRequest(let request): request.write(to: &writer)
        case .chunk(let chunk): chunk.write(to: &writer, source: source)
        case .repairRequest(let request): request.write(to: &writer)
        case .repair(let repair): repair.write(to: &writer, source: source)
        case .batch(let range, _), .adminRequest(let range), .adminResponse(let range):
            writer.writeRaw(source, range)
        case .beacon(let beacon): beacon.write(to: &writer)
        case .replicationRequest(let request): request.write(to: &writer)
        case .replicationReply(let reply): reply.write(to: &writer, source: source)
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
        writer.writeBool(mark != nil)
        guard let mark else { return }
        writer.write(mark.sequence.rawValue)
        writer.write128(mark.digest.rawValue)
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

extension Refused {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write(reason.rawValue)
        writer.writeText(text)
        writer.writeText(endpoint)
    }
}

extension Opened {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.writeSession(session)
        writer.write(timeToLive)
        writer.write(windowNumbers)
        writer.write(windowBytes)
    }
}

extension Resume {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.write(openNonce)
        writer.write(connectionNonce)
        writer.writeVarint(ackedThrough)
    }
}

extension Resumed {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.write(connectionNonce)
        writer.writeVarint(expected)
    }
}

extension Submit {
    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.writeSession(session)
        writer.writeVarint(first)
        writer.writeVarint(ackedThrough)
        writer.writeBool(isVoid)
        writer.writeVarint(UInt64(count))
        writer.writeRaw(source, actions)
    }
}

extension ResultSeries {
    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.writeSession(session)
        writer.writeVarint(first)
        writer.writeVarint(UInt64(count))
        writer.writeVarint(epoch.rawValue)
        writer.writeVarint(firstSequence.rawValue)
        writer.writeRaw(source, items)
    }
}

extension Busy {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.writeVarint(expected)
        writer.write(retryAfter)
        writer.write(reason.rawValue)
    }
}

extension KeepAlive {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.writeVarint(ackedThrough)
        writer.writeVarint(applied.rawValue)
    }
}

extension Read {
    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.write(id)
        writer.write(level.rawValue)
        writer.writeVarint(minimum.rawValue)
        writer.writeBool(isIndexOnly)
        writer.writeRange(source, query)
    }
}

extension ReadResult {
    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.write(id)
        writer.write(status.rawValue)
        writer.writeVarint(epoch.rawValue)
        writer.writeVarint(sequence.rawValue)
        writer.write(time.rawValue)
        writer.writeRange(source, answer)
    }
}

extension Query {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.writeVarint(number)
    }
}

extension QueryResult {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.writeVarint(number)
        writer.write(status.rawValue)
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

extension ChunkRequest {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(snapshot)
        writer.write(index)
        writer.write(window)
    }
}

extension Chunk {
    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.write(snapshot)
        writer.write(index)
        writer.write128(hash)
        writer.writeRange(source, content)
    }
}

extension RepairRequest {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.writePosition(after)
        writer.write(through.rawValue)
        writer.write(largestReply)
    }
}

extension Repair {
    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.write(nonce)
        writer.write(status.rawValue)
        writer.writeVarint(UInt64(batches.count))
        for batch in batches { writer.writeRange(source, batch) }
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
