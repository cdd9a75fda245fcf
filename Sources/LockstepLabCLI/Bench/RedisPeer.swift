import Foundation
import LockstepHarness
import LockstepServer

/// redis-server and redis-benchmark, driven for a comparison.
struct RedisPeer: Sendable {
    let version: String

    /// Nil if Redis is not installed.
    static func find() -> RedisPeer? {
        guard let version = try? ChildProcess.output("redis-server", ["--version"]),  // Not installed.
            (try? ChildProcess.output("redis-benchmark", ["--version"])) != nil
        else { return nil }
        let words = version.split(separator: " ")
        return RedisPeer(version: "redis " + (words.first { $0.hasPrefix("v=") }?.dropFirst(2) ?? "unknown"))
    }

    /// Starts a primary and replicas, and ends and removes them after `body`.
    func withServers<Value>(
        _ setting: BenchSetting, replicas: Int, sync: String = "always", _ body: (RedisServers) throws -> Value
    ) throws -> Value {
        let servers = try RedisServers(
            folder: setting.folder + "/redis", port: setting.peerPort, replicas: replicas, sync: sync)
        defer { servers.endAll() }
        try servers.startAll()
        return try body(servers)
    }
}

/// A primary with replicas, all with an append-only file.
final class RedisServers {
    let folder: String
    let port: Int
    let replicas: Int
    /// `appendfsync`: `always`, or `no` where a file is only filled.
    private let sync: String
    private(set) var servers: [Int: ChildProcess] = [:]

    init(folder: String, port: Int, replicas: Int, sync: String) throws {
        self.folder = folder
        self.port = port
        self.replicas = replicas
        self.sync = sync
        // What a case before left when it failed.
        try? FileManager.default.removeItem(atPath: folder)
    }

    func start(_ index: Int) throws {
        let path = folder + "/\(index)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var arguments = [
            "redis-server", "--port", "\(port + index)", "--bind", "127.0.0.1", "--dir", path, "--save", "",
            "--appendonly", "yes", "--appendfsync", sync, "--auto-aof-rewrite-percentage", "0", "--daemonize", "no",
            // By default a primary waits 5 s for further replicas before a full sync.
            "--repl-diskless-sync-delay", "0",
            // By default a replica writes the file that it is sent to its disk before it reads it; ours does not.
            "--repl-diskless-load", "swapdb",
        ]
        if index > 0 { arguments += ["--replicaof", "127.0.0.1 \(port)"] }
        servers[index] = try ChildProcess("redis-\(index)", "/usr/bin/env", arguments, log: path + ".log")
    }

    func startAll() throws {
        for index in 0...replicas { try start(index) }
        try waitUntilUp(0)
        for index in 0..<replicas { try wait("a replica's link") { try self.isLinkUp(index + 1) } }
    }

    func end(_ index: Int, _ signal: Int32) { servers.removeValue(forKey: index)?.end(signal) }

    func endAll() {
        for index in servers.keys.sorted(by: >) { end(index, SIGKILL) }
        try? FileManager.default.removeItem(atPath: folder)  // A left-over is removed with the folder above it.
    }

    /// Waits until a server has read its file.
    func waitUntilUp(_ index: Int) throws {
        // While it loads, it answers with an error.
        try wait("redis-server") { try LoopbackClient(port: self.port + index).redis("PING").hasPrefix("+PONG") }
    }

    func isLinkUp(_ index: Int) throws -> Bool {
        try LoopbackClient(port: port + index).redis("INFO replication").contains("master_link_status:up")
    }

    func residentBytes(_ index: Int) -> Int { servers[index]?.residentBytes ?? 0 }

    private func wait(_ what: String, _ condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(300)
        // Not up yet: asked again.
        while (try? condition()) != true {
            guard ContinuousClock.now < deadline else {
                throw CommandFailure("\(what) does not come up; see \(folder)")
            }
            usleep(5_000)
        }
    }

    // MARK: - Work

    /// What redis-benchmark measured.
    struct Load {
        var actions: Int
        var perSecond: Double
        /// In microseconds.
        var p50: Double
        var p99: Double
        /// Of the primary, of the replicas together, of redis-benchmark.
        var processorSeconds: [Double]
    }

    /// INCR of random keys; checks the sum on every server.
    func increments(_ actions: Int, connections: Int, pipeline: Int, keys: Int) throws -> Load {
        let before = try sum(0)
        let processor = (0...replicas).map { servers[$0]?.processorSeconds ?? 0 }
        let children = Processor.endedChildrenSeconds
        let output = try ChildProcess.output(
            "redis-benchmark",
            [
                "-p", "\(port)", "-t", "incr", "-n", "\(actions)", "-r", "\(keys)", "-c", "\(connections)", "-P",
                "\(pipeline)", "--csv",
            ])
        let client = Processor.endedChildrenSeconds - children
        let used = zip(processor, (0...replicas).map { servers[$0]?.processorSeconds ?? 0 }).map { $1 - $0 }
        // redis-benchmark sends whole pipelines, so it may count a few more than it was asked for.
        let counted = try sum(0) - before
        guard (actions..<actions + connections * pipeline).contains(counted) else {
            throw CommandFailure("redis counted \(counted) of \(actions) increments")
        }
        try checkReplicas()
        return Load(
            actions: counted, perSecond: try Self.field(1, of: output), p50: try Self.field(4, of: output) * 1_000,
            p99: try Self.field(6, of: output) * 1_000,
            processorSeconds: [used[0], used.dropFirst().reduce(0, +), client])
    }

    /// INCR of random keys in pipelines, each with a `WAIT 1` at its end; checks the sum on every server.
    ///
    /// redis-benchmark has no such pipelines, so this process sends them, from a thread for each connection.
    func waitedIncrements(
        _ actions: Int, connections: Int, pipeline: Int, keys: Int
    ) throws -> (perSecond: Double, latencies: [Double]) {
        let before = try sum(0)
        let port = port
        let requests = CounterNames.make(keys).map {
            Array("*2\r\n$4\r\nINCR\r\n$\($0.utf8.count)\r\n\($0)\r\n".utf8)
        }
        let share = max(1, actions / connections / pipeline)
        let start = ContinuousClock.now
        let latencies = try onThreads(connections) { _ in
            let client = try LoopbackClient(port: port)
            var generator = SplitGenerator(seed: UInt64.random(in: .min ... .max))
            return try (0..<share).map { _ in
                var request: [UInt8] = []
                request.reserveCapacity(pipeline * 48)
                for _ in 0..<pipeline { request += requests[generator.next(below: keys)] }
                request += Array("*3\r\n$4\r\nWAIT\r\n$1\r\n1\r\n$1\r\n0\r\n".utf8)
                let start = ContinuousClock.now
                let answer = try client.exchange(request) { answer in
                    answer.count(where: { $0 == 10 }) == pipeline + 1 ? answer.count : nil
                }
                // The last answer is how many replicas have the pipeline.
                guard !answer.suffix(4).elementsEqual(":0\r\n".utf8) else {
                    throw CommandFailure("redis did not wait for its replica")
                }
                return start.duration(to: .now) / .microseconds(1)
            }
        }.flatMap(\.self)
        let seconds = start.duration(to: .now) / .seconds(1)
        let counted = try sum(0) - before
        guard counted == share * connections * pipeline else {
            throw CommandFailure("redis counted \(counted) of \(share * connections * pipeline) increments")
        }
        try checkReplicas()
        return (Double(counted) / seconds, latencies)
    }

    /// Gives as many keys as there are to be, `counter:N`, the value N.
    func fill(keys: Int) throws {
        let client = try LoopbackClient(port: port)
        for first in stride(from: 0, to: keys, by: 10_000) {
            let last = min(first + 10_000, keys) - 1
            let script = "for i=\(first),\(last) do redis.call('incrby','counter:'..i,i) end return 1"
            guard try client.evaluate(script) == 1 else { throw CommandFailure("redis does not take the keys") }
        }
    }

    /// The sum of all keys on a server.
    func sum(_ index: Int) throws -> Int {
        let script =
            "local s=0 for _,k in ipairs(redis.call('keys','counter:*')) do s=s+redis.call('get',k) end return s"
        return try LoopbackClient(port: port + index).evaluate(script)
    }

    /// Waits until every replica has the primary's sum, and throws if one does not get it.
    func checkReplicas() throws {
        guard replicas > 0 else { return }
        let sum = try sum(0)
        for index in 1...replicas { try wait("the sum on a replica") { try self.sum(index) == sum } }
    }

    /// A column of the last line that redis-benchmark prints.
    private static func field(_ index: Int, of csv: String) throws -> Double {
        guard let line = csv.split(separator: "\n").last else {
            throw CommandFailure("redis-benchmark printed nothing")
        }
        let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "\"\r ")) }
        guard fields.count > index, let value = Double(fields[index]) else {
            throw CommandFailure("redis-benchmark printed \(line)")
        }
        return value
    }
}
