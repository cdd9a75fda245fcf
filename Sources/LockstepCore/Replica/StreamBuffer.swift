import DequeModule

/// What a replica keeps of the stream until it can apply it: while it joins, and after a hole (PROTOCOL, R-31).
///
/// Batches are in order and do not overlap; there may be holes. When the bytes are above the capacity the oldest go.
struct StreamBuffer: Hashable, Sendable {
    struct Part: Hashable, Sendable {
        let head: BatchHead
        /// Head and entries; nil if the stream brought the head only.
        let bytes: [UInt8]?

        /// What it takes in memory, roughly.
        var cost: Int { (bytes?.count ?? 0) + 192 }

        /// How it stands to a log.
        enum Fit: Hashable, Sendable {
            /// All of it is applied, or was replaced by what is.
            case past
            case next
            /// There is a hole before it.
            case early
            /// It overlaps the end, or has another past.
            case foreign
        }

        func fit(after position: Position) -> Fit {
            if head.last <= position.sequence { return .past }
            if head.first > position.sequence.next { return .early }
            return head.first == position.sequence.next && head.previous == position.hash ? .next : .foreign
        }
    }

    private var parts: Deque<Part> = []
    private(set) var byteCount = 0
    let capacity: Int

    init(capacity: Int = Limits.joinBufferBytes) { self.capacity = capacity }

    var isEmpty: Bool { parts.isEmpty }
    var first: Part? { parts.first }

    /// What became of a part that was offered.
    enum Insertion: Hashable, Sendable {
        case kept
        /// It is here already, or overlaps what is here.
        case duplicate
        /// It was kept, and this many of the oldest had to go.
        case dropped(Int)
    }

    /// Keeps a part at its place, and at most `capacity` bytes of parts; cheap at the end, where the stream puts it.
    mutating func insert(_ part: Part, capacity: Int) -> Insertion {
        var index = parts.count
        while index > 0, parts[index - 1].head.first >= part.head.first { index -= 1 }
        if index < parts.count, parts[index].head.first <= part.head.last {
            let present = parts[index]
            // A whole batch is worth more than its head.
            guard present.head == part.head, present.bytes == nil, part.bytes != nil else { return .duplicate }
            parts[index] = part
            byteCount += part.cost - present.cost
            return trimmed(to: capacity)
        }
        if index > 0, parts[index - 1].head.last >= part.head.first { return .duplicate }
        if index == parts.count { parts.append(part) } else { parts.insert(part, at: index) }
        byteCount += part.cost
        return trimmed(to: capacity)
    }

    private mutating func trimmed(to capacity: Int) -> Insertion {
        var dropped = 0
        while byteCount > capacity, parts.count > 1 {
            removeFirst()
            dropped += 1
        }
        return dropped == 0 ? .kept : .dropped(dropped)
    }

    mutating func removeFirst() {
        guard let part = parts.popFirst() else { return }
        byteCount -= part.cost
    }

    mutating func removeAll() {
        parts = []
        byteCount = 0
    }

    /// Checks order and sizes, and that every batch is of `epoch`, the publisher's.
    func checkInvariants(epoch: Epoch?) {
        var sum = 0
        var last = SequenceNumber.zero
        for part in parts {
            precondition(part.head.epoch == epoch, "buffered batches are the publisher's")
            precondition(part.head.first > last, "buffered batches are in order and do not overlap")
            last = part.head.last
            sum += part.cost
        }
        precondition(sum == byteCount, "the buffer knows its size")
        precondition(byteCount <= capacity || parts.count == 1, "the buffer is bounded")
    }
}
