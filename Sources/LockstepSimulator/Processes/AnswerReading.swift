import LockstepCore

// What an answer says, read from the frame that it came in.

extension ClientDirective.Answers {
    /// Status and bytes of each.
    func read(in frame: [UInt8]) -> [(ActionStatus, [UInt8])] {
        withBytes(of: frame) { bytes in
            var reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
            var found: [(ActionStatus, [UInt8])] = []
            while found.count < count, let item = try? ReplyItem(from: bytes, &reader) {
                found.append((item.status, Array(frame[item.reply])))
            }
            return found
        }
    }
}

extension RunEnded {
    /// How the action ended; nil if that cannot be read.
    func read(in frame: [UInt8]) -> (status: ActionStatus, reply: [UInt8])? {
        withBytes(of: frame) { bytes in
            var reader = ByteReader(offset: item.lowerBound, end: item.upperBound)
            return (try? ReplyItem(from: bytes, &reader)).map { ($0.status, Array(frame[$0.reply])) }
        }
    }
}
