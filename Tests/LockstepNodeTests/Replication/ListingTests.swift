import LockstepCore
import LockstepNode
import Synchronization
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

    /// Grants one lease and no other, as etcd without room; it renews what it has granted.
    private final class FullArbiter: Arbiter {
        private let calls = Mutex((registrations: 0, renewals: 0, reads: [String: Int]()))
        private static let unasked = ArbiterError(.unreachable, "nobody asks that here")

        /// How often a lease was renewed since another was refused.
        var renewals: Int { calls.withLock { $0.renewals } }
        /// How often the record of `store` was read.
        func reads(of store: String) -> Int { calls.withLock { $0.reads[store, default: 0] } }

        @concurrent func register(_ address: NodeAddress, within limit: Duration) async throws -> NodeLease {
            let count = calls.withLock { calls in
                calls.registrations += 1
                return calls.registrations
            }
            guard count == 1 else { throw ArbiterError(.refused, "no room") }
            return NodeLease(node: address.node, id: 1)
        }

        @concurrent func keepAlive(_ lease: NodeLease, within limit: Duration) async throws -> Bool {
            calls.withLock { calls in
                if calls.registrations > 1 { calls.renewals += 1 }
            }
            return true
        }

        @concurrent func withdraw(_ lease: NodeLease, within limit: Duration) async throws {}
        @concurrent func nodes(within limit: Duration) async throws -> [NodeAddress] { throw Self.unasked }
        @concurrent func channels(within limit: Duration) async throws -> [Channel: String] { throw Self.unasked }
        @concurrent func record(of store: String, within limit: Duration) async throws -> StoredRecord? {
            calls.withLock { $0.reads[store, default: 0] += 1 }
            throw Self.unasked
        }
        @concurrent func transact(
            _ attempt: RecordAttempt, on store: String, within limit: Duration
        ) async -> AttemptOutcome { .unknown("no room") }
        @concurrent func create(
            _ record: ConfigurationRecord, of store: String, within limit: Duration
        ) async -> CreationOutcome { .unknown("no room") }
        @concurrent func restore(
            _ record: ConfigurationRecord, of store: String, within limit: Duration
        ) async -> CreationOutcome { .unknown("no room") }
        @concurrent func watch(
            for duration: Duration, within limit: Duration, _ hint: @escaping @Sendable (RecordHint) -> Void
        ) async throws { throw Self.unasked }
        @concurrent func close() async {}
    }

    /// Peers that say without end that somebody else reigns have the record read at the desk's pace, and keep no other
    /// store's record from being read; who has asked meanwhile gets one more reading (PROTOCOL R-89).
    @Test func manyQuestionsReadARecordAtAPace() async throws {
        let loop = try NodeEventLoop(name: "test-pace")
        let mailbox = Mailbox(signaller: loop.signaller)
        let address = NodeAddress(
            node: try #require(NodeID("node-0")), boot: BootID(rawValue: 9), endpoints: ["tcp://127.0.0.1:7400"],
            journals: [])
        let (arbiter, desk) = (FullArbiter(), ArbiterDesk())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await desk.run(arbiter, address, mailbox, LogRecord().logger()) }
            let began = ContinuousClock.now
            var request: UInt64 = 0
            while arbiter.reads(of: "counters") < 10 {
                for _ in 0..<100 {
                    request += 1
                    desk.readRecord(of: "counters", request: request, into: mailbox)
                }
                await Task.yield()
            }
            #expect(ContinuousClock.now - began >= ArbiterDesk.spacing * 9)
            let reads = arbiter.reads(of: "counters")
            desk.readRecord(of: "counters", request: request + 1, into: mailbox)
            desk.readRecord(of: "search", request: 1, into: mailbox)
            try await until { arbiter.reads(of: "counters") > reads && arbiter.reads(of: "search") == 1 }
            desk.finish()
            group.cancelAll()
        }
    }

    /// What a node has listed, and whether it was.
    private final class Listed: Sendable {
        private let contents = Mutex((troubles: [NodeAddress.Trouble](), isListed: false))

        var troubles: [NodeAddress.Trouble] { contents.withLock { $0.troubles } }
        var isListed: Bool { contents.withLock { $0.isListed } }
        func add(_ trouble: NodeAddress.Trouble) { contents.withLock { $0.troubles.append(trouble) } }
        func note(_ event: RegistrationEvent) {
            contents.withLock { contents in
                if event == .registered { contents.isListed = true }
            }
        }
    }

    /// A node whose alarms have changed stays listed, as it was, while the arbiter grants no other lease.
    @Test func aLeaseIsRenewedWhileNoOtherIsGranted() async throws {
        let (arbiter, listed) = (FullArbiter(), Listed())
        let address = NodeAddress(
            node: try #require(NodeID("node-0")), boot: BootID(rawValue: 9), endpoints: ["tcp://127.0.0.1:7400"],
            journals: [])
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await arbiter.keepRegistered(address.with(listed.troubles), while: Self.untilCancelled) {
                    listed.note($0)
                }
            }
            try await until { listed.isListed }
            listed.add(.init(store: StoreID(rawValue: 5), text: "DISK_FULL: no room"))
            try await until { arbiter.renewals > 0 }
            group.cancelAll()
        }
    }

    /// The end of the sleep is what it waits for.
    @concurrent private static func untilCancelled() async { try? await Task.sleep(for: .seconds(600)) }

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
