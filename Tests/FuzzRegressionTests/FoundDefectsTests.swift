import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepNode
import LockstepSQLite
import Testing

/// The defects that fuzzing found, each by its name; the inputs are below Fuzz/regressions.
@Suite struct FoundDefectsTests {
    static let cluster = ClusterID(rawValue: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF)
    static let store = StoreID(cluster: cluster, name: "counters")
    static let epoch = Epoch(rawValue: 1_750_000_000_000)
    static let last = Position(epoch: epoch, sequence: SequenceNumber(rawValue: .max), hash: .none)
    static let open = Open(
        client: ClientKey(rawValue: 1), nonce: 1, timeToLive: 1_000_000, windowNumbers: 64, windowBytes: 1 << 16)

    /// The problem with which a frame of the message is refused.
    static func problem(_ message: Message) -> WireError.Problem? {
        let stamp = FrameStamp(channel: Channel(rawValue: 7), clusterHash: cluster.hash, epoch: epoch)
        return withBytes(of: stamp.frame(message)) { frame in
            do throws(WireError) {
                _ = try Message.decode(frame, rule: .any)
                return nil
            } catch { return error.problem }
        }
    }

    /// Goal: a beacon whose commit number has no next one is refused; it ended a replica (PROTOCOL ).
    @Test func aBeaconAtTheLastNumberIsRefused() {
        var beacon = Beacon(
            boot: .none, incarnation: .none, commit: Self.last, time: .zero, markSequence: .zero, markDigest: .none)
        #expect(Self.problem(.beacon(beacon)) == .outOfRange)
        beacon.commit.sequence = SequenceNumber(rawValue: UInt64(Int64.max) - 1)
        #expect(Self.problem(.beacon(beacon)) == nil)
        beacon.commit.epoch = Epoch(rawValue: UInt64(Int64.max))
        #expect(Self.problem(.beacon(beacon)) == .outOfRange)
    }

    /// Goal: the same for what peers say that they know (PROTOCOL R-40).
    @Test func aKnownPositionAtTheLastNumberIsRefused() {
        let known = KnownPosition(position: Self.last, boot: .none)
        let hello = Hello(
            nonce: 1, role: .client, node: "n", incarnation: .none, boot: .none, store: "counters", known: known)
        #expect(Self.problem(.hello(hello)) == .outOfRange)
        let sync = Sync(
            nonce: 1, store: Self.store, node: "n", have: known, firstFrame: .zero, wantsSnapshot: false)
        #expect(Self.problem(.sync(sync)) == .outOfRange)
    }

    /// The bytes of a snapshot of an empty log, with other bytes at `offset`.
    static func snapshot(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        var snapshot = SnapshotContent(log: LogState(store: store), digest: .none, state: []).encoded()
        snapshot.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        return snapshot
    }

    /// Goal: a snapshot after which no entry can follow is refused; a log went on from it and trapped (PROTOCOL R-50).
    @Test func aSnapshotAtTheLastNumberIsRefused() throws {
        _ = try SnapshotContent(Self.snapshot([], at: 32))
        #expect(throws: WireError.self) {
            try SnapshotContent(Self.snapshot([UInt8](repeating: 0xFF, count: 8), at: 32))
        }
    }

    /// Goal: a batch opens no session twice; the snapshot of such a log could not be read (PROTOCOL ).
    @Test func twoSessionsOfOneOpeningAreRefused() throws {
        var builder = BatchBuilder(store: Self.store, epoch: Self.epoch, after: .start(of: Self.store), time: .zero)
        builder.append(.epochOpen(node: "n", incarnation: .none, boot: .none))
        let opened = builder.append(.sessionOpen(Self.open))
        var again = builder
        again.append(.sessionOpen(Self.open))
        #expect(throws: LogState.ApplyError.self) { try Self.applied(again.sealed()) }
        // After its end the same opening is another session.
        builder.append(.sessionClose(SessionID(epoch: Self.epoch, sequence: opened)))
        builder.append(.sessionOpen(Self.open))
        #expect(try Self.applied(builder.sealed()).sessions.count == 1)
    }

    /// Goal: nobody opens a session by an empty name, with which a snapshot says that nobody is named (PROTOCOL R-71,
    ///
    @Test func aSessionOfAnEmptyNameIsRefused() throws {
        for (name, isTaken) in [("", false), ("n", true)] {
            var builder = BatchBuilder(store: Self.store, epoch: Self.epoch, after: .start(of: Self.store), time: .zero)
            builder.append(.epochOpen(node: "n", incarnation: .none, boot: .none))
            builder.append(.sessionOpen(Self.open, sender: name))
            let batch = builder.sealed()
            #expect(((try? Self.applied(batch)) != nil) == isTaken)
        }
    }

    /// Goal: a snapshot of an older form, which does not say what was told, tells nothing of an empty log; written in the
    /// newer form it was refused (PROTOCOL R-50).
    @Test func nothingWasToldOfAnEmptyLog() throws {
        let empty = LogState(store: Self.store)
        var bytes = SnapshotContent(log: empty, digest: .none, state: []).encoded()
        // Version 2 has no place and boot that were told, which are 48 bytes after the mark.
        let mark = 4 + 4 + 16 + 32 + 16 + 8 + 16 + 8 + 16
        bytes.removeSubrange(mark..<mark + 48)
        bytes[4] = 2
        let older = try SnapshotContent(bytes)
        #expect(older.log.told == .none)
        #expect(try SnapshotContent(older.encoded()).log == older.log)
    }

    /// Goal: a snapshot has no session that a later entry opens; the entry opened it once more, and two nodes differed
    /// (PROTOCOL ).
    @Test func aSnapshotWithASessionOfTheFutureIsRefused() throws {
        var builder = BatchBuilder(store: Self.store, epoch: Self.epoch, after: .start(of: Self.store), time: .zero)
        builder.append(.epochOpen(node: "n", incarnation: .none, boot: .none))
        builder.append(.sessionOpen(Self.open))
        let log = try Self.applied(builder.sealed())
        var bytes = SnapshotContent(log: log, digest: .none, state: []).encoded()
        _ = try SnapshotContent(bytes)
        // The position's sequence number, 2, follows magic, version, store and epoch.
        #expect(bytes[32] == 2)
        bytes[32] = 1
        #expect(throws: WireError.self) { try SnapshotContent(bytes) }
    }

    static func applied(_ batch: SealedBatch) throws -> LogState {
        var log = LogState(store: store)
        let published = PublishedState(Snapshot(state: Counters().initialState, place: .start, time: .zero))
        _ = try log.apply(batch, to: ReactorState(Counters(), published: published))
        return log
    }

    /// Goal: a row whose batch is a number is damage with a name, and not an error of SQLite's wrapper (PROTOCOL R-46).
    @Test func aColumnOfAnotherTypeIsDamage() throws {
        let row: [JournalDecoding.Column] = [.integer(1), .integer(1), .integer(1), .null, .integer(5)]
        let read = try JournalDecoding.batches([row], of: Self.store, after: nil)
        #expect(read.batches.isEmpty)
        #expect(read.findings.map(\.subject) == [.batch])
    }

    /// Goal: a snapshot's row whose chunks would lie past the last number is damage (PROTOCOL R-46).
    @Test func chunksAfterTheLastNumberAreDamage() throws {
        let hash = [UInt8](repeating: 0, count: 16)
        let rows: [(table: String, columns: [JournalDecoding.Column])] = [
            (
                "snapshots",
                [.integer(1), .integer(1), .blob(hash), .integer(1), .integer(.max), .integer(2), .blob(hash)]
            ),
            ("chunks", [.integer(.max), .blob(Self.hash(of: [])), .blob([])]),
        ]
        let findings = try JournalTables().findings(rows, mark: nil, of: Self.store)
        #expect(findings.all.map(\.subject) == [.snapshot])
        #expect(findings.atStart?.subject == .snapshot)
    }

    /// Goal: an operator may ask for what is past the last number; the command trapped.
    @Test func nothingIsAfterTheLastNumber() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("found-\(UUID())").path
        defer {
            do { try FileManager.default.removeItem(atPath: folder) } catch { Issue.record("\(error)") }
        }
        let source = JournalSource.sqlite(at: folder, create: true)
        try source.open(JournalRequest(cluster: Self.cluster, storeName: "counters", nodeName: "n")).close()
        let reader = try SQLiteJournalReader(folder: folder, storeName: "counters")
        for number in [0, UInt64(Int64.max), .max] {
            try reader.batches(after: SequenceNumber(rawValue: number)) { Issue.record("\($0.head) is there") }
        }
        try reader.close()
    }

    private static func hash(of bytes: [UInt8]) -> [UInt8] {
        var writer = ByteWriter()
        writer.write128(sha256Prefix(bytes))
        return writer.bytes
    }

    /// Goal: the highest port that a node can listen at is compared with the system's range; it trapped.
    @Test func theHighestPortIsCompared() throws {
        let endpoint = try TCPEndpoint("tcp://127.0.0.1:65533", use: "the address")
        do { try endpoint.checkListening() } catch { #expect((error as? LockstepError)?.code == .invalidConfiguration) }
    }

    /// Goal: an identifier is 32 digits; the standard library's parser takes a sign for one (PROTOCOL R-1).
    @Test(arguments: ["+", "-"])
    func anIdentifierHasNoSign(sign: String) {
        #expect(ClusterID(hexadecimal: sign + String(repeating: "0", count: 31)) == nil)
        #expect(ClusterID(hexadecimal: String(repeating: "0", count: 32)) == ClusterID.none)
    }

    /// Goal: places are digits, and such as exist.
    @Test(arguments: ["1", "+1:2", "1:-2", "1::2", ":1:2", "1:2:3:4", "1:9223372036854775807", "9223372036854775807:1"])
    func otherTextsAreNoPlace(text: String) {
        #expect(Place(text) == nil)
    }

    /// Goal: a clock far before 1970 is refused; the difference trapped (PROTOCOL R-15).
    @Test func aClockFarBeforeTheLogIsRefused() {
        #expect(throws: LockstepError.self) {
            try ClockRule.check(of: "sum", last: LogTime(rawValue: 2), wall: LogTime(rawValue: .min), accepts: false)
        }
    }

    /// Goal: a level below 0 in a log counts as 0; the state's own snapshot was refused, and taking tokens could
    /// overflow (PROTOCOL R-50).
    @Test func aBucketIsNeverBelowEmpty() throws {
        var state = Counters().initialState
        let bucket = try Coding<Counters.Mutation>.wire.decoded([5, 1, 0x61, 1, 20, 2, 2, 20, 2])
        let context = ReduceContext(time: .zero, epoch: Self.epoch, sequence: SequenceNumber(rawValue: 1))
        Counters.reduce(into: &state, bucket, context)
        Counters.reduce(into: &state, .taken("a", level: .min), context)
        #expect(state.buckets["a"]?.tokens(at: .zero) == 0)
        let bytes = try Coding<Counters.State>.wire.encoded(state)
        #expect(try Coding<Counters.State>.wire.decoded(bytes) == state)
    }
}
