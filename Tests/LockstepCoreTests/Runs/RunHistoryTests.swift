import LockstepCore
import Testing

@Suite struct RunHistoryTests {
    /// Goal: whatever is killed, lost or full, an accepted action ends once in the log, its sender learns that end once
    /// or loses its session, nothing of it is logged after its end, and nothing is kept in the end (PROTOCOL R-60 to
    ///
    @Test(arguments: 0..<2 as Range<UInt64>) func everyAcceptedActionEndsOnce(seed: UInt64) throws {
        var history = RunHistory(seed: seed)
        for _ in 0..<1_000 { try history.step() }
        try history.rest()
    }

    /// Goal: the same holds of machines that take unusual ways (PROTOCOL ).
    @Test(arguments: 0..<2 as Range<UInt64>) func unusualWaysEndEveryAcceptedActionOnce(seed: UInt64) throws {
        var history = RunHistory(seed: seed &+ 1_000, isUnusual: true)
        for _ in 0..<1_000 { try history.step() }
        try history.rest()
    }

    /// Goal: the histories above hold something: acceptance, ends that are learnt, emissions, boots (PROTOCOL R-60).
    @Test func theHistoriesHoldRuns() throws {
        var (ends, emissions, boots) = (0, 0, 0)
        for seed in 0..<2 as Range<UInt64> {
            var history = RunHistory(seed: seed)
            for _ in 0..<1_000 { try history.step() }
            try history.rest()
            ends += history.clients.reduce(0) { $0 + $1.ends.count }
            emissions += history.emitted.values.reduce(0, +)
            boots += Int(history.boot)
        }
        #expect(ends > 60 && emissions > 15 && boots > 3)
    }
}
