import LockstepCore
import LockstepNode
import Testing

/// What a node does about clocks (PROTOCOL, R-15).
@Suite(.timeLimit(.minutes(5)))
struct ClockTests {
    private static let hour: Int64 = 3_600_000_000

    /// A node whose second store is refused has written nothing to the first one's journal, however often it tries.
    @Test func aStoreWithAnOldLogKeepsTheOthersAsTheyAre() async throws {
        let journals = KeptLogs()
        let first = try Self.node(journals)
        _ = try await withRunning(first) { try await first.status() }
        let old = MonotonicClock.wall.advanced(by: .seconds(-8 * 86_400))
        journals.change("right") { content in
            content.batches = [Self.opening(of: content.identity, at: old)]
        }
        let before = try #require(journals.content(of: "left")).batches.count
        #expect(before > 0)
        for _ in 0..<2 {
            let node = try Self.node(journals)
            let error = await #expect(throws: LockstepError.self) { try await node.run() }
            #expect(error?.code == .clockRefused)
            #expect(error?.message.contains("ahead of the last entry of right") == true)
        }
        #expect(journals.content(of: "left")?.batches.count == before)
    }

    private static func node(_ journals: KeptLogs) throws -> Node {
        let node = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: journals.source))
        for name in ["left", "right"] { _ = try node.attach(name: name) { SumState() } }
        return node
    }

    private static func opening(of identity: JournalIdentity?, at time: LogTime) -> SealedBatch {
        guard let identity else { preconditionFailure("the journal was used") }
        let start = Position.start(of: identity.store)
        var builder = BatchBuilder(store: identity.store, epoch: Epoch(rawValue: 1), after: start, time: time)
        builder.append(
            .epochOpen(node: "node-1", incarnation: identity.incarnation, boot: BootID(rawValue: 1)))
        return builder.sealed()
    }

    /// Who takes over begins with its own clock, but at most an hour ahead of what the primary before showed.
    @Test(arguments: [(0, 0), (-86_400, -86_400), (3_600, 3_600), (3_601, 3_600), (40 * 86_400, 3_600)])
    func aTakeoverBringsTheLogNoWrongClock(own: Int, begins: Int) {
        let wall = LogTime(rawValue: 1_800_000_000_000_000)
        var clock = HeardClock()
        let early = Tick(rawValue: 5_000_000_000)
        #expect(clock.atTakeover(wall, now: early) == wall)
        clock.heard(wall, own: wall, now: early)
        let (late, passed) = (early.advanced(byMilliseconds: 90_000), Duration.seconds(90))
        let begun = clock.atTakeover(wall.advanced(by: passed + .seconds(own)), now: late)
        #expect(begun == wall.advanced(by: passed + .seconds(begins)))
    }

    /// It is said of a clock that is off by more than an hour, in either direction, until that has passed.
    @Test func aClockThatIsFarOffIsNoticed() {
        let wall = LogTime(rawValue: 1_800_000_000_000_000)
        var clock = HeardClock()
        let offsets = [(0, false), (Self.hour, false), (Self.hour + 1, true), (0, false), (-Self.hour - 1, true)]
        for (offset, isFar) in offsets {
            clock.heard(wall, own: LogTime(rawValue: wall.rawValue + offset), now: Tick(rawValue: 1))
            #expect(clock.isFar == isFar)
        }
        // A heartbeat may say anything.
        for strange in [LogTime(rawValue: .min), LogTime(rawValue: .max)] {
            clock.heard(strange, own: wall, now: Tick(rawValue: 1))
            #expect(clock.isFar)
            #expect(clock.atTakeover(wall, now: Tick(rawValue: 2)) <= wall)
        }
    }
}
