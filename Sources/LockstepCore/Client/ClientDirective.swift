/// What a client's machine wants done.
///
/// Directives are executed in the order given, before the next event.
package enum ClientDirective: Hashable, Sendable {
    /// Close the connection if there is one and open a new one to this endpoint.
    case connect(endpoint: String)
    /// Send a frame on the connection.
    case send([UInt8])
    /// The peer answered HELLO; also the first of those that are sent to see whether the connection lives.
    case welcomed(Welcome)
    /// The session is open: everything submitted from now on belongs to it, and its numbers begin at 1.
    case opened(SessionID)
    /// Answers to the oldest unanswered numbers, in order; the items lie in the frame that is being received.
    case answered(Answers)
    /// The session ended with these numbers unanswered: their outcome is unknown, for ever (PROTOCOL, R-27).
    case lost(session: SessionID, numbers: ClosedRange<RequestNumber>?)
    /// The end of an accepted action, its second answer; the item lies in the frame that is being received.
    case ended(RunEnded)
    /// The end of an accepted action will not be learnt: its session is over, or somebody else acknowledged it.
    case endLost(RunID)
    /// A read was answered; the bytes lie in the frame that is being received.
    case readAnswered(ReadResult)
    /// The node cannot answer a read now, and why: a text, which may be empty, in the frame that is being received. The
    /// read waits, and is asked again.
    case readDelayed(ReadResult)
    /// A watched query has another answer, is refused, or cannot be answered now, with the reason as a text; the bytes lie
    /// in the frame that is being received.
    case watchAnswered(ReadResult)
    /// A number that was asked about and has no answer now.
    case queried(QueryResult)
    /// A number that was asked about and its answer, one item in the frame that is being received.
    case queryAnswered(SessionID, Answers)
    /// The peer refused this client, or its OPEN; the machine tries again by itself, slowly where only an operator
    /// can help. It follows ``RefusalReason/notPrimary`` to the endpoint named without saying so.
    case refused(Refused)
    /// The node at this endpoint is a replica, and names no primary that could be gone to: none, or one that sent the
    /// client here (PROTOCOL, R-38). The machine begins again where it was told to.
    case noPrimary(at: String)
    /// The session was closed as asked, or the time for that is over; nothing follows.
    case closed
    case count(ProtocolCounter)

    package struct Answers: Hashable, Sendable {
        package var first: RequestNumber
        package var count: Int
        package var epoch: Epoch
        package var firstSequence: SequenceNumber
        /// ``ReplyItem``s, end to end; they were walked, so each can be read and they fill the range.
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
