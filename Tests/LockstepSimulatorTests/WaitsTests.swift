import LockstepCore
import LockstepSimulator
import Testing

/// What the checkers of waits and storms count, apart from a run.
@Suite struct WaitsTests {
    private static let second: Int64 = 1_000_000_000

    /// A deadline counts from the last strike that touched either process, or the way between them.
    @Test func healthIsMeasuredFromTheLastStrike() {
        var health = Health(processes: 3)
        health.disturbed(0, until: 5)
        health.disturbed(2, 1, at: 8)
        #expect(health.since(0, 1) == 5)
        #expect(health.since(1, 2) == 8)
        #expect(health.since(1) == 0)
        // A pause counts until its end, also when something lighter strikes within it.
        health.disturbed(0, until: 20)
        health.disturbed(0, until: 10)
        #expect(health.since(0, 1) == 20)
        health.isUnready(1, at: 30)
        #expect(health.since(0, 1) == 20)
        #expect(health.sinceReady(0, 1) == 30)
        health.healed(at: 40)
        #expect(health.since(0, 1) == 40)
    }

    /// While a way is cut nobody is late on it.
    @Test func aCutLastsUntilBothDirectionsAreOpen() {
        var health = Health(processes: 2)
        health.cut(0, 1)
        #expect(health.since(1, 0) == .max)
        health.joined(1, 0, at: 7)
        #expect(health.since(0, 1) == 7)
    }

    /// BUSY has a pause for each reason: a primary whose disk is full is asked four times a second by each client.
    @Test func aStormOfBusyIsFound() {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let busy = Busy(session: .none, expected: 1, retryAfter: 250_000, reason: .diskFull)
        let frame = stamp.frame(.busy(busy))
        func storm(of count: Int, load: Double = 1) -> String? {
            var rates = FrameRates(processes: 2)
            _ = rates.look(now: 0, load: load, isUnusual: false)
            for _ in 0..<count { rates.sent(frame, by: 1) }
            #expect(rates.look(now: Self.second - 1, load: load, isUnusual: false) == nil)
            let found = rates.look(now: Self.second, load: load, isUnusual: false)
            // The next second begins with nothing.
            #expect(rates.look(now: 2 * Self.second, load: load, isUnusual: false) == nil)
            return found.map { "\($0.process) \($0.kind) \($0.count)" }
        }
        #expect(storm(of: 240) == nil)
        #expect(storm(of: 241) == "1 busy(diskFull) 241")
        #expect(storm(of: 241, load: 2) == nil)
        #expect(storm(of: 481, load: 2) == "1 busy(diskFull) 481")
    }
}
