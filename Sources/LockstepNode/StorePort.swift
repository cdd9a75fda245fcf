package import LockstepCore

/// The bytes of one frame with answers, kept alive by whoever still has to decode its own.
package final class ReplyFrame: Sendable {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The answers to one submission, in order; a submission's answers may lie in several frames.
package struct RawReplies: Sendable {
    package struct Piece: Sendable {
        package var frame: ReplyFrame
        package var session: SessionID
        package var first: RequestNumber
        package var count: Int
        package var epoch: Epoch
        package var firstSequence: SequenceNumber
        /// ``ReplyItem``s, end to end, in the frame's bytes.
        package var items: Range<Int>
        package init(
            frame: ReplyFrame, session: SessionID, first: RequestNumber, count: Int, epoch: Epoch,
            firstSequence: SequenceNumber, items: Range<Int>
        ) {
            self.frame = frame
            self.session = session
            self.first = first
            self.count = count
            self.epoch = epoch
            self.firstSequence = firstSequence
            self.items = items
        }
    }
    package var pieces: [Piece]
    package init(pieces: [Piece]) { self.pieces = pieces }
}
