import LockstepCore
import LockstepNode
import Testing

/// The lines of a store's life, of which a minute has only so many.
@Suite struct StoreLifeTests {
    private let record = LogRecord()
    private static let place = Position.start(of: StoreID(rawValue: 1))

    private func second(_ number: Int64) -> Tick { Tick.zero.advanced(byMilliseconds: 1_000 * number) }

    private func found(_ boot: UInt128) -> StoreLife.Link {
        .found(BootID(rawValue: boot), endpoint: "tcp://127.0.0.1:7400", commit: Self.place)
    }

    /// A life that has had all lines about its primary in this minute; the primary is lost.
    private func exhausted() -> StoreLife {
        var life = StoreLife(logger: record.logger())
        for _ in 0..<LineLimit.perMinute / 2 {
            life.links(found(1), own: Self.place, now: second(1))
            life.links(.lost, own: Self.place, now: second(1))
        }
        return life
    }

    /// A line that is held back comes when the minute is over, and counts as skipped neither then nor at each look.
    @Test func aLineThatComesLaterIsNotSkipped() throws {
        var life = exhausted()
        for _ in 0..<500 { life.links(found(2), own: Self.place, now: second(30)) }
        #expect(record.lines.count == LineLimit.perMinute)
        life.links(found(2), own: Self.place, now: second(62))
        let last = try #require(record.lines.last)
        #expect(record.lines.count == LineLimit.perMinute + 1 && last.message == "primary found")
        #expect(last.metadata["lockstep.skipped"] == nil)
    }

    /// Of changes that are over when the minute is, each counts once.
    @Test func whatIsNeverWrittenIsSkipped() throws {
        var life = exhausted()
        for boot: UInt128 in 2...4 {
            for _ in 0..<100 { life.links(found(boot), own: Self.place, now: second(30)) }
        }
        life.links(found(4), own: Self.place, now: second(62))
        #expect(try #require(record.lines.last).metadata["lockstep.skipped"] == "2")
    }

    /// The same of the line that says that a store serves.
    @Test func serviceThatEndsBeforeItsLineIsSkipped() throws {
        var life = StoreLife(logger: record.logger())
        for _ in 0..<LineLimit.perMinute + 2 {
            for _ in 0..<100 { life.serves(.live(.zero, .zero), now: second(1)) }
            life.serves(.none, now: second(1))
        }
        #expect(record.lines.count == LineLimit.perMinute)
        life.serves(.live(.zero, .zero), now: second(62))
        #expect(try #require(record.lines.last).metadata["lockstep.skipped"] == "2")
    }
}
