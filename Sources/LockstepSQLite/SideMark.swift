import Foundation
package import LockstepCore
import LockstepNode
import Synchronization

/// The newest position that a commit returned for, kept outside SQLite's files (PROTOCOL, R-47).
///
/// SQLite drops the rest of its write-ahead log at the first frame that is damaged and says nothing. The mark finds
/// that.
package struct SideMark: Hashable, Sendable {
    package var incarnation: Incarnation
    /// ``JournalMeta``'s count of replacements at the time of writing.
    package var generation: UInt64
    package var position: Position
}

/// The file of the side mark: two slots, written in turn, so that a torn write leaves the one before.
///
/// A slot is 76 bytes at 0 and at 512, little-endian: magic "LKSM", version, counter, incarnation, generation, epoch,
/// sequence number, hash, CRC-32C of all before it. The valid slot with the higher counter counts.
final class SideMarkFile: Sendable {
    private static let magic: UInt32 = 0x4D53_4B4C
    private static let version: UInt32 = 1
    static let slotBytes = 76
    private static let slotOffsets = [0, 512]

    private let descriptor: Int32
    private let counter: Mutex<UInt64>

    /// What a file of the mark holds.
    enum Content: Hashable, Sendable {
        case missing
        /// No slot can be read.
        case unreadable
        /// `isWhole` is false if the other slot cannot be read: a torn write, or damage.
        case mark(SideMark, isWhole: Bool)
    }

    /// Opens the file for writing, and makes it if it is not there.
    init(path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw LockstepError(
                .journalUnwritable,
                "The side mark \(path) cannot be opened (\(systemMessage())). Check owner and mode of the folder.")
        }
        let slots = Self.slots(of: descriptor)
        counter = Mutex(slots.compactMap { $0?.counter }.max() ?? 0)
    }

    deinit { _ = Foundation.close(descriptor) }

    /// Reads a file without opening it for writing.
    static func read(path: String) -> Content {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return errno == ENOENT ? .missing : .unreadable }
        defer { _ = Foundation.close(descriptor) }
        let slots = slots(of: descriptor)
        guard let newest = slots.compactMap({ $0 }).max(by: { $0.counter < $1.counter }) else { return .unreadable }
        return .mark(newest.mark, isWhole: !slots.contains { $0 == nil })
    }

    /// Writes the mark over the older slot, without a sync.
    ///
    /// Cost: one system call.
    func write(_ mark: SideMark) throws {
        try counter.withLock { counter in
            counter += 1
            let bytes = Self.encode(mark, counter: counter)
            let offset = Self.slotOffsets[Int(counter % 2)]
            let written = retrying { pwrite(descriptor, bytes, bytes.count, off_t(offset)) }
            guard written == bytes.count else {
                throw Self.failure("written")
            }
        }
    }

    /// Fills both slots and syncs: for a new file, and after the log was replaced.
    func reset(_ mark: SideMark) throws {
        try write(mark)
        try write(mark)
        try sync()
    }

    func sync() throws {
        guard retrying({ fsync(descriptor) }) == 0 else {
            throw Self.failure("synced")
        }
    }

    private static func failure(_ what: String) -> LockstepError {
        LockstepError(
            .journalFailed,
            "The journal's side mark cannot be \(what) (\(systemMessage())). Check the disk, then start again.")
    }

    private static func slots(of descriptor: Int32) -> [(mark: SideMark, counter: UInt64)?] {
        slotOffsets.map { offset in
            var bytes = [UInt8](repeating: 0, count: slotBytes)
            let count = retrying { pread(descriptor, &bytes, slotBytes, off_t(offset)) }
            return count == slotBytes ? decode(bytes) : nil
        }
    }

    static func encode(_ mark: SideMark, counter: UInt64) -> [UInt8] {
        var writer = ByteWriter(capacity: slotBytes)
        writer.write(magic)
        writer.write(version)
        writer.write(counter)
        writer.write128(mark.incarnation.rawValue)
        writer.write(mark.generation)
        writer.write(mark.position.epoch.rawValue)
        writer.write(mark.position.sequence.rawValue)
        writer.write128(mark.position.hash.rawValue)
        writer.write(checksum(writer.bytes, writer.count))
        return writer.bytes
    }

    /// Reads a slot of whole length; nil if it is none.
    static func decode(_ bytes: [UInt8]) -> (mark: SideMark, counter: UInt64)? {
        // A slot that cannot be read is an answer of this function, so the reader's reason is not needed.
        try? withBytes(of: bytes) { (span) throws(WireError) -> (SideMark, UInt64)? in
            var reader = ByteReader(span)
            guard try reader.read(UInt32.self, from: span) == magic else { return nil }
            guard try reader.read(UInt32.self, from: span) == version else { return nil }
            let counter = try reader.read(UInt64.self, from: span)
            let incarnation = Incarnation(rawValue: try reader.read128(from: span))
            let generation = try reader.read(UInt64.self, from: span)
            let position = Position(
                epoch: Epoch(rawValue: try reader.read(from: span)),
                sequence: SequenceNumber(rawValue: try reader.read(from: span)),
                hash: BatchHash(rawValue: try reader.read128(from: span)))
            guard try reader.read(UInt32.self, from: span) == checksum(bytes, slotBytes - 4) else { return nil }
            return (SideMark(incarnation: incarnation, generation: generation, position: position), counter)
        }
    }

    private static func checksum(_ bytes: [UInt8], _ count: Int) -> UInt32 {
        var checksum = CRC32C()
        withBytes(of: bytes) { checksum.update($0, 0..<count) }
        return checksum.value
    }
}

/// The text of `errno`.
func systemMessage() -> String { String(cString: strerror(errno)) }

/// Repeats a system call that a signal interrupted.
func retrying<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}

/// Syncs a folder, so that the names of new files survive a power cut.
package func syncFolder(_ path: String) throws {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { if descriptor >= 0 { _ = Foundation.close(descriptor) } }
    guard descriptor >= 0, retrying({ fsync(descriptor) }) == 0 else {
        throw LockstepError(
            .journalFailed, "The folder \(path) cannot be synced (\(systemMessage())). Check the disk.")
    }
}
