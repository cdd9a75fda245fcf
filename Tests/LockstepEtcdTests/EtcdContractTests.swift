#if Etcd
    import Foundation
    import LockstepCore
    import LockstepEtcd
    import LockstepNode
    import Testing

    /// What an arbiter has to do, asked of a real etcd, and what happens to its leases (PROTOCOL, R-75, R-76, R-81).
    @Suite(.serialized, .timeLimit(.minutes(5))) struct EtcdContractTests {
        /// One member, three, and one with keys keep the contract.
        @Test(arguments: [(1, false), (3, false), (1, true)]) func etcdKeepsTheContract(
            members: Int, tls: Bool
        ) async throws {
            try await EtcdCluster.with(members: members, tls: tls) { cluster in
                for check in ArbiterContract.allCases {
                    var findings: [String] = []
                    for _ in 1...5 {
                        let example = ArbiterExample()
                        let began = ContinuousClock.now
                        // A lease that has ended is refused, too.
                        do {
                            findings = try await cluster.withArbiter(example) { try await check.findings($0, example) }
                        } catch { findings = ["\(error)"] }
                        // Leases that ended while a slow machine was at it say nothing of the arbiter.
                        guard check.isOfLeases, ContinuousClock.now - began >= .seconds(NodeLease.seconds) else {
                            break
                        }
                    }
                    #expect(findings == [], "\(check)")
                }
            }
        }

        /// Who has no certificate of the authority is not let in, and a node does not talk to another etcd.
        @Test func aStrangerIsNotLetIn() async throws {
            try await EtcdCluster.with(tls: true) { cluster in
                let example = ArbiterExample()
                let others = try await Certificates(in: cluster.folder, authority: "another")
                var stranger = cluster.configuration()
                (stranger.certificate, stranger.key) = (others.client, others.clientKey)
                var distrustful = cluster.configuration()
                distrustful.authority = others.authority
                for configuration in [stranger, distrustful] {
                    try await EtcdArbiter.with(configuration, example.cluster) { arbiter in
                        let error = await #expect(throws: ArbiterError.self) {
                            try await arbiter.channels(within: .seconds(10))
                        }
                        let isOurs = configuration.authority == stranger.authority
                        #expect(
                            isOurs
                                || error?.message.contains("its certificate is not of the authority that is named")
                                    == true,
                            "\(String(describing: error))")
                        let outcome = await arbiter.create(example.record(), of: example.store, within: .seconds(10))
                        guard case .unknown = outcome else {
                            Issue.record("a stranger has written: \(outcome)")
                            return
                        }
                    }
                }
                let read = try await cluster.withArbiter(example) { arbiter in
                    try await arbiter.record(of: example.store, within: .seconds(10))
                }
                #expect(read == nil)
            }
        }

        /// A node that says nothing is listed no longer; one that is kept registered is (R-75 rests on neither).
        @Test func aSilentNodeIsNotListedAnyLonger() async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                try await cluster.withArbiter(example) { arbiter in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            await arbiter.keepRegistered(ArbiterExample.address(2), while: Self.untilCancelled) { _ in }
                        }
                        let lease = try await arbiter.register(ArbiterExample.address(1), within: .seconds(10))
                        try await Self.eventually { try await arbiter.nodes(within: .seconds(2)).count == 2 }
                        try await Self.eventually {
                            try await arbiter.nodes(within: .seconds(2)) == [ArbiterExample.address(2)]
                        }
                        #expect(try await !arbiter.keepAlive(lease, within: .seconds(10)))
                        group.cancelAll()
                    }
                }
            }
        }

        /// An etcd that came back without anything has no lease: it is granted again.
        @Test func aLostLeaseIsGrantedAgain() async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                let events = Seen<RegistrationEvent>()
                try await cluster.withArbiter(example) { arbiter in
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            await arbiter.keepRegistered(ArbiterExample.address(1), while: Self.untilCancelled) {
                                events.note($0)
                            }
                        }
                        let address = [ArbiterExample.address(1)]
                        try await Self.eventually {
                            try await arbiter.nodes(within: .seconds(2)) == address && !events.changes.isEmpty
                        }
                        cluster.members[0].end()
                        try FileManager.default.removeItem(at: cluster.members[0].data)
                        try cluster.start(0)
                        try await cluster.ready()
                        try await Self.eventually {
                            try await arbiter.nodes(within: .seconds(2)) == address && events.changes.count >= 3
                        }
                        group.cancelAll()
                    }
                }
                // A slow machine may lose a lease once more.
                let changes = events.changes
                let inTurn = changes.indices.map { $0.isMultiple(of: 2) ? RegistrationEvent.registered : .lost }
                #expect(changes.count >= 3 && changes == inTurn)
            }
        }

        /// An older copy of etcd's data answers as if nothing had happened, and the node's memory notices it.
        @Test func anOlderCopyIsNoticed() async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                let member = cluster.members[0]
                let copy = cluster.folder.appendingPathComponent("copy")
                var memory = ArbiterMemory()
                let first = try await cluster.withArbiter(example) { try await example.created(in: $0) }
                member.end()
                try FileManager.default.copyItem(at: member.data, to: copy)
                try cluster.start(0)
                try await cluster.ready()
                try await cluster.withArbiter(example) { arbiter in
                    let attempt = example.adding(2, to: first)
                    let outcome = await arbiter.transact(attempt, on: example.store, within: .seconds(10))
                    guard case .applied = outcome else { throw EtcdTrouble(text: "\(outcome)") }
                    let request = memory.ask()
                    let stored = try #require(try await arbiter.record(of: example.store, within: .seconds(10)))
                    #expect(memory.judge(stored, request: request) == .newest && stored.record == attempt.proposed)
                }
                member.end()
                try FileManager.default.removeItem(at: member.data)
                try FileManager.default.moveItem(at: copy, to: member.data)
                try cluster.start(0)
                try await cluster.ready()
                try await cluster.withArbiter(example) { arbiter in
                    let request = memory.ask()
                    let stored = try #require(try await arbiter.record(of: example.store, within: .seconds(10)))
                    #expect(stored == first)
                    #expect(memory.judge(stored, request: request) == .regressed)
                }
            }
        }

        /// The end of the sleep is what it waits for.
        @concurrent private static func untilCancelled() async { try? await Task.sleep(for: .seconds(600)) }

        /// Waits until something holds; errors are those of an etcd that is starting.
        static func eventually(_ holds: @concurrent () async throws -> Bool) async throws {
            let end = ContinuousClock.now + .seconds(40)
            while ContinuousClock.now < end {
                do { if try await holds() { return } } catch is ArbiterError {}
                try await Task.sleep(for: .milliseconds(50))
            }
            Issue.record("it did not come to be within 40 s")
        }
    }

    extension Seen where Element == RegistrationEvent {
        /// Without the failures, after which it is tried again.
        fileprivate var changes: [RegistrationEvent] {
            all.filter { if case .failed = $0 { false } else { true } }
        }
    }
#endif
