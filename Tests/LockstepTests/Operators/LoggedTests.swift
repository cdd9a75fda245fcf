import Lockstep
import LockstepTesting
import Testing

/// `logged` (SEMANTICS O10).
@Suite(.timeLimit(.minutes(5))) struct LoggedTests {
    let clock = VirtualClock()
    let lines = CurrentValue<[String]>([])

    private var sink: @Sendable (String) -> Void {
        { [lines] line in lines.update { $0.append(line) } }
    }

    /// SEMANTICS O10: the beginning, each value and the end are noted, and everything passes.
    @Test func everyEventIsNotedAndPasses() async {
        let passed = await clock.run { [clock, sink] in
            await Script(clock, values: [(1, 1), (2, 2)], endAt: 3).logged("numbers", to: sink).record(clock)
        }
        #expect(passed == ["1:1", "2:2", "3:end"])
        #expect(lines.value == ["numbers: begun", "numbers: value 1", "numbers: value 2", "numbers: ended"])
    }

    /// SEMANTICS O10: a failure is noted and passes.
    @Test func aFailureIsNotedAndPasses() async {
        let passed = await clock.run { [clock, sink] in
            await Script<Int>(clock, [(1, .fail(Planned(number: 2)))]).logged("numbers", to: sink).record(clock)
        }
        #expect(passed == ["1:failed 2"])
        #expect(lines.value == ["numbers: begun", "numbers: failed Planned(number: 2)"])
    }

    /// SEMANTICS O10: a consumer that leaves, and one that is cancelled, are noted.
    @Test func leavingIsNoted() async {
        let value = CurrentValue(1)
        do {
            var iterator = value.values.logged("left", to: sink).makeAsyncIterator()
            _ = await iterator.next()
        }
        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask { [sink] in for await _ in value.values.logged("stopped", to: sink) {} }
        }
        #expect(
            lines.value == [
                "left: begun", "left: value 1", "left: dropped", "stopped: begun", "stopped: cancelled",
            ])
    }

    /// SEMANTICS O10: the text of a value may say what is different from the one before.
    @Test func theTextMayBeADifference() async {
        await clock.run { [clock, sink] in
            _ = await Script(clock, values: [(1, 10), (2, 13)], endAt: 3)
                .logged(
                    "sum", describe: { previous, value in previous.map { "+\(value - $0)" } ?? "\(value)" }, to: sink
                )
                .record(clock)
        }
        #expect(lines.value == ["sum: begun", "sum: value 10", "sum: value +3", "sum: ended"])
    }
}
