import Counters
import LockstepCore
import LockstepSimulator
import Testing

/// The executor checks what a primary directs: each wrong order must be found.
@Suite struct ScriptedExecutorTests {
    private func id(_ number: RequestNumber) -> RunID {
        RunID(session: SessionID(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1)), number: number)
    }

    private func start(_ number: RequestNumber, attempt: UInt64 = 1, emissions: UInt64 = 0) -> RunStart {
        RunStart(id: id(number), attempt: attempt, emissions: emissions)
    }

    /// A run of one emission goes from its beginning to its end.
    @Test func aRunEmitsAndEnds() {
        let port = TestPort()
        port.accept(id(1), group: "")
        port.executor.begin(start(1))
        port.goOn()
        #expect(port.emissions.count == 1)
        port.commitEmissions()
        port.goOn()
        #expect(port.finished == [id(1)])
        port.end(id(1))
        #expect(port.failures.isEmpty)
    }

    /// An effect begins when its acceptance has committed, and once (PROTOCOL R-62).
    @Test func wrongBeginningsAreFound() {
        #expect(TestPort.failures { $0.executor.begin(start(1)) }.contains("before its acceptance"))
        let twice = TestPort.failures {
            $0.accept(id(1), group: "")
            $0.executor.begin(start(1))
            $0.executor.begin(start(1))
        }
        #expect(twice.contains("twice"))
        let ended = TestPort.failures {
            $0.accept(id(1), group: "")
            $0.end(id(1))
            $0.executor.begin(start(1))
        }
        #expect(ended.contains("after its end"))
    }

    /// A run learns its attempt and what earlier ones emitted (PROTOCOL R-62).
    @Test(arguments: [(2, 0), (1, 1)] as [(UInt64, UInt64)])
    func aWrongAttemptIsFound(attempt: UInt64, emissions: UInt64) {
        let found = TestPort.failures {
            $0.accept(id(1), group: "")
            $0.executor.begin(start(1, attempt: attempt, emissions: emissions))
        }
        #expect(found.contains("the log has attempt"))
    }

    /// Runs of a group begin in the order of acceptance (PROTOCOL R-62).
    @Test(arguments: ["", "two", "all"]) func aWrongOrderIsFound(group: String) {
        let found = TestPort.failures {
            $0.accept(id(1), group: group)
            $0.accept(id(2), group: group)
            $0.executor.begin(start(2))
            $0.executor.begin(start(1))
        }
        #expect(found.contains("of its group"))
    }

    /// A run counts in each of its groups, and keeps the order of each (PROTOCOL R-63).
    @Test func groupsThatAreSharedInPartAreWatched() {
        let beside = TestPort.failures {
            $0.accept(id(1), group: "line, two")
            $0.accept(id(2), group: "line")
            $0.executor.begin(start(1))
            $0.executor.begin(start(2))
        }
        #expect(beside.contains("begins beside 1 of its group line"))
        let overtaken = TestPort.failures {
            $0.accept(id(1), group: "two, line")
            $0.accept(id(2), group: "two")
            $0.executor.begin(start(2))
            $0.executor.begin(start(1))
        }
        #expect(overtaken.contains("of its group two"))
    }

    /// Never more at a time than the policy says; a place is free when the end has committed (PROTOCOL R-63).
    @Test(arguments: [("two", 2), ("line", 1), ("newest", 1), ("oldest", 1), ("two, line", 1)] as [(String, UInt64)])
    func tooManyAtATimeAreFound(group: String, most: UInt64) {
        let port = TestPort()
        for number in 1...most + 1 { port.accept(id(number), group: group) }
        for number in 1...most { port.executor.begin(start(number)) }
        #expect(port.failures.isEmpty)
        port.executor.begin(start(most + 1))
        #expect(port.failures.contains("beside"))
        let freed = TestPort()
        for number in 1...most + 1 { freed.accept(id(number), group: group) }
        for number in 1...most { freed.executor.begin(start(number)) }
        freed.end(id(1))
        freed.executor.begin(start(most + 1))
        #expect(freed.failures.isEmpty)
    }

    /// What runs and was not stopped is not dropped (PROTOCOL R-62).
    @Test func anEmissionThatIsDroppedWithoutCauseIsFound() {
        let port = TestPort()
        port.accept(id(1), group: "")
        port.executor.begin(start(1))
        port.goOn()
        port.answerEmissions(.dropped)
        #expect(port.failures.contains("is dropped"))
    }

    /// A primary that was told to stop may drop what runs, which then brings no more (PROTOCOL R-62).
    @Test func whatRunsIsDroppedByAPrimaryThatStops() {
        let port = TestPort()
        port.accept(id(1), group: "")
        port.executor.begin(start(1))
        port.goOn()
        port.isMachineStopping = true
        #expect(!port.emissions.isEmpty)
        port.answerEmissions(.dropped)
        port.goOn()
        #expect(port.failures.isEmpty && port.emissions.isEmpty)
    }

    @Test func anOutcomeThatComesTwiceIsFound() {
        let port = TestPort()
        port.accept(id(1), group: "")
        port.executor.begin(start(1))
        port.goOn()
        let tickets = port.emissions.map(\.ticket)
        for ticket in tickets + tickets { port.executor.emissionEnded(ticket, .busy) }
        #expect(port.failures.contains("two outcomes"))
    }

    @Test func anEmissionThatIsNotInTheLogIsFound() {
        let port = TestPort()
        port.accept(id(1), group: "")
        port.executor.begin(start(1))
        port.goOn()
        port.isInLog = false
        port.commitEmissions()
        #expect(port.failures.contains("is not there"))
    }

    /// A busy emission is brought again, and so is a busy end.
    @Test func whatIsBusyComesAgain() {
        let port = TestPort()
        port.accept(id(1), group: "")
        port.executor.begin(start(1))
        port.goOn()
        port.answerEmissions(.busy)
        port.goOn()
        #expect(port.emissions.count == 1)
        port.commitEmissions()
        port.goOn()
        port.executor.runEnded(id(1), .busy)
        port.goOn()
        #expect(port.finished == [id(1), id(1)])
        #expect(port.failures.isEmpty)
    }

    @Test func aStopOfNothingIsFound() {
        #expect(TestPort.failures { $0.executor.stop(id(1)) }.contains("does not run"))
    }

    /// What is emitted after a stop must be dropped.
    @Test func anEmissionThatCountsAfterItsStopIsFound() {
        for seed in 1...20 as ClosedRange<UInt64> {
            let port = TestPort(seed: seed)
            port.accept(id(1), group: "")
            port.executor.begin(start(1))
            port.executor.stop(id(1))
            for _ in 0..<6 { port.goOn() }
            guard !port.emissions.isEmpty else { continue }
            port.commitEmissions()
            #expect(port.failures.contains("is stopped"))
            return
        }
        Issue.record("no run emitted after its stop")
    }
}

/// A primary whose directives a test chooses.
final class TestPort: EffectPort {
    let state = EffectState(CountersWorkload().makeState())
    var notes: [RunID: RunNote] = [:]
    var isInLog = true
    var isHealing = true
    var isMachineStopping = false
    private(set) var emissions: [(cause: EffectCause, ticket: UInt64)] = []
    private(set) var finished: [RunID] = []
    private(set) var failures = ""
    private var tokens: [UInt64] = []
    private var made: ScriptedExecutor?
    private let seed: UInt64

    init(seed: UInt64 = 1) { self.seed = seed }

    static func failures(_ body: (TestPort) -> Void) -> String {
        let port = TestPort()
        body(port)
        return port.failures
    }

    var executor: ScriptedExecutor {
        if let made { return made }
        let new = ScriptedExecutor(port: self, random: SplitMix64(seed: seed))
        made = new
        return new
    }

    let host = 0
    var effectState: any ReplicatedState { state }
    var effectEpoch: Epoch { Epoch(rawValue: 1) }
    var virtualTime: Int64 { 0 }
    var unfinishedRuns: [RunID] { [] }
    func committedRun(_ id: RunID) -> RunNote? { notes[id] }
    func isEmission(_ cause: EffectCause, at sequence: SequenceNumber) -> Bool { isInLog }
    func emit(_ cause: EffectCause, mutations: [UInt8], ticket: UInt64) { emissions.append((cause, ticket)) }
    func finish(_ id: RunID, item: [UInt8]) { finished.append(id) }
    func wake(after delay: Int64, token: UInt64) { tokens.append(token) }
    func note(_ event: EffectEvent, _ id: UInt64) {}
    func fail(_ promise: Violation.Promise, _ text: String) { failures += "\(promise): \(text)\n" }

    /// All that waits for its time has come.
    func goOn() {
        let due = tokens
        tokens = []
        for token in due { executor.due(token) }
    }

    func commitEmissions() { answerEmissions(.committed(effectEpoch, SequenceNumber(rawValue: 9))) }

    func answerEmissions(_ outcome: EmissionOutcome) {
        let waiting = emissions
        emissions = []
        for emission in waiting { executor.emissionEnded(emission.ticket, outcome) }
    }

    /// Puts an effect of one emission into the state and the committed log.
    func accept(_ id: RunID, group: String) {
        var script = EffectScript(emissions: 1, pace: 1)
        script.group = UInt64(EffectGroup.all.firstIndex { $0.name == group } ?? 0)
        var writer = ByteWriter()
        writer.writeBytes(EffectAction.start(script).bytes)
        withBytes(of: writer.bytes) { bytes in
            var reader = ByteReader(bytes)
            var batch = BatchBuilder(
                store: StoreID(rawValue: 1), epoch: effectEpoch, after: .start(of: StoreID(rawValue: 1)), time: .zero)
            batch.beginSeries(session: id.session, first: id.number, ackedThrough: 0)
            let context = PerformContext(
                session: id.session, firstNumber: id.number, epoch: effectEpoch,
                firstSequence: SequenceNumber(rawValue: 1), time: .zero)
            let performed = state.perform(bytes, &reader, count: 1, context: context, into: &batch)
            #expect(performed == 0)
            #expect(state.takeRequest()?.plan == script.plan)
        }
        state.runAccepted(id)
        notes[id] = RunNote(
            sequence: SequenceNumber(rawValue: id.number + 1), action: EffectAction.start(script).bytes)
    }

    func end(_ id: RunID) {
        notes[id]?.end = RunNote.End(
            epoch: effectEpoch, sequence: SequenceNumber(rawValue: 99), status: .committed, bytes: [],
            batch: BatchHash(rawValue: 1))
        executor.runEnded(id, .committed(effectEpoch, SequenceNumber(rawValue: 99)))
    }
}
