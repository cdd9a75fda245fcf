import Lockstep
import LockstepTesting
import Testing

/// The result of a flow out of several sources (SEMANTICS C8).
@Suite(.timeLimit(.minutes(5))) struct FirstResultTests {
    let clock = VirtualClock()

    /// SEMANTICS C8: exactly one result is returned, and the others have ended by then.
    @Test func theFirstValueIsTheResult() async throws {
        let late = Script(clock, values: [(5, Choice.cancel)], endAt: 6)
        let early = Script(clock, values: [(2, Choice.reload), (3, .cancel)], endAt: 6)
        let result = try await clock.run { try await firstResult(of: late, early) }
        #expect(result == .reload)
        #expect(late.life.all == ["cancelled"])
        #expect(early.life.all == ["gave reload"])
        #expect(clock.sleepers == 0)
    }

    /// SEMANTICS C8: a condition that holds already counts at once.
    @Test func aConditionThatHoldsAlreadyCountsAtOnce() async throws {
        let state = CurrentValue(10)
        let result = try await firstResult(of: state.values.results { $0 >= 10 ? Choice.reload : nil })
        #expect(result == .reload)
    }

    /// SEMANTICS C8: counted by edge, a condition that holds at the start counts only after it has ceased to hold.
    @Test func byEdgeOnlyATransitionCounts() async throws {
        let state = CurrentValue(10)
        let counted = try await clock.run { [clock] in
            try await withThrowingTaskGroup(of: Int.self) { group in
                group.addTask { try await firstResult(of: state.values.results(.edge) { $0 >= 10 ? $0 : nil }) }
                for value in [11, 12, 3, 14, 15] {
                    await clock.settle()
                    state.accept(value)
                }
                return try await group.next()
            }
        }
        #expect(counted == 14)
    }

    /// SEMANTICS C8: by edge, later transitions of the same sequence count too; by level, each element does.
    @Test func levelAndEdgeCountDifferently() async throws {
        let values = [(0, 1), (1, 10), (2, 11), (3, 2), (4, 12)]
        let lines = await clock.run { [clock] in
            let level = await Script(clock, values: values, endAt: 5).results { $0 >= 10 ? $0 : nil }.record(clock)
            let edge = await Script(clock, values: values, endAt: 6).results(.edge) { $0 >= 10 ? $0 : nil }.record(
                clock)
            return [level.map { $0.split(separator: ":")[1] }, edge.map { $0.split(separator: ":")[1] }]
        }
        #expect(lines == [["10", "11", "12", "end"], ["10", "12", "end"]])
    }

    /// SEMANTICS C8: two sources that have a result in the same turn tie by the order of the arguments.
    ///
    /// The turns are those of the virtual clock: on the system's threads one change may wake the sources in any order.
    @Test func twoSourcesInTheSameTurnTieByArgumentOrder() async throws {
        for _ in 0..<50 {
            let state = CurrentValue(0)
            let dismissed = state.values.results { $0 > 0 ? "dismissed" : nil }
            let done = state.values.results { $0 > 0 ? "done" : nil }
            for (sources, expected) in [([dismissed, done], "dismissed"), ([done, dismissed], "done")] {
                state.accept(0)
                let result = try await clock.run { [clock] in
                    try await withThrowingTaskGroup(of: String.self) { group in
                        group.addTask { try await firstResult(of: sources[0], sources[1]) }
                        await clock.settle()
                        state.accept(1)
                        return try await group.next()
                    }
                }
                #expect(result == expected)
                // The condition already holds: here, too, the order decides.
                #expect(try await firstResult(of: sources[0], sources[1]) == expected)
            }
        }
    }

    /// SEMANTICS C4, C8: a source that ends empty leaves the others; when all have, there is a defined outcome.
    @Test func emptyEndsAreNoResult() async throws {
        let result = try await clock.run { [clock] in
            try await firstResult(of: Script<Int>(clock, [(1, .end)]), Script(clock, values: [(3, 7)], endAt: 9))
        }
        #expect(result == 7)
        await clock.run { [clock] in
            _ = await #expect(throws: FlowError.endedWithoutResult) {
                try await firstResult(of: Script<Int>(clock, [(1, .end)]), Script<Int>(clock, [(2, .end)]))
            }
        }
    }

    /// A failure ends the race, and cancellation is told from an empty end.
    @Test func failureAndCancellationAreDefined() async {
        await clock.run { [clock] in
            _ = await #expect(throws: Planned(number: 4)) {
                try await firstResult(
                    of: Script(clock, values: [(3, 1)], endAt: 4), Script<Int>(clock, [(1, .fail(Planned(number: 4)))]))
            }
        }
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                await #expect(throws: CancellationError.self) {
                    try await firstResult(of: CurrentValue(0).values.results { $0 > 0 ? $0 : nil })
                }
            }
        }
    }
}
