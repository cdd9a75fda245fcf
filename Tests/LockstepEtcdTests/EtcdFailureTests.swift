#if Etcd
    import Foundation
    import LockstepCore
    import LockstepEtcd
    import LockstepNode
    import Testing

    /// What an arbiter says when etcd, or the way to it, fails: unknown, in time, and once (PROTOCOL, R-76).
    @Suite(.serialized, .timeLimit(.minutes(5))) struct EtcdFailureTests {
        /// An answer that is lost leaves the outcome unknown; asking again shows the own record, since it was applied.
        @Test(arguments: [true, false]) func aLostAnswerIsSettledByAskingAgain(closes: Bool) async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                let first = try await cluster.withArbiter(example) { try await example.created(in: $0) }
                try await Proxy.with(to: cluster.members[0].port) { proxy in
                    try await cluster.withArbiter(example, endpoints: [proxy.endpoint]) { arbiter in
                        _ = try await arbiter.channels(within: .seconds(10))
                        let asked = proxy.requests
                        proxy.turn(closes ? .closesAtAnswers : .losesAnswers)
                        let attempt = example.adding(2, to: first)
                        let begin = ContinuousClock.now
                        // Long enough for an etcd with a slow disk: what comes later is not seen.
                        let outcome = await arbiter.transact(attempt, on: example.store, within: .seconds(10))
                        guard case .unknown = outcome else {
                            Issue.record("an answer came: \(outcome)")
                            return
                        }
                        #expect(ContinuousClock.now - begin < .seconds(25), "the deadline holds")
                        // Nobody else may ask it a second time, or the numbers of questions would mean nothing.
                        #expect(proxy.requests == asked + 1 && proxy.lostAnswers >= 1)
                        proxy.turn(.open)
                        let again = await arbiter.transact(attempt, on: example.store, within: .seconds(10))
                        guard case .refused(let there?) = again else {
                            Issue.record("it was applied the first time: \(again)")
                            return
                        }
                        #expect(attempt.settlement(by: there) == .applied)
                    }
                }
            }
        }

        /// A caller that is cancelled does not wait; what it asked is unknown, and settled by asking again.
        @Test func aCancelledWriteIsUnknown() async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                let first = try await cluster.withArbiter(example) { try await example.created(in: $0) }
                try await Proxy.with(to: cluster.members[0].port, .losesAnswers) { proxy in
                    try await cluster.withArbiter(example, endpoints: [proxy.endpoint]) { arbiter in
                        let attempt = example.adding(2, to: first)
                        let begin = ContinuousClock.now
                        let outcome = try await withThrowingTaskGroup(of: AttemptOutcome.self) { group in
                            group.addTask {
                                await arbiter.transact(attempt, on: example.store, within: .seconds(60))
                            }
                            while proxy.lostAnswers == 0 { try await Task.sleep(for: .milliseconds(10)) }
                            group.cancelAll()
                            return try #require(try await group.next())
                        }
                        guard case .unknown = outcome else {
                            Issue.record("an answer came: \(outcome)")
                            return
                        }
                        #expect(ContinuousClock.now - begin < .seconds(30))
                        proxy.turn(.open)
                        let again = await arbiter.transact(attempt, on: example.store, within: .seconds(10))
                        guard case .refused(let there?) = again else {
                            Issue.record("it was applied the first time: \(again)")
                            return
                        }
                        #expect(attempt.settlement(by: there) == .applied)
                    }
                }
            }
        }

        /// Reads go on by another member when one is killed, and by the same call when the others are two of three.
        @Test func readsGoOnWhenAMemberIsKilled() async throws {
            try await EtcdCluster.with(members: 3) { cluster in
                let example = ArbiterExample()
                try await cluster.withArbiter(example) { arbiter in
                    let first = try await example.created(in: arbiter)
                    // The one that is asked first.
                    cluster.members[0].end()
                    try await EtcdContractTests.eventually {
                        try await arbiter.record(of: example.store, within: .seconds(5)) == first
                    }
                    // Afterwards it is asked last, and a write gets through at once.
                    let attempt = example.adding(2, to: first)
                    let outcome = await arbiter.transact(attempt, on: example.store, within: .seconds(20))
                    guard case .applied = outcome else {
                        Issue.record("two of three are enough: \(outcome)")
                        return
                    }
                }
            }
        }

        /// One call is enough when the first member refuses connections and the others have a leader.
        @Test func oneCallAsksTheNextMember() async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                let first = try await cluster.withArbiter(example) { try await example.created(in: $0) }
                let closed = try LoopbackPorts.free(1)[0]
                try await Proxy.with(to: cluster.members[0].port, .losesAnswers) { silent in
                    for dead in ["http://127.0.0.1:\(closed)", silent.endpoint] {
                        let endpoints = [dead, cluster.endpoint(0)]
                        try await cluster.withArbiter(example, endpoints: endpoints) { arbiter in
                            let read = try await arbiter.record(of: example.store, within: .seconds(10))
                            #expect(read == first)
                        }
                        // A write goes to one member only, whatever that one does.
                        try await cluster.withArbiter(example, endpoints: endpoints) { arbiter in
                            let other = example.record(of: "users", channel: 9)
                            let outcome = await arbiter.create(other, of: "users", within: .seconds(1))
                            guard case .unknown = outcome else {
                                Issue.record("it was asked elsewhere, too: \(outcome)")
                                return
                            }
                        }
                    }
                }
            }
        }

        /// What passes by itself ends no read that has time left, whatever another member does; a write is asked once.
        @Test(arguments: [
            "{\"error\":\"etcdserver: leader changed\",\"code\":14,\"message\":\"etcdserver: leader changed\"}",
            "{\"error\":{\"grpc_code\":14,\"message\":\"etcdserver: leader changed\",\"http_code\":503}}",
        ]) func aReadWaitsForAnElection(words: String) async throws {
            let (electing, silent) = (Proxy.refusal(503, words), Proxy.Way.losesAnswers)
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                let first = try await cluster.withArbiter(example) { try await example.created(in: $0) }
                let port = cluster.members[0].port
                for other in [electing, silent, Proxy.refusal(404, "not found")] {
                    try await Proxy.with(to: port, electing) { one in
                        try await Proxy.with(to: port, other) { another in
                            let endpoints = [one.endpoint, another.endpoint]
                            try await cluster.withArbiter(example, endpoints: endpoints) { arbiter in
                                async let read = arbiter.record(of: example.store, within: .seconds(60))
                                try await EtcdContractTests.eventually { one.requests >= 3 && another.requests >= 3 }
                                one.turn(.open)
                                #expect(try await read == first)
                            }
                        }
                    }
                }
            }
        }

        /// The time ends such a read, with what etcd said.
        @Test func anElectionWithoutEndIsSaid() async throws {
            let text = "etcdserver: leader changed"
            try await Proxy.with(to: 1, Proxy.refusal(503, "{\"error\":\"\(text)\",\"message\":\"\(text)\"}")) { one in
                try await Proxy.with(to: 1, Proxy.refusal(404, "not found")) { another in
                    let example = ArbiterExample()
                    let endpoints = [one.endpoint, another.endpoint]
                    let arbiter = try EtcdArbiter(EtcdConfiguration(endpoints: endpoints), cluster: example.cluster)
                    let error = await #expect(throws: ArbiterError.self) {
                        try await arbiter.record(of: example.store, within: .seconds(2))
                    }
                    #expect(error?.kind == .unavailable && error?.message.hasSuffix(text) == true)
                    let asked = try await Self.settled(one, another)
                    #expect(asked > 2)
                    let other = example.record(of: "users", channel: 9)
                    let outcome = await arbiter.create(other, of: "users", within: .seconds(5))
                    if case .unknown = outcome {} else { Issue.record("etcd said nothing of it: \(outcome)") }
                    #expect(one.requests + another.requests == asked + 1)
                    // What does not pass is said at once.
                    one.turn(Proxy.refusal(404, "not found"))
                    await #expect(throws: ArbiterError.self) { try await arbiter.channels(within: .seconds(60)) }
                    #expect(one.requests + another.requests == asked + 3)
                    await arbiter.close()
                }
            }
        }

        /// How many requests came, once no more do: one that was given up may be on its way.
        @concurrent private static func settled(_ proxies: Proxy...) async throws -> Int {
            var last = -1
            while true {
                let now = proxies.map(\.requests).reduce(0, +)
                if now == last { return now }
                last = now
                try await Task.sleep(for: .milliseconds(500))
            }
        }

        /// An etcd that is stopped in its tracks takes the whole time and no more; then it goes on as if nothing was.
        @Test func aPausedEtcdDoesNotHoldACallerUp() async throws {
            try await EtcdCluster.with { cluster in
                let example = ArbiterExample()
                try await cluster.withArbiter(example) { arbiter in
                    let first = try await example.created(in: arbiter)
                    let attempt = example.adding(2, to: first)
                    cluster.members[0].send(SIGSTOP)
                    let begin = ContinuousClock.now
                    let outcome = await arbiter.transact(attempt, on: example.store, within: .seconds(1))
                    guard case .unknown = outcome else {
                        Issue.record("nobody can have answered: \(outcome)")
                        return
                    }
                    await #expect(throws: ArbiterError.self) {
                        try await arbiter.record(of: example.store, within: .seconds(1))
                    }
                    await #expect(throws: ArbiterError.self) {
                        try await arbiter.watch(for: .seconds(60), within: .seconds(1)) { _ in }
                    }
                    await #expect(throws: ArbiterError.self) {
                        _ = try await arbiter.register(ArbiterExample.address(1), within: .seconds(1))
                    }
                    let time = ContinuousClock.now - begin
                    #expect(time >= .seconds(4) && time < .seconds(12), "four calls of 1 s took \(time)")
                    cluster.members[0].send(SIGCONT)
                    let settled = await arbiter.transact(attempt, on: example.store, within: .seconds(20))
                    switch settled {
                    case .applied: break
                    case .refused(let there?): #expect(attempt.settlement(by: there) == .applied)
                    case .refused(nil), .unknown: Issue.record("it is settled: \(settled)")
                    }
                }
            }
        }

        /// Without a majority nothing is read: a member that is alone must not tell what it has.
        @Test func aMinorityTellsNothing() async throws {
            try await EtcdCluster.with(members: 3) { cluster in
                let example = ArbiterExample()
                try await cluster.withArbiter(example, endpoints: [cluster.endpoint(2)]) { arbiter in
                    _ = try await example.created(in: arbiter)
                    cluster.members[0].end()
                    cluster.members[1].end()
                    await #expect(throws: ArbiterError.self) {
                        try await arbiter.record(of: example.store, within: .seconds(3))
                    }
                }
            }
        }

        /// A watch whose member dies says so, and the next one is of another member.
        @Test func aWatchThatBreaksOffSaysSo() async throws {
            try await EtcdCluster.with(members: 3) { cluster in
                let example = ArbiterExample()
                try await cluster.withArbiter(example) { arbiter in
                    let hints = Seen<RecordHint>()
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask {
                            await #expect(throws: ArbiterError.self) {
                                try await arbiter.watch(for: .seconds(120), within: .seconds(10)) { hints.note($0) }
                            }
                        }
                        while hints.all.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
                        cluster.members[0].end()
                        try await group.waitForAll()
                    }
                    try await EtcdContractTests.eventually {
                        try await arbiter.watch(for: .milliseconds(10), within: .seconds(5)) { _ in }
                        return true
                    }
                }
            }
        }
    }
#endif
