import Foundation
import LockstepHTTP
import LockstepNode
import Logging
import Testing

/// The HTTP address as its clients see it: what it answers, and what it does not let them do.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ServerTests {
    private static var times: HTTPTimes {
        var times = HTTPTimes()
        times.idle = .seconds(30)
        times.reading = .seconds(1)
        times.signOfLife = .milliseconds(400)
        return times
    }

    /// Idle connections must stay while their client makes 2,000 more, which takes long on a busy machine.
    ///
    /// It waits less for the end of one without a place, so such a one did not end because it was idle.
    private static func times(of client: String) -> HTTPTimes {
        var times = times
        if client == "idle_connections" { times.idle = .seconds(60) }
        // It waits for the end of such a connection; others may wait for a processor.
        if client == "silence" { times.idle = .seconds(1) }
        return times
    }

    private func serve(
        at address: String = "127.0.0.1:0", times: HTTPTimes = times,
        _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        let server = try NodeHTTPServer(
            address: address, routes: TestRoutes.all(), logger: .silent, times: times)
        try await withRunning([server]) { try await body(try #require(await server.listening)) }
    }

    @Test(arguments: [
        "must_answer", "long_line", "long_fields", "bodies", "malformed", "hosts", "silence", "pipelining", "fields",
        "idle_connections", "event_streams", "slow_reader",
    ])
    func clientsAreServedOrRefusedAndNeverHarm(client: String) async throws {
        try await serve(times: Self.times(of: client)) { address in
            let outcome = try await Client.python(client, at: address)
            #expect(outcome.status == 0, "\(outcome.output)")
        }
    }

    /// The clients find a server that refuses nothing: Python's own, which serves a file of the same content.
    @Test(arguments: ["bodies", "hosts", "silence", "fields", "malformed"])
    func theClientsFindAServerWithoutBounds(client: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lockstep-http-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("hello\n".utf8).write(to: folder.appendingPathComponent("hello"))
        let served = try await Client.python("must_answer", in: folder.path)
        #expect(served.status == 0, "\(served.output)")
        let outcome = try await Client.python(client, in: folder.path)
        #expect(outcome.status == 1 && outcome.output.hasPrefix("\(client): "), "\(outcome.output)")
    }

    @Test func curlGetsAnAnswer() async throws {
        try await serve { address in
            let outcome = try await Client.run("curl", ["-sS", "-i", "-m", "5", "http://\(address)/hello"])
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("HTTP/1.1 200 OK\r\n") && outcome.output.hasSuffix("hello\n"))
            let head = try await Client.run("curl", ["-sS", "-I", "-m", "5", "http://\(address)/hello"])
            #expect(head.output.contains("Content-Length: 6\r\n"))
        }
    }

    /// An address that comes later is waited for if that is asked for, with a line in the log.
    ///
    /// The wait ends with the service. Without it the node would end, and its unit start it again and again.
    @Test func anAddressThatComesLaterIsWaitedFor() async throws {
        // Of the block for documentation, so no host has it.
        func server(waits: Bool, _ logger: Logger) throws -> NodeHTTPServer {
            try NodeHTTPServer(
                address: "203.0.113.7:24003", allowsOtherHosts: true, waitsForAddress: waits, routes: [],
                logger: logger)
        }
        let strict = await #expect(throws: LockstepError.self) { try await server(waits: false, .silent).run() }
        #expect(strict?.code == .unavailable)
        let lines = LineRecord()
        let patient = try server(waits: true, Logger(label: "test") { _ in lines.handler })
        try await withRunning([patient]) {
            while !lines.messages.contains("waiting for the address to listen at") {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        #expect(await patient.listening == nil)
    }

    @Test func anIPv6AddressIsServed() async throws {
        try await serve(at: "[::1]:0") { address in
            #expect(address.hasPrefix("[::1]:"))
            let outcome = try await Client.run("curl", ["-sS", "-m", "5", "http://\(address)/hello"])
            #expect(outcome.output == "hello\n")
        }
    }

    @Test func anAddressInUseIsOneClearLine() async throws {
        try await serve { address in
            let second = try NodeHTTPServer(address: address, routes: [], logger: .silent)
            let error = await #expect(throws: LockstepError.self) { try await second.run() }
            #expect(error?.code == .addressInUse)
            #expect(error?.message.contains(address) ?? false)
        }
    }

    /// The server ends at once, whatever its clients do.
    @Test func aStopEndsIdleConnectionsAndStreams() async throws {
        var times = HTTPTimes()
        times.idle = .seconds(600)
        let server = try NodeHTTPServer(
            address: "127.0.0.1:0", routes: TestRoutes.all(), logger: .silent, times: times)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await server.run() }
            let address = try #require(await server.listening)
            try await withThrowingTaskGroup(of: Client.Outcome.self) { clients in
                clients.addTask { try await Client.python("hold", at: address) }
                // Five connections are there as soon as the fifth's events come.
                while try await !Self.hasConnections(5, at: address) { try await Task.sleep(for: .milliseconds(50)) }
                let began = ContinuousClock.now
                group.cancelAll()
                try await group.waitForAll()
                #expect(ContinuousClock.now - began < .seconds(30))
                let outcome = try await clients.next()
                #expect(outcome?.status == 0, "\(outcome?.output ?? "")")
            }
        }
    }

    private static func hasConnections(_ count: Int, at address: String) async throws -> Bool {
        let port = address.split(separator: ":").last ?? ""
        let output = try await Client.run("cat", ["/proc/net/tcp"]).output
        let local = ":" + String(UInt16(port) ?? 0, radix: 16, uppercase: true) + " "
        return output.split(separator: "\n").count { $0.contains(local) && $0.contains(" 01 ") } >= 2 * count
    }

    @Test(arguments: [
        ("9100", "HOST:PORT"), ("localhost", "HOST:PORT"), ("127.0.0.1:70000", "HOST:PORT"), ("::1:9100", "HOST:PORT"),
        ("0.0.0.0:9100", "loopback"), ("10.0.0.1:9100", "loopback"), ("[::]:9100", "loopback"),
        ("127.0.0.256:9100", "no IP address"), ("http://127.0.0.1:9100", "HOST:PORT"), ("", "HOST:PORT"),
    ])
    func aWrongAddressIsOneClearLine(address: String, part: String) {
        let error = #expect(throws: LockstepError.self) {
            try NodeHTTPServer(address: address, routes: [], logger: .silent)
        }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains(part) ?? false, "\(error?.message ?? "")")
    }

    @Test func otherHostsAreAllowedIfTheUserSaysSo() throws {
        for address in ["0.0.0.0:9100", "10.0.0.1:9100", "[::]:9100"] {
            _ = try NodeHTTPServer(address: address, allowsOtherHosts: true, routes: [], logger: .silent)
        }
    }
}
