/// A snapshot's bytes: what the log determines, then the user's state (PROTOCOL, section 7).
package struct SnapshotContent: Sendable {
    package var log: LogState
    /// Of the user's state and the sessions together, at ``LogState/position``.
    package var digest: Digest
    package var state: [UInt8]

    private static let magic: UInt32 = 0x4B4C_534E
    /// Version 1 has no runs; versions 1 and 2 do not say what was told; versions 1 to 3 do not name who opened a session.
    private static let version: UInt32 = 4

    package init(log: LogState, digest: Digest, state: [UInt8]) {
        self.log = log
        self.digest = digest
        self.state = state
    }

    package func encoded() -> [UInt8] {
        var writer = ByteWriter(capacity: state.count + 4_096)
        writer.write(Self.magic)
        writer.write(Self.version)
        writer.write128(log.store.rawValue)
        writer.writePosition(log.position)
        writer.write128(log.boot.rawValue)
        writer.write(log.time.rawValue)
        writer.write128(digest.rawValue)
        writer.write(log.mark?.sequence.rawValue ?? 0)
        writer.write128(log.mark?.digest.rawValue ?? 0)
        writer.writePosition(log.told.position)
        writer.write128(log.told.boot.rawValue)
        writer.writeEpochEnds(log.epochEnds)
        log.sessions.write(to: &writer)
        log.runs.write(to: &writer)
        writer.writeBytes(state)
        return writer.bytes
    }

    package init(_ bytes: [UInt8]) throws(WireError) {
        self = try withBytes(of: bytes) { (span) throws(WireError) in
            var reader = ByteReader(span)
            guard try reader.read(UInt32.self, from: span) == Self.magic else { throw WireError(.wrongMagic, at: 0) }
            let version = try reader.read(UInt32.self, from: span)
            guard (1...Self.version).contains(version) else { throw WireError(.wrongVersion, at: 4) }
            var log = LogState(store: StoreID(rawValue: try reader.read128(from: span)))
            log.position = try reader.readPosition(from: span)
            log.boot = BootID(rawValue: try reader.read128(from: span))
            log.time = LogTime(rawValue: try reader.read(from: span))
            let digest = Digest(rawValue: try reader.read128(from: span))
            let markSequence = SequenceNumber(rawValue: try reader.read(from: span))
            let markDigest = Digest(rawValue: try reader.read128(from: span))
            // A mark after the position belongs to another log.
            guard markSequence <= log.position.sequence, markSequence > .zero || markDigest == .none else {
                throw WireError(.outOfRange, at: reader.offset)
            }
            if markSequence > .zero { log.mark = LogState.Mark(sequence: markSequence, digest: markDigest) }
            // Without the fields all counts as told, the careful side; nothing was told of an empty log.
            let all = log.position.sequence > .zero ? log.known : .none
            log.told = version > 2 ? try Self.told(from: span, &reader, through: log.position) : all
            log.epochEnds = try reader.readEpochEnds(from: span)
            log.sessions = try SessionTable(from: span, &reader, hasSenders: version > 3)
            // A session after the position would be opened once more by the entry that stands there.
            guard log.sessions.areOpened(through: log.position) else {
                throw WireError(.outOfRange, at: reader.offset)
            }
            if version > 1 { log.runs = try RunTable(from: span, &reader) }
            guard log.runs.isPossible(with: log.sessions, at: log.position) else {
                throw WireError(.outOfRange, at: reader.offset)
            }
            let state = try reader.readBytes(from: span)
            try reader.finish()
            return SnapshotContent(log: log, digest: digest, state: state)
        }
    }

    /// The place up to which somebody was told something: zero, or a place of the log.
    private static func told(
        from span: RawSpan, _ reader: inout ByteReader, through end: Position
    ) throws(WireError) -> KnownPosition {
        let position = try reader.readPosition(from: span)
        let boot = BootID(rawValue: try reader.read128(from: span))
        let told = KnownPosition(position: position, boot: boot)
        let isPlace =
            position.sequence > .zero && position.epoch <= end.epoch
            && (position.sequence < end.sequence || position == end)
        guard told == .none || isPlace else { throw WireError(.outOfRange, at: reader.offset) }
        return told
    }
}
