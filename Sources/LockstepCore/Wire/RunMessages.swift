/// What a sender wants of one of its accepted actions.
package enum RunWish: UInt8, Hashable, Sendable {
    /// Its end, as soon as there is one.
    case await = 1
    /// An end now; the answer is whatever end it gets.
    case cancel = 2
    /// Nothing more: it has the end.
    case acknowledge = 3
}

/// RUN_REQUEST: what the owner of a session wants of its accepted actions; repeated until it has it.
package struct RunMessage: Hashable, Sendable {
    package var session: SessionID
    /// In the order of their numbers, each number once; at most ``Limits/runWishes``.
    package var wishes: [Wish]

    package struct Wish: Hashable, Sendable {
        package var number: RequestNumber
        package var kind: RunWish
        package init(number: RequestNumber, kind: RunWish) {
            self.number = number
            self.kind = kind
        }
    }

    package init(session: SessionID, wishes: [Wish]) {
        self.session = session
        self.wishes = wishes
    }
}

/// RUN_ENDED: the end of an accepted action, its second answer.
package struct RunEnded: Hashable, Sendable {
    package var id: RunID
    package var epoch: Epoch
    package var sequence: SequenceNumber
    /// How many of its emissions are in the log, of all attempts.
    package var emissions: UInt64
    /// One ``ReplyItem``; rejected means failed, void cancelled.
    package var item: Range<Int>

    package init(id: RunID, epoch: Epoch, sequence: SequenceNumber, emissions: UInt64, item: Range<Int>) {
        self.id = id
        self.epoch = epoch
        self.sequence = sequence
        self.emissions = emissions
        self.item = item
    }
}

extension RunMessage {
    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        session = try reader.readSession(from: bytes)
        let start = reader.offset
        wishes = try reader.readList(from: bytes, smallestItem: 2) { (reader) throws(WireError) in
            Wish(number: try reader.readVarint(from: bytes), kind: try reader.readCase(RunWish.self, from: bytes))
        }
        // Each number once, so that a small frame cannot ask for the same large end many times.
        guard wishes.count <= Limits.runWishes, zip(wishes, wishes.dropFirst()).allSatisfy({ $0.number < $1.number })
        else { throw WireError(.outOfRange, at: start) }
    }

    func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.writeVarint(UInt64(wishes.count))
        for wish in wishes {
            writer.writeVarint(wish.number)
            writer.write(wish.kind.rawValue)
        }
    }
}

extension RunEnded {
    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        id = try RunID(from: bytes, &reader)
        epoch = Epoch(rawValue: try reader.readVarint(from: bytes))
        sequence = SequenceNumber(rawValue: try reader.readVarint(from: bytes))
        emissions = try reader.readVarint(from: bytes)
        item = try reader.readRange(from: bytes)
    }

    func write(to writer: inout ByteWriter, source: RawSpan) {
        id.write(to: &writer)
        writer.writeVarint(epoch.rawValue)
        writer.writeVarint(sequence.rawValue)
        writer.writeVarint(emissions)
        writer.writeRange(source, item)
    }
}

extension RunID {
    init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        self.init(session: try reader.readSession(from: bytes), number: try reader.readVarint(from: bytes))
    }

    func write(to writer: inout ByteWriter) {
        writer.writeSession(session)
        writer.writeVarint(number)
    }
}
