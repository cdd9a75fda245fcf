import LockstepCore

/// Deterministic values of everything that has bytes, by name; `docs/golden-bytes.txt` has their bytes.
enum GoldenVectors {
    struct Vector: Sendable {
        var name: String
        var bytes: [UInt8]
    }

    static let cluster = ClusterID(rawValue: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
    static let store = StoreID(cluster: cluster, name: "counters")
    static let incarnation = Incarnation(rawValue: 0x1111_1111_2222_2222_3333_3333_4444_4444)
    static let boot = BootID(rawValue: 0x5555_5555_6666_6666_7777_7777_8888_8888)
    static let client = ClientKey(rawValue: 0x9999_9999_AAAA_AAAA_BBBB_BBBB_CCCC_CCCC)
    static let epoch = Epoch(rawValue: 1_750_000_000_000)
    static let session = SessionID(epoch: epoch, sequence: SequenceNumber(rawValue: 300))
    static let hash = BatchHash(rawValue: 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)
    static let position = Position(epoch: epoch, sequence: SequenceNumber(rawValue: 70_000), hash: hash)
    static let digest = Digest(rawValue: 0xF0E0_D0C0_B0A0_9080_7060_5040_3020_1000)
    static let stamp = FrameStamp(channel: Channel(rawValue: 7), clusterHash: cluster.hash, epoch: epoch)
    static let watch = WatchID(client: client, number: 5)
    static let open = Open(
        client: client, nonce: 0xABCD, timeToLive: 60_000_000, windowNumbers: 131_072, windowBytes: 1 << 20)

    /// What the ranges of ``messages`` point into: two actions of 1 and 3 bytes, then the replies 5 and "no".
    static let source: [UInt8] = [1, 9, 3, 1, 2, 3, 0x04, 5, 0x09, 0x6E, 0x6F]

    static let messages: [Message] = [
        .hello(
            Hello(
                nonce: 1, role: .replica, node: "node-b", incarnation: incarnation, boot: boot, store: "counters",
                known: KnownPosition(position: position, boot: boot),
                mark: LogState.Mark(sequence: SequenceNumber(rawValue: 70_000), digest: Digest(rawValue: 0xD1)))),
        .welcome(
            Welcome(
                nonce: 1, cluster: cluster, role: .primary, isVolatile: false, node: "node-a",
                incarnation: incarnation, boot: boot, channel: Channel(rawValue: 7), store: store, commit: position,
                publishEndpoint: "tcp://a:7001", bulkEndpoint: "tcp://a:7002", primaryEndpoint: "",
                creditActions: 65_536, creditBytes: 4 << 20, largestAction: 1 << 20)),
        .refused(Refused(nonce: 1, reason: .notPrimary, text: "ask node-a", endpoint: "tcp://a:7000")),
        .open(open),
        .opened(
            Opened(nonce: 0xABCD, session: session, timeToLive: 60_000_000, windowNumbers: 4_096, windowBytes: 65_536)),
        .resume(Resume(session: session, openNonce: 0xABCD, connectionNonce: 2, ackedThrough: 128)),
        .resumed(Resumed(session: session, connectionNonce: 2, expected: 129)),
        .sessionMoved(session),
        .submit(Submit(session: session, first: 129, ackedThrough: 128, count: 2, isVoid: false, actions: 0..<6)),
        .result(
            ResultSeries(
                session: session, first: 129, count: 2, epoch: epoch, firstSequence: SequenceNumber(rawValue: 70_001),
                items: 6..<11)),
        .busy(Busy(session: session, expected: 129, retryAfter: 2_000, reason: .overloaded)),
        .outOfOrder(session, expected: 129),
        .sessionExpired(session),
        .sessionUnknown(session),
        .keepAlive(KeepAlive(session: session, ackedThrough: 130, applied: SequenceNumber(rawValue: 70_002))),
        .close(session),
        .closed(session),
        .read(
            Read(id: 3, level: .session, minimum: SequenceNumber(rawValue: 70_002), isIndexOnly: false, query: 2..<6)),
        .readResult(
            ReadResult(
                id: 3, status: .answered, epoch: epoch, sequence: SequenceNumber(rawValue: 70_002),
                time: LogTime(rawValue: 1_750_000_000_123_456), answer: 0..<2)),
        .query(Query(session: session, number: 129)),
        .queryResult(QueryResult(session: session, number: 129, status: .acknowledged)),
        .resync,
        .runRequest(
            RunMessage(
                session: session,
                wishes: [
                    .init(number: 127, kind: .acknowledge), .init(number: 128, kind: .cancel),
                    .init(number: 129, kind: .await),
                ])),
        .runEnded(
            RunEnded(
                id: RunID(session: session, number: 129), epoch: epoch, sequence: SequenceNumber(rawValue: 70_003),
                emissions: 2, item: 6..<8)),
        .runGone(RunID(session: session, number: 127)),
        .watch(WatchRequest(id: watch, interval: 100_000, has: 0x9ABC, query: 2..<6)),
        .watchResult(
            ReadResult(
                id: watch.number, status: .answered, epoch: epoch, sequence: SequenceNumber(rawValue: 70_002),
                time: LogTime(rawValue: 1_750_000_000_123_456), answer: 0..<2)),
        .unwatch(watch),
        .sync(
            Sync(
                nonce: 4, store: store, node: "node-b", have: KnownPosition(position: position, boot: boot),
                firstFrame: SequenceNumber(rawValue: 70_010), wantsSnapshot: false)),
        plan(
            .snapshot(
                SnapshotInfo(
                    id: 5, position: position, boot: boot, digest: digest, byteCount: 300_000, chunkSize: 262_144,
                    root: 0x1234))),
        .chunkRequest(ChunkRequest(snapshot: 5, index: 1, window: 16)),
        .chunk(Chunk(snapshot: 5, index: 1, hash: 0x5678, content: 0..<11)),
        .repairRequest(
            RepairRequest(
                nonce: 6, after: position, through: SequenceNumber(rawValue: 70_020), largestReply: 1 << 20)),
        .repair(Repair(nonce: 6, status: .unavailable, batches: [])),
        .batch(0..<11, isHeadOnly: false),
        .beacon(
            Beacon(
                boot: boot, incarnation: incarnation, commit: position, time: LogTime(rawValue: 1_750_000_000_123_456),
                markSequence: SequenceNumber(rawValue: 69_999), markDigest: digest)),
        .adminRequest(0..<11),
        .adminResponse(0..<0),
        .replicationRequest(
            .fetch(
                Fetch(
                    nonce: 8, store: store, member: member, boot: boot, promised: Epoch(rawValue: 12),
                    log: log))),
        fetchPlan(.truncate(to: position)),
        .replicationReply(
            .append(Append(nonce: 8, commit: SequenceNumber(rawValue: 69_995), batches: []))),
        .replicationRequest(
            .acknowledge(
                Acknowledge(
                    nonce: 8, member: member, boot: boot, primaryBoot: BootID(rawValue: 3),
                    end: position.sequence, hash: hash,
                    mark: LogState.Mark(sequence: SequenceNumber(rawValue: 69_990), digest: digest)))),
        .replicationReply(
            .heartbeat(
                Heartbeat(
                    node: member.node, boot: boot, time: LogTime(rawValue: 1_750_000_000_123_456),
                    stores: [
                        .init(channel: Channel(rawValue: 7), epoch: epoch, end: position.sequence),
                        .init(channel: Channel(rawValue: 9), epoch: Epoch(rawValue: 2), end: .zero),
                    ]))),
        .replicationReply(.confirmRequest(Confirmation(nonce: 8, round: 5))),
        .replicationRequest(.confirm(Confirmation(nonce: 8, round: 5))),
        .replicationRequest(.recordRequest(nonce: 9)),
        .replicationReply(
            .record(
                RecordReport(
                    nonce: 9, highest: epoch, log: log, shown: shown, leads: true,
                    record: StoredRecord(record, revision: 1_234)))),
        .replicationRequest(
            .stepDown(
                RecordReport(nonce: 0, highest: epoch, log: log, shown: ArbiterMemory(), leads: false, record: nil))),
        .replicationReply(.takeOver(TakeOver(nonce: 8, end: position, staysMember: true))),
    ]

    static let log = FollowerLog(
        end: position, committed: SequenceNumber(rawValue: 69_990),
        epochEnds: [
            EpochEnd(epoch: Epoch(rawValue: 11), boot: boot, sequence: session.sequence, hash: hash),
            EpochEnd(epoch: epoch, boot: boot, sequence: position.sequence, hash: hash),
        ])
    static let shown = ArbiterMemory(revision: 1_234, number: 12, epoch: epoch, boot: boot)
    static let member = Member(node: NodeID("node-b") ?? { preconditionFailure("a name") }(), incarnation: incarnation)
    /// A record of which the second member is no primary.
    static let record = ConfigurationRecord(
        cluster: cluster, store: store, channel: Channel(rawValue: 7), epoch: Epoch(rawValue: 12),
        primary: .init(member: member, boot: boot, endpoints: ["tcp://b:7003"]), openedAfter: position, minimum: 2,
        attempt: AttemptID(rawValue: 0x2468))

    static func fetchPlan(_ decision: FetchDecision) -> Message {
        .replicationReply(.plan(FetchPlan(nonce: 8, boot: boot, commit: position.sequence, decision: decision)))
    }

    /// Other forms of FETCH_PLAN.
    static let otherFetchPlans: [(String, Message)] = [
        ("tail", fetchPlan(.tail)), ("snapshot", fetchPlan(.snapshot)), ("refused", fetchPlan(.refused(.wasSetBack))),
    ]

    static func plan(_ decision: SyncDecision) -> Message {
        .syncPlan(SyncPlan(nonce: 4, commit: position, boot: boot, decision: decision))
    }

    /// Other forms of messages that have several.
    static let otherPlans: [(String, Message)] = [
        ("tail", plan(.tail)),
        ("diverged", plan(.diverged([EpochEnd(epoch: epoch, boot: boot, sequence: session.sequence, hash: hash)]))),
        ("ahead", plan(.ahead)),
        ("busy", plan(.busy(retryAfter: 100_000))),
    ]

    static let frames: [Vector] =
        messages.map { message in
            let bytes: [UInt8]
            if case .batch = message {
                bytes = stamp.frame(broadcasting: batch)
            } else {
                bytes = withBytes(of: source) { stamp.frame(message, source: $0) }
            }
            return Vector(name: "message.\(message.kind)", bytes: bytes)
        }
        + otherPlans.map { Vector(name: "message.syncPlan.\($0.0)", bytes: stamp.frame($0.1)) }
        + otherFetchPlans.map { Vector(name: "message.fetchPlan.\($0.0)", bytes: stamp.frame($0.1)) }
        + [
            Vector(
                name: "message.append.batches",
                bytes: stamp.appendFrame(nonce: 8, commit: SequenceNumber(rawValue: 69_995), batches: [batch])),
            Vector(
                name: "message.submit.void",
                bytes: stamp.frame(
                    .submit(
                        Submit(session: session, first: 129, ackedThrough: 128, count: 2, isVoid: true, actions: 0..<0))
                )),
            Vector(
                name: "message.batch.headOnly",
                bytes: withBytes(of: batch.bytes) { stamp.frame(.batch(0..<64, isHeadOnly: true), source: $0) }),
            Vector(name: "message.repair.batches", bytes: stamp.repairFrame(nonce: 6, batches: [batch])),
            Vector(
                name: "message.result.accepted",
                bytes: withBytes(of: [3]) {
                    stamp.frame(
                        .result(
                            ResultSeries(
                                session: session, first: 129, count: 1, epoch: epoch,
                                firstSequence: SequenceNumber(rawValue: 70_001), items: 0..<1)), source: $0)
                }),
            Vector(
                name: "message.busy.tooManyRuns",
                bytes: stamp.frame(
                    .busy(Busy(session: session, expected: 129, retryAfter: 50_000, reason: .tooManyRuns)))),
            Vector(
                name: "message.busy.quota",
                bytes: stamp.frame(
                    .busy(Busy(session: session, expected: 129, retryAfter: 5_000, reason: .quota)))),
            Vector(
                name: "message.result.denied",
                bytes: withBytes(of: [2 << 2 | 2] + Array("no".utf8)) {
                    stamp.frame(
                        .result(
                            ResultSeries(
                                session: session, first: 129, count: 1, epoch: epoch,
                                firstSequence: SequenceNumber(rawValue: 70_001), items: 0..<3)), source: $0)
                }),
        ]

    static let entries: [Entry] = [
        .actions(ActionSeries(session: session, first: 129, ackedThrough: 128, count: 2, items: 0..<0)),
        .epochOpen(node: "node-a", incarnation: incarnation, boot: boot),
        .sessionOpen(open),
        .sessionClose(session),
        .sessionExpire([session]),
        .sessionAck([SessionAcknowledgement(session: session, through: 128)]),
        .digestMark(digest),
        .clockJump(LogTime(rawValue: 1_750_000_000_123_456)),
        .accepted(session: session, number: 129, ackedThrough: 128, action: 0..<2),
        .emitted(cause: .action(session, 129), mutations: 2..<6),
        .finished(session: session, number: 129, item: 0..<6),
        .runAck([RunID(session: session, number: 127), RunID(session: session, number: 129)]),
        .sessionOpen(open, sender: "web-1"),
    ]

    /// Other causes of emissions.
    static let otherEmissions: [(String, Entry)] = [
        ("source", .emitted(cause: .source("prices"), mutations: 2..<6)),
        ("time", .emitted(cause: .time, mutations: 2..<6)),
        ("feedback", .emitted(cause: .feedback("search"), mutations: 2..<6)),
    ]

    static let entryVectors: [Vector] =
        entries.map { entry in Vector(name: "entry.\(kind(of: entry))", bytes: bytes(of: entry, source)) }
        + otherEmissions.map { Vector(name: "entry.emitted.\($0.0)", bytes: bytes(of: $0.1, source)) }

    static func checksums() throws -> [Vector] {
        var crc = CRC32C()
        withBytes(of: Array("123456789".utf8)) { crc.update($0, 0..<9) }
        var fields = FieldHash()
        fields.combine(1)
        fields.combine(.max)
        var result = ByteWriter()
        result.write(crc.value.byteSwapped)
        var hash = ByteWriter()
        hash.write128(fields.value)
        var named = FieldHash()
        named.combine(1)
        named.combine("reader-10")
        var name = ByteWriter()
        name.write128(named.value)
        var sha = ByteWriter()
        sha.write128(sha256Prefix(Array("abc".utf8)))
        var runs = ByteWriter()
        runs.write128(try logWithRuns().log.runs.digest.rawValue)
        return [
            Vector(name: "crc32c.123456789", bytes: result.bytes),
            Vector(name: "fieldHash.1.max", bytes: hash.bytes),
            Vector(name: "sha256Prefix.abc", bytes: sha.bytes),
            Vector(name: "digest.runs", bytes: runs.bytes),
            Vector(name: "fieldHash.1.name", bytes: name.bytes),
        ]
    }

    static func all() throws -> [Vector] {
        frames + entryVectors
            + [
                Vector(name: "batch", bytes: batch.bytes), Vector(name: "snapshot", bytes: try snapshot()),
                Vector(name: "batch.runs", bytes: runBatch.bytes),
                Vector(name: "snapshot.runs", bytes: try snapshotWithRuns()),
                Vector(name: "subscription", bytes: Subscription(channel: stamp.channel).bytes),
            ] + (try checksums())
    }

    static func kind(of entry: Entry) -> EntryKind {
        switch entry {
        case .actions: .actions
        case .epochOpen: .epochOpen
        case .sessionOpen(_, nil): .sessionOpen
        case .sessionOpen: .sessionOpenNamed
        case .sessionClose: .sessionClose
        case .sessionExpire: .sessionExpire
        case .sessionAck: .sessionAck
        case .digestMark: .digestMark
        case .clockJump: .clockJump
        case .accepted: .accepted
        case .emitted: .emitted
        case .finished: .finished
        case .runAck: .runAck
        }
    }

    /// The bytes of an entry; those of a run of actions with the items that lie in `source`, or two of its own.
    static func bytes(of entry: Entry, _ source: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        guard case .actions(let run) = entry else {
            withBytes(of: source) { entry.write(to: &writer, source: $0) }
            return writer.bytes
        }
        let items =
            run.items.isEmpty ? [0x04, 0x01, 0x09, 0x01, 0x09, 0x01, 0x02, 0x6E, 0x6F] : Array(source[run.items])
        writer.write(EntryKind.actions.rawValue)
        writer.writeVarint(run.session.epoch.rawValue)
        writer.writeVarint(run.session.sequence.rawValue)
        writer.writeVarint(run.first)
        writer.writeVarint(run.ackedThrough)
        writer.write(UInt32(run.count))
        writer.write(UInt32(items.count))
        writer.writeRaw(items)
        return writer.bytes
    }
}
