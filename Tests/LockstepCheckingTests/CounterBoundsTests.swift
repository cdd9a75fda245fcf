import LockstepChecking
import Testing

/// Counters that are only added to and read.
@Suite struct CounterBoundsTests {
    private let checker = CounterBounds()

    private func found(_ calls: [Call], final: Int64? = nil, isResolved: Bool = false) -> [[Int]] {
        let result = checker.check(calls, final: final.map { ["a": $0] } ?? [:], isResolved: isResolved)
        #expect(result.findings.allSatisfy { $0.kind == .outOfRange })
        return result.findings.map(\.operations)
    }

    private let adds = [
        call(1, 0, 10, .add(5), .value(5)), call(2, 20, 60, .add(3), .value(8)), call(3, 25, nil, .add(-2)),
    ]

    @Test func readsMayShowWhatMightHaveHappened() {
        for value in Int64(3)...8 { #expect(found(adds + [call(4, 30, 40, .read, .value(value))]) == []) }
        for value in [Int64(2), 9] { #expect(found(adds + [call(4, 30, 40, .read, .value(value))]) == [[3]]) }
        #expect(found(adds + [call(4, 30, 40, .read, .absent)]) == [[3]])
        #expect(found(adds + [call(4, 0, 9, .read, .absent)]) == [])
    }

    /// A stale read misses an addition that had returned.
    @Test func aStaleReadIsFound() {
        #expect(found([adds[0], call(2, 20, 30, .read, .value(0))]) == [[1]])
        #expect(found([adds[0], call(2, 10, 30, .read, .value(0))]) == [])
    }

    @Test func aLostUpdateIsFoundInTheSums() {
        #expect(found([adds[0], call(2, 20, 30, .add(3), .value(3))]) == [[1]])
        #expect(found([adds[0], call(2, 20, 30, .add(3), .value(8))]) == [])
        #expect(found([adds[0], call(2, 20, 30, .add(3), .rejected)], final: 5) == [])
    }

    @Test func aSumContainsItsOwnAmount() {
        #expect(found([call(1, 0, 10, .add(5), .value(5)), call(2, 20, 30, .add(-5), .value(0))]) == [])
        #expect(found([call(1, 0, 10, .add(5), .value(3))]) == [[0]])
        #expect(found([call(1, 0, 10, .add(-5), .value(-3))]) == [[0]])
    }

    @Test func rejectedAdditionsCountNothing() {
        let rejected = call(1, 0, 10, .add(100), .rejected)
        #expect(found([rejected, call(2, 5, 30, .read, .absent)]) == [])
        #expect(found([rejected, call(2, 5, 30, .read, .value(100))]) == [[1]])
        #expect(found([rejected, call(2, 20, 30, .read, .absent)], final: 0) == [])
    }

    @Test func theLastValueIsWithinWhatIsKnown() {
        for value in [Int64(6), 7, 8] { #expect(found(adds, final: value) == []) }
        for value in [Int64(5), 9] { #expect(found(adds, final: value) == [[]]) }
        #expect(found(adds, final: 8, isResolved: true) == [])
        #expect(found(adds, final: 6, isResolved: true) == [[]])
        var resolved = adds
        resolved[2].place = LogPlace(epoch: 1, sequence: 3)
        #expect(found(resolved, final: 6, isResolved: true) == [])
        #expect(found(resolved, final: 8, isResolved: true) == [[]])
    }

    @Test func sumsBeyond64BitsAreNoOverflow() {
        let calls = (0..<3).map { call($0, 0, nil, .add(.max)) } + [call(4, 1, 2, .read, .value(.max))]
        #expect(found(calls) == [])
    }

    @Test func keysThatAreAlsoSetAreLeftOut() {
        let result = checker.check([adds[0], call(2, 0, 5, .set(1), .value(1))], final: ["a": 100])
        #expect(result.passed)
        #expect(result.checked == 0)
    }

    /// Whatever has an order is within the bounds, with any unknown outcomes.
    @Test func whatReallyHappenedPasses() {
        let seed: UInt64 = 0x5EED_0007
        var generator = Generator(seed: seed)
        var checked = 0
        for round in 0..<500 {
            let shape = Shape(operations: 40, clients: 5, unknownOneIn: round % 8, isAddOnly: true, keys: ["a", "b"])
            let result = checker.check(generator.validHistory(shape).calls)
            #expect(result.passed, "seed \(seed), round \(round): \(result)")
            checked += result.checked
        }
        #expect(checked > 10_000)
    }
}

/// Lists that are only appended to, and sets that are only added to.
@Suite struct CollectionChecksTests {
    @Test func readsOfAListAreBeginningsOfTheLongest() {
        #expect(CollectionChecks.prefixes([[1], [], [1, 2, 3], [1, 2]]) == [])
        #expect(CollectionChecks.prefixes([[Int]]()) == [])
        let findings = CollectionChecks.prefixes([[1, 3], [1, 2, 3], [2]])
        #expect(findings.map(\.kind) == [.notAPrefix, .notAPrefix])
        #expect(findings.map(\.operations) == [[0, 1], [2, 1]])
    }

    @Test func elementsAreNeitherLostNorDoubledNorMadeUp() {
        func kinds(_ found: [Int]) -> [Finding.Kind] {
            CollectionChecks.elements(acknowledged: [1, 2], attempted: [1, 2, 3], found: found).map(\.kind)
        }
        #expect(kinds([2, 1]) == [])
        #expect(kinds([1, 2, 3]) == [])
        #expect(kinds([1, 3]) == [.lost])
        #expect(kinds([1, 2, 2]) == [.duplicated])
        #expect(kinds([1, 2, 4]) == [.unexpected])
    }
}

/// What a recorder writes down.
@Suite struct HistoryTests {
    @Test func operationsAreInvokedCompletedAndResolved() {
        var history = History<CounterCall, CounterOutput>()
        let first = history.invoke(CounterCall("a", .add(1)), by: 1, number: 1, at: 10)
        let second = history.invoke(CounterCall("a", .read), by: 2, at: 12)
        history.complete(second, at: 15, .absent, place: LogPlace(epoch: 1, sequence: 0))
        #expect(!history.operations[first].isOrdered)
        #expect(history.operations[second].isOrdered)
        history.resolve(first, nil, place: LogPlace(epoch: 1, sequence: 1))
        #expect(history.operations[first].isOrdered)
        #expect(
            history.operations.map(\.description) == [
                "client 1 #1 [10, ?] a.add(1) -> ? at 1:1", "client 2 [12, 15] a.read -> absent at 1:0",
            ])
    }

    @Test func placesAreOrderedByEpochAndSequence() {
        #expect(LogPlace(epoch: 1, sequence: 9) < LogPlace(epoch: 2, sequence: 1))
        #expect(LogPlace(epoch: 2, sequence: 1) < LogPlace(epoch: 2, sequence: 2))
    }
}
