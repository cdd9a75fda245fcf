import LockstepCore
import Testing

/// What a primary writes while nobody asks it for anything (PROTOCOL ).
@Suite struct PrimaryRestTests {
    /// Goal: a log at rest gets one mark a day, so that its last entry is never far from a clock that is right.
    @Test func aRestGetsAMarkADay() throws {
        let primary = PrimaryHarness.open()
        primary.pass(milliseconds: 3_000)
        primary.commit()
        var (count, last) = (primary.durable.count, try #require(primary.durable.last?.head.time))
        for day in 1...9 {
            primary.advance(milliseconds: 86_340_000)
            primary.pass(milliseconds: 3_000)
            primary.commit()
            #expect(primary.durable.count == count, "day \(day)")
            primary.pass(milliseconds: 60_000)
            primary.commit()
            #expect(primary.durable.count == count + 1, "day \(day)")
            let time = try #require(primary.durable.last?.head.time)
            #expect(time > last)
            (count, last) = (primary.durable.count, time)
        }
    }
}
