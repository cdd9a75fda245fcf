import Lockstep
import LockstepCore
import Testing

/// What a node sees of a reactor: actions in, items out, and the same state from both (PROTOCOL R-50).
@Suite struct ReactorStateTests {
    private func reasons<Reply>(_ outcomes: [Outcome<Reply>]) -> [String?] {
        outcomes.map { if case .rejected(let reason, _) = $0 { reason } else { nil } }
    }

    /// A batch performed by one object and applied by another gives equal states, digests and bytes' meaning.
    @Test func whatIsPerformedCanBeApplied() throws {
        let run = Run(Ledger())
        let outcomes = try run.perform([
            .put("a", 1), .putAll(["b": 2, "c": 3, "é": 4]), .refuse, .put("a", 5), .look("a"), .stamp, .nothing,
        ])
        let replica = makeReplica(Ledger())
        try apply(run.batches, to: replica)
        #expect(replica.workingState == run.state.workingState)
        #expect(replica.digest == run.state.digest)
        #expect(replica.digest != makeReplica(Ledger()).digest)
        let replies = outcomes.map { try? $0.get().reply }  // the rejected one has none
        #expect(replies == ["was 0.0", "3", nil, "was 1.0", "5.0", "1:1 6", ""])
        #expect(replica.workingState.stamps == ["1000 1000 3:6"])
    }

    /// A receipt names the entry and the request.
    @Test func aReceiptHasPlaceSessionAndNumber() throws {
        let run = Run(Ledger())
        _ = try run.perform([.put("a", 1)])
        let receipt = try #require(try run.perform([.refuse, .put("b", 2)]).last).get()
        #expect(receipt.place == Place(epoch: Epoch(rawValue: 3), sequence: SequenceNumber(rawValue: 3)))
        #expect(receipt.session == run.session)
        #expect(receipt.number == 3)
    }

    /// A rejection, another error, a mutation that cannot be written and one that is too large leave no trace.
    @Test func aRefusedActionHasNoEffect() throws {
        let run = Run(Ledger())
        let before = run.state.digest
        let outcomes = try run.perform([.refuse, .fail, .unwritable, .grow(1 << 20)])
        let reasons = reasons(outcomes)
        #expect(reasons[0] == "no")
        #expect(reasons[1] == "the ledger is wet")
        #expect(reasons[2] != nil)
        #expect(reasons[3]?.contains("larger than") == true)
        #expect(run.state.digest == before)
        let replica = makeReplica(Ledger())
        try apply(run.batches, to: replica)
        #expect(replica.digest == before)
        #expect(throws: LockstepError.self) { try outcomes[0].get() }
    }

    /// Many mutations need a longer head of the item, which is made room for when they are counted (PROTOCOL R-12).
    @Test(arguments: [1, 15, 16, 31, 32, 100, 9_000]) func anActionMayHaveManyMutations(count: Int) throws {
        let run = Run(Ledger())
        let amounts = Dictionary(uniqueKeysWithValues: (0..<count).map { ("k\($0)", $0) })
        let outcomes = try run.perform([.putAll(amounts), .look("k0")])
        #expect(try outcomes.map { try $0.get().reply } == ["\(count)", "0.0"])
        let replica = makeReplica(Ledger())
        try apply(run.batches, to: replica)
        #expect(replica.workingState.amounts.count == count)
        #expect(replica.digest == run.state.digest)
    }

    /// It stops after the item with which the batch is full, and goes on with the next batch (PROTOCOL R-11).
    @Test func aFullBatchEndsTheRun() throws {
        let run = Run(Echo())
        let outcomes = try run.perform((0..<300).map { Echo.Action("\($0)" + String(repeating: "x", count: 1_000)) })
        #expect(outcomes.count == 300)
        #expect(run.batches.count > 3)
        #expect(run.batches.dropLast().allSatisfy { $0.bytes.count >= Limits.batchFullBytes })
        let replica = makeReplica(Echo())
        try apply(run.batches, to: replica)
        #expect(replica.workingState == run.state.workingState)
    }

    /// Whatever bytes a client sends, each action gets an answer and nothing traps.
    @Test func actionsThatCannotBeDecodedAreRejected() throws {
        let run = Run(Ledger())
        let good = try Ledger.actionCoding.encoded(.put("a", 1))
        var actions: [[UInt8]] = [[], [0xFF], Array("{}".utf8), good + [0x20, 0x7D], good]
        for index in good.indices {
            actions.append(Array(good[..<index]))
            actions.append(good.enumerated().map { $0.offset == index ? $0.element ^ 0x10 : $0.element })
        }
        let outcomes = run.perform(encoded: actions)
        #expect(outcomes.count == actions.count)
        #expect(reasons(outcomes)[0]?.contains("cannot be decoded") == true)
        #expect(reasons(outcomes)[4] == nil)
        let replica = makeReplica(Ledger())
        try apply(run.batches, to: replica)
        #expect(replica.digest == run.state.digest)
    }

    /// A run whose lengths lie: everything from the lie on is refused.
    @Test func aBrokenLengthRefusesTheRestOfTheRun() throws {
        let run = Run(Echo())
        var writer = ByteWriter()
        writer.writeMeasured { Echo.Action("good").encode(into: &$0) }
        writer.writeVarint(200)
        writer.writeMeasured { Echo.Action("hidden").encode(into: &$0) }
        let outcomes = run.perform(raw: writer.bytes, count: 4)
        #expect(reasons(outcomes).map { $0 == nil } == [true, false, false, false])
        #expect(run.state.workingState == ["good"])
    }

    /// Truncated or changed mutations throw or give another state; they never trap.
    @Test func brokenMutationsNeverTrap() throws {
        let mutation = try Ledger.mutationCoding.encoded(.put("abc", 1.5))
        var writer = ByteWriter()
        writer.writeBytes(mutation)
        let good = writer.bytes
        for index in good.indices {
            for bytes in [
                Array(good[..<index]), good.enumerated().map { $0.offset == index ? ~$0.element : $0.element },
            ] {
                let state = makeReplica(Ledger())
                withBytes(of: bytes) { span in
                    _ = try? state.apply(  // most are refused; none may trap
                        span, mutations: 0..<span.byteCount, count: 1, at: (.zero, .zero), time: .zero)
                }
            }
        }
    }

    /// A state goes through an image to another node and comes out equal, with the digest known before it is installed.
    @Test func anImageBecomesTheSameState() throws {
        let run = Run(Ledger())
        _ = try run.perform([.putAll(["a": 1, "b": 2]), .stamp])
        let image = run.state.image()
        _ = try run.perform([.put("later", 1)])
        let replica = makeReplica(Ledger())
        let prepared = try replica.prepare(try image.encoded())
        #expect(prepared.digest != run.state.digest)
        replica.install(prepared)
        #expect(replica.digest == prepared.digest)
        #expect(replica.workingState.amounts == ["a": 1, "b": 2])
        replica.reset()
        #expect(replica.workingState == Ledger().initialState)
        #expect(throws: (any Error).self) { try replica.prepare([1, 2, 3]) }
    }

    /// Readers see what was captured at or below the commit, and no later state (PROTOCOL R-16).
    @Test func onlyCommittedStatesAreShown() throws {
        let run = Run(Echo())
        var ends: [SequenceNumber] = []
        for text in ["a", "b", "c"] {
            _ = try run.perform([Echo.Action(text)])
            ends.append(run.position.sequence)
            run.state.capture(at: run.position.sequence, epoch: run.position.epoch, time: .zero)
        }
        #expect(run.published.current().state == [])
        #expect(run.state.isViewWanted)
        run.state.publish(through: ends[1])
        #expect(!run.state.isViewWanted)
        #expect(run.published.current().state == ["a", "b"])
        #expect(run.published.current().place.sequence == ends[1])
        run.state.publish(through: ends[2])
        #expect(run.published.current().state == ["a", "b", "c"])
    }

    /// Queries are answered from the published state; refusals have the reactor's reason.
    @Test func queriesAreAnsweredFromThePublishedState() throws {
        let run = Run(Ledger())
        _ = try run.perform([.put("a", 1)])
        let ask = { (query: Ledger.Query) throws -> String in
            let bytes = try Ledger.queryCoding.encoded(query)
            let answer = try withBytes(of: bytes) { span in
                Result { try run.state.answer(span, 0..<span.byteCount) }
            }.get()
            return try Ledger.answerCoding.decoded(answer)
        }
        #expect(try ask(.amount("a")) == "0.0")
        run.publish()
        #expect(try ask(.amount("a")) == "1.0")
        #expect(throws: QueryRefusal(reason: "no such account")) { try ask(.refuse) }
        _ = withBytes(of: [1, 2]) { span in
            #expect(throws: QueryRefusal.self) { try run.state.answer(span, 0..<2) }
        }
    }
}
