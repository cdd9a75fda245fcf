import Foundation
import LockstepChecking
import LockstepLaboratory
import Testing

/// The judge passes a true history, and finds each lie that is planted in it.
@Suite struct JudgeTests {
    /// A history of a few operations, as its file would hold it, and the log beside it.
    private struct Run {
        var lines: [HistoryLine] = []
        var actions: [JournalLog.ActionName: JournalLog.LoggedAction] = [:]
        private var time: Int64 = 0
        private var sequence: UInt64 = 10

        /// Begins an operation; its number.
        mutating func begin(_ key: String, _ action: ObjectCall.Action, worker: Int = 1) -> Int {
            time += 1
            var line = HistoryLine(at: time, operation: lines.count)
            line.worker = worker
            line.call = ObjectCall(key, action)
            lines.append(line)
            return line.operation
        }

        /// Ends an operation; a write is also put into the log.
        mutating func end(
            _ operation: Int, _ output: ObjectOutput?, isWrite: Bool = true, outcome: HistoryLine.Outcome = .answered
        ) {
            time += 1
            var line = HistoryLine(at: time, operation: operation)
            line.outcome = outcome
            if isWrite {
                sequence += 1
                line.session = "1:2"
                line.number = sequence
                actions[.init(session: "1:2", number: sequence)] = .init(
                    place: LogPlace(epoch: 1, sequence: sequence), output: output)
            }
            if outcome == .answered {
                line.output = output
                line.epoch = 1
                line.sequence = sequence
            }
            lines.append(line)
        }

        mutating func write(_ key: String, _ action: ObjectCall.Action, _ output: ObjectOutput) {
            end(begin(key, action), output)
        }

        mutating func read(_ key: String, _ output: ObjectOutput) {
            end(begin(key, .read), output, isWrite: false)
        }

        /// The names of the checks that found something.
        func broken(store: String = Workbench.store) throws -> Set<String> {
            let encoder = JSONEncoder()
            let data = try lines.map { try encoder.encode($0) + Data("\n".utf8) }.reduce(Data(), +)
            let judge = Judge(
                try RecordedHistory(data: data), logs: [store: Judge.JournalEvidence(actions: actions)])
            return Set(judge.checks().filter { !$0.findings.isEmpty }.map(\.name))
        }
    }

    /// Registers, a list and the accounts, used as they should be; one write's answer was lost, and took effect.
    private static func honest() -> Run {
        var run = Run()
        run.write("register/1", .write(5), .value(5))
        run.read("register/1", .value(5))
        run.write("register/1", .compareAndSet(expected: 4, new: 6), .rejected)
        run.write("list/1", .append(7), .value(1))
        run.write("list/1", .append(8), .value(2))
        run.read("list/1", .list([7, 8]))
        run.read("accounts", .list(Array(repeating: 100, count: 10)))
        run.write("accounts", .transfer(from: 0, to: 1, amount: 30), .value(70))
        run.write("accounts", .transfer(from: 0, to: 0, amount: 30), .value(70))
        run.write("accounts", .transfer(from: 0, to: 1, amount: 71), .rejected)
        run.write("element/9", .insert(9), .value(1))
        run.end(run.begin("register/1", .write(8)), .value(8), outcome: .unknown)
        run.read("register/1", .value(8))
        return run
    }

    @Test func aTrueHistoryPasses() throws {
        #expect(try Self.honest().broken() == [])
    }

    @Test func aReadOfAnOldValueIsFound() throws {
        var run = Self.honest()
        run.read("register/1", .value(5))
        #expect(try run.broken() == ["order", "linearizability"])
    }

    @Test func anAcknowledgedWriteThatIsNotInTheLogIsFound() throws {
        var run = Self.honest()
        run.write("register/2", .write(1), .value(1))
        let last = try #require(run.lines.last?.number)
        run.actions[.init(session: "1:2", number: last)] = nil
        #expect(try run.broken() == ["answers"])
    }

    @Test func anAnswerThatTheLogContradictsIsFound() throws {
        var run = Self.honest()
        run.write("register/2", .write(1), .value(1))
        let last = try #require(run.lines.last?.number)
        run.actions[.init(session: "1:2", number: last)]?.output = .value(2)
        #expect(try run.broken() == ["answers"])
    }

    @Test func anUnknownWriteThatNeverWasIsNotExpected() throws {
        var run = Self.honest()
        run.end(run.begin("register/1", .write(77)), nil, outcome: .unknown)
        run.read("register/1", .value(8))
        #expect(try run.broken() == [])
        run.read("register/1", .value(77))
        #expect(try run.broken() == ["order", "linearizability"])
    }

    @Test func anElementThatIsThereTwiceIsFound() throws {
        var run = Self.honest()
        run.write("element/9", .insert(9), .value(3))
        #expect(try run.broken() == ["order"])
    }

    @Test func aListThatChangesBehindItsReadersIsFound() throws {
        var run = Self.honest()
        run.read("list/1", .list([8, 7]))
        #expect(try run.broken().isSuperset(of: ["lists", "order"]))
    }

    @Test func moneyThatAppearsIsFound() throws {
        var run = Self.honest()
        run.read("accounts", .list([71, 130] + Array(repeating: 100, count: 8)))
        #expect(try run.broken() == ["totals", "order"])
    }

    /// Two additions and a read between what they allow; then one that was counted twice.
    @Test func anAdditionThatIsCountedTwiceIsFound() throws {
        var run = Run()
        run.write("counter/1", .add(1), .value(1))
        run.write("counter/1", .add(1), .value(2))
        run.read("counter/1", .value(2))
        #expect(try run.broken(store: "counters") == [])
        run.read("counter/1", .value(3))
        #expect(try run.broken(store: "counters") == ["counter bounds", "order"])
    }

    @Test func aLineThatIsNoHistoryIsRefused() {
        #expect(throws: HistoryError.self) { try RecordedHistory(data: Data("{}\n{}\n".utf8)) }
        #expect(throws: HistoryError.self) {
            try RecordedHistory(data: Data(#"{"at":1,"operation":3,"outcome":"failed"}"#.utf8 + Data("\n".utf8)))
        }
    }
}

/// What the clients ask for is drawn from the seed alone, and documents tell whether they are whole.
@Suite struct WorkloadTests {
    @Test(arguments: ChaosWorkload.allCases) func aSeedDrawsTheSameCalls(workload: ChaosWorkload) {
        var left = CallGenerator(workload, worker: 3, seed: 7)
        var right = CallGenerator(workload, worker: 3, seed: 7)
        var other = CallGenerator(workload, worker: 4, seed: 7)
        let calls = (0..<100).map { _ in left.next() }
        #expect(calls == (0..<100).map { _ in right.next() })
        #expect(calls != (0..<100).map { _ in other.next() })
    }

    @Test func documentsTellWhetherTheyAreWhole() throws {
        let lengths = (1...400).map { Document.length(seed: Int64($0)) }
        #expect(try #require(lengths.min()) < 200 && #require(lengths.max()) > 100_000)
        for seed in Int64(1)...20 {
            let text = Document.text(seed: seed)
            #expect(text.utf8.count == Document.length(seed: seed))
            #expect(Document.seed(of: text) == seed)
            #expect(Document.seed(of: String(text.dropLast())) == nil)
        }
    }
}
