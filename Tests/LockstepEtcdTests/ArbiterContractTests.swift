import LockstepCore
import LockstepNode
import Testing

/// The contract of arbiters, kept by the one in memory; `EtcdContractTests` asks the same of etcd (PROTOCOL, R-75, R-76).
@Suite(.timeLimit(.minutes(2))) struct ArbiterContractTests {
    @Test(arguments: ArbiterContract.allCases) func theArbiterInMemoryKeepsTheContract(check: ArbiterContract)
        async throws
    {
        let example = ArbiterExample()
        #expect(try await check.findings(MemoryArbiter(cluster: example.cluster), example) == [])
    }

    /// Each defect is found by the check that is made for it.
    @Test(arguments: ArbiterDefect.allCases) func theContractFindsADefect(defect: ArbiterDefect) async throws {
        let example = ArbiterExample()
        let arbiter = FaultyArbiter(MemoryArbiter(cluster: example.cluster), defect: defect)
        #expect(try await defect.check.findings(arbiter, example) != [])
    }

    /// Whatever happens on the way, asking the same again settles it, and it is applied once.
    @Test(arguments: ArbiterFault.allCases, [1, 2, 3]) func aLostAnswerIsSettledByAskingAgain(
        fault: ArbiterFault, times: Int
    ) async throws {
        let example = ArbiterExample()
        let base = MemoryArbiter(cluster: example.cluster)
        let arbiter = FaultyArbiter(base)
        let first = try await example.created(in: arbiter)
        let attempt = example.adding(2, to: first)
        arbiter.plan(Array(repeating: fault, count: times))
        var settlement = RecordAttempt.Settlement.open
        for _ in 0...times where settlement == .open {
            switch await arbiter.transact(attempt, on: example.store, within: .seconds(1)) {
            case .applied: settlement = .applied
            case .refused(let there): settlement = attempt.settlement(by: try #require(there))
            case .unknown: #expect(fault != .doubles, "an answer came")
            }
        }
        #expect(settlement == .applied)
        // What was held back arrives now, and changes nothing.
        let settled = try await base.record(of: example.store, within: .seconds(1))
        await arbiter.deliver()
        #expect(try await base.record(of: example.store, within: .seconds(1)) == settled)
        #expect(settled?.record == attempt.proposed)
    }

    /// An attempt that is delayed until another one was applied is refused when it arrives.
    @Test func aLateAttemptIsNotApplied() async throws {
        let example = ArbiterExample()
        let base = MemoryArbiter(cluster: example.cluster)
        let arbiter = FaultyArbiter(base)
        let first = try await example.created(in: arbiter)
        arbiter.plan([.delays])
        let late = example.adding(2, to: first)
        _ = await arbiter.transact(late, on: example.store, within: .seconds(1))
        let other = example.adding(3, to: first)
        _ = await arbiter.transact(other, on: example.store, within: .seconds(1))
        await arbiter.deliver()
        let stored = try #require(try await base.record(of: example.store, within: .seconds(1)))
        #expect(stored.record == other.proposed)
        #expect(late.settlement(by: stored) == .refused)
    }

    /// A creation whose answer was lost shows its own record when it is asked again.
    @Test func aLostCreationIsSettledByAskingAgain() async throws {
        let example = ArbiterExample()
        let arbiter = FaultyArbiter(MemoryArbiter(cluster: example.cluster))
        arbiter.plan([.losesAnswer])
        let record = example.record()
        guard case .unknown = await arbiter.create(record, of: example.store, within: .seconds(1)) else {
            Issue.record("the answer was lost")
            return
        }
        guard case .exists(let there) = await arbiter.create(record, of: example.store, within: .seconds(1)) else {
            Issue.record("the record is there")
            return
        }
        #expect(there.record == record)
    }

    /// A copy that was put back shows less than was known, which is noticed.
    @Test func aRestoredArbiterIsNoticed() async throws {
        let example = ArbiterExample()
        let arbiter = MemoryArbiter(cluster: example.cluster)
        let first = try await example.created(in: arbiter)
        let copy = arbiter.content
        _ = await arbiter.transact(example.adding(2, to: first), on: example.store, within: .seconds(1))
        var memory = ArbiterMemory()
        for expected in [ArbiterMemory.Verdict.newest, .regressed] {
            let request = memory.ask()
            let stored = try #require(try await arbiter.record(of: example.store, within: .seconds(1)))
            #expect(memory.judge(stored, request: request) == expected)
            arbiter.restore(copy)
        }
    }

    /// A record that was lost keeps its channel, also from its own store: only an operator can say that it is lost.
    @Test func aLostRecordKeepsItsChannel() async throws {
        let example = ArbiterExample()
        let arbiter = MemoryArbiter(cluster: example.cluster)
        let first = try await example.created(in: arbiter)
        arbiter.remove(example.store)
        let outcome = await arbiter.create(first.record, of: example.store, within: .seconds(1))
        #expect(outcome == .channelTaken(by: example.store))
        let refused = await arbiter.transact(example.adding(2, to: first), on: example.store, within: .seconds(1))
        #expect(refused == .refused(nil))
        guard case .created = await arbiter.restore(first.record, of: example.store, within: .seconds(1)) else {
            return #expect(Bool(false), "it is taken back")
        }
        #expect(try await arbiter.record(of: example.store, within: .seconds(1))?.record == first.record)
    }

    /// A closed arbiter answers nothing, and leaves writes unknown.
    @Test func aClosedArbiterAnswersNothing() async throws {
        let example = ArbiterExample()
        let arbiter = MemoryArbiter(cluster: example.cluster)
        let first = try await example.created(in: arbiter)
        await arbiter.close()
        await #expect(throws: ArbiterError.self) { try await arbiter.record(of: example.store, within: .seconds(1)) }
        await #expect(throws: ArbiterError.self) {
            try await arbiter.watch(for: .seconds(9), within: .seconds(1)) { _ in }
        }
        guard
            case .unknown = await arbiter.transact(example.adding(2, to: first), on: example.store, within: .seconds(1))
        else {
            Issue.record("it is not known what becomes of it")
            return
        }
    }

    /// An address is read as it was written; bytes that were cut, or are followed by others, are refused.
    @Test func anAddressIsReadAsItWasWritten() throws {
        let address = ArbiterExample.address(1)
        #expect(try NodeAddress(from: address.bytes.span.bytes) == address && address.problem == nil)
        for count in address.bytes.indices {
            #expect(throws: WireError.self) { try NodeAddress(from: Array(address.bytes.prefix(count)).span.bytes) }
        }
        #expect(throws: WireError.self) { try NodeAddress(from: (address.bytes + [0]).span.bytes) }
        #expect(address.bytes.first == 1, "an earlier version reads it as long as nothing is wrong")
        var large = address
        large.journals = Array(repeating: address.journals[0], count: StoreRegistry.storeBound)
        #expect(large.problem == nil, "a node may have as many stores")
        large.journals = Array(repeating: address.journals[0], count: 1_600)
        #expect(large.problem?.contains("1600 journals") == true)
    }

    /// The bytes are those of the page (PROTOCOL, section 4, what the arbiter keeps).
    @Test func anAddressHasTheBytesOfThePage() throws {
        let node = try #require(NodeID("node-a"))
        var address = NodeAddress(node: node, boot: BootID(rawValue: 7), endpoints: ["tcp://a:1"])
        address.journals = [.init(store: StoreID(rawValue: 5), incarnation: Incarnation(rawValue: 6))]
        func number(_ last: UInt8) -> [UInt8] { Array(repeating: 0, count: 15) + [last] }
        let name: [UInt8] = [6] + Array("node-a".utf8) + number(7)
        let rest = name + [1, 9] + Array("tcp://a:1".utf8) + [1] + number(5) + number(6)
        #expect(address.bytes == [1] + rest)
        let halted = address.with([.init(store: nil, text: "ab")])
        #expect(halted.bytes == [2] + rest + [1] + number(0) + [2] + Array("ab".utf8))
    }

    /// What is wrong with a node is read as it was written, in one line, and never keeps the node off the list.
    @Test func whatIsWrongIsListedWithTheAddress() throws {
        let address = ArbiterExample.address(1)
        let store = address.journals[0].store
        let wrong = address.with([.init(store: store, text: "AHEAD: a\nb"), .init(store: nil, text: "it halts")])
        #expect(wrong.troubles.map(\.text) == ["AHEAD: a b", "it halts"] && wrong.halt == "it halts")
        #expect(try NodeAddress(from: wrong.bytes.span.bytes) == wrong)
        for count in wrong.bytes.indices {
            #expect(throws: WireError.self) { try NodeAddress(from: Array(wrong.bytes.prefix(count)).span.bytes) }
        }
        #expect(throws: WireError.self) { try NodeAddress(from: (wrong.bytes + [0]).span.bytes) }
        #expect(wrong.with([]) == address && address.halt == nil)

        let long = NodeAddress.Trouble(store: store, text: String(repeating: "ä", count: 1_000))
        #expect(long.text.utf8.count == ArbiterLimits.troubleBytes)
        #expect(address.with(Array(repeating: long, count: 99)).troubles.count == ArbiterLimits.troubles)
        var large = address
        large.journals = Array(repeating: address.journals[0], count: 1_500)
        let kept = large.with(Array(repeating: long, count: 16))
        #expect(kept.problem == nil && kept.troubles.count < 16)
    }

    /// A record under another store's name is no record of it, and none that is missing.
    @Test func aForeignRecordIsRefused() throws {
        let example = ArbiterExample()
        let bytes = example.record().bytes
        #expect(try ConfigurationRecord.read(bytes, cluster: example.cluster, store: example.store).bytes == bytes)
        for (cluster, store) in [(example.cluster, "other"), (ClusterID(rawValue: 9), example.store)] {
            #expect(throws: ArbiterError.self) { try ConfigurationRecord.read(bytes, cluster: cluster, store: store) }
        }
        #expect(throws: ArbiterError.self) {
            try ConfigurationRecord.read([], cluster: example.cluster, store: example.store)
        }
    }
}
