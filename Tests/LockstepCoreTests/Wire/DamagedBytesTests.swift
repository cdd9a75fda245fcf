import LockstepCore
import Testing

/// What comes from outside is data: damaged bytes are refused, and never trap (PROTOCOL ).
@Suite("Damaged bytes")
struct DamagedBytesTests {
    static let cluster = FrameHeader.ClusterRule.member(GoldenVectors.cluster.hash)

    static func decodes(_ frame: [UInt8], rule: FrameHeader.ClusterRule = cluster) -> Bool {
        withBytes(of: frame) { span in
            do throws(WireError) {
                _ = try Message.decode(span, rule: rule)
                return true
            } catch {
                return false
            }
        }
    }

    /// The frame with its checksum made right again.
    static func repaired(_ frame: [UInt8]) -> [UInt8] {
        var crc = CRC32C()
        withBytes(of: frame) { span in
            crc.update(span, 0..<28)
            crc.update(span, 32..<frame.count)
        }
        var writer = ByteWriter(appendingTo: frame)
        writer.overwrite(crc.value, at: 28)
        return writer.bytes
    }

    /// The frame with another body, and length and checksum to match.
    static func frame(_ frame: [UInt8], body: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(appendingTo: Array(frame[..<32]) + body)
        writer.overwrite(UInt32(body.count), at: 24)
        return repaired(writer.bytes)
    }

    /// Refused, or a value whose one form these bytes are.
    static func isRefusedOrCanonical(_ frame: [UInt8]) -> Bool {
        withBytes(of: frame) { span in
            do throws(WireError) {
                let (header, message) = try Message.decode(span, rule: .any)
                return GoldenBytesTests.reframed(header, message, span) == frame
            } catch {
                return true
            }
        }
    }

    /// The macro costs more than what it would check a million times here.
    static func check(_ holds: Bool, _ text: @autoclosure () -> String) {
        if !holds { Issue.record("\(text())") }
    }

    @Test func everyCutFrameIsRefused() {
        for vector in GoldenVectors.frames {
            for count in 0..<vector.bytes.count {
                Self.check(!Self.decodes(Array(vector.bytes[..<count])), "\(vector.name) cut at \(count)")
            }
            Self.check(!Self.decodes(vector.bytes + [0]), "\(vector.name) with a byte more")
        }
    }

    @Test func everyFlippedBitOfAFrameIsRefused() {
        for vector in GoldenVectors.frames {
            for bit in 0..<vector.bytes.count * 8 {
                var bytes = vector.bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                Self.check(!Self.decodes(bytes, rule: .any), "\(vector.name) bit \(bit)")
            }
        }
    }

    /// With a checksum that matches, what a flipped bit makes is another value's one form, or refused.
    @Test func everyFlippedBitWithItsChecksumIsAnotherValueOrRefused() {
        for vector in GoldenVectors.frames {
            for bit in 0..<vector.bytes.count * 8 where !(28..<32).contains(bit / 8) {
                var bytes = vector.bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                Self.check(Self.isRefusedOrCanonical(Self.repaired(bytes)), "\(vector.name) bit \(bit)")
            }
        }
    }

    @Test func everyCutBodyWithItsChecksumIsAnotherValueOrRefused() {
        for vector in GoldenVectors.frames {
            let body = Array(vector.bytes[32...])
            for count in 0..<body.count {
                let cut = Self.frame(vector.bytes, body: Array(body[..<count]))
                Self.check(Self.isRefusedOrCanonical(cut), "\(vector.name) cut at \(count)")
            }
        }
    }

    /// The extremes of numbers as they are written: varints, and four and eight bytes.
    static let extremes: [[UInt8]] = {
        let varints = [1 << 31, 1 << 63, UInt64.max, UInt64(Int64.max)].map { value in
            var writer = ByteWriter()
            writer.writeVarint(value)
            return writer.bytes
        }
        return varints + [
            [0, 0, 0, 0x80], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0, 0, 0, 0, 0x80], [UInt8](repeating: 0xFF, count: 8),
            [UInt8](repeating: 0xFF, count: 10), [0x80, 0],
        ]
    }()

    /// At every place, in place of one byte and of as many bytes: one of the places is each length and count.
    static func spoilt(_ bytes: [UInt8], from start: Int = 0) -> [[UInt8]] {
        (start..<max(start, bytes.count)).flatMap { place in
            extremes.flatMap { extreme in
                [1, extreme.count].map { length in
                    Array(bytes[..<place]) + extreme + Array(bytes[min(place + length, bytes.count)...])
                }
            }
        }
    }

    @Test func extremeLengthsAreRefusedOrAnotherValue() {
        for vector in GoldenVectors.frames {
            for body in Self.spoilt(Array(vector.bytes[32...])) {
                Self.check(Self.isRefusedOrCanonical(Self.frame(vector.bytes, body: body)), "\(vector.name)")
            }
        }
    }

    /// FETCH and RECORD say twice where the log ends, and nothing else than the same (PROTOCOL, section 4).
    @Test func aLogEndsWhereItsLastEpochDoes() {
        func decodes(_ change: (inout EpochEnd) -> Void) -> Bool {
            var log = GoldenVectors.log
            change(&log.epochEnds[1])
            let fetch = Fetch(
                nonce: 8, store: GoldenVectors.store, member: GoldenVectors.member, boot: GoldenVectors.boot,
                promised: .zero, log: log)
            return Self.decodes(GoldenVectors.stamp.frame(.replicationRequest(.fetch(fetch))))
        }
        let isWhole = decodes { _ in }
        let wrong = [
            decodes { $0.epoch = Epoch(rawValue: $0.epoch.rawValue - 1) }, decodes { $0.sequence = $0.sequence.next },
            decodes { $0.hash = BatchHash(rawValue: 1) },
        ]
        #expect(isWhole && wrong == [false, false, false])
    }

    /// OPEN has a nonce; a log that was written with an opening without one is read all the same (PROTOCOL R-20).
    @Test func anOpenWithoutANonceIsRefused() {
        var open = GoldenVectors.open
        open.nonce = 0
        let isRead = Self.decodes(GoldenVectors.stamp.frame(.open(open)))
        #expect(!isRead)
        let entry = GoldenVectors.bytes(of: .sessionOpen(open), [])
        let found = withBytes(of: entry) { span in
            var reader = ByteReader(span)
            return try? Entry(from: span, &reader)
        }
        #expect(found == Entry.sessionOpen(open))
    }

    static func isEntryRefusedOrCanonical(_ bytes: [UInt8]) -> Bool {
        withBytes(of: bytes) { span in
            do throws(WireError) {
                var reader = ByteReader(span)
                let entry = try Entry(from: span, &reader)
                if case .actions(let run) = entry, run.items.isEmpty { return false }
                return GoldenVectors.bytes(of: entry, bytes) == Array(bytes[..<reader.offset])
            } catch {
                return true
            }
        }
    }

    @Test func damagedEntriesAreRefusedOrAnotherValue() {
        for vector in GoldenVectors.entryVectors {
            for count in 0..<vector.bytes.count {
                let cut = Array(vector.bytes[..<count])
                let isRead = withBytes(of: cut) { span in
                    var reader = ByteReader(span)
                    return (try? Entry(from: span, &reader)) != nil
                }
                Self.check(!isRead, "\(vector.name) cut at \(count)")
            }
            for bit in 0..<vector.bytes.count * 8 {
                var bytes = vector.bytes
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                Self.check(Self.isEntryRefusedOrCanonical(bytes), "\(vector.name) bit \(bit)")
            }
            for bytes in Self.spoilt(vector.bytes) {
                Self.check(Self.isEntryRefusedOrCanonical(bytes), "\(vector.name)")
            }
        }
    }

    /// A damaged batch has another hash, and applying it ends with an error or not, but never with a trap
    /// (PROTOCOL ).
    @Test func damagedBatchesAreRefusedOrHaveAnotherHash() throws {
        let batch = GoldenVectors.batch
        var damaged = (0..<batch.bytes.count).map { Array(batch.bytes[..<$0]) } + Self.spoilt(batch.bytes)
        for bit in 0..<batch.bytes.count * 8 {
            damaged.append(batch.bytes)
            damaged[damaged.count - 1][bit / 8] ^= 1 << UInt8(bit % 8)
        }
        for bytes in damaged where bytes != batch.bytes {
            guard let other = try? SealedBatch(bytes: bytes) else { continue }
            Self.check(other.hash != batch.hash, "hash")
            var log = LogState(store: GoldenVectors.store)
            let before = log
            do {
                _ = try log.apply(other, to: CountingState())
                Self.check(log.position == other.position, "position")
            } catch {
                Self.check(log.position == before.position, "position")
            }
        }
    }

    @Test func damagedSnapshotsAreRefusedOrAnotherValue() throws {
        let snapshot = try GoldenVectors.snapshot()
        for count in 0..<snapshot.count {
            Self.check((try? SnapshotContent(Array(snapshot[..<count]))) == nil, "snapshot cut at \(count)")
        }
        var damaged = Self.spoilt(snapshot)
        for bit in 0..<snapshot.count * 8 {
            damaged.append(snapshot)
            damaged[damaged.count - 1][bit / 8] ^= 1 << UInt8(bit % 8)
        }
        for bytes in damaged {
            guard let content = try? SnapshotContent(bytes) else { continue }
            Self.check(content.encoded() == bytes, "snapshot")
        }
    }
}
