import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Testing

extension IntegrationTests {
    /// A replica that is killed and started again holds the same state as its primary (PROTOCOL R-31, R-36).
    @Test func aKilledReplicaComesBackEqual() async throws {
        try await Bench.withCluster(replicas: 2) { cluster in
            let endpoint = cluster.endpoint(0)
            try await Bench.withClient(of: endpoint) { try await Bench.add(5_000, to: $0, prefix: "a/") }
            cluster.end(1, signal: SIGKILL)
            try await Bench.withClient(of: endpoint) { try await Bench.add(5_000, to: $0, prefix: "b/") }
            try cluster.start(1)
            try await cluster.waitUntilReady()
            let end = try await cluster.waitUntilEqual()
            #expect(end.sequence > 10_000)
        }
    }

    /// A replica that is started first waits for its primary and then joins (PROTOCOL R-31).
    @Test func aReplicaMayStartBeforeItsPrimary() async throws {
        try await Bench.withCluster(replicas: 1, start: false) { cluster in
            try cluster.start(1)
            try await Bench.wait("the replica to say that it connects") {
                (try? await cluster.node(1).decodedStatus().stores.map(\.phase)) == [.connecting, .connecting]
            }
            try cluster.start(0)
            try await cluster.waitUntilReady()
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(100, to: $0, prefix: "a/") }
            _ = try await cluster.waitUntilEqual()
        }
    }

    /// A replica that stands still past its high-water mark misses frames, and repairs them when it goes on
    /// (PROTOCOL R-33 to R-36).
    @Test func aStoppedReplicaCatchesUp() async throws {
        try await Bench.withCluster(replicas: 2) { cluster in
            let stopped = try #require(cluster.child(1)).identifier
            ChildProcess.send(SIGSTOP, to: stopped)
            let endpoint = cluster.endpoint(0)
            try await Bench.withClient(of: endpoint) { counters in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<16 {
                        group.addTask { try await Bench.add(100_000, to: counters, prefix: "k\(task)/") }
                    }
                    try await group.waitForAll()
                }
            }
            ChildProcess.send(SIGCONT, to: stopped)
            try await cluster.waitUntilReady()
            let end = try await cluster.waitUntilEqual(seconds: 60)
            #expect(end.sequence >= 1_600_000)
        }
    }

    /// 100 replicas join while mutations are written, up to 20,000 a second; the state that each one shows first is the
    /// state of the log at that place (PROTOCOL R-31, R-32, R-50).
    ///
    /// They have one store, no journal and no address: what is tested is a join, a hundred of them in one process, of
    /// which each ends with its first read.
    @Test func aHundredJoinsUnderWritesAreAllRight() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let endpoint = cluster.endpoint(0)
            let output = cluster.folder + "/joins.log"
            let peer = try ChildProcess("joins", Bench.testPeer, ["join", endpoint, "100"], log: output)
            defer { peer.end(SIGKILL) }
            let rate = try await Bench.withClient(of: endpoint) { counters in
                let start = ContinuousClock.now
                let written = try await Writer.run(counters, perSecond: 20_000) { peer.isRunning }
                return Double(written) / (start.duration(to: .now) / .seconds(1))
            }
            let lines = try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n")
            let joins = lines.compactMap { Join($0) }
            #expect(joins.count == 100)
            let places = Set(joins.map(\.sequence)).count
            print("\(Int(rate)) mutations a second were written beside the joins, which came at \(places) places")
            #expect(places > 10, "the log stood still")
            cluster.endAll(signal: SIGTERM)
            try Self.compare(joins, with: cluster.node(0).path)
        }
    }

    /// What a replica showed when it was live for the first time.
    struct Join: Sendable {
        var sequence: SequenceNumber
        var digest: Digest

        /// Reads a line of TestPeer's.
        init?(_ line: Substring) {
            let words = line.split(separator: " ")
            guard words.count == 2, let sequence = UInt64(words[0]), let digest = Digest(hexadecimal: String(words[1]))
            else { return nil }
            self.sequence = SequenceNumber(rawValue: sequence)
            self.digest = digest
        }
    }

    /// Rebuilds the state from the journal, place by place, and compares.
    static func compare(_ joins: [Join], with folder: String) throws {
        let reader = try SQLiteJournalReader(folder: folder, storeName: "counters")
        var wanted = Dictionary(grouping: joins, by: \.sequence)
        let state = ReactorState.detached(Counters())
        var log = LogState(store: reader.identity.store)
        try reader.batches(after: .zero) { batch in
            _ = try log.apply(batch, to: state)
            for join in wanted.removeValue(forKey: batch.head.last) ?? [] {
                #expect(join.digest == state.digest, "the join at \(join.sequence) is wrong")
            }
        }
        #expect(wanted.isEmpty, "these places are no batch's end: \(wanted.keys)")
    }

    /// A state of a million counters reaches a joiner through a snapshot in chunks (PROTOCOL R-32).
    @Test func aMillionCountersJoinThroughASnapshot() async throws {
        try await Bench.withCluster(replicas: 1, start: false) { cluster in
            try cluster.start(0)
            let endpoint = cluster.endpoint(0)
            try await Bench.withClient(of: endpoint) { counters in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<10 {
                        group.addTask {
                            try await Bench.add(100_000, to: counters, prefix: "counter-\(task)/", keys: 100_000)
                        }
                    }
                    try await group.waitForAll()
                }
                // As much again, so that the first million entries are no longer in the resend window.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<10 {
                        group.addTask {
                            try await Bench.add(300_000, to: counters, prefix: "counter-\(task)/", keys: 100_000)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            try cluster.start(1)
            try await cluster.waitUntilReady(seconds: 120)
            _ = try await cluster.waitUntilEqual(seconds: 60)
            let stores = try await cluster.node(0).decodedStatus().stores
            let primary = try #require(stores.first { $0.name == "counters" })
            #expect(primary.counters["snapshots_served", default: 0] >= 1)
            let (status, output, _) = try Bench.lockstep(
                "counter", "get", "counter-3/77777", "--node", cluster.endpoint(1))
            #expect(status == 0)
            #expect(output == "4\n")
        }
    }

    /// Two replicas whose reducers are not deterministic are found within one digest check, named, and fed again
    /// (PROTOCOL R-53).
    ///
    /// They have one store, that with the defect, and no journal: what a journal would hold is wrong from the start.
    @Test func nonDeterministicReducersAreFoundAndFedAgain() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            var peers: [ChildProcess] = []
            defer { for peer in peers { peer.end(SIGKILL) } }
            for number in 1...2 {
                let admin = cluster.folder + "/skewed-\(number)"
                peers.append(
                    try ChildProcess(
                        "skewed-\(number)", Bench.testPeer, [cluster.endpoint(0), "skewed-\(number)", admin],
                        log: cluster.folder + "/skewed-\(number).log"))
            }
            let folders = (1...2).map { cluster.folder + "/skewed-\($0)" }
            for folder in folders {
                try await Bench.wait("the replica to be live") { try await Self.store(at: folder)?.phase == .live }
            }
            // One batch, so that no mutation follows the mark at which it is found: the reducers go on to be wrong.
            let adds = (0..<1_000).map { Counters.Action.add("a/\($0)", by: 1) }
            try await Bench.withClient(of: cluster.endpoint(0)) { counters in
                for outcome in try await counters.send(contentsOf: adds) { _ = try outcome.get() }
            }
            for folder in folders {
                var found: StoreStatus?
                try await Bench.wait("the divergence to be found") {
                    found = try await Self.store(at: folder)
                    return found?.counters["divergences", default: 0] ?? 0 >= 1
                }
                let store = try #require(found)
                // The alarm names the sequence number and both digests.
                let alarm = store.alarms.first { $0.kind == .diverged }?.text ?? ""
                #expect(alarm.matches(of: /[0-9a-f]{32}/).count == 2, "\(store.alarms)")
                #expect(alarm.contains(/[0-9]+/))
                // The state that it was fed instead is the primary's.
                try await Bench.wait("the replica to be fed again") {
                    try await Self.store(at: folder)?.phase == .live
                }
            }
            // A second difference within the hour ends them: their reducers are still wrong.
            try await Bench.withClient(of: cluster.endpoint(0)) { try await Bench.add(10_000, to: $0, prefix: "b/") }
            for peer in peers { try await Bench.wait("the replica to stop for good") { !peer.isRunning } }
        }
    }

    static func store(at folder: String) async throws -> StoreStatus? {
        // Not up yet, or gone: asked again.
        guard
            let answer = try? await AdministrationClient.ask(
                folder: folder, command: #"{"command":"status"}"#, timeout: .seconds(2))
        else { return nil }
        return try JSONDecoder().decode(NodeStatus.self, from: answer).stores.first
    }
}

/// Writes at a steady rate as long as it is to go on; returns how much it wrote.
enum Writer {
    static func run(
        _ counters: RemoteStore<Counters>, perSecond: Int, while isWanted: () -> Bool
    ) async throws -> Int {
        let start = ContinuousClock.now
        var sent = 0
        while isWanted() {
            try await Bench.add(1_000, to: counters, prefix: "w/", keys: 10_000)
            sent += 1_000
            let due = start + .nanoseconds(Int64(sent) * 1_000_000_000 / Int64(perSecond))
            if due > .now { try await Task.sleep(until: due, clock: .continuous) }
        }
        return sent
    }
}
