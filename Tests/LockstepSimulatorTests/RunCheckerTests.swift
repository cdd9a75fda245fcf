import LockstepCore
import LockstepSimulator
import Testing

/// What the checker of runs must find in a log: each wrong history breaks one promise.
@Suite struct RunCheckerTests {
    private let id = RunID(
        session: SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1)), number: 1)

    private func other(_ number: RequestNumber) -> RunID { RunID(session: id.session, number: number) }

    private func script(_ group: Int = 0) -> EffectAction {
        var script = EffectScript(emissions: 1, pace: 1)
        script.group = UInt64(group)
        return .start(script)
    }

    private func group(_ name: String) throws -> Int {
        try #require(EffectGroup.all.firstIndex { $0.name == name })
    }

    private func emission(_ id: RunID, attempt: UInt64 = 1, index: UInt64 = 1) -> EffectMutation {
        .emission(id, epoch: CheckedLog.epoch, attempt: attempt, index: index)
    }

    /// A log as it should be breaks nothing: acceptance, emissions, a restart, an end, its acknowledgement.
    @Test func aRightLogPasses() {
        var log = CheckedLog()
        log.open()
        log.accepted(id, script())
        log.emitted(id, emission(id))
        log.emitted(id, emission(id, index: 2))
        log.open()
        log.emitted(id, emission(id, attempt: 2))
        log.finished(id, .committed, [.lastWord(id, epoch: CheckedLog.epoch, attempt: 2)])
        log.told.insert(id)
        log.acknowledged(id)
        #expect(log.broken == nil)
        #expect(log.checker.runs[id]?.emissions == 3)
        #expect(log.checker.unfinished.isEmpty)
    }

    /// An accepted action has one end (PROTOCOL R-61).
    @Test(arguments: [ActionStatus.committed, .rejected, .void]) func aSecondEndIsFound(status: ActionStatus) {
        var log = CheckedLog()
        log.accepted(id, script())
        log.finished(id, .void)
        log.finished(id, status)
        #expect(log.broken?.promise == .runEnd)
    }

    @Test func anEndOfNothingIsFound() {
        var log = CheckedLog()
        log.finished(id, .committed)
        #expect(log.broken?.promise == .runEnd)
    }

    @Test func aNumberThatIsAcceptedTwiceIsFound() {
        var log = CheckedLog()
        log.accepted(id, script())
        log.accepted(id, script())
        #expect(log.broken?.promise == .exactlyOnce)
    }

    /// Nothing of a run comes after its end (PROTOCOL R-62).
    @Test func anEmissionAfterTheEndIsFound() {
        var log = CheckedLog()
        log.accepted(id, script())
        log.finished(id, .void)
        log.emitted(id, emission(id))
        #expect(log.broken?.promise == .runEnd)
    }

    @Test func anEmissionOfNothingIsFound() {
        var log = CheckedLog()
        log.emitted(id, emission(id))
        #expect(log.broken?.promise == .effects)
    }

    /// Only the attempt of the present epoch emits and ends (PROTOCOL R-62).
    @Test func anEmissionOfAnEarlierAttemptIsFound() {
        var log = CheckedLog()
        log.accepted(id, script())
        log.open()
        log.emitted(id, emission(id, attempt: 1))
        #expect(log.broken?.promise == .effects)
    }

    @Test func anEndOfAnEarlierAttemptIsFound() {
        var log = CheckedLog()
        log.accepted(id, script())
        log.open()
        log.finished(id, .committed, [.lastWord(id, epoch: CheckedLog.epoch, attempt: 1)])
        #expect(log.broken?.promise == .effects)
    }

    @Test func anEmissionThatIsLoggedTwiceIsFound() {
        var log = CheckedLog()
        log.accepted(id, script())
        log.emitted(id, emission(id))
        log.emitted(id, emission(id))
        #expect(log.broken?.promise == .effects)
    }

    /// The policies hold in the log itself (PROTOCOL R-63).
    @Test(arguments: [("oldest", 1), ("newest", 1), ("line", 4), ("two, line", 4), ("newest, line", 1)])
    func tooManyOfAGroupAreFound(name: String, most: UInt64) throws {
        var log = CheckedLog()
        for number in 1...most { log.accepted(other(number), script(try group(name))) }
        #expect(log.broken == nil)
        log.accepted(other(most + 1), script(try group(name)))
        #expect(log.broken?.promise == .effects)
    }

    /// A rejection needs a cause at its place: before the group's run began, and after its end, there is none.
    @Test func aRejectionWithoutCauseIsFound() throws {
        var log = CheckedLog()
        let plan = RunPlan(policy: .first, group: "oldest")
        let before = log.next
        log.accepted(id, script(try group("oldest")))
        let between = log.next
        log.open()
        log.finished(id, .committed)
        #expect(!log.checker.isRejectionRight(plan, at: before))
        #expect(log.checker.isRejectionRight(plan, at: between))
        #expect(!log.checker.isRejectionRight(plan, at: log.next))
    }

    /// Each group can be the cause, and one that the action would have ended is none (PROTOCOL R-63).
    @Test func aRejectionOfOneGroupIsRight() throws {
        var log = CheckedLog()
        let latest = RunLimit(.latest, group: "newest")
        let line = RunLimit(.serial(waiting: 0), group: "line")
        log.accepted(id, script(try group("newest, line")))
        #expect(!log.checker.isRejectionRight(RunPlan(limits: [latest, line]), at: log.next))
        #expect(log.checker.isRejectionRight(RunPlan(limits: [RunLimit(.latest, group: "x"), line]), at: log.next))
    }

    /// An acknowledgement says that the sender has the end (PROTOCOL R-64).
    @Test func anAcknowledgementOfWhatNobodyHasIsFound() {
        var log = CheckedLog()
        log.accepted(id, script())
        log.finished(id, .committed)
        log.acknowledged(id)
        #expect(log.broken?.promise == .runEnd)
    }

    @Test func aSourceThatRepeatsItselfIsFound() {
        var log = CheckedLog()
        log.emitted(.source("s0"), [.source(0, index: 0)])
        log.emitted(.source("s0"), [.source(0, index: 1)])
        #expect(log.broken == nil)
        log.emitted(.source("s0"), [.source(0, index: 1)])
        #expect(log.broken?.promise == .effects)
    }

    /// A feedback emits while the state asks for it, and for what it asks (PROTOCOL R-65).
    @Test(arguments: [[], [EffectMutation.asked(1, ticket: 7)], [.asked(1, ticket: 6), .withdrawn(1)]])
    func aFeedbackThatNobodyAsksForIsFound(before: [EffectMutation]) {
        var log = CheckedLog()
        for mutation in before { log.action([mutation]) }
        log.emitted(.feedback("f1"), [.feedback(1, ticket: 6, index: 1)])
        #expect(log.broken?.promise == .effects)
    }
}

/// What the checker of timers must find (PROTOCOL R-65).
@Suite struct TimerCheckerTests {
    private func set(_ timer: UInt64, _ deadline: Int64) -> EffectMutation {
        .timerSet(timer, deadline: LogTime(rawValue: deadline))
    }

    private func fired(_ timer: UInt64, _ deadline: Int64) -> EffectMutation {
        .timerFired(timer, deadline: LogTime(rawValue: deadline))
    }

    private func promise(_ times: [(Int64, EffectCause?, [EffectMutation])], calm: Int64? = nil) -> Violation.Promise? {
        var log = CheckedLog()
        for (time, cause, mutations) in times {
            log.time = LogTime(rawValue: time)
            if calm == time { log.checker.isCalm(at: log.time) }
            if let cause { log.emitted(cause, mutations) } else { log.action(mutations) }
        }
        return log.broken?.promise
    }

    @Test func timersThatFireInTimePass() {
        #expect(
            promise([
                (1, nil, [set(1, 10)]), (2, nil, [set(2, 10)]), (3, nil, [set(3, 9)]),
                (10, .time, [fired(3, 9), fired(1, 10), fired(2, 10)]),
            ]) == nil)
    }

    @Test func oneThatFiresEarlyIsFound() {
        #expect(promise([(1, nil, [set(1, 10)]), (9, .time, [fired(1, 10)])]) == .timers)
    }

    @Test func oneThatFiresTwiceIsFound() {
        #expect(promise([(1, nil, [set(1, 10)]), (10, .time, [fired(1, 10)]), (11, .time, [fired(1, 10)])]) == .timers)
    }

    @Test func oneThatWasCancelledOrReplacedIsFound() {
        #expect(
            promise([(1, nil, [set(1, 10)]), (2, nil, [.timerCancelled(1)]), (10, .time, [fired(1, 10)])]) == .timers)
        #expect(promise([(1, nil, [set(1, 10)]), (2, nil, [set(1, 20)]), (10, .time, [fired(1, 10)])]) == .timers)
    }

    @Test func timersOutOfTheirOrderAreFound() {
        #expect(promise([(1, nil, [set(1, 10), set(2, 9)]), (10, .time, [fired(1, 10), fired(2, 9)])]) == .timers)
        #expect(promise([(1, nil, [set(1, 10), set(2, 10)]), (10, .time, [fired(2, 10), fired(1, 10)])]) == .timers)
    }

    @Test func timersOfAnActionAreFound() {
        #expect(promise([(1, nil, [set(1, 10)]), (10, .source("s0"), [fired(1, 10)])]) == .effects)
    }

    @Test func anEntryOfTimeWithoutMutationsIsFound() {
        #expect(promise([(1, .time, [])]) == .timers)
    }

    /// Lateness is judged only where nothing hinders.
    @Test func oneThatFiresLateIsFound() {
        let late = 10 + RunChecker.largestDelay + 1
        let times: [(Int64, EffectCause?, [EffectMutation])] = [
            (1, nil, [set(1, 10)]), (5, nil, []), (late, .time, [fired(1, 10)]),
        ]
        #expect(promise(times) == nil)
        #expect(promise(times, calm: 5) == .timers)
        #expect(promise(times, calm: late) == nil)
    }
}

/// A log that a test writes entry by entry, as the checker of runs reads it.
struct CheckedLog {
    static let epoch = Epoch(rawValue: 1)
    var checker = RunChecker(readsScripts: true)
    var told: Set<RunID> = []
    var time = LogTime(rawValue: 1)
    private(set) var broken: Violation?
    private var position = Position.start(of: StoreID(rawValue: 1))

    var next: SequenceNumber { position.sequence.next }

    private mutating func add(_ write: (inout BatchBuilder) -> Void) {
        var batch = BatchBuilder(store: StoreID(rawValue: 1), epoch: Self.epoch, after: position, time: time)
        write(&batch)
        let sealed = batch.sealed()
        position = sealed.position
        withBytes(of: sealed.bytes) { bytes in
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            guard let entry = try? Entry(from: bytes, &reader) else {
                Issue.record("the entry cannot be read")
                return
            }
            let found = checker.saw(entry, bytes, sealed, at: sealed.head.first, told: told)
            broken = broken ?? found
        }
    }

    private mutating func add(_ source: [UInt8], _ entry: (Range<Int>) -> Entry) {
        withBytes(of: source) { bytes in
            add { _ = $0.append(entry(0..<bytes.byteCount), source: bytes) }
        }
    }

    mutating func open() {
        add { _ = $0.append(.epochOpen(node: "n", incarnation: .none, boot: BootID(rawValue: 1))) }
    }

    mutating func accepted(_ id: RunID, _ action: EffectAction) {
        add(action.bytes) { .accepted(session: id.session, number: id.number, ackedThrough: 0, action: $0) }
    }

    mutating func emitted(_ id: RunID, _ mutation: EffectMutation) {
        emitted(.action(id.session, id.number), [mutation])
    }

    mutating func emitted(_ cause: EffectCause, _ mutations: [EffectMutation]) {
        add(EffectMutation.list(mutations)) { .emitted(cause: cause, mutations: $0) }
    }

    mutating func finished(_ id: RunID, _ status: ActionStatus, _ mutations: [EffectMutation] = []) {
        add(EffectMutation.item(status, mutations, reply: [])) {
            .finished(session: id.session, number: id.number, item: $0)
        }
    }

    mutating func acknowledged(_ id: RunID) { add { _ = $0.append(.runAck([id])) } }

    /// An action's item with these mutations.
    mutating func action(_ mutations: [EffectMutation]) {
        add { batch in
            batch.beginSeries(
                session: SessionID(epoch: Self.epoch, sequence: SequenceNumber(rawValue: 1)), first: 1, ackedThrough: 0)
            let start = batch.beginItem(mutationCount: mutations.count)
            for mutation in mutations { batch.writer.writeBytes(mutation.bytes) }
            let reply = batch.writer.writeMeasured { _ in }
            let fits = batch.endItem(start, replyStart: reply)
            #expect(fits)
            _ = batch.endSeries()
        }
    }
}
