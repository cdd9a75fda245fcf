import Lockstep
import LockstepTesting
import Testing

/// The edges of `race` (SEMANTICS O1), in virtual time.
@Suite(.timeLimit(.minutes(5))) struct RaceTests {
    let clock = VirtualClock()

    /// SEMANTICS O1: the first value wins, the winner goes on, and the losers have ended by then.
    @Test func theFirstValueWins() async {
        let slow = Script(clock, values: [(3, 1)], endAt: 4)
        let fast = Script(clock, values: [(2, 2), (9, 3)], endAt: 10)
        let lines = await clock.run { [clock] in
            var iterator = race(slow, fast).makeAsyncIterator()
            #expect(await (try? iterator.next()) == 2)
            #expect(slow.life.all == ["cancelled"])
            return [try? await iterator.next(), try? await iterator.next()].map { "\(clock.seconds):\($0 ?? -1)" }
        }
        #expect(lines == ["10:3", "10:-1"])
    }

    /// SEMANTICS O1: an end is an event and wins.
    @Test func anEndWins() async {
        let lines = await clock.run { [clock] in
            await race(Script(clock, values: [(3, 1)], endAt: 4), Script<Int>(clock, [(1, .end)])).record(clock)
        }
        #expect(lines == ["1:end"])
    }

    /// SEMANTICS O1: a failure is an event and wins.
    @Test func aFailureWins() async {
        let lines = await clock.run { [clock] in
            await race(Script(clock, values: [(3, 1)], endAt: 4), Script(clock, [(1, .fail(Planned(number: 6)))]))
                .record(clock)
        }
        #expect(lines == ["1:failed 6"])
    }

    /// SEMANTICS O1: of several that are ready, the earliest argument wins; the later ones are not even asked.
    @Test func readySourcesTieByArgumentOrder() async {
        for _ in 0..<100 {
            let first = CurrentValue("first")
            let second = CurrentValue("second")
            var iterator = race(first.values, second.values).makeAsyncIterator()
            #expect(await iterator.next() == "first")
            second.accept("other")
            first.accept("again")
            #expect(await iterator.next() == "again")
        }
    }

    /// SEMANTICS O1, C8: of two that wake in the same turn, the earliest argument wins.
    @Test func sourcesThatWakeTogetherTieByArgumentOrder() async {
        for _ in 0..<100 {
            let value = CurrentValue(0)
            let winner = await clock.run { [clock] in
                await withTaskGroup(of: String?.self) { group in
                    group.addTask {
                        let named = ["a", "b", "c"].map { name in value.values.dropFirst().map { _ in name } }
                        var iterator = race(named[0], named[1], named[2]).makeAsyncIterator()
                        return await iterator.next()
                    }
                    await clock.settle()
                    #expect(value.waitingConsumers == 3)
                    value.accept(1)
                    return await group.next() ?? nil
                }
            }
            #expect(winner == "a")
        }
    }

    /// SEMANTICS O1: on the threads of the system, where waiting sources may overtake each other, one wins and none is
    /// left waiting.
    @Test func oneWinsOnRealThreads() async {
        for _ in 0..<200 {
            let value = CurrentValue(0)
            let winner = await withTaskGroup(of: String?.self) { group in
                group.addTask { @concurrent in
                    let named = ["a", "b", "c"].map { name in value.values.results { $0 > 0 ? name : nil } }
                    var iterator = race(named[0], named[1], named[2]).makeAsyncIterator()
                    return await iterator.next()
                }
                // A condition that comes true by itself: all three wait for the change.
                while value.waitingConsumers < 3 { await Task.yield() }
                value.accept(1)
                return await group.next() ?? nil
            }
            #expect(["a", "b", "c"].contains(winner))
            #expect(value.waitingConsumers == 0)
        }
    }

    /// A race without sources ends at once.
    @Test func aRaceOfNobodyEnds() async {
        let nobody: Race<Int, Never> = race()
        var iterator = nobody.makeAsyncIterator()
        #expect(await iterator.next() == nil)
    }

    /// Cancellation ends all of them.
    @Test func cancellationEndsAll() async {
        let scripts = [1, 2].map { Script(clock, values: [(100 * $0, $0)], endAt: 1_000) }
        await clock.run { [clock] in
            await withTaskGroup(of: [String].self) { group in
                group.addTask { await race(scripts[0], scripts[1]).record(clock) }
                try? await clock.sleep(for: .seconds(3))
                group.cancelAll()
                #expect(await group.next() == ["3:end"])
            }
        }
        #expect(scripts.map(\.life.all) == [["cancelled"], ["cancelled"]])
        #expect(clock.sleepers == 0)
    }
}
