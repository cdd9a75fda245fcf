import Foundation
import LockstepHarness
import LockstepServer

/// nats-server with JetStream: a stream of files on one node.
struct NATSPeer: Sendable {
    let version: String
    /// Whether this version can sync each message; those before 2.10 cannot.
    let syncsAlways: Bool

    var durability: String {
        syncsAlways
            ? "synced before each answer (sync_interval: always)"
            : "NOT durable: this version cannot sync each message; it syncs every 2 minutes"
    }

    /// Nil if nats-server is not installed.
    static func find() -> NATSPeer? {
        guard let version = try? ChildProcess.output("nats-server", ["--version"]) else { return nil }  // Not there.
        let path = NSTemporaryDirectory() + "lockstep-nats-\(getpid()).conf"
        defer { unlink(path) }
        guard
            (try? Data(configuration(folder: "/", syncsAlways: true).utf8).write(to: URL(fileURLWithPath: path))) != nil
        else { return nil }
        let word = version.split(whereSeparator: \.isWhitespace).last ?? "unknown"
        // It refuses a file with a field that it does not know.
        let syncsAlways = (try? ChildProcess.run("/usr/bin/env", ["nats-server", "-t", "-c", path]).status) == 0
        return NATSPeer(version: "nats-server \(word)", syncsAlways: syncsAlways)
    }

    private static func configuration(folder: String, syncsAlways: Bool) -> String {
        "jetstream { store_dir: \"\(folder)\"\(syncsAlways ? ", sync_interval: always" : "") }\n"
    }

    /// Publishes messages of 13 bytes and awaits an acknowledgement of each.
    func messagesPerSecond(_ setting: BenchSetting, count: Int, window: Int) throws -> Double {
        let folder = setting.folder + "/nats"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = folder + "/nats.conf"
        try Data(Self.configuration(folder: folder, syncsAlways: syncsAlways).utf8).write(
            to: URL(fileURLWithPath: file))
        let server = try ChildProcess(
            "nats", "/usr/bin/env",
            ["nats-server", "-c", file, "-a", "127.0.0.1", "-p", "\(setting.peerPort + 10)"], log: folder + "/log")
        defer {
            server.end(SIGKILL)
            try? FileManager.default.removeItem(atPath: folder)  // A left-over is removed with the folder above it.
        }
        let connection = try NATSConnection(port: setting.peerPort + 10)
        _ = try connection.request(
            "$JS.API.STREAM.CREATE.BENCH", #"{"name":"BENCH","subjects":["bench"],"storage":"file","num_replicas":1}"#)
        let publication = Array("PUB bench acks 13\r\ncounter:12345\r\n".utf8)
        var (sent, acknowledged) = (0, 0)
        let start = ContinuousClock.now
        while acknowledged < count {
            if sent < count, sent - acknowledged < window {
                let part = min(256, count - sent, window - (sent - acknowledged))
                try connection.write((0..<part).flatMap { _ in publication })
                sent += part
            } else {
                for message in try connection.messages() {
                    // `{"stream":"BENCH","seq":1}`; an error begins otherwise.
                    guard message.starts(with: #"{"stream""#.utf8) else {
                        throw CommandFailure("nats answered \(String(decoding: message, as: UTF8.self))")
                    }
                    acknowledged += 1
                }
            }
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let information = try connection.request("$JS.API.STREAM.INFO.BENCH", "")
        guard information.contains("\"messages\":\(count),") else {
            throw CommandFailure("the stream does not hold \(count) messages: \(information)")
        }
        return Double(count) / seconds
    }
}

/// A client of NATS: lines of text, and messages after them.
private final class NATSConnection {
    private let socket: LoopbackClient
    private var received: [UInt8] = []

    init(port: Int) throws {
        let deadline = ContinuousClock.now + .seconds(20)
        var found: LoopbackClient?
        while found == nil {
            found = try? LoopbackClient(port: port)  // Not up yet: asked again.
            guard found != nil || ContinuousClock.now < deadline else {
                throw CommandFailure("nats-server does not start")
            }
            if found == nil { usleep(20_000) }
        }
        guard let found else { throw CommandFailure("nats-server does not start") }
        socket = found
        try write(Array("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nSUB acks 1\r\n".utf8))
    }

    func write(_ bytes: [UInt8]) throws { try socket.write(bytes) }

    /// Publishes a request and waits for the answer.
    func request(_ subject: String, _ body: String) throws -> String {
        try write(Array("PUB \(subject) acks \(body.utf8.count)\r\n\(body)\r\n".utf8))
        while true {
            if let answer = try messages().first {
                let text = String(decoding: answer, as: UTF8.self)
                guard !text.contains("\"error\"") else { throw CommandFailure("nats answered \(text)") }
                return text
            }
        }
    }

    /// Waits for bytes, and returns the messages that are whole.
    func messages() throws -> [[UInt8]] {
        received += try socket.read()
        var messages: [[UInt8]] = []
        var start = 0
        while let end = received[start...].firstIndex(of: 10) {
            let words = received[start..<end].split(whereSeparator: { $0 == 32 || $0 == 13 })
            if words.first.map({ $0.elementsEqual("PING".utf8) }) == true { try write(Array("PONG\r\n".utf8)) }
            guard words.first.map({ $0.elementsEqual("MSG".utf8) }) == true else {
                start = end + 1
                continue
            }
            guard let count = words.last.flatMap({ Int(String(decoding: $0, as: UTF8.self)) }) else {
                throw CommandFailure("nats sent a message without its length")
            }
            guard received.count >= end + 1 + count + 2 else { break }
            messages.append(Array(received[(end + 1)..<(end + 1 + count)]))
            start = end + 1 + count + 2
        }
        received.removeSubrange(..<start)
        return messages
    }
}

/// etcd, one member, asked through its JSON gateway.
struct EtcdPeer: Sendable {
    static let connections = 128

    let version: String

    /// Nil if etcd is not installed.
    static func find() -> EtcdPeer? {
        guard let version = try? ChildProcess.output("etcd", ["--version"]) else { return nil }  // Not there.
        return EtcdPeer(
            version: "etcd \(version.split(whereSeparator: \.isWhitespace).dropFirst(2).first ?? "unknown")")
    }

    func putsPerSecond(_ setting: BenchSetting, count: Int) throws -> Double {
        let folder = setting.folder + "/etcd"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let port = setting.peerPort + 20
        let (clients, peers) = ("http://127.0.0.1:\(port)", "http://127.0.0.1:\(port + 1)")
        let server = try ChildProcess(
            "etcd", "/usr/bin/env",
            [
                "etcd", "--data-dir", folder + "/data", "--listen-client-urls", clients, "--advertise-client-urls",
                clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster",
                "default=\(peers)", "--log-level", "error",
            ], log: folder + "/log")
        defer {
            server.end(SIGKILL)
            try? FileManager.default.removeItem(atPath: folder)  // A left-over is removed with the folder above it.
        }
        let deadline = ContinuousClock.now + .seconds(20)
        // Not up, or without a leader, yet: asked again.
        while (try? Self.revision(try LoopbackClient(port: port))) == nil {
            guard ContinuousClock.now < deadline else { throw CommandFailure("etcd does not start; see \(folder)") }
            usleep(20_000)
        }
        let before = try Self.revision(try LoopbackClient(port: port))
        let share = count / Self.connections
        let start = ContinuousClock.now
        _ = try onThreads(Self.connections) { thread in
            let client = try LoopbackClient(port: port)
            for number in 0..<share {
                let key = Data("counter:\(thread * share + number)".utf8).base64EncodedString()
                _ = try client.http("/v3/kv/put", posting: #"{"key":"\#(key)","value":"MQ=="}"#)
            }
        }
        let seconds = start.duration(to: .now) / .seconds(1)
        let puts = try Self.revision(try LoopbackClient(port: port)) - before
        guard puts == share * Self.connections else {
            throw CommandFailure("etcd has \(puts) revisions of \(count) puts")
        }
        return Double(puts) / seconds
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
