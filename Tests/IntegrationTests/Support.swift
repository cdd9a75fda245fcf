import Counters
import Foundation
import Lockstep
import LockstepCore
import LockstepHarness
import LockstepNode
import LockstepSQLite
import Logging
import Synchronization
import Testing

/// All tests of real processes, one after the other: each takes the machine's cores.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct IntegrationTests {}

/// The programs under test and room for them.
enum Bench {
    /// Where `swift test` put the products.
    static let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()

    /// The program: the release build that deploy/test names, or the one built beside these tests.
    static let program =
        ProcessInfo.processInfo.environment["LOCKSTEP_PROGRAM"] ?? products.appendingPathComponent("lockstep").path

    /// Beside the program: deploy/test builds all alike.
    static let labProgram =
        ProcessInfo.processInfo.environment["LOCKSTEP_LAB_PROGRAM"]
        ?? URL(fileURLWithPath: program).deletingLastPathComponent().appendingPathComponent("lockstep-lab").path

    /// It is beside the program, too.
    static let testPeer = URL(fileURLWithPath: program).deletingLastPathComponent().appendingPathComponent("TestPeer")
        .path

    /// All of them stay below the range that systems give away, which begins at 32,768.
    private static let nextPort = Atomic<Int>(10_000)

    /// The first of so many ports that no other test uses.
    static func ports(_ count: Int = 100) -> Int { nextPort.add(count, ordering: .relaxed).oldValue }

    /// A new folder, short enough for sockets in it.
    static func folder() throws -> String {
        let path = NSTemporaryDirectory() + "ls-\(UInt32.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    static let quiet: Logger = {
        var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .error
        return logger
    }()

    /// Runs the program to its end.
    static func lockstep(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
        try ChildProcess.run(program, arguments)
    }

    /// Runs the program of those who test and measure to its end.
    static func lab(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
        try ChildProcess.run(labProgram, arguments)
    }

    /// Runs the program to its end as a user who may nothing here: as root by giving up its rights.
    static func lockstepAsNobody(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
        guard geteuid() == 0 else { return try ChildProcess.run(program, arguments) }
        return try ChildProcess.run("/usr/bin/setpriv", asNobody + arguments)
    }

    /// What setpriv takes in front of the program's arguments.
    static let asNobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", program]

    /// What takes connections at a port of loopback, and never answers.
    static func silentListener(port: Int, log: String) async throws -> ChildProcess {
        let script =
            "import socket, time; s = socket.create_server(('127.0.0.1', \(port)), backlog=100); "
            + "print('listens', flush=True); time.sleep(3600)"
        let listener = try ChildProcess("silent", "/usr/bin/env", ["python3", "-c", script], log: log)
        try await wait("the listener") { try String(contentsOfFile: log, encoding: .utf8).contains("listens") }
        return listener
    }

    /// The lines that a command printed, without what it says after a second: for what it waits.
    static func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n").filter { !$0.contains("waiting for") }
    }

    /// Starts a primary and replicas, and ends and removes them after `body`.
    static func withCluster<Value>(
        replicas: Int, start: Bool = true, keys: Bool = false,
        _ body: (ProcessCluster) async throws -> Value
    ) async throws -> Value {
        let folder = try folder()
        let cluster = try ProcessCluster(
            folder: folder, port: ports(), replicas: replicas, program: program, keys: keys)
        defer {
            cluster.endAll(signal: SIGKILL)
            try? FileManager.default.removeItem(atPath: folder)  // What is left lies in the temporary folder.
        }
        if start {
            try cluster.startAll()
            try await cluster.waitUntilReady()
        }
        return try await body(cluster)
    }

    /// Runs a client node beside `body`.
    static func withClient<Value>(
        of endpoint: String, _ body: (RemoteStore<Counters>) async throws -> Value
    ) async throws -> Value {
        let node = try Node(.client(of: endpoint), logger: quiet)
        let counters = try node.remote(Counters.self, named: "counters")
        return try await node.whileRunning { try await body(counters) }
    }

    /// Waits until `condition` holds; throws after `seconds`.
    ///
    /// Who does not answer is asked again, and the last such failure is thrown at the end.
    static func wait(
        _ what: String, seconds: Double = 30, _ condition: () async throws -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            var failure = LockstepError(.timeout, "waited \(seconds) s for \(what)")
            do {
                if try await condition() { return }
            } catch let error as LockstepError where error.code == .unavailable {
                failure = error
            }
            guard ContinuousClock.now < deadline else { throw failure }
            try await Task.sleep(for: .milliseconds(10))  // A poll of another process, not a wait for luck.
        }
    }

    /// Waits until sessions of clients that have left are not listed any more.
    ///
    /// A client waits 1 s for the answer to its CLOSE. If the CLOSE is lost, the session lives for ten minutes: after a
    /// while `close` ends it.
    static func waitForEnd(
        of sessions: String, isListed: () throws -> Bool, close: () throws -> Void
    ) async throws {
        let patience = ContinuousClock.now + .seconds(5)
        try await wait("the end of \(sessions)") {
            guard try isListed() else { return true }
            if ContinuousClock.now > patience { try close() }
            return false
        }
    }

    /// Adds `count` times 1 to counters named by `prefix`, 256 in an array, and returns when all are acknowledged.
    static func add(_ count: Int, to counters: RemoteStore<Counters>, prefix: String, keys: Int = 1_000) async throws {
        var sent = 0
        while sent < count {
            let part = (0..<min(256, count - sent)).map { Counters.Action.add("\(prefix)\((sent + $0) % keys)", by: 1) }
            for outcome in try await counters.send(contentsOf: part) { _ = try outcome.get() }
            sent += part.count
        }
    }

    static func sum(_ counters: RemoteStore<Counters>, prefix: String) async throws -> Int64? {
        guard case .value(let sum) = try await counters.ask(.sum(prefix: prefix), .linearizable).answer else {
            return nil
        }
        return sum
    }
}
