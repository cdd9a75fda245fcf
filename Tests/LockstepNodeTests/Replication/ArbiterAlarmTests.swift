import LockstepCore
import LockstepHarness
import LockstepNode
import Testing

/// What a data node says of an arbiter that has lost what it had, shows less, or is away (PROTOCOL ).
@Suite(.serialized, .timeLimit(.minutes(3))) struct ArbiterAlarmTests {
    /// The alarms of a node's store.
    private static func alarms(_ life: DataNodes.Life) async throws -> [StoreStatus.Alarm] {
        try await life.port.status().alarms
    }

    private static func has(_ kind: AlarmKind, _ life: DataNodes.Life) async throws -> Bool {
        try await alarms(life).contains { $0.kind == kind }
    }

    /// Has the record read, as before an operator's command, until a node says that there is none: the one that follows.
    ///
    /// On a busy host the other one may lead by now.
    private static func whoMissesTheRecord(_ lives: [DataNodes.Life]) async throws -> DataNodes.Life {
        while true {
            for life in lives {
                _ = try await life.node.post(of: "sum", after: .record)
                if try await has(.recordMissing, life) { return life }
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Writes the record that an operator's `rebind` writes, with the node that reigned as the only member.
    private static func rebind(_ cluster: DataNodes, to index: Int, after end: Position) async throws {
        let record = try await cluster.record
        let member = try #require(record.inSync.first { $0.node == cluster.names[index] })
        let candidate = ConfigurationRecord.Primary(
            member: member, boot: .none, endpoints: [cluster.endpoints[index]])
        let next = try #require(
            record.rebinding(
                candidate, aboveNumber: record.number + 9, above: Epoch(rawValue: record.epoch.rawValue + 9),
                after: end, minimum: nil, attempt: AttemptID(rawValue: 77)))
        let stored = try #require(try await cluster.arbiter.record(of: "sum", within: .seconds(1)))
        let outcome = await cluster.arbiter.transact(
            RecordAttempt(replacing: stored, with: next), on: "sum", within: .seconds(1))
        guard case .applied = outcome else { return #expect(Bool(false), "\(outcome)") }
    }

    /// nobody becomes primary without a record, and each node says so until there is one.
    @Test func aMissingRecordIsSaidAndTakenBack() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { _ in _ = try await cluster.primary(with: 2) }
        let kept = cluster.arbiter.content
        cluster.arbiter.remove("sum")
        try await cluster.running([0, 1]) { lives in
            for life in lives {
                try await until { try await Self.has(.recordMissing, life) }
                let alarm = try await Self.alarms(life).first { $0.kind == .recordMissing }
                #expect(alarm?.text.contains("has no record of the store") == true)
                let unreadiness = await life.node.unreadiness()
                #expect(unreadiness?.contains("sum: RECORD_MISSING: ") == true)
            }
            cluster.arbiter.restore(kept)
            _ = try await cluster.primary(with: 2, after: .zero)
            #expect(try await lives[0].port.add([1]) == [1])
            for life in lives { try await until { try await Self.alarms(life).isEmpty } }
        }
    }

    /// A standby that found no record while its primary was silent takes that back when there is one again, although it
    /// hears its primary and has no reason to read the record.
    @Test func aFollowerTakesAMissingRecordBack() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            let kept = cluster.arbiter.content
            cluster.arbiter.remove("sum")
            let follower = try await Self.whoMissesTheRecord(lives)
            #expect(try await lives[0].port.add([1]) == [1])
            cluster.arbiter.restore(kept)
            try await until { try await Self.alarms(follower).isEmpty }
        }
    }

    /// nobody believes an arbiter that shows less than it did; an operator's record of another binding holds, and
    /// ends the alarm at each node.
    @Test func anArbiterThatWasSetBackIsSaidUntilARebind() async throws {
        let cluster = try await DataNodes(2, minimum: 1)
        let old = cluster.arbiter.content
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[0].port.add([1]) == [1])
            try await until {
                let (own, other) = (try await lives[0].port.status(), try await lives[1].port.status())
                return own.commit == own.sequence && other.commit == own.commit
            }
        }
        let newest = try await cluster.record
        cluster.arbiter.restore(old)
        try await cluster.running([0, 1]) { lives in
            for life in lives {
                try await until { try await Self.has(.arbiterSetBack, life) }
                let alarm = try await Self.alarms(life).first { $0.kind == .arbiterSetBack }
                #expect(alarm?.text.contains("the arbiter shows record 1 of epoch 1, and ") == true)
                let unreadiness = await life.node.unreadiness()
                #expect(unreadiness?.contains("sum: ARBITER_SET_BACK: ") == true)
                #expect(try await life.port.status().dataNode?.role == .standby)
            }
            let end = try #require(try await lives[0].node.post(of: "sum").position)
            try await Self.rebind(cluster, to: 0, after: end)
            #expect(try await lives[1].port.add([2]) == [3])
            _ = try await cluster.primary(with: 2, after: newest.epoch)
            for life in lives { try await until { try await Self.alarms(life).isEmpty } }
        }
    }

    /// an arbiter that was set back, or has lost the record, is noticed while all nodes run and hear each other, and
    /// the primary keeps its post.
    @Test(arguments: [AlarmKind.arbiterSetBack, .recordMissing])
    func aStandbyLooksAtTheRecord(kind: AlarmKind) async throws {
        try await undisturbed {
            let cluster = try await DataNodes(2, minimum: 1)
            let old = cluster.arbiter.content
            try await cluster.running([0, 1]) { lives in
                let index = try await cluster.primary(with: 2)
                let (leader, standby) = (lives[index], lives[1 - index])
                // From now on it knows the newest record.
                _ = try await standby.node.post(of: "sum", after: .record)
                if kind == .recordMissing { cluster.arbiter.remove("sum") } else { cluster.arbiter.restore(old) }
                try await until { try await Self.has(kind, standby) }
                // A primary goes to the arbiter when it has not heard its standby for a moment, and what that shows now
                // ends its post.
                let sums = try? await leader.port.add([1], timeout: .seconds(10))
                try Disturbed.unless(sums != nil, "nobody has answered: the primary has lost its post")
                #expect(sums == [1])
                try Disturbed.unless(await leader.node.post(of: "sum").isPrimary, "the primary has lost its post")
            }
        }
    }

    /// What a command looks at before it is told to go on costs nothing, also where the arbiter was set back: the primary
    /// keeps its post, which it would lose by what the arbiter shows now.
    @Test func whoOnlyLooksLeavesAPrimaryItsPost() async throws {
        // Alone, so that it has no other reason to go to the arbiter.
        let cluster = try await DataNodes(1, minimum: 1)
        let old = cluster.arbiter.content
        try await cluster.running([0]) { lives in
            let leader = lives[0]
            _ = try await cluster.primary(with: 1)
            #expect(try await leader.port.add([1]) == [1])
            cluster.arbiter.restore(old)
            _ = try await leader.node.post(of: "sum", after: .nodes)
            // An answer of the arbiter would have come long before the last of them.
            for sum in 2...UInt64(50) { #expect(try await leader.port.add([1]) == [sum]) }
            #expect(try await leader.node.post(of: "sum").isPrimary)
            _ = try await leader.node.post(of: "sum", after: .record)
            try await until { try await Self.has(.arbiterSetBack, leader) }
            try await until { try await leader.node.post(of: "sum").isPrimary == false }
        }
    }

    /// An arbiter that answers and takes no writes, as etcd without room, is said by who has something to write: here
    /// that a member has gone.
    @Test func anArbiterThatTakesNoWritesIsSaid() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1]) { lives in
            try await cluster.running([2]) { _ in
                _ = try await cluster.primary(with: 3)
                cluster.arbiter.setReadOnly(true)
            }
            let alarm = try await Self.first(.arbiterAway, of: lives)
            #expect(alarm.text.hasPrefix("the arbiter answers, and has taken no write for 10 s"), "\(alarm.text)")
            #expect(alarm.text.contains("(the arbiter takes no writes)"), "\(alarm.text)")
            cluster.arbiter.setReadOnly(false)
            _ = try await cluster.primary(with: 2)
            for life in lives { try await until { try await Self.alarms(life).isEmpty } }
        }
    }

    /// The alarm of this kind that one of the nodes raises first.
    private static func first(_ kind: AlarmKind, of lives: [DataNodes.Life]) async throws -> StoreStatus.Alarm {
        while true {
            for life in lives {
                if let alarm = try await alarms(life).first(where: { $0.kind == kind }) { return alarm }
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Writes that fail one after the other until patience is over are an arbiter that takes none, until one is taken
    /// or nothing is written any more; a failure after which nothing is asked again is not.
    @Test func onlyWritesThatGoOnFailingAreSaid() {
        func at(_ second: Int64) -> Tick { Tick.zero.advanced(byMilliseconds: 1_000 * second) }
        func watched(failures: ClosedRange<Int64>, until end: Int64) -> ArbiterWatch {
            var watch = ArbiterWatch(began: .zero)
            for second in 0...end {
                watch.answered(now: at(second))
                if failures.contains(second) { watch.writeFailed(because: "no room", now: at(second)) }
            }
            return watch
        }
        var watch = watched(failures: 5...15, until: 15)
        #expect(!watched(failures: 5...14, until: 14).isAway(now: at(14)))
        #expect(watch.isAway(now: at(15)))
        #expect(watch.text(now: at(15)).contains("has taken no write for 10 s (no room): "))
        #expect(watched(failures: 5...15, until: 24).isAway(now: at(24)))
        #expect(!watched(failures: 5...15, until: 25).isAway(now: at(25)))
        #expect(!watched(failures: 5...5, until: 25).isAway(now: at(25)))
        watch.written()
        #expect(!watch.isAway(now: at(15)))
        // Of one that answered nothing only the silence is said, and the next answer ends it.
        watch = ArbiterWatch(began: .zero)
        for second in 0...20 { watch.writeFailed(because: "lost", now: at(Int64(second))) }
        #expect(watch.isAway(now: at(20)))
        #expect(watch.text(now: at(20)).contains("has answered nothing for 10 s"))
        watch.answered(now: at(20))
        #expect(!watch.isAway(now: at(20)))
    }

    /// An arbiter that is away stops nothing: each node says so after 10 s, and takes it back with the next answer.
    @Test func anArbiterThatIsAwayIsSaid() async throws {
        let cluster = try await DataNodes(2, minimum: 2)
        try await cluster.running([0, 1]) { lives in
            _ = try await cluster.primary(with: 2)
            #expect(try await lives[1].port.add([1]) == [1])
            let began = ContinuousClock.now
            cluster.arbiter.setAway(true)
            for life in lives { try await until { try await Self.has(.arbiterAway, life) } }
            #expect(ContinuousClock.now - began > .seconds(6), "the last answer was at most 3 s before")
            let unreadiness = try await lives[0].node.status().unreadiness
            #expect(unreadiness?.contains("sum: ARBITER_AWAY: the arbiter has answered nothing") == true)
            #expect(unreadiness?.contains("the arbiter is away") == true)
            #expect(await lives[0].node.unreadiness() == nil, "a balancer of load goes on with it")
            #expect(try await lives[1].port.add([2]) == [3])
            #expect(try await lives[0].port.status().dataNode?.role == .primary)
            cluster.arbiter.setAway(false)
            for life in lives { try await until { try await Self.alarms(life).isEmpty } }
        }
    }
}
