import Counters
import Foundation
import Lockstep
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Synchronization
import Testing

extension IntegrationTests {
    /// A client watches a counter at a replica while the primary is killed and started again: it is told the last value,
    /// and frames are few (PROTOCOL ).
    @Test func aWatcherSeesTheLastValueAfterThePrimaryWasKilled() async throws {
        try await Bench.withCluster(replicas: 1) { cluster in
            let watched = WatchedCounter()
            try await Bench.withClient(of: cluster.endpoint(1)) { counters in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await watched.follow(counters, until: 3_000) }
                    try await Bench.withClient(of: cluster.endpoint(0)) {
                        try await Bench.add(1_500, to: $0, prefix: "visits/", keys: 1)
                    }
                    try await Bench.wait("the watcher to see what is there") { watched.last == 1_500 }
                    cluster.end(0, signal: SIGKILL)
                    try cluster.start(0)
                    try await cluster.waitUntilReady()
                    try await Bench.withClient(of: cluster.endpoint(0)) {
                        try await Bench.add(1_500, to: $0, prefix: "visits/", keys: 1)
                    }
                    try await group.waitForAll()
                }
            }
            #expect(watched.last == 3_000)
            #expect(watched.isInOrder)
            // 10 answers a second at most, of 3,000 changes.
            #expect(watched.count <= 20 + Int(watched.seconds * 10), "\(watched.count) in \(watched.seconds) s")
            #expect(watched.count >= 2)
        }
    }

    /// A node that is killed and started again is told of the watches, and answers them (PROTOCOL R-59).
    @Test func aWatchOutlivesItsNode() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let watched = WatchedCounter()
            try await Bench.withClient(of: cluster.endpoint(0)) { counters in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await watched.follow(counters, until: 20) }
                    try await Bench.withClient(of: cluster.endpoint(0)) {
                        try await Bench.add(10, to: $0, prefix: "visits/", keys: 1)
                    }
                    try await Bench.wait("the watcher to see what is there") { watched.last == 10 }
                    cluster.end(0, signal: SIGKILL)
                    try cluster.start(0)
                    try await cluster.waitUntilReady()
                    try await Bench.withClient(of: cluster.endpoint(0)) {
                        try await Bench.add(10, to: $0, prefix: "visits/", keys: 1)
                    }
                    try await group.waitForAll()
                }
            }
            #expect(watched.last == 20)
        }
    }

    /// "lockstep counter watch" prints each change until it is told to stop.
    @Test func theCommandPrintsChanges() async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let endpoint = cluster.endpoint(0)
            let log = cluster.folder + "/watch.log"
            let command = try ChildProcess(
                "watch", Bench.program, ["counter", "watch", "visits", "--node", endpoint], log: log)
            defer { command.end(SIGKILL) }
            for value in 1...3 {
                let added = try Bench.lockstep("counter", "add", "visits", "--node", endpoint)
                #expect(added.status == 0, "\(added.errors)")
                try await Bench.wait("the command to print \(value)") {
                    (try? String(contentsOfFile: log, encoding: .utf8))?.contains("visits \(value)\n") == true
                }
            }
            // The same value after a reset is a change, too.
            let reset = try Bench.lockstep("counter", "reset", "visits", "--node", endpoint)
            #expect(reset.status == 0, "\(reset.errors)")
            try await Bench.wait("the command to print that it is gone") {
                (try? String(contentsOfFile: log, encoding: .utf8))?.contains("visits is gone\n") == true
            }
            #expect(try Bench.lockstep("counter", "set", "visits", "3", "--node", endpoint).status == 0)
            let all = ["visits 1", "visits 2", "visits 3", "visits is gone", "visits 3"]
            try await Bench.wait("the command to print it again") {
                try Bench.lines(String(contentsOfFile: log, encoding: .utf8)).map(String.init) == all
            }
        }
    }
}

extension IntegrationTests {
    /// A command that is a replica for a while leaves in good order when it is told to end: its name is no longer among
    /// those for which the primary waits at its next start (PROTOCOL R-48).
    @Test(arguments: [SIGINT, SIGTERM]) func aWatchingCommandLeavesInGoodOrder(signal: Int32) async throws {
        try await Bench.withCluster(replicas: 0) { cluster in
            let (path, endpoint) = (cluster.node(0).path, cluster.endpoint(0))
            func audience(_ store: String) async throws -> [StoreStatus.Peer] {
                let stores = try await cluster.node(0).decodedStatus().stores
                return stores.first { $0.name == store }?.peers.filter { $0.role == .replica } ?? []
            }
            for (store, words) in [("counters", ["watch", "counters"]), ("search", ["search", "watch"])] {
                let log = cluster.folder + "/\(store).log"
                let command = try ChildProcess("watch", Bench.program, words + ["--node", endpoint], log: log)
                defer { command.end(SIGKILL) }
                try await Bench.wait("\(words) to be there, and to have its session") {
                    let listed = try Bench.lockstep("sessions", "list", "--data", path, "--store", store, "--json")
                    return try await !audience(store).isEmpty && !listed.output.isEmpty
                }
                command.end(signal)
                // Its CLOSE may be on its way; without one the session lives for ten minutes.
                try await Bench.wait("the end of its session") {
                    let listed = try Bench.lockstep("sessions", "list", "--data", path, "--store", store, "--json")
                    return listed.status == 0 && listed.output.isEmpty
                }
                // It is neither there nor lost.
                let stores = try await cluster.node(0).decodedStatus().stores
                let peers = stores.flatMap { $0.peers + $0.lostReplicas }
                #expect(!peers.contains { $0.role == .replica }, "\(peers)")
                let said = try Bench.lines(String(contentsOfFile: log, encoding: .utf8))
                #expect(!said.contains { $0.contains("lockstep:") }, "\(said)")
            }
            cluster.end(0, signal: SIGTERM)
            for store in ["counters", "search"] {
                let reader = try SQLiteJournalReader(folder: path, storeName: store)
                defer { try? reader.close() }  // Nothing was written.
                #expect(reader.note(.audience) == "", "\(store)")
            }
        }
    }
}

/// What somebody who watches the counter `visits/0` was told.
private final class WatchedCounter: Sendable {
    private let seen = Mutex<(values: [Int64], places: [Place])>(([], []))
    private let begin = ContinuousClock.now

    var last: Int64? { seen.withLock { $0.values.last } }
    var count: Int { seen.withLock { $0.values.count } }
    var seconds: Double { (ContinuousClock.now - begin) / .seconds(1) }
    /// One replica gives the answers, and never goes back.
    var isInOrder: Bool { seen.withLock { zip($0.places, $0.places.dropFirst()).allSatisfy(<) } }

    func follow(_ counters: RemoteStore<Counters>, until end: Int64) async throws {
        for try await read in counters.watch(.get("visits/0")) {
            guard case .value(let value?) = read.answer else { continue }
            seen.withLock {
                $0.values.append(value)
                $0.places.append(read.place)
            }
            if value == end { return }
        }
    }
}
