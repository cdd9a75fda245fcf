// Reads, and questions for what became of a request (PROTOCOL, section 4).

/// How fresh a read must be.
package enum ReadLevel: UInt8, Hashable, Sendable {
    /// What the node has now.
    case local = 1
    /// At least the sequence number that the reader names.
    case session = 2
    /// Everything acknowledged before the read was sent; answered by the primary.
    case linearizable = 3
}

package struct Read: Hashable, Sendable {
    package var id: UInt64
    package var level: ReadLevel
    package var minimum: SequenceNumber
    /// Only the position is wanted: a replica then waits for it and reads its own state.
    package var isIndexOnly: Bool
    package var query: Range<Int>

    package init(id: UInt64, level: ReadLevel, minimum: SequenceNumber, isIndexOnly: Bool, query: Range<Int>) {
        self.id = id
        self.level = level
        self.minimum = minimum
        self.isIndexOnly = isIndexOnly
        self.query = query
    }
}

package enum ReadStatus: UInt8, Hashable, Sendable {
    case answered = 1
    /// The store's reactor answers no queries, or refused this one; the bytes are a text.
    case refused = 2
    /// The node cannot answer in time; ask again.
    case unavailable = 3
}

package struct ReadResult: Hashable, Sendable {
    package var id: UInt64
    package var status: ReadStatus
    package var epoch: Epoch
    package var sequence: SequenceNumber
    package var time: LogTime
    package var answer: Range<Int>

    package init(
        id: UInt64, status: ReadStatus, epoch: Epoch, sequence: SequenceNumber, time: LogTime, answer: Range<Int>
    ) {
        self.id = id
        self.status = status
        self.epoch = epoch
        self.sequence = sequence
        self.time = time
        self.answer = answer
    }
}

package struct Query: Hashable, Sendable {
    package var session: SessionID
    package var number: RequestNumber

    package init(session: SessionID, number: RequestNumber) {
        self.session = session
        self.number = number
    }
}

package enum QueryStatus: UInt8, Hashable, Sendable {
    /// Logged and not yet committed, or not yet logged and free to be.
    case pending = 1
    /// Answered, and the session's owner said that it has the answer.
    case acknowledged = 2
    case sessionEnded = 3
    case sessionUnknown = 4
}

package struct QueryResult: Hashable, Sendable {
    package var session: SessionID
    package var number: RequestNumber
    package var status: QueryStatus

    package init(session: SessionID, number: RequestNumber, status: QueryStatus) {
        self.session = session
        self.number = number
        self.status = status
    }
}
