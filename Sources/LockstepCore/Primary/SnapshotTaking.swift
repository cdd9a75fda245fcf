/// The snapshot that a primary takes: wanted, captured, and encoded when its place has committed.
///
/// One at a time. Joiners want it, and the journal when it has grown (``JournalLine`` says when that is); one that is
/// under way serves both.
package struct SnapshotTaking: Hashable, Sendable {
    private enum Progress: Hashable, Sendable {
        case none
        case captured(SnapshotNumber, at: SequenceNumber)
        case encoding(SnapshotNumber)
    }

    private var progress: Progress = .none
    private var isWanted = false
    /// The journal has grown, and gets the next snapshot.
    private var isSaveDue = false
    private var next: SnapshotNumber = 1
    /// How the driver cuts the snapshot that it is to encode.
    private(set) var chunkBytes = Limits.chunkBytes

    var isIdle: Bool { progress == .none }
    /// Whether one is to be taken now.
    var isDue: Bool { isWanted && isIdle }

    /// A joiner waits for one.
    mutating func want() { if isIdle { isWanted = true } }

    /// The journal has grown.
    mutating func wantSaved() {
        isSaveDue = true
        want()
    }

    /// The state at `sequence` is being captured, in chunks of so many bytes; returns the snapshot's number.
    mutating func captured(at sequence: SequenceNumber, chunkBytes: Int) -> SnapshotNumber {
        precondition(isIdle, "one snapshot is taken at a time")
        defer { next += 1 }
        isWanted = false
        self.chunkBytes = chunkBytes
        progress = .captured(next, at: sequence)
        return next
    }

    /// Everything through `sequence` has committed; returns the snapshot that is to be encoded now.
    mutating func committed(through sequence: SequenceNumber) -> SnapshotNumber? {
        guard case .captured(let number, let at) = progress, at <= sequence else { return nil }
        progress = .encoding(number)
        return number
    }

    /// It is encoded; returns whether the journal gets it.
    mutating func encoded(_ number: SnapshotNumber) -> Bool {
        precondition(progress == .encoding(number), "this snapshot is not being encoded")
        progress = .none
        defer { isSaveDue = false }
        return isSaveDue
    }

    /// It could not be encoded.
    mutating func failed() { progress = .none }
}
