package import LockstepCore

/// What the log answers to a number of a session, as the checkers read it.
package struct LogReply: Hashable, Sendable {
    package var epoch: Epoch
    package var sequence: SequenceNumber
    package var status: ActionStatus
    package var bytes: [UInt8]
    /// The batch that it stands in.
    package var batch: BatchHash

    package init(epoch: Epoch, sequence: SequenceNumber, status: ActionStatus, bytes: [UInt8], batch: BatchHash) {
        self.epoch = epoch
        self.sequence = sequence
        self.status = status
        self.bytes = bytes
        self.batch = batch
    }

    package struct Key: Hashable, Sendable {
        package var session: SessionID
        package var number: RequestNumber

        package init(session: SessionID, number: RequestNumber) {
            self.session = session
            self.number = number
        }
    }
}
