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

    // MARK: - Deadlines

    private static func wait(_ kind: WaitBook.Kind, boot: Int = 1, _ first: UInt64 = 0) -> WaitBook.Wait {
        WaitBook.Wait(kind: kind, process: 2, boot: boot, first: first)
    }

    /// Looks four times a second for so many seconds; the second, times four, in which a wait was found too long.
    private static func found(
        _ kind: WaitBook.Kind, seconds: Int64, usualSince: Int64 = 0, healthySince: (Int64) -> Int64 = { _ in 0 },
        isThere: (Int64) -> WaitBook.Wait?
    ) -> Int64? {
        var book = WaitBook()
        for quarter in 0...(4 * seconds) {
            book.begin()
            let now = quarter * second / 4
            if let wait = isThere(quarter) { book.note(wait, healthySince: healthySince(quarter) * second / 4) }
            if let late = book.end(now: now, usualSince: usualSince) {
                #expect(late.wait.kind == kind)
                return quarter
            }
        }
        return nil
    }

    /// Each kind is found at the first look past its bound, and not at it; with unusual ways later.
    @Test(arguments: WaitBook.Kind.allCases) func aWaitIsFoundPastItsBound(kind: WaitBook.Kind) {
        for isUnusual in [false, true] {
            let bound = WaitBook.bound(kind, isUnusual: isUnusual) / Self.second
            let usualSince: Int64 = isUnusual ? .max : 0
            let found = Self.found(kind, seconds: bound + 1, usualSince: usualSince) { _ in Self.wait(kind) }
            #expect(found == 4 * bound + 1)
        }
        #expect(WaitBook.bound(kind, isUnusual: true) > WaitBook.bound(kind, isUnusual: false))
    }

    /// One bound may be common to all kinds, as of data nodes.
    @Test(arguments: WaitBook.Kind.allCases) func aBoundMayBeCommonToAll(kind: WaitBook.Kind) {
        var book = WaitBook(commonBound: 10 * Self.second)
        for now in [0, 10, 11] as [Int64] {
            book.begin()
            book.note(Self.wait(kind), healthySince: 0)
            let late = book.end(now: now * Self.second, usualSince: 0)
            #expect((late?.wait.kind == kind) == (now == 11))
        }
    }

    /// What lasts when unusual ways have ended has the usual bound from then on, or from its beginning or the last
    /// strike if these are later.
    @Test(arguments: WaitBook.Kind.allCases) func aWaitIsUsualWhenUnusualWaysHaveEnded(kind: WaitBook.Kind) {
        let usual = 4 * WaitBook.bound(kind, isUnusual: false) / Self.second
        func found(begins: Int64, healthySince: Int64 = 0) -> Int64? {
            Self.found(
                kind, seconds: 60, usualSince: 5 * Self.second, healthySince: { _ in healthySince },
                isThere: { $0 < begins ? nil : Self.wait(kind) })
        }
        #expect(found(begins: 0) == 20 + usual + 1)
        #expect(found(begins: 30) == 30 + usual + 1)
        #expect(found(begins: 0, healthySince: 40) == 40 + usual + 1)
    }

    /// What was over in between, of another boot, or of another number, is another wait.
    @Test func aWaitThatIsOverBeginsAnew() {
        #expect(Self.found(.query, seconds: 30) { $0 % 20 == 0 ? nil : Self.wait(.query) } == nil)
        #expect(Self.found(.query, seconds: 30) { Self.wait(.query, boot: Int($0) / 20) } == nil)
        #expect(Self.found(.query, seconds: 30) { Self.wait(.query, UInt64($0) / 20) } == nil)
        // One look more is too long: 5 s are 20 quarters.
        #expect(Self.found(.query, seconds: 30) { Self.wait(.query, UInt64($0) / 22) } == 21)
    }

    /// A strike begins the time anew, as long as it comes within the bound.
    @Test func aStrikeBeginsTheTimeAnew() {
        #expect(
            Self.found(.liveness, seconds: 60, healthySince: { $0 / 30 * 30 }, isThere: { _ in Self.wait(.liveness) })
                == nil)
        // One that lasts ten seconds begins it when it ends: 8 s are 32 quarters.
        #expect(
            Self.found(.liveness, seconds: 60, healthySince: { min($0, 40) }, isThere: { _ in Self.wait(.liveness) })
                == 73)
    }

    /// Of two that are too long the first that was noted is told, and a look without any finds nothing.
    @Test func theFirstIsTold() {
        var book = WaitBook()
        func look(at now: Int64, _ waits: [WaitBook.Wait]) -> WaitBook.Wait? {
            book.begin()
            for wait in waits { book.note(wait, healthySince: 0) }
            return book.end(now: now, usualSince: 0)?.wait
        }
        let (query, end) = (Self.wait(.query), Self.wait(.end))
        #expect(look(at: 0, [query, end]) == nil)
        #expect(look(at: 10 * Self.second, [end, query]) == end)
        #expect(look(at: 10 * Self.second, []) == nil)
    }

    /// One operation takes a bounded number of frames, counted from the last strike, whatever unusual ways there are.
    @Test(arguments: [false, true]) func aStormForOneOperationIsFound(isUnusual: Bool) {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let query = stamp.frame(.query(Query(session: .none, number: 7)))
        let most = OperationFrames.bound(isUnusual: isUnusual, after: 2)
        func storm(_ count: Int, healthySince: Int64 = 0, isWaiting: Bool = true) -> Int? {
            var frames = OperationFrames()
            func look() -> Int? {
                frames.look(
                    now: 7, healthySince: healthySince, usualSince: isUnusual ? .max : 0, isWaiting: { _ in isWaiting }
                )?.count
            }
            for _ in 0..<most { frames.sent(query, at: 5) }
            #expect(look() == nil)
            // Of another number, and of a kind that is no operation's.
            frames.sent(stamp.frame(.query(Query(session: .none, number: 8))), at: 6)
            frames.sent(stamp.frame(.resync), at: 6)
            for _ in 0..<count { frames.sent(query, at: 6) }
            return look()
        }
        #expect(storm(0) == nil)
        #expect(storm(1) == most + 1)
        #expect(storm(1, isWaiting: false) == nil)
        #expect(storm(1, healthySince: 6) == nil)
    }

    /// Unusual ways may have a client say everything again every 100 ms, and no more often than that.
    @Test(arguments: [(100, false), (90, true)] as [(Int64, Bool)])
    func unusualWaysHaveAPace(milliseconds: Int64, isStorm: Bool) {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let query = stamp.frame(.query(Query(session: .none, number: 7)))
        var frames = OperationFrames()
        let isFound = (0..<Int64(1_000)).contains { number in
            let now = number * milliseconds * Span.millisecond
            frames.sent(query, at: now)
            return frames.look(now: now, healthySince: 0, usualSince: .max) { _ in true } != nil
        }
        #expect(isFound == isStorm)
    }

    /// When unusual ways have ended frames count anew, up to the usual bound.
    @Test func framesCountAnewWhenUnusualWaysHaveEnded() {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let query = stamp.frame(.query(Query(session: .none, number: 7)))
        let most = OperationFrames.bound(isUnusual: false, after: 2)
        var frames = OperationFrames()
        func look(at now: Int64) -> Int? {
            frames.look(now: now, healthySince: 0, usualSince: 10) { _ in true }?.count
        }
        for _ in 0...most { frames.sent(query, at: 5) }
        #expect(look(at: 9) == nil)
        #expect(look(at: 10) == nil)
        for _ in 0..<most { frames.sent(query, at: 11) }
        #expect(look(at: 11) == nil)
        frames.sent(query, at: 11)
        #expect(look(at: 12) == most + 1)
    }

    /// What BUSY has asked for is no storm of the client, and what it has not asked for is.
    @Test func whatBusyAsksForIsNotCounted() {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let submit = stamp.frame(
            .submit(Submit(session: .none, first: 7, ackedThrough: 6, count: 1, isVoid: true, actions: 0..<0)))
        func storm(expected: RequestNumber) -> Int? {
            var frames = OperationFrames()
            let busy = Busy(session: .none, expected: expected, retryAfter: 5_000, reason: .windowFull)
            for _ in 0...OperationFrames.bound(isUnusual: false, after: 2) {
                frames.sent(submit, at: 5)
                frames.received(stamp.frame(.busy(busy)))
            }
            return frames.look(now: 7, healthySince: 0, usualSince: 0) { _ in true }?.count
        }
        #expect(storm(expected: 7) == nil)
        #expect(storm(expected: 8) == OperationFrames.bound(isUnusual: false, after: 2) + 1, "it is in the log already")
    }

    /// BUSY has a pause for each reason: a primary whose disk is full is asked four times a second by each client.
    @Test func aStormOfBusyIsFound() {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let busy = Busy(session: .none, expected: 1, retryAfter: 250_000, reason: .diskFull)
        let frame = stamp.frame(.busy(busy))
        func storm(of count: Int, load: Double = 1) -> String? {
            var rates = FrameRates(processes: 2)
            _ = rates.look(now: 0, load: load, usualSince: 0)
            for _ in 0..<count { rates.sent(frame, by: 1) }
            #expect(rates.look(now: Self.second - 1, load: load, usualSince: 0) == nil)
            let found = rates.look(now: Self.second, load: load, usualSince: 0)
            // The next second begins with nothing.
            #expect(rates.look(now: 2 * Self.second, load: load, usualSince: 0) == nil)
            return found.map { "\($0.process) \($0.kind) \($0.count)" }
        }
        #expect(storm(of: 240) == nil)
        #expect(storm(of: 241) == "1 busy(diskFull) 241")
        #expect(storm(of: 241, load: 2) == nil)
        #expect(storm(of: 481, load: 2) == "1 busy(diskFull) 481")
    }

    /// Data nodes have bounds of their own; with one primary nobody says FETCH.
    @Test func aStormOfDataNodesIsFound() {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let frame = stamp.frame(.replicationRequest(.recordRequest(nonce: 7)))
        func storm(of count: Int, _ setting: FrameRates.Setting) -> String? {
            var rates = FrameRates(processes: 2, of: setting)
            _ = rates.look(now: 0, load: 1, usualSince: 0)
            for _ in 0..<count { rates.sent(frame, by: 1) }
            return rates.look(now: Self.second, load: 1, usualSince: 0).map { "\($0.process) \($0.kind) \($0.count)" }
        }
        #expect(storm(of: 1_600, .dataNodes) == nil)
        #expect(storm(of: 1_601, .dataNodes) == "1 recordRequest 1601")
        #expect(storm(of: 1_601, .onePrimary) == nil)
    }

    /// What has no bound with unusual ways has one in a second that begins when they have ended.
    @Test func aSecondIsUsualWhenUnusualWaysHaveEnded() {
        let stamp = FrameStamp(channel: Channel(rawValue: 0), clusterHash: 1, epoch: Epoch(rawValue: 1))
        let frame = stamp.frame(.query(Query(session: .none, number: 7)))
        func storm(usualSince: Int64) -> Int? {
            var rates = FrameRates(processes: 1)
            for now in [0, Self.second] { _ = rates.look(now: now, load: 1, usualSince: usualSince) }
            for _ in 0..<10_000 { rates.sent(frame, by: 0) }
            return rates.look(now: 2 * Self.second, load: 1, usualSince: usualSince)?.count
        }
        #expect(storm(usualSince: 0) == 10_000)
        #expect(storm(usualSince: Self.second) == 10_000)
        #expect(storm(usualSince: Self.second + 1) == nil)
    }
}
