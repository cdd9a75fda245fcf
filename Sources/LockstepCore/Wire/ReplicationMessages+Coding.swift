// The bytes of the messages of L2 (PROTOCOL, section 4).

extension ReplicationRequest {
    init(_ kind: MessageKind, from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        switch kind {
        case .fetch: self = .fetch(try Fetch(from: frame, &reader))
        case .acknowledge: self = .acknowledge(try Acknowledge(from: frame, &reader))
        case .confirm: self = .confirm(try Confirmation(from: frame, &reader))
        case .recordRequest: self = .recordRequest(nonce: try reader.read(from: frame))
        case .stepDown: self = .stepDown(try RecordReport(from: frame, &reader))
        default: throw WireError(.unknownKind, at: 5)
        }
    }

    func write(to writer: inout ByteWriter) {
        switch self {
        case .fetch(let fetch): fetch.write(to: &writer)
        case .acknowledge(let acknowledge): acknowledge.write(to: &writer)
        case .confirm(let confirmation): confirmation.write(to: &writer)
        case .recordRequest(let nonce): writer.write(nonce)
        case .stepDown(let report): report.write(to: &writer)
        }
    }
}

extension ReplicationReply {
    init(_ kind: MessageKind, from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        switch kind {
        case .fetchPlan: self = .plan(try FetchPlan(from: frame, &reader))
        case .append: self = .append(try Append(from: frame, &reader))
        case .heartbeat: self = .heartbeat(try Heartbeat(from: frame, &reader))
        case .confirmRequest: self = .confirmRequest(try Confirmation(from: frame, &reader))
        case .record: self = .record(try RecordReport(from: frame, &reader))
        case .takeOver: self = .takeOver(try TakeOver(from: frame, &reader))
        default: throw WireError(.unknownKind, at: 5)
        }
    }

    func write(to writer: inout ByteWriter, source: RawSpan) {
        switch self {
        case .plan(let plan): plan.write(to: &writer)
        case .append(let append): append.write(to: &writer, source: source)
        case .heartbeat(let heartbeat): heartbeat.write(to: &writer)
        case .confirmRequest(let confirmation): confirmation.write(to: &writer)
        case .record(let report): report.write(to: &writer)
        case .takeOver(let takeOver): takeOver.write(to: &writer)
        }
    }
}

extension FrameStamp {
    /// The frame of an APPEND with whole batches; without any it tells the commit number alone.
    package func appendFrame(nonce: UInt64, commit: SequenceNumber, batches: [SealedBatch]) -> [UInt8] {
        let header = FrameHeader(channel: channel, kind: .append, clusterHash: clusterHash, epoch: epoch)
        let size = batches.reduce(0) { $0 + $1.bytes.count + 4 }
        return header.frame(capacity: size + 32) { writer in
            writer.write(nonce)
            writer.write(commit.rawValue)
            writer.writeVarint(UInt64(batches.count))
            for batch in batches { writer.writeBytes(batch.bytes) }
        }
    }
}

extension Fetch {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        store = StoreID(rawValue: try reader.read128(from: frame))
        member = try reader.readMember(from: frame)
        boot = BootID(rawValue: try reader.read128(from: frame))
        let start = reader.offset
        promised = Epoch(rawValue: try reader.read(from: frame))
        guard promised.rawValue < UInt64(Int64.max) else { throw WireError(.outOfRange, at: start) }
        log = try FollowerLog(from: frame, &reader)
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write128(store.rawValue)
        writer.writeMember(member)
        writer.write128(boot.rawValue)
        writer.write(promised.rawValue)
        log.write(to: &writer)
    }
}

extension FollowerLog {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        end = try reader.readPosition(from: frame)
        committed = SequenceNumber(rawValue: try reader.read(from: frame))
        epochEnds = try reader.readEpochEnds(from: frame)
        let last = epochEnds.last.map { Position(epoch: $0.epoch, sequence: $0.sequence, hash: $0.hash) }
        // The table ends where the log does, and nothing beyond that can be committed.
        guard committed <= end.sequence, epochEnds.count <= Limits.epochEndsInFetch,
            end.sequence == .zero ? last == nil : last == end,
            zip(epochEnds, epochEnds.dropFirst()).allSatisfy({ $0.epoch < $1.epoch && $0.sequence < $1.sequence })
        else { throw WireError(.outOfRange, at: start) }
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.writePosition(end)
        writer.write(committed.rawValue)
        writer.writeEpochEnds(epochEnds.suffix(Limits.epochEndsInFetch))
    }
}

extension FetchPlan {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        boot = BootID(rawValue: try reader.read128(from: frame))
        commit = SequenceNumber(rawValue: try reader.read(from: frame))
        let start = reader.offset
        switch try reader.read(UInt8.self, from: frame) {
        case 1: decision = .tail
        case 2: decision = .truncate(to: try reader.readPosition(from: frame))
        case 3: decision = .snapshot
        case 4: decision = .refused(try reader.readCase(FetchRefusal.self, from: frame))
        default: throw WireError(.unknownKind, at: start)
        }
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write128(boot.rawValue)
        writer.write(commit.rawValue)
        switch decision {
        case .tail: writer.write(UInt8(1))
        case .truncate(let position):
            writer.write(UInt8(2))
            writer.writePosition(position)
        case .snapshot: writer.write(UInt8(3))
        case .refused(let refusal):
            writer.write(UInt8(4))
            writer.write(refusal.rawValue)
        }
    }
}

extension Append {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        commit = SequenceNumber(rawValue: try reader.read(from: frame))
        batches = try reader.readList(from: frame, smallestItem: BatchHead.byteCount + 1) {
            (reader) throws(WireError) in try reader.readRange(from: frame)
        }
    }

    fileprivate func write(to writer: inout ByteWriter, source: RawSpan) {
        writer.write(nonce)
        writer.write(commit.rawValue)
        writer.writeVarint(UInt64(batches.count))
        for batch in batches { writer.writeRange(source, batch) }
    }
}

extension Acknowledge {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        member = try reader.readMember(from: frame)
        boot = BootID(rawValue: try reader.read128(from: frame))
        primaryBoot = BootID(rawValue: try reader.read128(from: frame))
        end = SequenceNumber(rawValue: try reader.read(from: frame))
        hash = BatchHash(rawValue: try reader.read128(from: frame))
        mark = LogState.Mark(
            sequence: SequenceNumber(rawValue: try reader.read(from: frame)),
            digest: Digest(rawValue: try reader.read128(from: frame)))
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.writeMember(member)
        writer.write128(boot.rawValue)
        writer.write128(primaryBoot.rawValue)
        writer.write(end.rawValue)
        writer.write128(hash.rawValue)
        writer.write(mark.sequence.rawValue)
        writer.write128(mark.digest.rawValue)
    }
}

extension Heartbeat {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let node = NodeID(try reader.readName(from: frame)) else { throw WireError(.invalidText, at: start) }
        self.node = node
        boot = BootID(rawValue: try reader.read128(from: frame))
        time = LogTime(rawValue: try reader.read(from: frame))
        stores = try reader.readList(from: frame, smallestItem: 18) { (reader) throws(WireError) in
            Pulse(
                channel: Channel(rawValue: try reader.read(from: frame)),
                epoch: Epoch(rawValue: try reader.read(from: frame)),
                end: SequenceNumber(rawValue: try reader.read(from: frame)))
        }
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.writeString(node.name)
        writer.write128(boot.rawValue)
        writer.write(time.rawValue)
        writer.writeVarint(UInt64(stores.count))
        for store in stores {
            writer.write(store.channel.rawValue)
            writer.write(store.epoch.rawValue)
            writer.write(store.end.rawValue)
        }
    }
}

extension Confirmation {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        round = try reader.read(from: frame)
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write(round)
    }
}

extension RecordReport {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        let start = reader.offset
        highest = Epoch(rawValue: try reader.read(from: frame))
        guard highest.rawValue < UInt64(Int64.max) else { throw WireError(.outOfRange, at: start) }
        log = try FollowerLog(from: frame, &reader)
        shown = ArbiterMemory(
            revision: try reader.read(from: frame), number: try reader.read(from: frame),
            epoch: Epoch(rawValue: try reader.read(from: frame)),
            boot: BootID(rawValue: try reader.read128(from: frame)))
        leads = try reader.readBool(from: frame)
        guard try reader.readBool(from: frame) else { return }
        let revision = try reader.read(Int64.self, from: frame)
        let range = try reader.readRange(from: frame)
        record = StoredRecord(try ConfigurationRecord(from: frame.extracting(range)), revision: revision)
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.write(highest.rawValue)
        log.write(to: &writer)
        writer.write(shown.revision)
        writer.write(shown.number)
        writer.write(shown.epoch.rawValue)
        writer.write128(shown.boot.rawValue)
        writer.writeBool(leads)
        writer.writeBool(record != nil)
        guard let record else { return }
        writer.write(record.revision)
        writer.writeBytes(record.record.bytes)
    }
}

extension TakeOver {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        end = try reader.readPosition(from: frame)
        staysMember = try reader.readBool(from: frame)
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(nonce)
        writer.writePosition(end)
        writer.writeBool(staysMember)
    }
}
