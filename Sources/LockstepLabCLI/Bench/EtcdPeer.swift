import Foundation
import LockstepHarness
import LockstepServer

/// etcd, of one member or several, asked through its JSON gateway.
struct EtcdPeer: Sendable {
    static let connections = 128

    let version: String

    /// What puts reached.
    struct Load {
        var perSecond: Double
        /// Of single puts, in microseconds.
        var latencies: [Double]
    }

    /// Nil if etcd is not installed.
    static func find() -> EtcdPeer? {
        guard let version = try? ChildProcess.output("etcd", ["--version"]) else { return nil }  // Not there.
        return EtcdPeer(
            version: "etcd \(version.split(whereSeparator: \.isWhitespace).dropFirst(2).first ?? "unknown")")
    }

    /// Puts of different keys to the member that leads, one in flight on each connection; all members are new.
    func puts(
        _ setting: BenchSetting, count: Int, members: Int = 1, connections: Int = EtcdPeer.connections
    ) throws -> Load {
        let folder = setting.folder + "/etcd"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let servers = try (0..<members).map { try startMember($0, of: members, folder, setting) }
        defer {
            for server in servers { server.end(SIGKILL) }
            try? FileManager.default.removeItem(atPath: folder)  // A left-over is removed with the folder above it.
        }
        let port = try leader((0..<members).map { Self.port($0, setting) }, folder)
        let before = try Self.revision(try LoopbackClient(port: port))
        let share = max(1, count / connections)
        let start = ContinuousClock.now
        let latencies = try onThreads(connections) { thread in
            let client = try LoopbackClient(port: port)
            return try (0..<share).map { number in
                let key = Data("counter:\(thread * share + number)".utf8).base64EncodedString()
                let start = ContinuousClock.now
                _ = try client.http("/v3/kv/put", posting: #"{"key":"\#(key)","value":"MQ=="}"#)
                return start.duration(to: .now) / .microseconds(1)
            }
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let puts = try Self.revision(try LoopbackClient(port: port)) - before
        guard puts == share * connections else {
            throw CommandFailure("etcd has \(puts) revisions of \(share * connections) puts")
        }
        return Load(perSecond: Double(puts) / seconds, latencies: latencies.flatMap(\.self))
    }

    private static func port(_ index: Int, _ setting: BenchSetting) -> Int { setting.peerPort + 20 + 2 * index }

    private func startMember(_ index: Int, of members: Int, _ folder: String, _ setting: BenchSetting) throws
        -> ChildProcess
    {
        func peers(_ index: Int) -> String { "http://127.0.0.1:\(Self.port(index, setting) + 1)" }
        let clients = "http://127.0.0.1:\(Self.port(index, setting))"
        let cluster = (0..<members).map { "member-\($0)=\(peers($0))" }.joined(separator: ",")
        return try ChildProcess(
            "etcd-\(index)", "/usr/bin/env",
            [
                "etcd", "--name", "member-\(index)", "--data-dir", folder + "/\(index)", "--listen-client-urls",
                clients, "--advertise-client-urls", clients, "--listen-peer-urls", peers(index),
                "--initial-advertise-peer-urls", peers(index), "--initial-cluster", cluster, "--log-level", "error",
            ], log: folder + "/\(index).log")
    }

    /// The port of the member that leads; waits until there is one.
    private func leader(_ ports: [Int], _ folder: String) throws -> Int {
        struct Status: Decodable {
            struct Header: Decodable { var member_id: String }
            var header: Header
            var leader: String?
        }
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            for port in ports {
                // Not up, or without a leader, yet: asked again.
                guard let client = try? LoopbackClient(port: port),
                    let answer = try? client.http("/v3/maintenance/status", posting: "{}"),
                    let status = try? JSONDecoder().decode(Status.self, from: Data(answer)),
                    status.leader == status.header.member_id, (try? Self.revision(client)) != nil
                else { continue }
                return port
            }
            guard ContinuousClock.now < deadline else { throw CommandFailure("etcd does not start; see \(folder)") }
            usleep(20_000)
        }
    }

    /// How many changes there were.
    private static func revision(_ client: LoopbackClient) throws -> Int {
        struct Answer: Decodable {
            struct Header: Decodable { var revision: String }
            var header: Header
        }
        let answer = try client.http("/v3/kv/range", posting: #"{"key":"AA==","count_only":true}"#)
        guard let revision = Int(try JSONDecoder().decode(Answer.self, from: Data(answer)).header.revision) else {
            throw CommandFailure("etcd does not tell its revision")
        }
        return revision
    }
}
