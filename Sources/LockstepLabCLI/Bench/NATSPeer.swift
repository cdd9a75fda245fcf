import Foundation
import LockstepHarness
import LockstepServer

/// nats-server with JetStream: a stream of files on one server or several.
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

    /// Publishes messages of 13 bytes to a stream with as many replicas as there are servers, and awaits an
    /// acknowledgement of each.
    func messagesPerSecond(_ setting: BenchSetting, count: Int, window: Int, servers: Int = 1) throws -> Double {
        let folder = setting.folder + "/nats"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let running = try (0..<servers).map { try start($0, of: servers, folder, setting) }
        defer {
            for server in running { server.end(SIGKILL) }
            try? FileManager.default.removeItem(atPath: folder)  // A left-over is removed with the folder above it.
        }
        if servers > 1 { try waitForLeader(setting) }
        var connection = try NATSConnection(port: Self.port(0, setting))
        let made = try makeStream(over: connection, replicas: servers)
        // The server that leads the stream answers without another hop.
        let leader = (0..<servers).first { made.contains("\"leader\":\"server-\($0)\"") } ?? 0
        if leader > 0 { connection = try NATSConnection(port: Self.port(leader, setting)) }
        let seconds = try publish(count, window: window, over: connection)
        let information = try connection.request("$JS.API.STREAM.INFO.BENCH", "")
        guard information.contains("\"messages\":\(count),"), information.contains("\"num_replicas\":\(servers),")
        else {
            throw CommandFailure("the stream does not hold \(count) messages: \(information)")
        }
        return Double(count) / seconds
    }

    /// Makes the stream; asked again while too few servers have told the leader that they are there.
    private func makeStream(over connection: NATSConnection, replicas: Int) throws -> String {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                return try connection.request(
                    "$JS.API.STREAM.CREATE.BENCH",
                    #"{"name":"BENCH","subjects":["bench"],"storage":"file","num_replicas":\#(replicas)}"#)
            } catch {
                guard ContinuousClock.now < deadline else { throw error }
                usleep(100_000)
            }
        }
    }

    /// How many seconds it takes until so many messages are acknowledged.
    private func publish(_ count: Int, window: Int, over connection: NATSConnection) throws -> Double {
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
        return start.duration(to: .now) / .seconds(1)
    }

    // MARK: - Servers

    private static func port(_ index: Int, _ setting: BenchSetting) -> Int { setting.peerPort + 10 + index }
    /// Where the first server tells of itself over HTTP.
    private static func monitor(_ setting: BenchSetting) -> Int { setting.peerPort + 16 }

    private func start(_ index: Int, of servers: Int, _ folder: String, _ setting: BenchSetting) throws -> ChildProcess
    {
        func route(_ index: Int) -> String { "127.0.0.1:\(Self.port(index, setting) + 3)" }
        var text = Self.configuration(folder: folder + "/\(index)", syncsAlways: syncsAlways)
        if servers > 1 {
            let routes = (0..<servers).map { "\"nats://\(route($0))\"" }.joined(separator: ", ")
            text += "server_name: \"server-\(index)\"\n"
            text += "cluster { name: bench, listen: \"\(route(index))\", routes: [\(routes)] }\n"
        }
        let file = folder + "/\(index).conf"
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        var arguments = ["nats-server", "-c", file, "-a", "127.0.0.1", "-p", "\(Self.port(index, setting))"]
        if index == 0, servers > 1 { arguments += ["-m", "\(Self.monitor(setting))"] }
        return try ChildProcess("nats-\(index)", "/usr/bin/env", arguments, log: folder + "/\(index).log")
    }

    /// Waits until the servers have agreed on who leads; before that nobody answers who makes a stream.
    private func waitForLeader(_ setting: BenchSetting) throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            // Not up yet: asked again.
            if let answer = try? LoopbackClient(port: Self.monitor(setting)).http("/jsz"),
                String(decoding: answer, as: UTF8.self).contains("\"leader\": \"server-")
            {
                return
            }
            guard ContinuousClock.now < deadline else { throw CommandFailure("the nats-servers find no leader") }
            usleep(50_000)
        }
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
