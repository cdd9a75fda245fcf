extension Message {
    /// Reads the body of one kind of message; the byte layouts are PROTOCOL, section 4.
    init(
        _ kind: MessageKind, flags: UInt16, from frame: RawSpan, _ reader: inout ByteReader
    ) throws(WireError) {
        // Only BATCH knows a flag; a flag that is not known here could change the meaning of what follows.
        guard flags == 0 || (kind == .batch && flags == 1) else { throw WireError(.outOfRange, at: 6) }
        switch kind {
        case .hello: self = .hello(try Hello(from: frame, &reader))
        case .welcome: self = .welcome(try Welcome(from: frame, &reader))
        case .refused: self = .refused(try Refused(from: frame, &reader))
        case .open: self = .open(try Open(fromMessage: frame, &reader))
        case .opened: self = .opened(try Opened(from: frame, &reader))
        case .resume: self = .resume(try Resume(from: frame, &reader))
        case .resumed: self = .resumed(try Resumed(from: frame, &reader))
        case .sessionMoved: self = .sessionMoved(try reader.readSession(from: frame))
        case .submit: self = .submit(try Submit(from: frame, &reader))
        case .result: self = .result(try ResultSeries(from: frame, &reader))
        case .busy: self = .busy(try Busy(from: frame, &reader))
        case .outOfOrder:
            self = .outOfOrder(try reader.readSession(from: frame), expected: try reader.readVarint(from: frame))
        case .sessionExpired: self = .sessionExpired(try reader.readSession(from: frame))
        case .sessionUnknown: self = .sessionUnknown(try reader.readSession(from: frame))
        case .keepAlive: self = .keepAlive(try KeepAlive(from: frame, &reader))
        case .close: self = .close(try reader.readSession(from: frame))
        case .closed: self = .closed(try reader.readSession(from: frame))
        case .read: self = .read(try Read(from: frame, &reader))
        case .readResult: self = .readResult(try ReadResult(from: frame, &reader))
        case .query: self = .query(try Query(from: frame, &reader))
        case .queryResult: self = .queryResult(try QueryResult(from: frame, &reader))
        case .resync: self = .resync
        case .runRequest: self = .runRequest(try RunMessage(from: frame, &reader))
        case .runEnded: self = .runEnded(try RunEnded(from: frame, &reader))
        case .runGone: self = .runGone(try RunID(from: frame, &reader))
        case .watch: self = .watch(try WatchRequest(from: frame, &reader))
        case .watchResult: self = .watchResult(try ReadResult(from: frame, &reader))
        case .unwatch: self = .unwatch(try WatchID(from: frame, &reader))
        case .sync: self = .sync(try Sync(from: frame, &reader))
        case .syncPlan: self = .syncPlan(try SyncPlan(from: frame, &reader))
        case .chunkRequest: self = .chunkRequest(try ChunkRequest(from: frame, &reader))
        case .chunk: self = .chunk(try Chunk(from: frame, &reader))
        case .repairRequest: self = .repairRequest(try RepairRequest(from: frame, &reader))
        case .repair: self = .repair(try Repair(from: frame, &reader))
        case .batch:
            let size = reader.remaining
            guard flags == 0 ? size > BatchHead.byteCount : size == BatchHead.byteCount else {
                throw WireError(.outOfRange, at: reader.offset)
            }
            let start = try reader.skip(size)
            self = .batch(start..<start + size, isHeadOnly: flags == 1)
        case .beacon: self = .beacon(try Beacon(from: frame, &reader))
        case .adminRequest, .adminResponse:
            let size = reader.remaining
            let start = try reader.skip(size)
            self = kind == .adminRequest ? .adminRequest(start..<start + size) : .adminResponse(start..<start + size)
        case .fetch, .acknowledge, .confirm, .recordRequest, .stepDown:
            self = .replicationRequest(try ReplicationRequest(kind, from: frame, &reader))
        case .fetchPlan, .append, .heartbeat, .confirmRequest, .record, .takeOver:
            self = .replicationReply(try ReplicationReply(kind, from: frame, &reader))
        }
    }
}

extension Hello {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        role = try reader.readCase(PeerRole.self, from: frame)
        node = try reader.readName(from: frame)
        incarnation = Incarnation(rawValue: try reader.read128(from: frame))
        boot = BootID(rawValue: try reader.read128(from: frame))
        store = try reader.readName(from: frame)
        known = try reader.readKnownPosition(from: frame)
        guard try reader.readBool(from: frame) else { return }
        mark = LogState.Mark(
            sequence: SequenceNumber(rawValue: try reader.read(from: frame)),
            digest: Digest(rawValue: try reader.read128(from: frame)))
    }
}

extension Welcome {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        cluster = ClusterID(rawValue: try reader.read128(from: frame))
        role = try reader.readCase(NodeRole.self, from: frame)
        isVolatile = try reader.readBool(from: frame)
        node = try reader.readName(from: frame)
        incarnation = Incarnation(rawValue: try reader.read128(from: frame))
        boot = BootID(rawValue: try reader.read128(from: frame))
        channel = Channel(rawValue: try reader.read(from: frame))
        store = StoreID(rawValue: try reader.read128(from: frame))
        commit = try reader.readPosition(from: frame)
        publishEndpoint = try reader.readText(from: frame)
        bulkEndpoint = try reader.readText(from: frame)
        primaryEndpoint = try reader.readText(from: frame)
        creditActions = try reader.read(from: frame)
        creditBytes = try reader.read(from: frame)
        largestAction = try reader.read(from: frame)
    }
}

extension Refused {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        reason = try reader.readCase(RefusalReason.self, from: frame)
        text = try reader.readText(from: frame)
        endpoint = try reader.readText(from: frame)
    }
}

extension Opened {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        session = try reader.readSession(from: frame)
        timeToLive = try reader.read(from: frame)
        windowNumbers = try reader.read(from: frame)
        windowBytes = try reader.read(from: frame)
    }
}

extension Resume {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        openNonce = try reader.read(from: frame)
        connectionNonce = try reader.read(from: frame)
        ackedThrough = try reader.readVarint(from: frame)
    }
}

extension Resumed {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        connectionNonce = try reader.read(from: frame)
        expected = try reader.readVarint(from: frame)
    }
}

extension Submit {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        first = try reader.readVarint(from: frame)
        ackedThrough = try reader.readVarint(from: frame)
        isVoid = try reader.readBool(from: frame)
        let start = reader.offset
        let countValue = try reader.readVarint(from: frame)
        let size = reader.remaining
        actions = try reader.skip(size)..<reader.offset
        // An action is at least its length's byte; void numbers have no bytes at all.
        guard first > 0, first <= UInt64(Int64.max), ackedThrough < first, countValue > 0,
            countValue <= UInt64(Limits.submitActions), isVoid ? size == 0 : countValue <= UInt64(size)
        else { throw WireError(.outOfRange, at: start) }
        count = Int(countValue)
    }
}

extension ResultSeries {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        first = try reader.readVarint(from: frame)
        let start = reader.offset
        let countValue = try reader.readVarint(from: frame)
        epoch = Epoch(rawValue: try reader.readVarint(from: frame))
        firstSequence = SequenceNumber(rawValue: try reader.readVarint(from: frame))
        let size = reader.remaining
        items = try reader.skip(size)..<reader.offset
        guard first > 0, first <= UInt64(Int64.max), countValue > 0, countValue <= UInt64(size) else {
            throw WireError(.outOfRange, at: start)
        }
        count = Int(countValue)
    }
}

extension Busy {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        expected = try reader.readVarint(from: frame)
        retryAfter = try reader.read(from: frame)
        reason = try reader.readCase(BusyReason.self, from: frame)
    }
}

extension KeepAlive {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        ackedThrough = try reader.readVarint(from: frame)
        applied = SequenceNumber(rawValue: try reader.readVarint(from: frame))
    }
}

extension Read {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        id = try reader.read(from: frame)
        level = try reader.readCase(ReadLevel.self, from: frame)
        minimum = SequenceNumber(rawValue: try reader.readVarint(from: frame))
        isIndexOnly = try reader.readBool(from: frame)
        query = try reader.readRange(from: frame)
    }
}

extension ReadResult {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        id = try reader.read(from: frame)
        status = try reader.readCase(ReadStatus.self, from: frame)
        epoch = Epoch(rawValue: try reader.readVarint(from: frame))
        sequence = SequenceNumber(rawValue: try reader.readVarint(from: frame))
        time = LogTime(rawValue: try reader.read(from: frame))
        answer = try reader.readRange(from: frame)
    }
}

extension Query {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        number = try reader.readVarint(from: frame)
    }
}

extension QueryResult {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: frame)
        number = try reader.readVarint(from: frame)
        status = try reader.readCase(QueryStatus.self, from: frame)
    }
}

extension Sync {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        store = StoreID(rawValue: try reader.read128(from: frame))
        node = try reader.readName(from: frame)
        have = try reader.readKnownPosition(from: frame)
        firstFrame = SequenceNumber(rawValue: try reader.read(from: frame))
        wantsSnapshot = try reader.readBool(from: frame)
    }
}

extension SyncPlan {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        commit = try reader.readPosition(from: frame)
        boot = BootID(rawValue: try reader.read128(from: frame))
        let start = reader.offset
        switch try reader.read(UInt8.self, from: frame) {
        case 1: decision = .tail
        case 2: decision = .snapshot(try SnapshotInfo(from: frame, &reader))
        case 3: decision = .diverged(try reader.readEpochEnds(from: frame))
        case 4: decision = .ahead
        case 5: decision = .busy(retryAfter: try reader.read(from: frame))
        default: throw WireError(.unknownKind, at: start)
        }
    }
}

extension SnapshotInfo {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        id = try reader.read(from: frame)
        position = try reader.readPosition(from: frame)
        boot = BootID(rawValue: try reader.read128(from: frame))
        digest = Digest(rawValue: try reader.read128(from: frame))
        let start = reader.offset
        byteCount = try reader.read(from: frame)
        chunkSize = try reader.read(from: frame)
        root = try reader.read128(from: frame)
        guard byteCount > 0, byteCount < 1 << 48, chunkSize >= 1_024, chunkSize <= UInt32(Limits.chunkBytes) else {
            throw WireError(.outOfRange, at: start)
        }
    }
}

extension ChunkRequest {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        snapshot = try reader.read(from: frame)
        index = try reader.read(from: frame)
        window = try reader.read(from: frame)
    }
}

extension Chunk {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        snapshot = try reader.read(from: frame)
        index = try reader.read(from: frame)
        hash = try reader.read128(from: frame)
        content = try reader.readRange(from: frame)
    }
}

extension RepairRequest {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        after = try reader.readPosition(from: frame)
        through = SequenceNumber(rawValue: try reader.read(from: frame))
        largestReply = try reader.read(from: frame)
    }
}

extension Repair {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        nonce = try reader.read(from: frame)
        status = try reader.readCase(RepairStatus.self, from: frame)
        batches = try reader.readList(from: frame, smallestItem: BatchHead.byteCount + 1) {
            (reader) throws(WireError) in try reader.readRange(from: frame)
        }
    }
}

extension Beacon {
    init(from frame: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        boot = BootID(rawValue: try reader.read128(from: frame))
        incarnation = Incarnation(rawValue: try reader.read128(from: frame))
        commit = try reader.readPosition(from: frame)
        time = LogTime(rawValue: try reader.read(from: frame))
        markSequence = SequenceNumber(rawValue: try reader.read(from: frame))
        markDigest = Digest(rawValue: try reader.read128(from: frame))
    }
}

extension ByteReader {
    package mutating func readEpochEnds(from bytes: RawSpan) throws(WireError) -> [EpochEnd] {
        try readList(from: bytes, smallestItem: 48) { (reader) throws(WireError) in
            EpochEnd(
                epoch: Epoch(rawValue: try reader.read(from: bytes)),
                boot: BootID(rawValue: try reader.read128(from: bytes)),
                sequence: SequenceNumber(rawValue: try reader.read(from: bytes)),
                hash: BatchHash(rawValue: try reader.read128(from: bytes)))
        }
    }
}
