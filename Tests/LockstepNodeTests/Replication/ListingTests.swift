import LockstepCore
import LockstepNode
import Testing

/// A data node that the arbiter does not list, which its operator must know.
@Suite(.timeLimit(.minutes(3))) struct ListingTests {
    /// An address that is too long is refused while the arbiter answers all else: there is one line about it, not one
    /// for each try.
    @Test func aNodeThatCannotBeListedSaysSoOnce() async throws {
        let loop = try NodeEventLoop(name: "test-listing")
        let mailbox = Mailbox(signaller: loop.signaller)
        let lines = LogRecord()
        let journal = NodeAddress.Journal(store: StoreID(rawValue: 5), incarnation: Incarnation(rawValue: 6))
        let address = NodeAddress(
            node: try #require(NodeID("node-0")), boot: BootID(rawValue: 9), endpoints: ["tcp://127.0.0.1:7400"],
            journals: Array(repeating: journal, count: 2 * StoreRegistry.storeBound))
        let arbiter = MemoryArbiter(cluster: ClusterID(rawValue: 5))
        let desk = ArbiterDesk()
        let logger = lines.logger()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await desk.run(arbiter, address, mailbox, logger) }
            try await until { !lines.lines.isEmpty }
            // As long as it takes to read the list once more.
            try await Task.sleep(for: .seconds(3))
            desk.finish()
            try await group.waitForAll()
        }
        #expect(lines.short == ["warning the arbiter does not list this node"])
        #expect(lines.lines.first?.metadata["lockstep.reason"]?.contains("2048 journals") == true)
    }

    /// A node is missed when two lists in a row lack it after a try that failed; it is told once, and so is the end.
    @Test func aNodeIsMissedWhenTwoListsLackIt() {
        let failure = RegistrationEvent.failed(ArbiterError(.refused, "no room"))
        var watch = ListingWatch()
        #expect(watch.read(isListed: false) == nil, "it has not been tried yet")
        watch.happened(failure)
        #expect(watch.read(isListed: false) == nil, "the next try may be under way")
        #expect(watch.read(isListed: false) == .missing(because: "no room"))
        #expect(watch.read(isListed: false) == nil)
        watch.happened(.registered)
        #expect(watch.read(isListed: true) == .listedAgain)
        #expect(watch.read(isListed: true) == nil)
        watch.happened(failure)
        #expect(watch.read(isListed: false) == nil)
        watch.happened(.lost)
        watch.happened(failure)
        #expect(watch.read(isListed: false) == nil, "what was missed before counts no longer")
    }
}
