import LockstepCore
import Testing

struct ReadQueueTests {
    private let now = Tick(rawValue: 1_000_000_000)

    private func add(
        _ queue: inout ReadQueue, id: UInt64, minimum: UInt64, bytes: Int = 1, connection: UInt64 = 1, at time: Tick
    ) -> Bool {
        let query = [UInt8](repeating: 0, count: bytes)
        let read = Read(id: id, level: .session, minimum: .zero, isIndexOnly: false, query: 0..<bytes)
        return withBytes(of: query) {
            queue.add(
                read, frame: $0, minimum: SequenceNumber(rawValue: minimum), from: Connection(rawValue: connection),
                now: time)
        }
    }

    /// Reads are answered in the order of coming as soon as the view has reached them (PROTOCOL R-16).
    @Test func readsAreTakenWhenTheViewReachesThem() {
        var queue = ReadQueue()
        for (id, minimum) in [(1, 5), (2, 3), (3, 9), (4, 3)] as [(UInt64, UInt64)] {
            #expect(add(&queue, id: id, minimum: minimum, at: now))
        }
        #expect(queue.take(publishedThrough: SequenceNumber(rawValue: 2)).isEmpty)
        #expect(queue.take(publishedThrough: SequenceNumber(rawValue: 5)).map(\.id) == [1, 2, 4])
        #expect(queue.count == 1)
        #expect(queue.take(publishedThrough: SequenceNumber(rawValue: 9)).map(\.id) == [3])
        #expect(queue.isEmpty)
        #expect(queue.nextDeadline == .never)
    }

    /// Five seconds are the most that a read waits.
    @Test func readsExpire() {
        var queue = ReadQueue()
        #expect(add(&queue, id: 1, minimum: 5, at: now))
        #expect(add(&queue, id: 2, minimum: 5, at: now.advanced(byMilliseconds: 1)))
        #expect(queue.nextDeadline == now.advanced(byMilliseconds: 5_000))
        #expect(queue.expire(now: now.advanced(byMilliseconds: 4_999)).isEmpty)
        #expect(queue.expire(now: now.advanced(byMilliseconds: 5_000)).map(\.id) == [1])
        #expect(queue.count == 1)
    }

    /// Both bounds refuse what is above them: the number of reads, and the bytes of their queries.
    @Test func theQueueIsBounded() {
        var queue = ReadQueue()
        for id in 0..<UInt64(Limits.waitingReads) { #expect(add(&queue, id: id, minimum: 1, at: now)) }
        #expect(!add(&queue, id: 0, minimum: 1, at: now))
        var large = ReadQueue()
        for id in 0..<16 as Range<UInt64> { #expect(add(&large, id: id, minimum: 1, bytes: 1 << 20, at: now)) }
        #expect(!add(&large, id: 17, minimum: 1, at: now))
        #expect(large.takeAll().count == 16)
        #expect(add(&large, id: 17, minimum: 1, bytes: 1 << 20, at: now))
    }
}
