import Foundation
import LockstepCore
import Testing

@Suite("Golden bytes")
struct GoldenBytesTests {
    /// The page's own file, beside PROTOCOL; the path is that of the sources, with any link to them resolved.
    static let file = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "../../../docs/golden-bytes.txt").standardizedFileURL

    static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// The bytes of every message and entry, of a batch, a snapshot and the checksums never change unseen
    /// (PROTOCOL ).
    @Test func theBytesAreThoseOfTheFile() throws {
        let lines = try GoldenVectors.all().map { "\($0.name) \(Self.hexadecimal($0.bytes))" }
        if ProcessInfo.processInfo.environment["UPDATE_GOLDEN"] == "1" {
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: Self.file)
        }
        let kept = try String(contentsOf: Self.file, encoding: .utf8).split(separator: "\n").map(String.init)
        #expect(kept.count == lines.count)
        for (line, expected) in zip(lines, kept) { #expect(line == expected) }
    }

    /// No kind can be added without its bytes.
    @Test func everyKindHasItsVector() {
        #expect(GoldenVectors.messages.map(\.kind) == MessageKind.allCases)
        let numbers = GoldenVectors.entries.map { GoldenVectors.kind(of: $0).rawValue }
        #expect(numbers == Array(1...13))
        #expect((0...255).filter { EntryKind(rawValue: $0) != nil } == numbers)
    }

    /// Each message decodes to its value, and encodes to the same bytes.
    @Test func everyMessageComesBack() throws {
        for (message, vector) in zip(GoldenVectors.messages, GoldenVectors.frames) {
            try withBytes(of: vector.bytes) { frame in
                let (header, decoded) = try Message.decode(frame, rule: .member(GoldenVectors.cluster.hash))
                #expect(header.channel == GoldenVectors.stamp.channel && header.epoch == GoldenVectors.epoch)
                #expect(decoded.kind == message.kind)
                #expect(Self.reframed(header, decoded, frame) == vector.bytes, "\(vector.name)")
                if Self.hasNoRange(message) { #expect(decoded == message) }
            }
        }
    }

    static func reframed(_ header: FrameHeader, _ message: Message, _ frame: RawSpan) -> [UInt8] {
        FrameStamp(channel: header.channel, clusterHash: header.clusterHash, epoch: header.epoch)
            .frame(message, source: frame)
    }

    private static func hasNoRange(_ message: Message) -> Bool {
        switch message {
        case .submit, .result, .read, .readResult, .chunk, .batch, .adminRequest, .adminResponse, .runEnded, .watch,
            .watchResult:
            false
        default: true
        }
    }

    /// Each entry decodes to its value, and encodes to the same bytes (PROTOCOL R-14).
    @Test func everyEntryComesBack() throws {
        for vector in GoldenVectors.entryVectors {
            try withBytes(of: vector.bytes) { bytes in
                var reader = ByteReader(bytes)
                let entry = try Entry(from: bytes, &reader)
                try reader.finish()
                #expect(GoldenVectors.bytes(of: entry, vector.bytes) == vector.bytes, "\(vector.name)")
                let name = "entry.\(GoldenVectors.kind(of: entry))"
                #expect(vector.name == name || vector.name.hasPrefix("\(name)."))
            }
        }
    }

    /// A snapshot comes back as the values that it was made of (PROTOCOL R-50).
    @Test func theSnapshotComesBack() throws {
        let content = try SnapshotContent(GoldenVectors.snapshot())
        var log = LogState(store: GoldenVectors.store)
        _ = try log.apply(GoldenVectors.batch, to: CountingState())
        #expect(content.log == log)
        #expect(content.encoded() == (try GoldenVectors.snapshot()))
        let (runs, _) = try GoldenVectors.logWithRuns()
        let other = try SnapshotContent(GoldenVectors.snapshotWithRuns())
        #expect(other.log == runs && other.log.runs.count == 2 && other.log.runs.unfinishedCount == 1)
        #expect(other.encoded() == (try GoldenVectors.snapshotWithRuns()))
    }

    /// CRC-32C and SHA-256 have the values of their standards, whatever the file says.
    @Test func theChecksumsAreTheStandards() throws {
        let vectors = try GoldenVectors.checksums()
        #expect(Self.hexadecimal(vectors[0].bytes) == "e3069283")
        #expect(Self.hexadecimal(vectors[2].bytes) == "ba7816bf8f01cfea414140de5dae2223")
        // In parts, at every length: steps of eight bytes and the rest agree with the whole.
        let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37) }
        withBytes(of: bytes) { span in
            var whole = CRC32C()
            whole.update(span, 0..<100)
            for cut in 0...100 {
                var parts = CRC32C()
                parts.update(span, 0..<cut)
                parts.update(span, cut..<100)
                #expect(parts.value == whole.value)
                // Without the processor's instruction it is the same, from any address on.
                var (tables, instruction) = (CRC32C(), CRC32C())
                bytes[cut...].withUnsafeBytes { tables.updateByTables($0) }
                instruction.update(span, cut..<100)
                #expect(tables.value == instruction.value)
            }
        }
    }
}
