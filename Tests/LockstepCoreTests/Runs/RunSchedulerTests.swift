import LockstepCore
import Testing

/// Who runs, and who waits.
@Suite struct RunSchedulerTests {
    static let session = SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1))
    static func id(_ number: UInt64) -> RunID { RunID(session: session, number: number) }
    static func at(_ sequence: UInt64) -> SequenceNumber { SequenceNumber(rawValue: sequence) }

    private func scheduler(_ plans: [RunPlan]) -> RunScheduler {
        var scheduler = RunScheduler()
        for (index, plan) in plans.enumerated() {
            scheduler.accepted(Self.id(UInt64(index) + 1), plan, at: Self.at(UInt64(index) + 1))
        }
        return scheduler
    }

    private func end(_ scheduler: inout RunScheduler, _ number: UInt64, at sequence: UInt64) -> Bool {
        scheduler.ended(Self.id(number), at: Self.at(sequence))
    }

    private func begin(_ scheduler: inout RunScheduler, through sequence: UInt64) -> [UInt64] {
        scheduler.committed(through: Self.at(sequence)).map(\.number)
    }

    /// Goal: a run begins when its entry has committed, not before, and once (PROTOCOL R-62).
    @Test func aRunBeginsAfterItsCommit() {
        var scheduler = scheduler([RunPlan(), RunPlan(), RunPlan()])
        #expect(begin(&scheduler, through: 0).isEmpty)
        #expect(begin(&scheduler, through: 2) == [1, 2])
        #expect(!scheduler.isRunning(Self.id(3)) && scheduler.isKnown(Self.id(3)))
        #expect(begin(&scheduler, through: 2).isEmpty)
        #expect(begin(&scheduler, through: 9) == [3])
        #expect(scheduler.runningCount == 3)
    }

    /// Goal: so many of a group run at a time, and a slot is free when an end has committed, not before
    /// (PROTOCOL R-63).
    @Test func aSlotIsFreeAfterTheCommitOfAnEnd() {
        let plan = RunPlan(policy: .merge(max: 2), group: "g")
        var scheduler = scheduler(Array(repeating: plan, count: 4))
        #expect(begin(&scheduler, through: 4) == [1, 2])
        #expect(end(&scheduler, 1, at: 5))
        #expect(begin(&scheduler, through: 4).isEmpty)
        #expect(!scheduler.isRunning(Self.id(1)) && !scheduler.isKnown(Self.id(1)))
        #expect(begin(&scheduler, through: 5) == [3])
        #expect(!end(&scheduler, 1, at: 6), "it has ended")
        #expect(end(&scheduler, 2, at: 6))
        #expect(begin(&scheduler, through: 6) == [4])
    }

    /// Goal: a slot that a commit frees goes to who waits already, not to who is accepted by the same commit
    /// (PROTOCOL R-62).
    @Test func whoWaitsComesBeforeWhoIsAcceptedLater() {
        let plan = RunPlan(policy: .serial(waiting: 9), group: "g")
        var scheduler = scheduler([plan, plan])
        #expect(begin(&scheduler, through: 2) == [1])
        #expect(end(&scheduler, 1, at: 3))
        scheduler.accepted(Self.id(3), plan, at: Self.at(4))
        scheduler.accepted(Self.id(4), RunPlan(), at: Self.at(5))
        #expect(begin(&scheduler, through: 5) == [2, 4], "in the order of acceptance")
        #expect(end(&scheduler, 2, at: 6))
        #expect(begin(&scheduler, through: 6) == [3])
    }

    /// Goal: one that waits and is cancelled never begins, and its executor has nothing to stop (PROTOCOL R-63).
    @Test func aWaitingRunThatIsCancelledNeverBegins() {
        let plan = RunPlan(policy: .serial(waiting: 9), group: "g", names: ["n"])
        var scheduler = scheduler([plan, plan, plan])
        #expect(begin(&scheduler, through: 3) == [1])
        #expect(scheduler.runs(named: "n") == [Self.id(1), Self.id(2), Self.id(3)])
        #expect(!end(&scheduler, 2, at: 4))
        #expect(scheduler.runs(named: "n") == [Self.id(1), Self.id(3)])
        #expect(end(&scheduler, 1, at: 5))
        #expect(begin(&scheduler, through: 5) == [3])
        #expect(end(&scheduler, 3, at: 6))
        #expect(begin(&scheduler, through: 6).isEmpty)
        #expect(scheduler == RunScheduler())
    }

    /// Goal: one that is cancelled before its entry has committed never begins (PROTOCOL R-63).
    @Test func anUncommittedRunThatIsCancelledNeverBegins() {
        var scheduler = scheduler([RunPlan(policy: .merge(max: 1), group: "g")])
        #expect(!end(&scheduler, 1, at: 2))
        #expect(begin(&scheduler, through: 2).isEmpty)
        #expect(scheduler == RunScheduler())
    }

    /// Goal: serial lets so many wait and refuses the next; ends make room at once (PROTOCOL R-63).
    @Test func serialRefusesBeyondItsBound() {
        let plan = RunPlan(policy: .serial(waiting: 1), group: "g")
        var scheduler = scheduler([plan])
        #expect(scheduler.decide(plan) == .accepted(superseding: []))
        scheduler.accepted(Self.id(2), plan, at: Self.at(2))
        #expect(scheduler.decide(plan) == .rejected(reason: "1 wait for g already; try again later"))
        #expect(scheduler.decide(plan, cancelling: [Self.id(2)]) == .accepted(superseding: []))
        _ = end(&scheduler, 2, at: 3)
        #expect(scheduler.decide(plan) == .accepted(superseding: []))
    }

    /// Goal: latest supersedes all of its group, also what has not committed, and nobody else's (PROTOCOL R-63).
    @Test func latestSupersedesItsGroup() {
        let plan = RunPlan(policy: .latest, group: "g")
        var scheduler = scheduler([plan, RunPlan(policy: .latest, group: "h"), RunPlan()])
        #expect(scheduler.decide(plan) == .accepted(superseding: [Self.id(1)]))
        #expect(!end(&scheduler, 1, at: 4))
        #expect(scheduler.decide(plan) == .accepted(superseding: []))
        scheduler.accepted(Self.id(4), plan, at: Self.at(5))
        #expect(begin(&scheduler, through: 5) == [2, 3, 4])
        #expect(scheduler.decide(plan, cancelling: [Self.id(4)]) == .accepted(superseding: []))
    }

    /// Goal: first refuses while one of its group is under way (PROTOCOL R-63).
    @Test func firstRefusesWhileOneIsUnderWay() {
        let plan = RunPlan(policy: .first, group: "g")
        var scheduler = scheduler([plan])
        #expect(scheduler.decide(plan) == .rejected(reason: "ignored: g is under way"))
        #expect(scheduler.decide(plan, cancelling: [Self.id(1)]) == .accepted(superseding: []))
        #expect(begin(&scheduler, through: 1) == [1])
        #expect(end(&scheduler, 1, at: 2))
        #expect(scheduler.decide(plan) == .accepted(superseding: []), "the end is sequenced")
    }

    /// Goal: any schedule of acceptance, ends and commits begins what a list would begin, in its order
    /// (PROTOCOL ).
    @Test(arguments: 0..<200 as Range<UInt64>) func randomSchedulesKeepTheModel(seed: UInt64) {
        var model = NaiveScheduler(seed: seed)
        for _ in 0..<150 { model.step() }
        model.drain()
    }
}

/// The scheduler beside a list of everything that was accepted.
private struct NaiveScheduler {
    struct Entry {
        var id: RunID
        var plan: RunPlan
        var accepted: UInt64
        var ended: UInt64?
        var hasBegun = false
    }

    var random: SplitMix64
    var scheduler = RunScheduler()
    var entries: [Entry] = []
    var sequence: UInt64 = 0
    var committed: UInt64 = 0
    let plans: [RunPlan]

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        let bound = Int(random.next(below: 3)) + 1
        plans = [
            RunPlan(names: ["n"]), RunPlan(policy: .merge(max: bound), group: "m", names: ["n"]),
            RunPlan(policy: .serial(waiting: bound), group: "s"), RunPlan(policy: .latest, group: "l", names: ["o"]),
            RunPlan(policy: .first, group: "f"),
        ]
    }

    mutating func step() {
        let isBehind = random.next(below: 2) == 0
        switch random.next(below: 10) {
        case 0...4: accept(plans[Int(random.next(below: UInt64(plans.count)))])
        case 5...6:
            guard !entries.isEmpty else { return }
            end(Int(random.next(below: UInt64(entries.count))))
        case 7:
            let names = scheduler.runs(named: "n")
            #expect(names == entries.filter { $0.ended == nil && $0.plan.names == ["n"] }.map(\.id).sorted())
        default: commit(through: isBehind ? committed + random.next(below: sequence - committed + 1) : sequence)
        }
    }

    private mutating func accept(_ plan: RunPlan) {
        let live = plan.group.isEmpty ? [] : entries.filter { $0.plan.group == plan.group && $0.ended == nil }
        let decision = scheduler.decide(plan)
        switch plan.policy {
        case .merge: #expect(decision == .accepted(superseding: []))
        case .latest: #expect(decision == .accepted(superseding: live.map(\.id).sorted()))
        case .serial(let waiting): #expect((decision == .accepted(superseding: [])) == (live.count <= waiting))
        case .first: #expect((decision == .accepted(superseding: [])) == live.isEmpty)
        }
        guard case .accepted(let superseded) = decision else { return }
        for id in superseded { end(entries.firstIndex { $0.id == id } ?? 0) }
        sequence += 1
        let id = RunSchedulerTests.id(sequence)
        scheduler.accepted(id, plan, at: RunSchedulerTests.at(sequence))
        entries.append(Entry(id: id, plan: plan, accepted: sequence))
    }

    private mutating func end(_ index: Int) {
        sequence += 1
        let isRunning = entries[index].hasBegun && entries[index].ended == nil
        #expect(scheduler.isRunning(entries[index].id) == isRunning)
        let hasStopped = scheduler.ended(entries[index].id, at: RunSchedulerTests.at(sequence))
        #expect(hasStopped == isRunning)
        if entries[index].ended == nil { entries[index].ended = sequence }
    }

    private mutating func commit(through target: UInt64) {
        committed = target
        // A slot is taken by who runs, and by who ran and whose end has not committed.
        func slots(_ group: String) -> Int {
            entries.count { $0.plan.group == group && $0.hasBegun && ($0.ended ?? .max) > committed }
        }
        var expected: [RunID] = []
        for index in entries.indices {
            let entry = entries[index]
            guard !entry.hasBegun, entry.ended == nil, entry.accepted <= committed else { continue }
            let bound: Int =
                switch entry.plan.policy {
                case .merge(let max) where !entry.plan.group.isEmpty: max
                case .serial: 1
                default: .max
                }
            guard slots(entry.plan.group) < bound else { continue }
            entries[index].hasBegun = true
            expected.append(entry.id)
        }
        let begun = scheduler.committed(through: RunSchedulerTests.at(committed))
        #expect(begun == expected)
        #expect(scheduler.runningCount == entries.count { $0.hasBegun && $0.ended == nil })
    }

    /// Everything that was accepted runs, or was cancelled, when the rest ends: nobody is left in a line.
    mutating func drain() {
        while let index = entries.firstIndex(where: { $0.ended == nil && $0.hasBegun }) {
            end(index)
            commit(through: sequence)
        }
        commit(through: sequence)
        for index in entries.indices where entries[index].ended == nil { end(index) }
        #expect(entries.allSatisfy { $0.ended != nil })
        commit(through: sequence)
        #expect(scheduler == RunScheduler())
    }
}
