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
        #expect((1...3).allSatisfy { scheduler.isRunning(Self.id($0)) })
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

    // MARK: - Several groups

    private static func merge(_ groups: String..., max: Int = 1) -> RunPlan {
        RunPlan(limits: groups.map { RunLimit(.merge(max: max), group: $0) })
    }

    /// Goal: a run begins when all its groups let it, and takes its slots at once (PROTOCOL R-63).
    @Test func aRunWaitsForAllItsGroups() {
        var scheduler = scheduler([Self.merge("a"), Self.merge("b"), Self.merge("a", "b")])
        #expect(begin(&scheduler, through: 3) == [1, 2])
        #expect(end(&scheduler, 1, at: 4))
        #expect(begin(&scheduler, through: 4).isEmpty, "b is taken")
        #expect(end(&scheduler, 2, at: 5))
        #expect(begin(&scheduler, through: 5) == [3])
        scheduler.accepted(Self.id(6), Self.merge("a"), at: Self.at(6))
        scheduler.accepted(Self.id(7), Self.merge("b"), at: Self.at(7))
        #expect(begin(&scheduler, through: 7).isEmpty, "both are taken by the third")
        #expect(end(&scheduler, 3, at: 8))
        #expect(begin(&scheduler, through: 8) == [6, 7])
    }

    /// Goal: effects that name two groups in different orders do not wait for each other (PROTOCOL R-63).
    @Test func noTwoWaitForEachOther() {
        var scheduler = scheduler([Self.merge("a", "b"), Self.merge("b", "a"), Self.merge("a", "b")])
        var done: [UInt64] = []
        var sequence: UInt64 = 3
        while let running = begin(&scheduler, through: sequence).first {
            done.append(running)
            sequence += 1
            #expect(end(&scheduler, running, at: sequence))
        }
        #expect(done == [1, 2, 3])
        #expect(scheduler == RunScheduler())
    }

    /// Goal: lines are in the order of acceptance: nobody overtakes who waits for another group, and nobody waits for
    /// ever (PROTOCOL R-63).
    @Test func nobodyIsOvertakenInALine() {
        var scheduler = scheduler([Self.merge("b"), Self.merge("a", "b"), Self.merge("a"), Self.merge("b")])
        #expect(begin(&scheduler, through: 4) == [1], "the second waits for b, and the third for the second")
        #expect(end(&scheduler, 1, at: 5))
        #expect(begin(&scheduler, through: 5) == [2])
        #expect(end(&scheduler, 2, at: 6))
        #expect(begin(&scheduler, through: 6) == [3, 4])
    }

    /// Goal: when one that waits for another group is cancelled, those after it begin (PROTOCOL R-63).
    @Test func whoStoodAfterACancelledRunBegins() {
        var scheduler = scheduler([Self.merge("b"), Self.merge("a", "b"), Self.merge("a")])
        #expect(begin(&scheduler, through: 3) == [1])
        #expect(!end(&scheduler, 2, at: 4))
        #expect(scheduler.isDue(through: Self.at(4)), "its end has something to begin")
        #expect(begin(&scheduler, through: 4) == [3])
    }

    /// Goal: one group's rejection is the action's, supersedes nobody, and does not count whom the action would end, in
    /// either order of the groups (PROTOCOL R-63).
    @Test(arguments: [false, true]) func decisionsAreAllOrNothing(isReversed: Bool) {
        let latest = RunLimit(.latest, group: "l")
        let first = RunLimit(.first, group: "f")
        let plan = RunPlan(limits: isReversed ? [first, latest] : [latest, first])
        #expect(scheduler([RunPlan(limits: [latest])]).decide(plan) == .accepted(superseding: [Self.id(1)]))
        let busy = scheduler([RunPlan(limits: [latest]), RunPlan(limits: [first])])
        #expect(busy.decide(plan) == .rejected(reason: "ignored: f is under way"))
        #expect(busy.decide(plan, cancelling: [Self.id(2)]) == .accepted(superseding: [Self.id(1)]))
        #expect(scheduler([plan]).decide(plan) == .accepted(superseding: [Self.id(1)]), "it is in both groups")
        let serial = RunPlan(limits: [latest, RunLimit(.serial(waiting: 0), group: "s")])
        #expect(scheduler([serial]).decide(serial) == .accepted(superseding: [Self.id(1)]))
    }

    /// Goal: a second policy of one group takes the place of the first.
    @Test func aGroupHasOneLimit() {
        var plan = RunPlan(policy: .latest, group: "g")
        plan.keep(RunLimit(.first, group: "h"))
        plan.keep(RunLimit(.merge(max: 2), group: "g"))
        #expect(plan.limits == [RunLimit(.merge(max: 2), group: "g"), RunLimit(.first, group: "h")])
    }

    /// Goal: any schedule of acceptance, ends and commits begins what a list would begin, in its order
    /// (PROTOCOL ).
    @Test(arguments: 0..<60 as Range<UInt64>) func randomSchedulesKeepTheModel(seed: UInt64) {
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

        func limit(of group: String) -> RunLimit? { plan.limits.first { $0.group == group } }
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
        let merge = RunLimit(.merge(max: bound), group: "m")
        let other = RunLimit(.merge(max: 2), group: "o")
        let serial = RunLimit(.serial(waiting: bound), group: "s")
        let latest = RunLimit(.latest, group: "l")
        let first = RunLimit(.first, group: "f")
        plans = [
            RunPlan(names: ["n"]), RunPlan(limits: [merge], names: ["n"]), RunPlan(limits: [serial]),
            RunPlan(limits: [latest], names: ["o"]), RunPlan(limits: [first]), RunPlan(limits: [merge, serial]),
            RunPlan(limits: [serial, merge], names: ["n"]), RunPlan(limits: [other, merge]),
            RunPlan(limits: [latest, other, serial]), RunPlan(limits: [first, merge, latest]),
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
        let live = entries.filter { $0.ended == nil }
        let superseded = live.filter { entry in
            plan.limits.contains { $0.policy == .latest && entry.limit(of: $0.group) != nil }
        }.map(\.id)
        let isAccepted = plan.limits.allSatisfy { limit in
            let others = live.count { $0.limit(of: limit.group) != nil && !superseded.contains($0.id) }
            return switch limit.policy {
            case .merge, .latest: true
            case .serial(let waiting): others <= waiting
            case .first: others == 0
            }
        }
        let decision = scheduler.decide(plan)
        guard isAccepted else {
            if case .accepted = decision { Issue.record("\(plan) was to be rejected") }
            return
        }
        #expect(decision == .accepted(superseding: superseded.sorted()))
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
            entries.count { $0.limit(of: group) != nil && $0.hasBegun && ($0.ended ?? .max) > committed }
        }
        var expected: [RunID] = []
        // Groups in whose line somebody stands who was accepted earlier.
        var lines: Set<String> = []
        for index in entries.indices {
            let entry = entries[index]
            guard !entry.hasBegun, entry.ended == nil, entry.accepted <= committed else { continue }
            let bounds = entry.plan.limits.compactMap { limit -> (group: String, most: Int)? in
                switch limit.policy {
                case .merge(let max): (limit.group, max)
                case .serial: (limit.group, 1)
                case .latest, .first: nil
                }
            }
            guard bounds.allSatisfy({ !lines.contains($0.group) && slots($0.group) < $0.most }) else {
                lines.formUnion(bounds.map(\.group))
                continue
            }
            entries[index].hasBegun = true
            expected.append(entry.id)
        }
        let begun = scheduler.committed(through: RunSchedulerTests.at(committed))
        #expect(begun == expected)
        #expect(entries.allSatisfy { scheduler.isRunning($0.id) == ($0.hasBegun && $0.ended == nil) })
    }

    /// Everything that was accepted runs, or was cancelled, when the rest ends: nobody is left in a line.
    mutating func drain() {
        // Nobody waits for somebody who waits.
        commit(through: sequence)
        while let index = entries.firstIndex(where: { $0.ended == nil && $0.hasBegun }) {
            end(index)
            commit(through: sequence)
        }
        commit(through: sequence)
        #expect(entries.allSatisfy { $0.ended != nil })
        commit(through: sequence)
        #expect(scheduler == RunScheduler())
    }
}
