import Foundation
import LockstepHarness

/// redis-server and redis-benchmark, driven for a comparison: durable, with one replica.
struct RedisPeer {
    let version: String

    /// Nil if Redis is not installed.
    static func find() -> RedisPeer? {
        guard let version = try? ChildProcess.output("redis-server", ["--version"]),  // Not installed.
            (try? ChildProcess.output("redis-benchmark", ["--version"])) != nil
        else { return nil }
        let words = version.split(separator: " ")
        return RedisPeer(version: "redis " + (words.first { $0.hasPrefix("v=") }?.dropFirst(2) ?? "unknown"))
    }

    /// INCR over 100,000 keys, 50 connections with 256 each in flight; checks the sum and the replica.
    func throughput(folder: String, port: Int, actions: Int) throws -> Double {
        try withServers(folder: folder, port: port) {
            let output = try ChildProcess.output(
                "redis-benchmark",
                ["-p", "\(port)", "-t", "incr", "-n", "\(actions)", "-r", "100000", "-c", "50", "-P", "256", "--csv"])
            let sum = try evaluate(
                port,
                "local s=0 for _,k in ipairs(redis.call('keys','counter:*')) do s=s+redis.call('get',k) end return s")
            // redis-benchmark sends whole pipelines, so it may count a few more than it was asked for.
            guard let sum = Int(sum), (actions..<actions + 50 * 256).contains(sum) else {
                throw CommandFailure("redis counted \(sum) of \(actions) increments")
            }
            return try Self.field(1, of: output)
        }
    }

    /// The median latency of INCR with one connection and one request in flight, in microseconds.
    func latency(folder: String, port: Int) throws -> Double {
        try withServers(folder: folder, port: port) {
            let output = try ChildProcess.output(
                "redis-benchmark",
                ["-p", "\(port)", "-t", "incr", "-n", "5000", "-r", "100000", "-c", "1", "-P", "1", "--csv"])
            return try Self.field(4, of: output) * 1_000
        }
    }

    private func withServers<Value>(folder: String, port: Int, _ body: () throws -> Value) throws -> Value {
        var servers: [ChildProcess] = []
        defer {
            for server in servers { server.end(SIGKILL) }
            try? FileManager.default.removeItem(atPath: folder)  // A left-over is removed with the folder above it.
        }
        for (index, name) in ["primary", "replica"].enumerated() {
            let path = folder + "/" + name
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            var arguments = [
                "redis-server", "--port", "\(port + index)", "--bind", "127.0.0.1", "--dir", path, "--save", "",
                "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no",
            ]
            if index == 1 { arguments += ["--replicaof", "127.0.0.1 \(port)"] }
            servers.append(try ChildProcess("redis", "/usr/bin/env", arguments, log: path + ".log"))
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while !isReplicating(port) {
            guard ContinuousClock.now < deadline else { throw CommandFailure("redis-server does not start") }
            usleep(50_000)
        }
        return try body()
    }

    private func isReplicating(_ port: Int) -> Bool {
        // Not up yet: asked again.
        guard let info = try? ChildProcess.output("redis-cli", ["-p", "\(port)", "info", "replication"]) else {
            return false
        }
        return info.contains("state=online")
    }

    private func evaluate(_ port: Int, _ script: String) throws -> String {
        try ChildProcess.output("redis-cli", ["-p", "\(port)", "eval", script, "0"])
            .trimmingCharacters(in: .whitespacesAndNewlines)
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
