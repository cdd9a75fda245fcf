import LockstepCore
import Testing

/// Random schedules over the values that decide what is committed and who is primary (PROTOCOL, R-75 to R-82).
@Suite(.timeLimit(.minutes(30))) struct ReplicationModelTests {
    private struct Found {
        var violation: String?
        var (committed, elections, reads) = (0, 0, 0)
    }

    /// Goes on to the first schedule that is violated.
    private static func search(_ defect: ReplicationDefect?, seeds: Range<UInt64>) -> Found {
        var found = Found()
        for seed in seeds where found.violation == nil {
            var model = ReplicationModel(seed: seed, defect: defect)
            do { try model.run(steps: 800) } catch {
                found.violation = "seed \(seed): \((error as? ModelViolation)?.text ?? "\(error)")"
            }
            found.committed += model.committed.count
            found.elections += model.elections
            found.reads += model.readsServed
        }
        return found
    }

    /// Nothing that was committed is missing in a later epoch, no place of an epoch is used twice, and a read shows
    /// all that was committed when it began; and enough happens for that to mean something.
    @Test func noScheduleLosesWhatWasCommitted() {
        let found = Self.search(nil, seeds: 1..<2_001)
        #expect(found.violation == nil)
        #expect(found.committed > 4_000 && found.elections > 3_000 && found.reads > 500, "\(found)")
    }

    /// Each rule that is switched off is missed.
    @Test(arguments: ReplicationDefect.allCases) func aRuleThatIsSwitchedOffIsMissed(_ defect: ReplicationDefect) {
        #expect(Self.search(defect, seeds: 1..<8_001).violation != nil, "no schedule of 8,000 shows it")
    }
}
