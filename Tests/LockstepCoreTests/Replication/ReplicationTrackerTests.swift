import LockstepCore
import Testing

/// What acknowledgements count, how far the log is committed, and who is proposed (PROTOCOL, R-77 to R-79).
@Suite struct ReplicationTrackerTests {
    private static let members = (1...4).map(ReplicationExample.member)
    private static let boot = BootID(rawValue: 9)
    private var tracker = ReplicationTracker(
        epoch: Epoch(rawValue: 3), boot: boot, own: members[0], opening: sequence(3), now: .zero)
    private var set = ReplicationExample.set(members: 3, minimum: 2)

    private static func sequence(_ value: UInt64) -> SequenceNumber { SequenceNumber(rawValue: value) }
    private func at(_ milliseconds: Int64) -> Tick { Tick.zero.advanced(byMilliseconds: milliseconds) }
    private func said(_ number: Int, _ end: UInt64) -> ReplicationAcknowledgement {
        ReplicationAcknowledgement(
            member: Self.members[number], boot: BootID(rawValue: UInt128(number)), epoch: Epoch(rawValue: 3),
            primaryBoot: Self.boot, stream: 50, end: Self.sequence(end), hash: BatchHash(rawValue: UInt128(end)))
    }
    private mutating func open(_ numbers: Int..., at milliseconds: Int64 = 0, stream: UInt64 = 50) {
        for number in numbers {
            let opening = tracker.opened(
                Self.members[number], boot: BootID(rawValue: UInt128(number)), stream: stream, durable: .zero,
                now: at(milliseconds))
            #expect(opening == .opened)
        }
    }
    @discardableResult private mutating func acknowledge(
        _ number: Int, _ end: UInt64, head: UInt64 = 9, at milliseconds: Int64 = 0
    ) -> Bool {
        tracker.acknowledged(
            said(number, end), hash: BatchHash(rawValue: UInt128(end)), head: Self.sequence(head),
            now: at(milliseconds))
    }
    private func commitEnd(own: UInt64, committed: UInt64 = 0) -> UInt64 {
        tracker.commitEnd(set, ownDurable: Self.sequence(own), committed: Self.sequence(committed)).rawValue
    }

    /// What every required member has is committed, and no more.
    @Test mutating func theSlowestDecides() {
        open(1, 2)
        acknowledge(1, 7)
        #expect(commitEnd(own: 9) == 0)
        acknowledge(2, 5)
        #expect(commitEnd(own: 9) == 5 && commitEnd(own: 4) == 4)
        acknowledge(1, 6)
        #expect(commitEnd(own: 9) == 5 && tracker[Self.members[1]]?.durable == Self.sequence(7), "it never goes back")
        _ = set.propose(.adds(Self.members[3]), attempt: .none)
        #expect(commitEnd(own: 9, committed: 5) == 5, "who is proposed is waited for")
        open(3)
        acknowledge(3, 8)
        acknowledge(2, 9)
        #expect(commitEnd(own: 9, committed: 5) == 7)
    }

    /// Before the epoch's opening can commit, and below the minimum, nothing does.
    @Test mutating func theOpeningComesFirst() {
        open(1, 2)
        acknowledge(1, 2)
        acknowledge(2, 9)
        #expect(commitEnd(own: 9, committed: 1) == 1, "batches of earlier epochs commit with the opening")
        acknowledge(1, 3)
        #expect(commitEnd(own: 9, committed: 1) == 3)
        set = ReplicationExample.set(members: 1, minimum: 2)
        #expect(commitEnd(own: 9, committed: 3) == 3)
    }

    /// An acknowledgement counts with its process, epoch, primary, stream and hash, and with nothing else.
    @Test mutating func onlyWhatWasSaidOfThisStreamCounts() {
        open(1)
        let right = said(1, 5)
        let changes: [(inout ReplicationAcknowledgement) -> Void] = [
            { $0.member = Self.members[2] }, { $0.boot = BootID(rawValue: 40) }, { $0.epoch = Epoch(rawValue: 2) },
            { $0.primaryBoot = BootID(rawValue: 8) }, { $0.stream = 49 }, { $0.hash = BatchHash(rawValue: 1) },
            { $0.end = Self.sequence(10) },
        ]
        for change in changes {
            var wrong = right
            change(&wrong)
            let counted = tracker.acknowledged(wrong, hash: right.hash, head: Self.sequence(9), now: at(1))
            #expect(!counted, "\(wrong)")
        }
        let forgotten = tracker.acknowledged(right, hash: nil, head: Self.sequence(9), now: at(1))
        #expect(!forgotten && tracker[Self.members[1]]?.durable == .zero)
        let counted = acknowledge(1, 5)
        #expect(counted)
        tracker.closed(Self.members[1], stream: 50)
        let late = acknowledge(1, 5)
        #expect(!late && tracker[Self.members[1]]?.durable == .zero, "the stream is over")
    }

    /// A silent member leaves, if the minimum stays and somebody else was heard.
    @Test mutating func aSilentMemberLeaves() {
        open(1, 2)
        acknowledge(1, 9, at: 100)
        acknowledge(2, 9, at: 100)
        #expect(proposal(at: 699) == nil)
        #expect(proposal(at: 700) == nil, "who hears nobody is the one that is cut off")
        tracker.heardAnybody(now: at(399))
        #expect(proposal(at: 700) == nil)
        tracker.heardAnybody(now: at(400))
        #expect(proposal(at: 700) == .removes(Self.members[1]))
        set = ReplicationExample.set(members: 2, minimum: 2)
        #expect(proposal(at: 700) == nil, "nobody is removed below the minimum")
    }

    /// Who hears nobody removes nobody, though the last words of two members were never said at once: it is deaf.
    @Test mutating func whoIsCutOffRemovesNobody() {
        open(1, 2)
        acknowledge(1, 5, at: 100)
        acknowledge(2, 5, at: 101)
        tracker.heardAnybody(now: at(102))
        for time in stride(from: Int64(600), through: 2_700, by: 100) {
            #expect(proposal(at: time) == nil, "\(time)")
            #expect(tracker.isDeaf(set, now: at(time)) == (time >= 2_701))
        }
        #expect(tracker.isDeaf(set, now: at(2_701)))
        // A data node that is no member speaks: it may be needed, and the post is kept for it.
        open(3, at: 2_650)
        #expect(!tracker.isDeaf(set, now: at(2_701)))
    }

    /// A new stream is no progress, and says nothing about what was acknowledged in an earlier one.
    @Test mutating func aNewStreamIsNoProgress() {
        set = ReplicationExample.set(members: 3, minimum: 2)
        open(1, 2)
        acknowledge(2, 4)
        for time in stride(from: Int64(100), through: 2_000, by: 100) {
            if time % 500 == 0 { open(2, at: time) }
            acknowledge(1, 9, at: time)
            acknowledge(2, 4, at: time)
        }
        #expect(proposal(at: 2_000) == .removes(Self.members[2]))
    }

    /// A disk that has less than it acknowledged, and a copy of the primary's own, are named and change nothing.
    @Test mutating func disksThatWereSetBackAreNamed() {
        open(1)
        acknowledge(1, 7)
        let back = tracker.opened(
            Self.members[1], boot: BootID(rawValue: 41), stream: 51, durable: Self.sequence(6), now: at(1))
        let copy = tracker.opened(
            Self.members[0], boot: BootID(rawValue: 42), stream: 52, durable: Self.sequence(9), now: at(1))
        #expect(back == .wasSetBack && copy == .isOwn && tracker[Self.members[1]]?.stream == 50)
        let whole = tracker.opened(
            Self.members[1], boot: BootID(rawValue: 41), stream: 51, durable: Self.sequence(7), now: at(1))
        #expect(whole == .opened)
    }

    /// A FETCH of an earlier life may come late: what it says of the time before this epoch can have been cut off since.
    @Test mutating func whatWasBeforeTheEpochMayBeCut() {
        func opened(_ boot: UInt64, _ durable: UInt64) -> ReplicationTracker.Opening {
            tracker.opened(
                Self.members[1], boot: BootID(rawValue: UInt128(boot)), stream: boot, durable: Self.sequence(durable),
                now: at(1))
        }
        let opening = tracker.opening.rawValue
        #expect(opened(40, opening - 1) == .opened)
        #expect(opened(41, opening - 2) == .opened)
        #expect(opened(42, opening) == .opened)
        #expect(opened(43, opening - 1) == .wasSetBack, "the epoch's opening was on its disk")
    }

    /// A member that never came is silent since the epoch began.
    @Test mutating func aMemberThatNeverCameLeaves() {
        open(1)
        acknowledge(1, 9, at: 500)
        #expect(proposal(at: 599) == nil)
        #expect(proposal(at: 600) == .removes(Self.members[2]))
    }

    /// A member that writes nothing leaves though it speaks, and waits longer each time before it is proposed again.
    @Test mutating func aStuckMemberLeaves() {
        var time: Int64 = 0
        for wait: Int64 in [5_000, 10_000, 20_000] {
            set = ReplicationExample.set(members: 3, minimum: 2)
            // In the earlier rounds it has written everything; a new stream is no progress.
            if time > 0 { acknowledge(2, 9, at: time) }
            open(1, 2, at: time)
            let start = time
            while time < start + 1_900 {
                time += 100
                acknowledge(1, 9, at: time)
                acknowledge(2, 4, at: time)
                tracker.heartbeat(end: Self.sequence(9), now: at(time))
                if time > start + 100 { #expect(proposal(at: time) == nil) }
            }
            time += 200
            acknowledge(1, 9, at: time)
            acknowledge(2, 4, at: time)
            #expect(proposal(at: time) == .removes(Self.members[2]))
            _ = set.propose(.removes(Self.members[2]), attempt: AttemptID(rawValue: 1))
            _ = set.applied(AttemptID(rawValue: 1), revision: 11)
            for _ in 0..<5 { _ = proposal(at: time) }
            tracker.removed(Self.members[2], head: Self.sequence(9), now: at(time))
            let left = time
            for (then, isBack) in [(left + wait - 1, false), (left + wait, true)] {
                acknowledge(1, 9, at: then)
                acknowledge(2, 9, at: then)
                #expect((proposal(at: then) == .adds(Self.members[2])) == isBack, "\(then)")
            }
            time = left + wait + 1_000
        }
    }

    /// A ban holds nothing up: while commits wait for one that may not leave, whoever has everything comes.
    @Test mutating func aBanHoldsNothingUp() {
        open(1, 2)
        for time in stride(from: Int64(0), through: 2_000, by: 100) {
            acknowledge(1, 9, at: time)
            acknowledge(2, 4, at: time)
        }
        #expect(proposal(at: 2_000) == .removes(Self.members[2]))
        _ = set.propose(.removes(Self.members[2]), attempt: AttemptID(rawValue: 1))
        _ = set.applied(AttemptID(rawValue: 1), revision: 11)
        tracker.removed(Self.members[2], head: Self.sequence(9), now: at(2_000))
        acknowledge(1, 9, at: 3_000)
        for time in stride(from: Int64(3_000), through: 3_500, by: 100) {
            acknowledge(2, 9, at: time)
            #expect(proposal(at: time) == nil, "it is banned")
        }
        acknowledge(2, 9, at: 3_600)
        #expect(proposal(at: 3_600) == .adds(Self.members[2]))
    }

    /// Who is not asked is not silent: nobody leaves while heartbeats leave the store out, and for one silence after.
    @Test mutating func whoIsNotAskedIsNotSilent() {
        open(1, 2)
        acknowledge(1, 9, at: 100)
        acknowledge(2, 9, at: 100)
        tracker.heartbeatLeftOut(now: at(1_000))
        tracker.heardAnybody(now: at(1_500))
        #expect(proposal(at: 1_599) == nil)
        #expect(proposal(at: 1_600) == .removes(Self.members[1]))
    }

    /// A learner is proposed when it has the opening, and all but a heartbeat of writes.
    @Test mutating func aLearnerIsProposedWhenItHasCaughtUp() {
        set = ReplicationExample.set(members: 1, minimum: 1)
        open(1)
        acknowledge(1, 2)
        #expect(proposal(at: 1) == nil)
        acknowledge(1, 3)
        tracker.heartbeat(end: Self.sequence(8), now: at(1))
        #expect(proposal(at: 1) == nil)
        acknowledge(1, 8)
        #expect(proposal(at: 1) == .adds(Self.members[1]))
        #expect(proposal(at: 601) == nil, "it is silent")
    }

    /// A primary that hears no member gives its heartbeats up; a sole one does not.
    @Test mutating func aDeafPrimaryStopsItsHeartbeats() {
        open(1, 2)
        acknowledge(1, 9, at: 100)
        #expect(!tracker.isDeaf(set, now: at(2_699)) && tracker.isDeaf(set, now: at(2_700)))
        #expect(!tracker.isDeaf(ReplicationExample.set(members: 1, minimum: 1), now: at(90_000)))
    }

    private func proposal(at milliseconds: Int64) -> InSyncSet.Change? {
        tracker.proposal(set, committed: .zero, head: Self.sequence(9), now: at(milliseconds))
    }
}
