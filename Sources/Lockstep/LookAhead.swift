import LockstepCore

// Where lies what is decoded before its turn, so that its memory can be fetched meanwhile: little enough to stay in the
// nearest cache until then.

private let mostItems = 32
private let mostBytes = 1_024

/// Actions of a frame that are decoded together.
struct ActionsAhead {
    private(set) var ranges: [Range<Int>] = []
    /// How many are looked for: few after one that ended the turn, since the next may do so too.
    private var most = mostItems

    mutating func turnEnded(early: Bool) { most = early ? 1 : mostItems }

    /// Finds where the next actions lie; large ones are not among them.
    mutating func look(at frame: RawSpan, from reader: ByteReader, count: Int) {
        ranges.removeAll(keepingCapacity: true)
        var reader = reader
        let end = reader.offset + mostBytes
        let wanted = min(count, most)
        most = min(4 * most, mostItems)
        while ranges.count < wanted {
            guard let range = try? reader.readRange(from: frame), reader.offset <= end else { return }
            ranges.append(range)
        }
    }
}

/// Mutations of a batch that are decoded and applied together.
struct MutationsAhead {
    private(set) var places: [MutationPlace] = []
    private var byteCount = 0

    var isFull: Bool { places.count >= mostItems || byteCount >= mostBytes }

    mutating func add(_ mutation: Range<Int>, entry: Int) {
        places.append(MutationPlace(bytes: mutation, entry: entry))
        byteCount += mutation.count
    }

    mutating func removeAll() {
        places.removeAll(keepingCapacity: true)
        byteCount = 0
    }
}
