import LockstepChecking
import Testing

/// The search for an order against all orders of many short histories.
@Suite struct LinearizabilityAgreementTests {
    /// The search and the trial of all orders agree on 10,000 short histories, sound and damaged ones.
    @Test func theSearchAgreesWithTheTrialOfAllOrders() {
        let seed: UInt64 = 0x5EED_0001
        var generator = Generator(seed: seed)
        var valid = 0
        var invalid = 0
        for round in 0..<10_000 {
            let bounds: ClosedRange<Int64>? = round % 3 == 0 ? -1...2 : nil
            let model = CounterModel(bounds: bounds.map { ["a": $0] } ?? [:])
            let shape = Shape(
                operations: 3 + generator.below(5), clients: 2 + generator.below(2),
                unknownOneIn: [0, 2, 3, 6][generator.below(4)])
            var (calls, log) = generator.validHistory(shape, bounds: model.bounds)
            let damages = generator.below(4)
            for index in calls.indices where calls[index].returned == nil && round % 2 == 0 {
                calls[index].place = log[index]?.place
                if !generator.oneIn(3) { calls[index].output = log[index]?.output }
            }
            for _ in 0..<damages { generator.damage(&calls) }
            let expected = hasOrder(calls, bounds: bounds)
            let verdict = LinearizabilityChecker(model).check(calls)
            #expect(verdict.holds == expected, "seed \(seed), round \(round): \(calls)")
            #expect(damages > 0 || expected, "seed \(seed), round \(round): a sound history has no order: \(calls)")
            if expected { valid += 1 } else { invalid += 1 }
        }
        #expect(valid >= 2_000 && invalid >= 2_000, "\(valid) valid and \(invalid) invalid histories")
    }

    /// A history of several keys is linearizable if and only if each key's part is.
    @Test func keysAreCheckedApart() {
        let seed: UInt64 = 0x5EED_0002
        var generator = Generator(seed: seed)
        var verdicts: Set<Bool> = []
        for round in 0..<300 {
            var calls = generator.validHistory(Shape(operations: 12, keys: ["a", "b", "c"])).calls
            if round % 2 == 0 { generator.damage(&calls) }
            let expected = ["a", "b", "c"].allSatisfy { key in hasOrder(calls.filter { $0.input.key == key }) }
            let verdict = LinearizabilityChecker(CounterModel()).check(calls, splitBy: \.key)
            #expect(verdict.holds == expected, "seed \(seed), round \(round): \(calls)")
            verdicts.insert(expected)
        }
        #expect(verdicts == [true, false])
    }

    /// What the log shows of operations whose outcome no client learned makes them part of the order.
    @Test func operationsThatTheLogHasMustTakeEffect() {
        let checker = LinearizabilityChecker(CounterModel())
        let reads = [call(2, 20, 30, .read, .absent), call(2, 40, 50, .read, .absent)]
        #expect(checker.check([call(1, 0, nil, .set(1))] + reads).holds == true)
        #expect(checker.check([call(1, 0, nil, .set(1), at: 1)] + reads).holds == true)
        #expect(checker.check([call(1, 0, nil, .reset, .value(1))] + reads).holds == false)
        #expect(checker.check([call(1, 0, nil, .set(1), .value(1))] + reads).holds == true)
        // Equal ones with different outputs are not interchangeable: the later one comes first.
        let sums = [call(1, 0, nil, .add(1), .value(2)), call(2, 1, nil, .add(1), .value(1))]
        #expect(checker.check(sums).holds == true)
        let back = [call(3, 2, 3, .read, .value(2)), call(3, 5, 6, .read, .value(1))]
        #expect(checker.check(sums + back).holds == false)
        // What was placed to no avail and taken back is still to be placed.
        let writes = [call(1, 0, nil, .set(1), at: 1), call(2, 0, nil, .reset, .value(2))]
        #expect(checker.check(writes + reads).holds == false)
        #expect(checker.check(writes + reads + [call(3, 60, nil, .add(1))]).holds == true)
    }
}

/// Known cases of linearizability.
@Suite struct LinearizabilityCaseTests {
    private let checker = LinearizabilityChecker(CounterModel())

    @Test func anEmptyHistoryIsLinearizable() { #expect(checker.check([]).holds == true) }

    @Test func aReadBesideAWriteMaySeeBothValues() {
        let writes = [call(1, 0, 10, .set(1), .value(1)), call(1, 20, 50, .set(2), .value(2))]
        for value in [Int64(1), 2] {
            #expect(checker.check(writes + [call(2, 30, 40, .read, .value(value))]).holds == true)
        }
        #expect(checker.check(writes + [call(2, 30, 40, .read, .value(3))]).holds == false)
        #expect(checker.check(writes + [call(2, 30, 40, .read, .absent)]).holds == false)
    }

    @Test func twoReadsBesideAWriteMayNotGoBack() {
        let writes = [call(1, 0, 10, .set(1), .value(1)), call(1, 20, 90, .set(2), .value(2))]
        func reads(_ first: Int64, _ second: Int64) -> [Call] {
            writes + [call(2, 30, 40, .read, .value(first)), call(3, 50, 60, .read, .value(second))]
        }
        #expect(checker.check(reads(1, 2)).holds == true)
        #expect(checker.check(reads(2, 1)).holds == false)
    }

    @Test func readsThatOverlapMayBeSwapped() {
        let calls = [
            call(1, 0, 10, .set(1), .value(1)), call(1, 20, 90, .set(2), .value(2)),
            call(2, 30, 50, .read, .value(2)), call(3, 40, 60, .read, .value(1)),
        ]
        #expect(checker.check(calls).holds == true)
    }

    @Test func aWriteOfUnknownOutcomeMayTakeEffectLateOrNever() {
        let calls = [call(1, 0, 10, .set(1), .value(1)), call(2, 0, nil, .set(2))]
        func reads(_ values: Int64...) -> [Call] {
            calls + values.enumerated().map { call(3, Int64($0) * 20 + 20, Int64($0) * 20 + 30, .read, .value($1)) }
        }
        #expect(checker.check(reads(1, 1, 1)).holds == true)
        #expect(checker.check(reads(1, 1, 2)).holds == true)
        #expect(checker.check(reads(2, 2, 2)).holds == true)
        #expect(checker.check(reads(1, 2, 1)).holds == false)
    }

    @Test func aWriteHasNoEffectBeforeItsInvocation() {
        let calls = [call(1, 0, 10, .read, .value(5)), call(2, 11, nil, .set(5))]
        #expect(checker.check(calls).holds == false)
        #expect(checker.check([call(1, 0, 11, .read, .value(5)), call(2, 11, nil, .set(5))]).holds == true)
    }

    @Test func aLostUpdateIsFound() {
        let calls = [
            call(1, 0, 10, .add(1), .value(1)), call(2, 0, 10, .add(1), .value(1)),
        ]
        #expect(checker.check(calls).holds == false)
        #expect(checker.check([calls[0], call(2, 0, 10, .add(1), .value(2))]).holds == true)
    }

    @Test func aStaleReadIsFoundAndShown() throws {
        let calls = [
            call(1, 0, 10, .add(1), .value(1)), call(1, 20, 30, .add(1), .value(2)),
            call(2, 40, 50, .read, .value(1)),
        ]
        let evidence = try #require(checker.check(calls).evidence)
        #expect(evidence.placed == 2)
        #expect(evidence.returned == 3)
        #expect(evidence.state == 2)
        #expect(evidence.stuck.map(\.input.action) == [.read])
        #expect(evidence.ending.map(\.output) == [.value(1), .value(2)])
        #expect(evidence.description.contains("client 2 [40, 50] a.read -> value(1)"))
    }

    /// What the log has of a caller that never heard of it needs a place too, and is named if it has none.
    @Test func whatTheLogHasAndCannotBeIsShown() throws {
        let calls = [call(1, 0, 10, .add(1), .value(1)), call(2, 20, nil, .add(1), .value(7))]
        let evidence = try #require(checker.check(calls).evidence)
        #expect(evidence.placed == 1)
        #expect(evidence.stuck.isEmpty)
        #expect(evidence.unplaced.map(\.output) == [.value(7)])
        #expect(evidence.description.contains("client 2 [20, ?] a.add(1) -> value(7)"))
    }

    @Test func rejectionsAreRightOnlyWhereTheyAreDue() {
        let bounded = LinearizabilityChecker(CounterModel(bounds: ["a": 0...3]))
        let full = call(1, 0, 10, .set(3), .value(3))
        #expect(bounded.check([full, call(1, 20, 30, .add(1), .rejected)]).holds == true)
        #expect(checker.check([full, call(1, 20, 30, .add(1), .rejected)]).holds == false)
        #expect(bounded.check([full, call(1, 20, 30, .add(-1), .rejected)]).holds == false)
        #expect(bounded.check([full, call(1, 20, 30, .add(1), .value(4))]).holds == false)
        #expect(checker.check([call(1, 0, 1, .reset, .rejected)]).holds == true)
        #expect(checker.check([full, call(1, 20, 30, .reset, .rejected)]).holds == false)
        let positive = LinearizabilityChecker(CounterModel(bounds: ["a": 1...3]))
        #expect(positive.check([full, call(1, 20, 30, .reset, .rejected)]).holds == true)
        #expect(positive.check([full, call(1, 20, 30, .reset, .value(3))]).holds == false)
        #expect(
            checker.check([call(1, 0, 1, .set(.max), .value(.max)), call(1, 2, 3, .add(1), .rejected)]).holds == true)
    }

    @Test func comparisonsExcludeEachOther() {
        let won = call(1, 0, 10, .compareAndSet(expected: nil, new: 1), .value(1))
        #expect(checker.check([won, call(2, 0, 10, .compareAndSet(expected: nil, new: 2), .rejected)]).holds == true)
        #expect(checker.check([won, call(2, 0, 10, .compareAndSet(expected: nil, new: 2), .value(2))]).holds == false)
    }
}

/// Histories as long as those of real runs.
@Suite struct LinearizabilityLengthTests {
    private func shape(_ operations: Int, clients: Int, unknownOneIn: Int) -> Shape {
        Shape(operations: operations, clients: clients, unknownOneIn: unknownOneIn)
    }

    /// Long sound histories of one key pass with few steps for each operation.
    @Test(arguments: [(1_000, 8, 0), (1_000, 8, 50), (5_000, 5, 0), (5_000, 5, 200)])
    func longHistoriesPass(operations: Int, clients: Int, unknownOneIn: Int) {
        var generator = Generator(seed: 0x5EED_0003)
        let calls = generator.validHistory(
            shape(operations, clients: clients, unknownOneIn: unknownOneIn)
        ).calls
        let verdict = LinearizabilityChecker(CounterModel(), stepLimit: 100 * operations).check(calls)
        #expect(verdict.holds == true, "\(verdict)")
    }

    /// One damaged output in the middle of a long history is found, and the evidence is near it.
    @Test func oneWrongOutputInALongHistoryIsFound() throws {
        var generator = Generator(seed: 0x5EED_0004)
        var calls = generator.validHistory(Shape(operations: 2_000, clients: 5, unknownOneIn: 0, isAddOnly: true)).calls
        let index = try #require(calls.indices.first { $0 > 1_000 && calls[$0].input.action == .read })
        calls[index].output = .value(-1_000_000)
        let evidence = try #require(LinearizabilityChecker(CounterModel()).check(calls).evidence)
        #expect(evidence.stuck.contains { $0.output == .value(-1_000_000) })
        #expect(evidence.stuck.count <= LinearizabilityEvidence<CounterModel>.longest)
    }

    /// Many equal additions of unknown outcome do not make the search explode.
    @Test func manyEqualUnknownAdditionsAreDecided() {
        let unknown = (0..<60).map { call(100 + $0, Int64($0), nil, .add(1)) }
        var reads = (0..<60).map { call(1, 100 + 10 * Int64($0), 105 + 10 * Int64($0), .read, .value(Int64($0) + 1)) }
        let checker = LinearizabilityChecker(CounterModel(), stepLimit: 100_000)
        #expect(checker.check(unknown + reads).holds == true)
        reads[59].output = .value(61)
        #expect(checker.check(unknown + reads).holds == false)
    }

    /// A history that cannot be decided within the limit is neither passed nor failed.
    @Test func theStepLimitEndsTheSearchUndecided() {
        let calls =
            (0..<12).map { call($0, 0, 10, .add(1 << Int64($0)), .value(-1)) }
            + (0..<12).map { call(20 + $0, 0, nil, .add(1 << Int64($0))) } + [call(50, 20, 30, .read, .value(-5))]
        let checker = LinearizabilityChecker(CounterModel(), stepLimit: 1_000)
        #expect(checker.check(calls).holds == nil)
    }
}
