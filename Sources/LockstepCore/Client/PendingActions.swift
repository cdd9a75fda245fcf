import DequeModule

/// The actions of a session that have no answer yet, in the order of their numbers, kept for submitting them again.
///
/// ```
///  answered | sent, unanswered (frames) | unsent | next
///           first chunk ...            unsentIndex
/// ```
/// Chunks follow each other without holes from the first unanswered number to ``next`` - 1. The first may be answered
/// in part; it is cut only when it is to be sent again, which is rare.
struct PendingActions: Hashable, Sendable {
    struct Chunk: Hashable, Sendable {
        var first: RequestNumber
        var count: Int
        /// Actions, each after its length; empty if void.
        var bytes: [UInt8]
        var isVoid = false
        var last: RequestNumber { first + UInt64(count) - 1 }
    }

    private(set) var chunks: Deque<Chunk> = []
    /// The first chunk that was not sent since the last ``goBack(to:)``.
    private(set) var unsentIndex = 0
    private(set) var unsentBytes = 0
    private(set) var byteCount = 0
    /// The highest number that has its answer.
    private(set) var answered: RequestNumber = 0
    /// The number that the next action gets.
    private(set) var next: RequestNumber = 1
    /// The last numbers of the frames that are sent and not wholly answered.
    private(set) var frames: Deque<RequestNumber> = []

    var isEmpty: Bool { chunks.isEmpty }
    var count: UInt64 { next - 1 - answered }
    var hasUnsent: Bool { unsentIndex < chunks.count }
    var hasSent: Bool { unsentIndex > 0 }
    var unanswered: ClosedRange<RequestNumber>? { count > 0 ? answered + 1...next - 1 : nil }
    private var nextToSend: RequestNumber { hasUnsent ? chunks[unsentIndex].first : next }

    mutating func append(_ bytes: [UInt8], count: Int) -> RequestNumber {
        let first = next
        chunks.append(Chunk(first: first, count: count, bytes: bytes))
        next += UInt64(count)
        byteCount += bytes.count
        unsentBytes += bytes.count
        return first
    }

    /// The chunks of the next frame, which now count as sent: of one sort, and as many as the limits allow but one.
    ///
    /// A frame of one action holds nothing but the first that was not sent.
    mutating func takeFrame(ofOneAction isOfOne: Bool = false) -> Range<Int>? {
        guard hasUnsent else { return nil }
        if unsentIndex == 0 { cutFirst() }
        let start = unsentIndex
        if isOfOne, chunks[start].count > 1 { split(start, at: chunks[start].first + 1) }
        var count = 0
        var bytes = 0
        while unsentIndex < chunks.count {
            let chunk = chunks[unsentIndex]
            let isFirst = unsentIndex == start
            guard isFirst || (!isOfOne && chunk.isVoid == chunks[start].isVoid),
                isFirst || count + chunk.count <= Limits.frameTargetActions,
                isFirst || bytes + chunk.bytes.count <= Limits.frameTargetBytes
            else { break }
            count += chunk.count
            bytes += chunk.bytes.count
            unsentIndex += 1
        }
        unsentBytes -= bytes
        frames.append(chunks[unsentIndex - 1].last)
        return start..<unsentIndex
    }

    /// Every number up to `number` has its answer.
    mutating func answer(through number: RequestNumber) {
        precondition(number > answered && number < next, "answers come in order, to numbers that were given")
        answered = number
        while let first = chunks.first, first.last <= number {
            chunks.removeFirst()
            byteCount -= first.bytes.count
            if unsentIndex > 0 { unsentIndex -= 1 } else { unsentBytes -= first.bytes.count }
        }
        while let last = frames.first, last <= number { frames.removeFirst() }
    }

    /// What begins at `number`, or the chunk that holds it, is to be sent again, with all that follows.
    mutating func goBack(to number: RequestNumber) {
        precondition(number > answered, "an answered number is not sent again")
        guard number < nextToSend else { return }
        cutFirst()
        unsentIndex = index(of: number)
        recount()
        while let last = frames.last, last >= nextToSend { frames.removeLast() }
    }

    /// The primary has everything below `number`: it need not be sent.
    mutating func skip(to number: RequestNumber) {
        while unsentIndex < chunks.count, chunks[unsentIndex].last < number { unsentIndex += 1 }
        if unsentIndex > 0, frames.last ?? 0 < chunks[unsentIndex - 1].last {
            frames.append(chunks[unsentIndex - 1].last)
        }
        recount()
    }

    /// Whenever these numbers are sent from now on, they are void (PROTOCOL, R-28).
    mutating func giveUp(_ numbers: ClosedRange<RequestNumber>) {
        guard let unanswered, numbers.overlaps(unanswered) else { return }
        let given = numbers.clamped(to: unanswered)
        let sent = nextToSend
        var position = index(of: given.lowerBound)
        while position < chunks.count, chunks[position].first <= given.upperBound {
            if chunks[position].first < given.lowerBound {
                split(position, at: given.lowerBound)
                position += 1
            }
            if chunks[position].last > given.upperBound { split(position, at: given.upperBound + 1) }
            byteCount -= chunks[position].bytes.count
            chunks[position].bytes = []
            chunks[position].isVoid = true
            position += 1
        }
        unsentIndex = sent < next ? index(of: sent) : chunks.count
        recount()
    }

    private mutating func split(_ position: Int, at number: RequestNumber) {
        let whole = chunks[position]
        let count = Int(number - whole.first)
        let cut = whole.isVoid ? 0 : Self.offset(of: count, in: whole.bytes)
        chunks[position].count = count
        chunks[position].bytes = Array(whole.bytes[..<cut])
        let rest = Chunk(
            first: number, count: whole.count - count, bytes: Array(whole.bytes[cut...]), isVoid: whole.isVoid)
        chunks.insert(rest, at: position + 1)
    }

    /// Takes the answered part off the first chunk: an acknowledged number may not be submitted again.
    private mutating func cutFirst() {
        guard let first = chunks.first, first.first <= answered else { return }
        let count = Int(answered + 1 - first.first)
        let cut = first.isVoid ? 0 : Self.offset(of: count, in: first.bytes)
        chunks[0].first = answered + 1
        chunks[0].count -= count
        chunks[0].bytes.removeFirst(cut)
        byteCount -= cut
        if unsentIndex == 0 { unsentBytes -= cut }
    }

    /// Where the action after the first `count` begins.
    private static func offset(of count: Int, in bytes: [UInt8]) -> Int {
        withBytes(of: bytes) { span in
            var reader = ByteReader(span)
            for _ in 0..<count {
                do { _ = try reader.readRange(from: span) } catch {
                    preconditionFailure("the chunk does not hold the actions that its caller counted: \(error)")
                }
            }
            return reader.offset
        }
    }

    /// The chunk that holds `number`, by binary search; the number of chunks if none does.
    private func index(of number: RequestNumber) -> Int {
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle].last < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private mutating func recount() {
        unsentBytes = chunks[unsentIndex...].reduce(0) { $0 + $1.bytes.count }
    }

    func checkInvariants() {
        precondition(unsentIndex >= 0 && unsentIndex <= chunks.count, "the unsent chunks are some of the chunks")
        precondition(byteCount == chunks.reduce(0) { $0 + $1.bytes.count }, "bytes are counted")
        precondition(unsentBytes == chunks[unsentIndex...].reduce(0) { $0 + $1.bytes.count }, "unsent bytes too")
        var expected = answered + 1
        for chunk in chunks {
            precondition(chunk.count > 0 && chunk.first <= expected && chunk.last >= expected, "chunks have no holes")
            precondition(!chunk.isVoid || chunk.bytes.isEmpty, "a void number has no action")
            expected = chunk.last + 1
        }
        precondition(expected == next, "chunks reach to the next number")
        precondition((frames.last ?? 0) < next && (frames.first ?? .max) > answered, "frames in flight are unanswered")
    }
}
