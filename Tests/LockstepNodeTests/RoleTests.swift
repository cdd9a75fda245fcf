import LockstepCore
import LockstepNode
import Synchronization
import Testing

/// What a journal knows of its node: the role, what an alarm named, what an operator accepted.
@Suite(.timeLimit(.minutes(5)))
struct RoleTests {
    private func problem(_ configuration: NodeConfiguration) async -> LockstepError? {
        do {
            let node = try Node(configuration)
            _ = try node.attach(name: "sum") { SumState() }
            try await node.run()
            return nil
        } catch {
            return error as? LockstepError
        }
    }

    /// Runs a primary with one entry until it admits, and returns where it listened.
    private func serve(_ configuration: NodeConfiguration) async throws {
        let node = try Node(configuration)
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) { try await until { try await port.status().phase == .admitting } }
    }

    /// PROTOCOL R-49: a journal that was served by a primary is no replica's until that is said, and the other way round.
    @Test func aJournalKeepsItsRole() async throws {
        let log = KeptLog()
        try await serve(.local(journal: log.source))
        let before = log.content.withLock { $0.batches.count }
        var replica = NodeConfiguration.replica(of: "tcp://127.0.0.1:9", journal: log.source)
        let refused = await problem(replica)
        #expect(refused?.code == .wrongRole)
        #expect(refused?.message.contains("lockstep demote") == true)
        replica.changesRole = true
        let node = try Node(replica)
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) { _ = try await port.status() }
        #expect(log.content.withLock { $0.notes[.role] } == "replica")

        var primary = NodeConfiguration.local(journal: log.source)
        let again = await problem(primary)
        #expect(again?.code == .wrongRole)
        #expect(again?.message.contains("lockstep promote") == true)
        #expect(log.content.withLock { $0.batches.count } == before)
        primary.changesRole = true
        try await serve(primary)
        #expect(log.content.withLock { $0.notes[.role] } == "primary")
    }

    /// PROTOCOL R-49: a journal from before roles were noted is taken over in silence.
    @Test func aJournalWithoutARoleIsTakenOver() async throws {
        let log = KeptLog()
        try await serve(.local(journal: log.source))
        log.content.withLock { $0.notes = [:] }
        var replica = NodeConfiguration.replica(of: "tcp://127.0.0.1:9", journal: log.source)
        replica.changesRole = false
        let node = try Node(replica)
        let port = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) { _ = try await port.status() }
        #expect(log.content.withLock { $0.notes[.role] } == "replica")
    }

    /// PROTOCOL R-41: the position of the alarm is kept for the operator; what was accepted covers that history and
    /// nothing that is lost later, so an old copy that has the acceptance in it raises the alarm again.
    @Test func anAcceptanceCoversNothingThatIsLostLater() async throws {
        let log = KeptLog()
        let kept = KeptLog()
        try await serve(.local(journal: log.source))
        let old = log.content.withLock { $0 }
        let endpoint = "tcp://127.0.0.1:\(FreePorts.next())"
        try await live(log, kept, at: endpoint, adding: [UInt8](repeating: 1, count: 50))
        log.content.withLock { $0 = old }
        let first = try await behind(log, kept, at: endpoint)
        let text = try #require(log.content.withLock { $0.notes[.reportedBehind] })
        #expect(KnownPosition(noteText: text) == first)
        log.content.withLock { content in
            content.notes[.lossAccepted] = content.notes.removeValue(forKey: .reportedBehind)
        }
        // The replica still has what was given up: it is told that it is ahead, and stops nobody.
        try await serve(log, kept, at: endpoint) { port, copy in
            let sums = try await port.add([7])
            #expect(sums == [7])
            try await until { try await copy.status().phase == .ahead }
            // It has higher numbers than the primary, of another history: no linearizable read is answered from them.
            let (own, commit) = try await (copy.status().sequence, port.status().commit)
            #expect(own > commit)
            let error = await #expect(throws: LockstepError.self) {
                try await copy.waitUntilReadable(.linearizable, minimum: .zero, timeout: StorePort.patience)
            }
            #expect(error?.code == .unavailable)
        }
        let accepted = log.content.withLock { $0 }
        let other = KeptLog()
        try await live(log, other, at: endpoint, adding: [3])
        log.content.withLock { $0 = accepted }
        let second = try await behind(log, other, at: endpoint)
        #expect(second.position.epoch > first.position.epoch)
    }

    /// PROTOCOL: a primary that goes on from an old copy hears its replica before it admits, so that nothing is
    /// acknowledged that would have to be given up.
    @Test func anOldCopyAcknowledgesNothing() async throws {
        let log = KeptLog()
        let endpoint = "tcp://127.0.0.1:\(FreePorts.next())"
        let replica = try Node(.replica(of: endpoint))
        let copy = try replica.attach(name: "sum") { SumState() }
        try await withRunning(replica) {
            let first = try Node(.primary(listen: endpoint, journal: log.source))
            let port = try first.attach(name: "sum") { SumState() }
            let old = try await withRunning(first) {
                _ = try await port.add([1])
                try await until { try await copy.status().sequence >= port.status().commit }
                try await until { log.content.withLock { $0.notes[.audience] != nil } }
                let old = log.content.withLock { $0 }
                _ = try await port.add([2])
                try await until { try await copy.status().sequence >= port.status().commit }
                return old
            }
            log.content.withLock { $0 = old }
            var configuration = NodeConfiguration.primary(listen: endpoint, journal: log.source)
            configuration.audienceTimeout = .seconds(600)
            let second = try Node(configuration)
            let again = try second.attach(name: "sum") { SumState() }
            try await withRunning(second) {
                async let sums = try? again.submit(SumState.actions([9]), count: 1, timeout: .seconds(2))
                try await until { try await again.status().phase == .behind }
                let answered = await sums
                #expect(answered == nil, "an action was acknowledged")
                let status = try await again.status()
                #expect(status.alarms.contains { $0.kind == .primaryBehind })
            }
        }
    }

    /// PROTOCOL R-48: a restart with a live replica waits for its word, and no longer than that.
    @Test func aRestartWaitsForTheReplicaOnly() async throws {
        let log = KeptLog()
        let endpoint = "tcp://127.0.0.1:\(FreePorts.next())"
        let replica = try Node(.replica(of: endpoint))
        let copy = try replica.attach(name: "sum") { SumState() }
        try await withRunning(replica) {
            for round in UInt64(1)...3 {
                var configuration = NodeConfiguration.primary(listen: endpoint, journal: log.source)
                // Far above the test's own limit: only the replica's word can end the wait.
                configuration.audienceTimeout = .seconds(600)
                let primary = try Node(configuration)
                let port = try primary.attach(name: "sum") { SumState() }
                try await withRunning(primary) {
                    let sums = try await port.add([1])
                    #expect(sums == [round])
                    try await until { try await copy.status().sequence >= port.status().commit }
                    try await until { log.content.withLock { $0.notes[.audience] != nil } }
                }
            }
        }
    }

    /// PROTOCOL R-48: a restart waits for its replica as long as it is told to, less than usual or more.
    ///
    /// Each begins to wait before the next one does, so a bound that is not its own shows in the order of their ends.
    @Test func aRestartWaitsAsLongAsItIsTold() async throws {
        let record = LogRecord()
        func restart(_ name: String, _ bound: Duration?) throws -> (node: Node, port: StorePort) {
            let log = KeptLog()
            log.content.withLock { $0.notes[.audience] = "r1" }
            var configuration = NodeConfiguration.primary(listen: "tcp://127.0.0.1:0", journal: log.source)
            if let bound { configuration.audienceTimeout = bound }
            let node = try Node(configuration, logger: record.logger())
            return (node, try node.attach(name: name) { SumState() })
        }
        let (long, usual) = (try restart("long", .seconds(600)), try restart("usual", nil))
        let short = try restart("short", .milliseconds(200))
        try await withRunning(long.node) {
            try await until { try await long.port.status().phase == .awaiting }
            try await withRunning(usual.node) {
                try await until { try await usual.port.status().phase == .awaiting }
                try await withRunning(short.node) {
                    try await until { try await usual.port.status().phase == .admitting }
                }
            }
        }
        let order = record.short.filter { $0.contains("admitting") }
        #expect(order == ["info admitting short", "info admitting usual"])
    }

    /// Runs a primary and a replica until the replica has the entries that are added.
    private func live(_ log: KeptLog, _ kept: KeptLog, at endpoint: String, adding bytes: [UInt8]) async throws {
        try await serve(log, kept, at: endpoint) { port, copy in
            try await until { try await port.status().phase == .admitting }
            _ = try await port.add(bytes)
            let sequence = try await port.status().commit
            try await until { try await copy.status().sequence >= sequence }
            try await until { kept.content.withLock { $0.end.rawValue >= sequence } }
        }
    }

    /// Runs both until the primary says that it is behind, and the alarm's position is noted.
    private func behind(_ log: KeptLog, _ kept: KeptLog, at endpoint: String) async throws -> KnownPosition {
        try await serve(log, kept, at: endpoint) { port, _ in
            try await until { try await port.status().phase == .behind }
            try await until { log.content.withLock { $0.notes[.reportedBehind] != nil } }
        }
        return try #require(log.content.withLock { $0.notes[.reportedBehind] }.flatMap(KnownPosition.init(noteText:)))
    }

    private func serve(
        _ log: KeptLog, _ kept: KeptLog, at endpoint: String,
        _ body: @escaping @Sendable (StorePort, StorePort) async throws -> Void
    ) async throws {
        let primary = try Node(.primary(listen: endpoint, journal: log.source))
        let port = try primary.attach(name: "sum") { SumState() }
        try await withRunning(primary) {
            var configuration = NodeConfiguration.replica(of: endpoint, journal: kept.source)
            _ = try await primary.listening()
            configuration.cluster = try await primary.status().cluster.flatMap { ClusterID(hexadecimal: $0) }
            configuration.node = try #require(NodeID("r1"))
            let replica = try Node(configuration)
            let copy = try replica.attach(name: "sum") { SumState() }
            try await withRunning(replica) { try await body(port, copy) }
        }
    }

    /// PROTOCOL R-15: a clock behind the log that was accepted holds until it has passed the log, one ahead for an hour.
    @Test(arguments: [
        (-7_200, 0, true), (-7_200, 86_400, false), (-3_000_000, 0, true), (-3_000_000, 1_000_000, true),
        (-3_000_000, -4_000, false), (700_000, 0, true), (700_000, 3_500, true), (700_000, 3_700, false),
    ])
    func anAcceptedClock(secondsAtAcceptance: Int, later: Int, isTaken: Bool) {
        let last = LogTime(rawValue: 1_800_000_000_000_000)
        let accepted = last.advanced(by: .seconds(secondsAtAcceptance))
        let wall = accepted.advanced(by: .seconds(later))
        #expect(throws: LockstepError.self) {
            try ClockRule.check(of: "sum", last: last, wall: accepted, accepts: false)
        }
        let isNear = (try? ClockRule.check(of: "sum", last: last, wall: wall, accepts: false)) != nil
        let passes =
            (try? ClockRule.check(of: "sum", last: last, wall: wall, accepts: false, acceptedAt: accepted)) != nil
        #expect(passes == isTaken || isNear)
        #expect(ClockRule.isUsedUp(last: last, wall: wall) == (isNear && wall >= last))
    }
}
