import LockstepChecking
import Testing

/// Histories whose answers carry their places in the log.
@Suite struct PositionOrderTests {
    private let checker = PositionOrder(CounterModel())

    private func kinds(_ calls: [Call], guarantee: ReadGuarantee = .everythingReturned) -> Set<Finding.Kind> {
        let result = checker.check(calls, splitBy: \.key, guarantee: { _ in guarantee })
        #expect(result.undecided == [])
        return Set(result.findings.map(\.kind))
    }

    private let sound = [
        call(1, 0, 10, .add(1), .value(1), at: 1, number: 1), call(2, 5, 15, .add(2), .value(3), at: 2, number: 1),
        call(3, 20, 30, .read, .value(3), at: 2), call(1, 25, 45, .reset, .value(3), at: 3, number: 2),
        call(3, 40, 50, .read, .absent, at: 3), call(2, 60, 70, .reset, .rejected, at: 5, number: 2),
    ]

    @Test func aSoundHistoryPasses() {
        let result = checker.check(sound, splitBy: \.key)
        #expect(result.passed, "\(result)")
        #expect(result.checked == 6)
    }

    /// PROTOCOL R-6: a sequence number is given once.
    @Test func aDuplicatePlaceIsFound() {
        var calls = sound
        calls[3].place = LogPlace(epoch: 1, sequence: 2)
        #expect(kinds(calls).contains(.duplicatePlace))
    }

    /// PROTOCOL: epochs only grow with the sequence numbers.
    @Test func anEpochThatFallsIsFound() {
        var calls = sound
        calls[0].place = LogPlace(epoch: 2, sequence: 1)
        #expect(kinds(calls).contains(.epochFell))
        calls = sound
        for index in 3..<6 { calls[index].place?.epoch = 2 }
        #expect(kinds(calls) == [])
        calls[2].place?.epoch = 2
        #expect(kinds(calls) == [.epochFell])
    }

    @Test func acknowledgementsThatAreReorderedAreFound() {
        let calls = [
            call(1, 0, 10, .set(1), .value(1), at: 2), call(2, 20, 30, .set(2), .value(2), at: 1),
        ]
        #expect(kinds(calls) == [.reordered])
        #expect(checker.check(calls, splitBy: \.key).findings.map(\.operations) == [[1, 0]])
    }

    @Test func aReadThatShowsAWriteOfTheFutureIsFound() {
        let calls = [call(1, 0, 10, .read, .value(5), at: 1), call(2, 20, 30, .set(5), .value(5), at: 1)]
        for guarantee in [ReadGuarantee.everythingReturned, .ownWrites, .nothing] {
            #expect(kinds(calls, guarantee: guarantee) == [.reordered])
        }
    }

    /// A stale read breaks only the promise that was made for it.
    @Test func aStaleReadIsFoundWhereItWasPromisedNotToBe() {
        let foreign = [
            call(1, 0, 10, .set(1), .value(1), at: 1), call(1, 20, 30, .set(2), .value(2), at: 2),
            call(2, 40, 50, .read, .value(1), at: 1),
        ]
        #expect(kinds(foreign) == [.staleRead])
        #expect(kinds(foreign, guarantee: .ownWrites) == [])
        var own = foreign
        own[2].client = 1
        #expect(kinds(own, guarantee: .ownWrites) == [.staleRead])
        #expect(kinds(own, guarantee: .nothing) == [])
    }

    @Test func readsThatGoBackAreFound() {
        let calls = [
            call(1, 0, 100, .set(1), .value(1), at: 1), call(2, 10, 20, .read, .value(1), at: 1),
            call(3, 30, 40, .read, .absent, at: 0),
        ]
        #expect(kinds(calls) == [.staleRead])
        #expect(kinds(calls, guarantee: .ownWrites) == [])
    }

    @Test func aLostUpdateIsFound() {
        var calls = sound
        calls[1].output = .value(2)
        let result = checker.check(calls, splitBy: \.key)
        #expect(result.findings.map(\.kind) == [.wrongOutput])
        #expect(result.findings.first?.operations == [1, 0])
    }

    @Test func aReadOfWhatIsNotAtItsPlaceIsFound() {
        var calls = sound
        calls[2].output = .value(1)
        #expect(kinds(calls) == [.wrongOutput])
        #expect(kinds(calls, guarantee: .nothing) == [.wrongOutput])
    }

    /// PROTOCOL R-21: a session's numbers are contiguous, and take effect once and in their order.
    @Test func sessionsOutOfOrderAreFound() {
        let writes = [
            call(1, 0, 30, .set(1), .value(1), at: 1, number: 1), call(1, 0, 30, .set(2), .value(2), at: 2, number: 2),
            call(1, 0, 30, .set(3), .value(3), at: 3, number: 3),
        ]
        #expect(kinds(writes) == [])
        var calls = writes
        (calls[0].place, calls[1].place) = (calls[1].place, calls[0].place)
        #expect(kinds(calls) == [.sessionReordered])
        calls = writes
        calls[2].number = 2
        #expect(kinds(calls) == [.sessionRepeated])
        #expect(kinds([writes[0], writes[2]]) == [.sessionGap])
    }

    /// What nobody learned but the log has is replayed; what stands nowhere is searched a place for.
    @Test func unknownOutcomesAreReplayedOrSearchedFor() {
        var calls = [
            call(1, 0, 10, .add(1), .value(1), at: 1), call(2, 5, nil, .add(10)),
            call(1, 20, 30, .add(1), .value(12), at: 3), call(1, 40, 50, .read, .value(12), at: 3),
        ]
        #expect(kinds(calls) == [])
        calls[1].place = LogPlace(epoch: 1, sequence: 2)
        #expect(kinds(calls) == [])
        calls[1].place = LogPlace(epoch: 1, sequence: 4)
        #expect(kinds(calls) == [.wrongOutput])
        calls[1] = call(2, 35, nil, .add(10))
        #expect(kinds(calls) == [.wrongOutput])
    }

    /// An answer without a place is searched a place between those that its times allow.
    @Test func answersWithoutPlacesAreSearchedFor() {
        func calls(_ invoked: Int64, _ returned: Int64) -> [Call] {
            [
                call(1, 0, 10, .add(1), .value(1), at: 1), call(1, 20, 30, .add(1), .value(2), at: 2),
                call(1, 40, 50, .add(1), .value(6), at: 4), call(1, 60, 70, .add(1), .value(7), at: 5),
                call(2, invoked, returned, .add(3), .value(5)),
            ]
        }
        #expect(kinds(calls(33, 37)) == [])
        #expect(kinds(calls(0, 100)) == [])
        #expect(kinds(calls(5, 35)) == [])
        #expect(kinds(calls(0, 15)) == [.wrongOutput])
        #expect(kinds(calls(55, 57)) == [.wrongOutput])
        #expect(kinds(calls(55, 100)) == [.wrongOutput])
    }

    /// A search that does not come to its end is not a pass.
    @Test func aSearchWithoutAnEndIsUndecided() {
        let calls = (0..<12).map { call($0, 0, nil, .add(1 << Int64($0))) } + [call(50, 1, 2, .read, .value(-5), at: 0)]
        let result = PositionOrder(CounterModel(), stepLimit: 100).check(calls, splitBy: \.key)
        #expect(result.findings == [])
        #expect(result.undecided.count == 1)
        #expect(!result.passed)
    }

    /// If all reads are linearizable, what passes by places has an order; and what really happened passes.
    @Test func whatPassesByPlacesIsLinearizable() {
        let seed: UInt64 = 0x5EED_0005
        var generator = Generator(seed: seed)
        var passed = 0
        var failed = 0
        for round in 0..<3_000 {
            let shape = Shape(operations: 3 + generator.below(5), unknownOneIn: round % 2 == 0 ? 0 : 4)
            var (calls, log) = generator.validHistory(shape)
            if round % 4 == 1 {
                for (index, entry) in log { calls[index].place = entry.place }
                calls.removeAll { $0.place == nil }
            }
            let isDamaged = generator.oneIn(2)
            if isDamaged { generator.damage(&calls) }
            let result = checker.check(calls, splitBy: \.key)
            #expect(isDamaged || result.passed, "seed \(seed), round \(round): \(result) \(calls)")
            if result.passed {
                passed += 1
                #expect(hasOrder(calls), "seed \(seed), round \(round): \(calls)")
            } else {
                failed += 1
            }
        }
        #expect(passed > 1_000 && failed > 500, "\(passed) passed and \(failed) failed")
    }

    /// A long history of many keys, epochs and unknown outcomes passes.
    @Test func aLongHistoryPasses() {
        var generator = Generator(seed: 0x5EED_0006)
        let keys = (0..<20).map { "k\($0)" }
        let calls = generator.validHistory(Shape(operations: 5_000, clients: 8, unknownOneIn: 100, keys: keys)).calls
        let result = checker.check(calls, splitBy: \.key)
        #expect(result.passed, "\(result)")
        #expect(result.checked > 4_900)
    }

    /// Findings are limited, and the result of a check that compared nothing says so.
    @Test func findingsAreLimited() {
        let calls = (0..<100).map { call(1, Int64($0) * 10, Int64($0) * 10 + 5, .set(1), .value(2), at: 1) }
        #expect(checker.check(calls, splitBy: \.key).findings.count == 16)
        #expect(checker.check([], splitBy: \.key).checked == 0)
    }
}
