/// What a client's machine wants done. Directives run in the order given, before the next event.
package enum ClientDirective: Hashable, Sendable {
    /// Close the connection if there is one and open a new one to this endpoint. `nil`: the machine has no endpoint
    /// but the configured one.
    case connect(endpoint: String)
    /// Send a frame on the connection.
    case send([UInt8])
    /// The peer answered HELLO.
    case welcomed(Welcome)
    /// The session is open: everything submitted from now on belongs to it.
    case opened(SessionID)
    /// Answers to the oldest unanswered numbers, in order; the items lie in the frame that is being received.
    case answered(Answers)
    /// The session ended with these numbers unanswered: their outcome is unknown, for ever (PROTOCOL, R-27).
    case lost(session: SessionID, numbers: ClosedRange<RequestNumber>?)
    /// A read was answered; the bytes lie in the frame that is being received.
    case readAnswered(ReadResult)
    /// A number that was asked about; the status, if it has no answer.
    case queried(QueryResult)
    /// The peer refused this client; it tries again by itself only for ``RefusalReason/notPrimary`` and
    /// ``RefusalReason/unavailable``.
    case refused(Refused)
    /// The session was closed as asked.
    case closed
    case count(ProtocolCounter)

    package struct Answers: Hashable, Sendable {
        package var first: RequestNumber
        package var count: Int
        package var epoch: Epoch
        package var firstSequence: SequenceNumber
        /// ``ReplyItem``s, end to end.
        package var items: Range<Int>
        package init(
            first: RequestNumber, count: Int, epoch: Epoch, firstSequence: SequenceNumber, items: Range<Int>
        ) {
            self.first = first
            self.count = count
            self.epoch = epoch
            self.firstSequence = firstSequence
            self.items = items
        }
    }
}
