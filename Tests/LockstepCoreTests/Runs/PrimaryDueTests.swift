import LockstepCore
import Testing

/// What log time brings.
@Suite struct PrimaryDueTests {
    private let peer = Connection(rawValue: 1)
    private let primary = PrimaryHarness.open(hasEffects: true)
    private let session: SessionID

    init() { session = primary.session(peer) }

    private func time(_ milliseconds: Int64) -> LogTime {
        LogTime(rawValue: PrimaryHarness.begin.rawValue + milliseconds * 1_000)
    }

    private func set(_ milliseconds: [Int64], first: RequestNumber = 1) {
        primary.submit(session, first, actions: milliseconds.map { EffectAction.timer(time($0)) }, from: peer)
        primary.commit()
        primary.forget()
    }

    /// Lets time pass with a commit at each deadline.
    private func pass(milliseconds: Int64) {
        let end = primary.now.advanced(byMilliseconds: milliseconds)
        while primary.now < end {
            let step = min(max(primary.machine.nextDeadline - primary.now, 1_000), end - primary.now)
            primary.now = Tick(rawValue: primary.now.rawValue + step)
            primary.wall = LogTime(rawValue: primary.wall.rawValue + step / 1_000)
            primary.tick()
            primary.commit()
        }
    }

    /// The times of the batches that time brought, and how many mutations each has.
    private func emissions() throws -> [(time: LogTime, count: UInt64)] {
        var found: [(LogTime, UInt64)] = []
        for batch in primary.durable {
            try withBytes(of: batch.bytes) { bytes in
                var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
                while reader.remaining > 0 {
                    guard case .emitted(.time, let range) = try Entry(from: bytes, &reader) else { continue }
                    var content = ByteReader(offset: range.lowerBound, end: range.upperBound)
                    found.append((batch.head.time, try content.readVarint(from: bytes)))
                }
            }
        }
        return found
    }

    /// Goal: a timer fires at the first batch whose log time has reached it, not before, and soon (PROTOCOL R-65).
    @Test func aTimerIsNeverEarly() throws {
        set([50, 200])
        pass(milliseconds: 49)
        #expect(primary.state.sum == 0)
        pass(milliseconds: 11)
        #expect(primary.state.sum == 1 && primary.state.timers == [time(200)])
        pass(milliseconds: 139)
        #expect(primary.state.sum == 1)
        pass(milliseconds: 11)
        #expect(primary.state.sum == 2)
        let fired = try emissions()
        #expect(fired.map(\.count) == [1, 1])
        #expect(fired[0].time >= time(50) && fired[1].time >= time(200))
        #expect(try primary.isLikeReplica())
    }

    /// Goal: the machine asks to be woken when the next timer is due (PROTOCOL R-65).
    @Test func theDeadlineIsThatOfTheTimer() {
        set([70])
        primary.turn()
        #expect(primary.machine.nextDeadline <= primary.now.advanced(byMilliseconds: 70))
        let before = primary.committed.count
        pass(milliseconds: 72)
        #expect(primary.state.timers.isEmpty && primary.committed.count > before)
    }

    /// Goal: while a batch waits that is older than a timer, the timer waits for the next one (PROTOCOL ).
    @Test func aTimerWaitsForABatchOfItsTime() throws {
        set([50])
        primary.submit(session, 2, [1], from: peer)
        primary.turn()
        primary.submit(session, 3, [1], from: peer)
        primary.advance(milliseconds: 60)
        primary.turn()
        #expect(primary.state.sum == 2, "the open batch is from before the timer's time")
        primary.persist()
        primary.turn()
        primary.advance(milliseconds: 2)
        primary.commit()
        #expect(primary.state.sum == 3)
        let fired = try emissions()
        #expect(fired.count == 1 && fired[0].time >= time(50))
        #expect(try primary.isLikeReplica())
    }

    /// Goal: everything that is due comes in one entry, in the order of the times (PROTOCOL R-65).
    @Test func whatIsDueComesTogether() throws {
        set([30, 10, 20, 500])
        primary.advance(milliseconds: 100)
        primary.commit()
        #expect(primary.state.sum == 3 && primary.state.timers == [time(500)])
        #expect(try emissions().map(\.count) == [3])
    }

    /// Goal: more timers of one time than an entry takes come without a pause (PROTOCOL R-65).
    @Test func manyTimersOfOneTimeComeAtOnce() throws {
        primary.checksFrames = false
        let count = Limits.dueMutations * 2 + 1
        // They fire with their number as a mutation of their own, so no two entries are alike.
        set((0..<count).map { 10 + Int64($0 % 2) })
        primary.advance(milliseconds: 100)
        primary.commit()
        primary.commit()
        primary.commit()
        #expect(primary.state.sum == UInt64(count) && primary.state.timers.isEmpty)
        #expect(try primary.isLikeReplica())
    }

    /// Goal: a reducer that leaves a timer in place is offered it once a second, and others go on (PROTOCOL R-65).
    @Test func aTimerThatStaysIsHeld() throws {
        primary.state.leavesTimers = true
        set([10])
        pass(milliseconds: 20)
        #expect(primary.state.sum == 1)
        pass(milliseconds: 900)
        #expect(primary.state.sum == 1)
        pass(milliseconds: 3_100)
        #expect(primary.state.sum == 5 && primary.state.timers == [time(10)])
        #expect(try primary.isLikeReplica())
        primary.state.leavesTimers = false
        pass(milliseconds: 1_100)
        #expect(primary.state.sum == 6 && primary.state.timers.isEmpty)
    }

    /// Goal: as many timers that stay as an entry takes are held too (PROTOCOL R-65).
    @Test func manyTimersThatStayAreHeld() throws {
        primary.checksFrames = false
        primary.state.leavesTimers = true
        set(Array(repeating: 10, count: Limits.dueMutations + 5))
        pass(milliseconds: 900)
        let entries = try emissions().count
        #expect(entries <= 2)
        pass(milliseconds: 3_000)
        #expect(try emissions().count <= entries + 3)
    }

    /// Goal: a state that waits for a time and brings nothing when it has come is asked once a second (PROTOCOL R-65).
    @Test func aTimerThatBringsNothingIsHeld() throws {
        let limit = primary.state.dueLimit
        primary.state.dueLimit = 0
        set([10])
        let before = primary.state.dueQuestions
        pass(milliseconds: 3_100)
        #expect((3...5).contains(primary.state.dueQuestions - before))
        #expect(try emissions().isEmpty)
        primary.state.dueLimit = limit
        pass(milliseconds: 1_100)
        #expect(primary.state.timers.isEmpty && primary.state.sum == 1)
    }

    /// Goal: timers outlive the primary, and what fell due meanwhile fires at its next boot (PROTOCOL R-65).
    @Test func timersOutliveARestart() throws {
        set([50, 5_000])
        primary.advance(milliseconds: 1_000)
        let next = primary.killed(boot: 2)
        next.commit()
        #expect(next.state.sum == 1 && next.state.timers == [time(5_000)])
        #expect(try next.isLikeReplica())
    }

    /// Goal: without room nothing fires, and it fires when there is room (PROTOCOL ).
    @Test func aFullDiskHoldsTimers() throws {
        set([50])
        primary.submit(session, 2, [1], from: peer)
        primary.turn()
        primary.fail(isDiskFull: true)
        primary.advance(milliseconds: 300)
        primary.tick()
        primary.turn()
        #expect(primary.state.sum == 1)
        primary.persist()
        primary.commit()
        #expect(primary.state.sum == 2)
        #expect(try primary.isLikeReplica())
    }
}
