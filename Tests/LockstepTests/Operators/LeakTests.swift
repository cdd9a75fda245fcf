import Lockstep
import LockstepTesting
import Testing

/// Whatever ends an operator ends everything that it started (SEMANTICS T16, T24).
@Suite(.timeLimit(.minutes(5))) struct OperatorLeakTests {
    let clock = VirtualClock()

    enum Kind: CaseIterable, Sendable {
        case batched, debounced, throttled, timeout, sampled, gate
    }

    private func operated(
        _ kind: Kind, _ script: Script<Int>, _ clock: VirtualClock
    ) -> any AsyncSequence<Void, any Error> & Sendable {
        switch kind {
        case .batched: Erased { script.batched(count: 9, within: .seconds(500), clock: clock) }
        case .debounced: Erased { script.debounced(for: .seconds(500), clock: clock) }
        case .throttled: Erased { script.throttled(for: .seconds(500), clock: clock).dropFirst() }
        case .timeout: Erased { script.timeout(.seconds(500), clock: clock).dropFirst() }
        case .sampled: Erased { script.sampled(by: ticks(every: .seconds(500), clock: clock)) }
        case .gate: Erased { script.gate(until: Script(clock, values: [(400, 1)], endAt: 401)) }
        }
    }

    /// SEMANTICS T16: a cancelled consumer gets the end at once, and by then the source has ended and nobody sleeps.
    @Test(arguments: Kind.allCases) func cancellationEndsEverything(kind: Kind) async {
        let script = Script(clock, values: [(1, 1), (300, 2)], endAt: 1_000)
        await clock.run { [clock] in
            await withTaskGroup(of: Int64.self) { group in
                group.addTask {
                    var iterator = operated(kind, script, clock).makeAsyncIterator()
                    let first: Void? = try? await iterator.next(isolation: #isolation)
                    #expect(first == nil)
                    return clock.seconds
                }
                try? await clock.sleep(for: .seconds(10))
                group.cancelAll()
                #expect(await group.next() == 10)
                #expect(clock.sleepers == 0)
            }
        }
        #expect(script.life.all == ["gave 1", "cancelled"])
    }

    /// SEMANTICS T16: an iterator that goes away in the middle takes everything with it.
    @Test(arguments: Kind.allCases) func aDroppedIteratorEndsEverything(kind: Kind) async {
        let reference = await clock.run { [clock] in
            let script = Script(clock, values: [(1, 1), (2, 2), (3, 3)], endAt: 100_000)
            let reference = Reference(life: script.life)
            let values: any AsyncSequence<Void, any Error> & Sendable =
                switch kind {
                case .batched: Erased { script.batched(count: 1, within: .seconds(500), clock: clock) }
                case .debounced: Erased { script.debounced(for: .milliseconds(500), clock: clock) }
                case .throttled: Erased { script.throttled(for: .seconds(500), clock: clock) }
                case .timeout: Erased { script.timeout(.seconds(500), clock: clock) }
                case .sampled: Erased { script.sampled(by: ticks(every: .seconds(2), clock: clock)) }
                case .gate: Erased { script.gate(until: Script(clock, values: [(1, 1)], endAt: 401)) }
                }
            await takeOne(of: values)
            await clock.settle()
            #expect(clock.sleepers == 0)
            return reference
        }
        #expect(reference.life == nil)
    }

    private struct Reference: Sendable {
        weak let life: Life?
    }

    private func takeOne(of values: any AsyncSequence<Void, any Error> & Sendable) async {
        var iterator = values.makeAsyncIterator()
        let first: Void? = try? await iterator.next(isolation: #isolation)
        #expect(first != nil)
    }

    /// SEMANTICS T16: a cancelled consumer is told of the end only when its source has ended.
    @Test func theEndWaitsForTheSource() async {
        let stubborn = Stubborn()
        let isOver = CurrentValue(false)
        await clock.run { [clock] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in stubborn.batched(count: 1, within: .seconds(1), clock: clock) {}
                    isOver.accept(true)
                }
                await clock.settle()
                group.cancelAll()
                await clock.settle()
                #expect(!isOver.value)
                stubborn.waiting.value?.resume()
                await clock.settle()
                #expect(isOver.value)
            }
        }
    }

    /// Nothing is started before somebody asks.
    @Test func nothingStartsBeforeTheFirstDemand() async {
        let script = Script(clock, values: [(1, 1)], endAt: 2)
        await clock.run { [clock] in
            let values = script.debounced(for: .seconds(1), clock: clock)
            let iterator = values.makeAsyncIterator()
            await clock.settle()
            withExtendedLifetime(iterator) {}
        }
        #expect(script.life.begun.value == 0)
    }
}

/// A sequence of which only the rhythm is left.
private struct Erased<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable {
    let base: Base

    init(_ base: () -> Base) { self.base = base() }

    func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

    struct Iterator: AsyncIteratorProtocol {
        var base: Base.AsyncIterator

        mutating func next() async throws -> Void? {
            try await base.next(isolation: #isolation) == nil ? nil : ()
        }
    }
}
