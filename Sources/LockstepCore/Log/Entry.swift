/// What became of an action; two bits in front of every reply (PROTOCOL, R-22).
package enum ActionStatus: UInt8, Hashable, Sendable {
    /// Its mutations, if any, are in the log.
    case committed = 0
    /// It is certainly without effect; the reply is the reason, a text.
    case rejected = 1
    /// Its number was given up before it reached the log; it is certainly without effect.
    case void = 2
    /// It began an effect; the end is a second answer, which follows (PROTOCOL, R-60).
    case accepted = 3
}

/// The kinds of records that a batch is made of.
///
/// The numbers are the wire's (PROTOCOL, section 6).
package enum EntryKind: UInt8, Hashable, Sendable {
    case actions = 1
    case epochOpen = 2
    case sessionOpen = 3
    case sessionClose = 4
    case sessionExpire = 5
    case sessionAck = 6
    case digestMark = 7
    case clockJump = 8
    case accepted = 9
    case emitted = 10
    case finished = 11
    case runAck = 12
    /// `sessionOpen` with the name of who opened it.
    case sessionOpenNamed = 13
}

/// Entries of one session with consecutive numbers, which share one header (PROTOCOL, R-14).
package struct ActionSeries: Hashable, Sendable {
    package var session: SessionID
    package var first: RequestNumber
    package var ackedThrough: RequestNumber
    package var count: Int
    /// The items, in the batch's bytes: each a head, the mutations, and the reply.
    package var items: Range<Int>

    package init(session: SessionID, first: RequestNumber, ackedThrough: RequestNumber, count: Int, items: Range<Int>) {
        self.session = session
        self.first = first
        self.ackedThrough = ackedThrough
        self.count = count
        self.items = items
    }
}

/// A session and the number up to which its owner has the answers.
package struct SessionAcknowledgement: Hashable, Sendable {
    package var session: SessionID
    package var through: RequestNumber

    package init(session: SessionID, through: RequestNumber) {
        self.session = session
        self.through = through
    }
}

/// One record of a batch.
///
/// All but ``actions(_:)`` are one entry with one sequence number.
package enum Entry: Hashable, Sendable {
    case actions(ActionSeries)
    case epochOpen(node: String, incarnation: Incarnation, boot: BootID)
    /// With the name that the access list has for who opened it; nil where there are no keys.
    case sessionOpen(Open, sender: String? = nil)
    case sessionClose(SessionID)
    case sessionExpire([SessionID])
    case sessionAck([SessionAcknowledgement])
    /// The digest of state and sessions after this entry, which is the last of its batch.
    case digestMark(Digest)
    case clockJump(LogTime)
    /// An action whose effect goes on: session, number, and the action's bytes.
    case accepted(session: SessionID, number: RequestNumber, ackedThrough: RequestNumber, action: Range<Int>)
    /// Mutations that no action of this entry brought: their cause, and a count and the mutations, each after its
    /// length.
    case emitted(cause: EffectCause, mutations: Range<Int>)
    /// The end of an accepted action: its last mutations and its reply, as an item.
    ///
    /// Rejected means here that the effect failed, void that it was cancelled.
    case finished(session: SessionID, number: RequestNumber, item: Range<Int>)
    /// The senders of these actions have their ends.
    case runAck([RunID])

    var opensEpoch: Bool {
        if case .epochOpen = self { true } else { false }
    }

    /// Whether somebody may have been told of it: anything but the opening of an epoch and a mark.
    package var tellsSomething: Bool {
        switch self {
        case .epochOpen, .digestMark: false
        case .actions, .sessionOpen, .sessionClose, .sessionExpire, .sessionAck, .clockJump, .accepted, .emitted,
            .finished, .runAck:
            true
        }
    }

    /// How many sequence numbers the record takes.
    package var sequenceCount: Int {
        guard case .actions(let series) = self else { return 1 }
        return series.count
    }
}

/// What an emission belongs to.
package enum EffectCause: Hashable, Sendable {
    case action(SessionID, RequestNumber)
    /// An external source, by name.
    case source(String)
    /// Log time reached what the state waits for.
    case time
    /// An effect that the state asks for, by the name of its feedback.
    case feedback(String)
}

extension ActionSeries {
    /// Reads a series, which follows the kind of its entry; the entry begins at `start`.
    fileprivate init(from bytes: RawSpan, _ reader: inout ByteReader, at start: Int) throws(WireError) {
        session = try reader.readSession(from: bytes)
        first = try reader.readVarint(from: bytes)
        ackedThrough = try reader.readVarint(from: bytes)
        count = Int(try reader.read(UInt32.self, from: bytes))
        let length = Int(try reader.read(UInt32.self, from: bytes))
        let itemsStart = try reader.skip(length)
        items = itemsStart..<itemsStart + length
        // An item is at least two bytes long, so a count that is too large is found before anything is reserved.
        guard first > 0, first < UInt64(Int64.max) - UInt64(count), ackedThrough < first, count > 0,
            count <= length / 2
        else { throw WireError(.outOfRange, at: start) }
    }
}

extension Entry {
    /// Reads the next record of a batch.
    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        guard let kind = EntryKind(rawValue: try reader.read(UInt8.self, from: bytes)) else {
            throw WireError(.unknownKind, at: start)
        }
        switch kind {
        case .actions:
            self = .actions(try ActionSeries(from: bytes, &reader, at: start))
        case .epochOpen:
            self = .epochOpen(
                node: try reader.readName(from: bytes),
                incarnation: Incarnation(rawValue: try reader.read128(from: bytes)),
                boot: BootID(rawValue: try reader.read128(from: bytes)))
        case .sessionOpen:
            self = .sessionOpen(try Open(from: bytes, &reader), sender: nil)
        case .sessionOpenNamed:
            let open = try Open(from: bytes, &reader)
            let start = reader.offset
            let sender = try reader.readName(from: bytes)
            // A snapshot says with an empty name that nobody is named.
            guard !sender.isEmpty else { throw WireError(.outOfRange, at: start) }
            self = .sessionOpen(open, sender: sender)
        case .sessionClose:
            self = .sessionClose(try reader.readSession(from: bytes))
        case .sessionExpire:
            self = .sessionExpire(
                try reader.readList(from: bytes, smallestItem: 2) { (reader) throws(WireError) in
                    try reader.readSession(from: bytes)
                })
        case .sessionAck:
            self = .sessionAck(
                try reader.readList(from: bytes, smallestItem: 3) { (reader) throws(WireError) in
                    SessionAcknowledgement(
                        session: try reader.readSession(from: bytes), through: try reader.readVarint(from: bytes))
                })
        case .digestMark:
            self = .digestMark(Digest(rawValue: try reader.read128(from: bytes)))
        case .clockJump:
            self = .clockJump(LogTime(rawValue: try reader.read(from: bytes)))
        case .accepted:
            self = .accepted(
                session: try reader.readSession(from: bytes), number: try reader.readVarint(from: bytes),
                ackedThrough: try reader.readVarint(from: bytes), action: try reader.readRange(from: bytes))
        case .emitted:
            self = .emitted(
                cause: try EffectCause(from: bytes, &reader), mutations: try reader.readRange(from: bytes))
        case .finished:
            self = .finished(
                session: try reader.readSession(from: bytes), number: try reader.readVarint(from: bytes),
                item: try reader.readRange(from: bytes))
        case .runAck:
            self = .runAck(
                try reader.readList(from: bytes, smallestItem: 3) { (reader) throws(WireError) in
                    try RunID(from: bytes, &reader)
                })
        }
    }

    /// Writes the record, except `actions`, which ``BatchBuilder`` writes as it grows; ranges refer to `source`.
    package func write(to writer: inout ByteWriter, source: RawSpan) {
        switch self {
        case .actions:
            preconditionFailure("a series of actions is written by BatchBuilder")
        case .epochOpen(let node, let incarnation, let boot):
            writer.write(EntryKind.epochOpen.rawValue)
            writer.writeString(node)
            writer.write128(incarnation.rawValue)
            writer.write128(boot.rawValue)
        case .sessionOpen(let open, let sender):
            writer.write((sender == nil ? EntryKind.sessionOpen : .sessionOpenNamed).rawValue)
            open.write(to: &writer)
            if let sender { writer.writeString(sender) }
        case .sessionClose(let session):
            writer.write(EntryKind.sessionClose.rawValue)
            writer.writeSession(session)
        case .sessionExpire(let sessions):
            writer.write(EntryKind.sessionExpire.rawValue)
            writer.writeVarint(UInt64(sessions.count))
            for session in sessions { writer.writeSession(session) }
        case .sessionAck(let acknowledgements):
            writer.write(EntryKind.sessionAck.rawValue)
            writer.writeVarint(UInt64(acknowledgements.count))
            for acknowledgement in acknowledgements {
                writer.writeSession(acknowledgement.session)
                writer.writeVarint(acknowledgement.through)
            }
        case .digestMark(let digest):
            writer.write(EntryKind.digestMark.rawValue)
            writer.write128(digest.rawValue)
        case .clockJump(let time):
            writer.write(EntryKind.clockJump.rawValue)
            writer.write(time.rawValue)
        case .accepted(let session, let number, let ackedThrough, let action):
            writer.write(EntryKind.accepted.rawValue)
            writer.writeSession(session)
            writer.writeVarint(number)
            writer.writeVarint(ackedThrough)
            writer.writeRange(source, action)
        case .emitted(let cause, let mutations):
            writer.write(EntryKind.emitted.rawValue)
            cause.write(to: &writer)
            writer.writeRange(source, mutations)
        case .finished(let session, let number, let item):
            writer.write(EntryKind.finished.rawValue)
            writer.writeSession(session)
            writer.writeVarint(number)
            writer.writeRange(source, item)
        case .runAck(let runs):
            writer.write(EntryKind.runAck.rawValue)
            writer.writeVarint(UInt64(runs.count))
            for run in runs { run.write(to: &writer) }
        }
    }
}

extension EffectCause {
    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let start = reader.offset
        switch try reader.read(UInt8.self, from: bytes) {
        case 1: self = .action(try reader.readSession(from: bytes), try reader.readVarint(from: bytes))
        case 2: self = .source(try reader.readName(from: bytes))
        case 3: self = .time
        case 4: self = .feedback(try reader.readName(from: bytes))
        default: throw WireError(.unknownKind, at: start)
        }
    }

    func write(to writer: inout ByteWriter) {
        switch self {
        case .action(let session, let number):
            writer.write(UInt8(1))
            writer.writeSession(session)
            writer.writeVarint(number)
        case .source(let name):
            writer.write(UInt8(2))
            writer.writeString(name)
        case .time: writer.write(UInt8(3))
        case .feedback(let name):
            writer.write(UInt8(4))
            writer.writeString(name)
        }
    }
}
