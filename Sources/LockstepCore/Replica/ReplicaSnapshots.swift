/// The snapshots that a replica takes of itself, for its journal and for joiners: one at a time.
///
/// The journal gets one of a mark, whose digest was compared; the image is taken at the end of the event, since the
/// driver takes it after all that the event applies. A joiner, and a journal that begins anew, do not wait for a mark,
/// which need not come.
struct ReplicaSnapshots: Hashable, Sendable {
    /// The journal has grown: the next mark takes a snapshot.
    private var isDue = false
    /// A mark was reached in this event.
    private(set) var isCaptureDue = false
    /// The snapshot that is being encoded is for the journal as well.
    private(set) var isForJournal = false
    private var next: SnapshotNumber = 1
    private var encoding: SnapshotNumber?
    /// How the driver cuts the snapshot that it is to encode.
    private(set) var chunkBytes = Limits.chunkBytes

    var isEncoding: Bool { encoding != nil }

    /// The journal has grown, and gets the next snapshot.
    mutating func journalHasGrown() { isDue = true }

    /// A mark was reached, and the digest there is right.
    mutating func markReached() {
        if isDue { isCaptureDue = true }
    }

    /// The event ends: what was due in it was taken, or is due no more.
    mutating func eventEnded() { isCaptureDue = false }

    /// The number of the snapshot that is taken now; it also serves the journal if that waits for one.
    mutating func take(chunkBytes: Int) -> SnapshotNumber {
        precondition(encoding == nil, "one snapshot is encoded at a time")
        defer { next += 1 }
        isForJournal = isDue
        isDue = false
        self.chunkBytes = chunkBytes
        encoding = next
        return next
    }

    /// The encoding of this snapshot has ended; false if what it shows was found wrong, or was replaced, meanwhile.
    mutating func ended(_ number: SnapshotNumber) -> Bool {
        guard encoding == number else { return false }
        encoding = nil
        return true
    }

    /// What is being encoded is of no use: the state is wrong, or is replaced.
    mutating func forget() { encoding = nil }

    func checkInvariants() {
        precondition(!isCaptureDue, "what is due in an event is taken at its end")
        precondition(encoding == nil || encoding == next - 1, "the newest snapshot is encoded")
    }
}
