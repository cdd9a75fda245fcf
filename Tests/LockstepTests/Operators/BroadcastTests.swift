import Lockstep
import LockstepTesting
import Testing

/// `Broadcast` (SEMANTICS T6, T11, T19).
@Suite(.timeLimit(.minutes(5))) struct BroadcastTests {
    let clock = VirtualClock()

    private func text<Value>(_ event: Broadcast<Value>.Event?) -> String {
        switch event {
        case nil: "end"
        case .value(let value): "\(value)"
        case .missed(let count): "missed \(count)"
        }
    }

    /// SEMANTICS T11: a subscriber gets what is sent from its subscription on, and nothing before.
    @Test func nothingIsRepeatedForLaterSubscribers() async {
        let broadcast = Broadcast<Int>()
        broadcast.send(1)
        var first = broadcast.subscribe().makeAsyncIterator()
        broadcast.send(2)
        var second = broadcast.subscribe().makeAsyncIterator()
        broadcast.send(3)
        #expect(await text(first.next()) == "2")
        #expect(await text(first.next()) == "3")
        #expect(await text(second.next()) == "3")
    }

    /// SEMANTICS T11: overflow takes the oldest, and is told to the one whom it concerns, at its place.
    @Test func overflowIsToldToTheSlowSubscriberOnly() async {
        let broadcast = Broadcast<Int>()
        var slow = broadcast.subscribe(bufferLimit: 2).makeAsyncIterator()
        var other = broadcast.subscribe(bufferLimit: 10).makeAsyncIterator()
        for number in 1...5 { broadcast.send(number) }
        var lines: [String] = []
        for _ in 0..<3 { lines.append(text(await slow.next())) }
        broadcast.send(6)
        lines.append(text(await slow.next()))
        #expect(lines == ["missed 3", "4", "5", "6"])
        for number in 1...6 { #expect(await text(other.next()) == "\(number)") }
    }

    /// A consumer that must see everything fails at the hole.
    @Test func aGaplessConsumerFailsAtAHole() async throws {
        let broadcast = Broadcast<Int>()
        var values = broadcast.subscribe(bufferLimit: 2).gapless.makeAsyncIterator()
        broadcast.send(1)
        #expect(try await values.next() == 1)
        for number in 2...5 { broadcast.send(number) }
        await #expect(throws: BroadcastOverflow(missed: 2)) { _ = try await values.next() }
    }

    /// SEMANTICS T11: the end comes after what is buffered, and at once to whoever comes later.
    @Test func theEndComesAfterWhatWaits() async {
        let broadcast = Broadcast<Int>()
        var early = broadcast.subscribe().makeAsyncIterator()
        broadcast.send(1)
        broadcast.finish()
        #expect(!broadcast.send(2))
        var late = broadcast.subscribe().makeAsyncIterator()
        #expect(await text(early.next()) == "1")
        #expect(await text(early.next()) == "end")
        #expect(await text(late.next()) == "end")
        #expect(broadcast.subscriberCount == 0)
    }

    /// A broadcast that nobody can send through ends its consumers.
    @Test func aBroadcastThatIsGoneEndsItsConsumers() async {
        var broadcast: Broadcast<Int>? = Broadcast()
        var iterator = broadcast?.subscribe().makeAsyncIterator()
        broadcast?.send(1)
        broadcast = nil
        #expect(await text(iterator?.next()) == "1")
        #expect(await text(iterator?.next()) == "end")
    }

    /// A subscription ends with its last holder.
    @Test func aSubscriptionThatIsGoneIsForgotten() {
        let broadcast = Broadcast<Int>()
        do {
            let subscription = broadcast.subscribe()
            #expect(broadcast.subscriberCount == 1)
            withExtendedLifetime(subscription) {}
        }
        #expect(broadcast.subscriberCount == 0)
    }

    /// Cancellation ends the wait of a consumer.
    @Test func cancellationEndsTheWait() async {
        let broadcast = Broadcast<Int>()
        let subscription = broadcast.subscribe()
        await clock.run { [clock] in
            await withTaskGroup(of: Int.self) { group in
                group.addTask { await subscription.reduce(0) { count, _ in count + 1 } }
                await clock.settle()
                broadcast.send(1)
                await clock.settle()
                group.cancelAll()
                #expect(await group.next() == 1)
            }
        }
    }
}
