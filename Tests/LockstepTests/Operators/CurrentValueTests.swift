import Lockstep
import LockstepTesting
import Testing

/// `CurrentValue` (SEMANTICS K31, T5, T13).
@Suite(.timeLimit(.minutes(5))) struct CurrentValueTests {
    let clock = VirtualClock()

    /// SEMANTICS K31, T13: a consumer starts with the current value, whenever it comes.
    @Test func aConsumerStartsWithTheCurrentValue() async {
        let value = CurrentValue(1)
        value.accept(2)
        var first = value.values.makeAsyncIterator()
        #expect(await first.next() == 2)
        value.value = 3
        var second = value.values.makeAsyncIterator()
        #expect(await second.next() == 3)
        #expect(await first.next() == 3)
        #expect(value.value == 3)
    }

    /// SEMANTICS K31: a change to an equal value is a change.
    @Test func anEqualValueIsNews() async {
        let value = CurrentValue(1)
        await clock.run {
            await withTaskGroup(of: [Int].self) { group in
                group.addTask { await value.values.prefix(3).reduce(into: []) { $0.append($1) } }
                await self.clock.settle()
                value.accept(1)
                await self.clock.settle()
                value.accept(1)
                #expect(await group.next() == [1, 1, 1])
            }
        }
    }

    /// SEMANTICS T5: a slow consumer gets the newest value, and each consumer has its own pace.
    @Test func aSlowConsumerGetsTheNewest() async {
        let value = CurrentValue(0)
        var slow = value.values.makeAsyncIterator()
        var fast = value.values.makeAsyncIterator()
        _ = await slow.next()
        var seen: [Int] = []
        for number in 1...5 {
            value.accept(number)
            if let next = await fast.next() { seen.append(next) }
        }
        #expect(seen == [1, 2, 3, 4, 5])
        #expect(await slow.next() == 5)
    }

    /// SEMANTICS K31: it ends for a consumer that is cancelled, and leaves no waiter; the others go on.
    @Test func cancellationEndsOneConsumer() async {
        let value = CurrentValue(0)
        await clock.run { [clock] in
            await withTaskGroup(of: Int.self) { group in
                group.addTask { await value.values.dropFirst().reduce(0) { $0 + $1 } }
                await clock.settle()
                #expect(value.waitingConsumers == 1)
                group.cancelAll()
                #expect(await group.next() == 0)
            }
        }
        #expect(value.waitingConsumers == 0)
        var later = value.values.makeAsyncIterator()
        #expect(await later.next() == 0)
    }

    /// No change falls into an update.
    @Test func updatesAreSteps() async {
        let value = CurrentValue(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { @concurrent in for _ in 0..<1_000 { value.update { $0 += 1 } } }
            }
        }
        #expect(value.value == 8_000)
    }

    /// Consumers are told in the order in which they came to wait.
    @Test func consumersAreToldInTheirOrder() async {
        let value = CurrentValue(0)
        let order = CurrentValue<[Int]>([])
        await clock.run { [clock] in
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<5 {
                    group.addTask {
                        var iterator = value.values.dropFirst().makeAsyncIterator()
                        _ = await iterator.next()
                        order.update { $0.append(number) }
                    }
                }
                await clock.settle()
                value.accept(1)
            }
        }
        #expect(order.value == [0, 1, 2, 3, 4])
    }
}
