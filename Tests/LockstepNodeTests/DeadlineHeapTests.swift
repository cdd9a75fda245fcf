import LockstepCore
import LockstepNode
import Testing

/// Deadlines in bulk, and rings of frames.
struct DeadlineHeapTests {
    @Test
    func deadlinesComeInOrder() {
        var heap = DeadlineHeap<Int>()
        var generator = SplitMix64(seed: 7)
        let deadlines = (0..<1_000).map { _ in Int64(generator.next(below: 500)) }
        for deadline in deadlines { heap.insert(Int(deadline), at: Tick(rawValue: deadline)) { _ in false } }
        #expect(heap.next == deadlines.min().map { Tick(rawValue: $0) })
        var popped: [Int] = []
        while let element = heap.popDue(Tick(rawValue: 250)) { popped.append(element) }
        #expect(popped == deadlines.filter { $0 <= 250 }.sorted().map { Int($0) })
        #expect(heap.count == 1_000 - popped.count)
    }

    /// Callers that were served do not fill the heap.
    @Test
    func uselessDeadlinesAreSwept() {
        var heap = DeadlineHeap<Int>()
        for number in 0..<100_000 {
            heap.insert(number, at: Tick(rawValue: Int64(number))) { $0 < number - 100 }
            #expect(heap.count <= 1_500)
        }
        let first = heap.popDue(.never) ?? 0
        #expect(first > 90_000)
    }

    /// PROTOCOL R-31: of the stream the oldest go; of a link the newest are refused.
    @Test
    func ringsKeepTheirBounds() {
        let frame = WaitingFrame.copied(Array(repeating: 1, count: 872))
        var stream = BoundedRing(capacity: 10_000, whenFull: .dropOldest)
        var ingress = BoundedRing(capacity: 10_000, whenFull: .refuseNewest)
        for number in 0..<15 {
            stream.append(frame, from: Connection(rawValue: UInt64(number)))
            ingress.append(frame, from: Connection(rawValue: UInt64(number)))
        }
        #expect(stream.count == 10)
        #expect(ingress.count == 10)
        #expect(stream.dropped == 5)
        #expect(ingress.dropped == 5)
        let oldest = (stream.popFirst()?.from, ingress.popFirst()?.from)
        #expect(oldest == (Connection(rawValue: 5), Connection(rawValue: 0)))
        while stream.popFirst() != nil {}
        #expect(stream.byteCount == 0)
    }
}
