import Foundation
import LockstepNode
import LockstepServer
import Logging
import ServiceLifecycle
import Testing

/// A running node takes from its file what it can, once for each change, and is never ended by it.
@Suite(.timeLimit(.minutes(5))) struct ConfigurationReloadTests {
    /// A node's configuration that is read again, with its log.
    private struct Bench {
        let path: String
        let level: RunningLogLevel
        let logger: Logger
        let record: LogRecord
        let reload: ConfigurationReload

        /// Begins with `text` in a file, and with words of the command line.
        init(_ path: String, _ words: [String] = []) throws {
            let read = try configuration(of: Depot.self, ["--data", "x", "--config", path] + words)
            let first = try #require(read["log-level"]?.values.first.flatMap(Logger.Level.init(rawValue:)))
            self.path = path
            level = RunningLogLevel(first)
            record = LogRecord()
            logger = level.logger(label: "test", writingTo: record.handler)
            reload = try #require(ConfigurationReload(read, level: level, logger: logger))
        }

        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
    }

    @Test func aChangedLevelIsTakenAndSaidOnce() async throws {
        try await withFile("depot.yaml", "log-level: info\nroom: 1\n".utf8) { path in
            let bench = try Bench(path)
            await bench.reload.read()
            #expect(bench.record.newLines() == [], "nothing has changed")
            try bench.write("log-level: debug\nroom: 1\n")
            await bench.reload.readIfSettled()
            #expect(bench.level.value == .info, "the file may still be written")
            await bench.reload.readIfSettled()
            await bench.reload.readIfSettled()
            #expect(bench.level.value == .debug)
            #expect(
                bench.record.newLines() == [
                    .init(level: .info, message: "configuration read again", reason: "log-level is debug, was info")
                ])
            // A level that hides the line says so before it hides.
            try bench.write("log-level: error\nroom: 1\n")
            await bench.reload.read()
            #expect(bench.level.value == .error)
            #expect(bench.record.newLines().map(\.reason) == ["log-level is error, was debug"])
        }
    }

    @Test func aFileThatBecameWrongKeepsTheValuesAndIsSaidOnce() async throws {
        try await withFile("depot.yaml", "log-level: debug\n".utf8) { path in
            let bench = try Bench(path)
            try bench.write("log-level: debug\nlog-levle: info\n")
            for _ in 0..<3 { await bench.reload.readIfSettled() }
            await bench.reload.read()
            let lines = bench.record.newLines()
            #expect(lines.map(\.message) == ["configuration refused, the last one holds"])
            #expect(lines.map(\.level) == [.warning])
            let refused = refusal(["--config", path])?.message
            #expect(lines.first?.reason == refused)
            #expect(lines.first?.reason?.hasPrefix("\(path), line 2: log-levle: ") == true)
            #expect(bench.level.value == .debug)
            // One that is gone is said too, and one that is right again is taken.
            try FileManager.default.removeItem(atPath: path)
            for _ in 0..<3 { await bench.reload.readIfSettled() }
            #expect(
                bench.record.newLines().map(\.reason) == ["\(path): it cannot be read: No such file or directory"])
            try bench.write("log-level: trace\n")
            for _ in 0..<3 { await bench.reload.readIfSettled() }
            #expect(bench.record.newLines().map(\.reason) == ["log-level is trace, was debug"])
            #expect(bench.level.value == .trace)
        }
    }

    @Test func aKeyThatCannotChangeIsNamed() async throws {
        try await withFile("depot.yaml", "room: 1\n".utf8) { path in
            let bench = try Bench(path, ["--audience-timeout", "1"])
            // The flag still wins, so of the timeout nothing changes.
            try bench.write("room: 2\naudience-timeout: 9\n")
            await bench.reload.read()
            #expect(
                bench.record.newLines() == [
                    .init(level: .info, message: "configuration read again", reason: "nothing to change"),
                    .init(
                        level: .warning, message: "a changed key takes effect at the next start",
                        reason: "room (\(path), line 1)"),
                ])
            // It is said once; and not if the file says again what the node has.
            try bench.write("room: 2\n")
            await bench.reload.read()
            try bench.write("room: 1\n")
            await bench.reload.read()
            #expect(bench.record.newLines().map(\.message) == Array(repeating: "configuration read again", count: 2))
        }
    }

    @Test func aFlagKeepsItsLevel() async throws {
        try await withFile("depot.yaml", "log-level: debug\n".utf8) { path in
            let bench = try Bench(path, ["--log-level", "warning"])
            try bench.write("log-level: trace\n")
            await bench.reload.read()
            #expect(bench.level.value == .warning && bench.record.newLines() == [])
        }
    }

    /// A copy of a logger follows the level, also one with metadata of its own; a level set by hand stays.
    @Test func allCopiesOfALoggerFollow() {
        let level = RunningLogLevel(.info)
        let record = LogRecord()
        let logger = level.logger(label: "test", writingTo: record.handler)
        var copy = logger
        copy[metadataKey: "a"] = "b"
        var own = logger
        own.logLevel = .error
        copy.debug("hidden")
        level.value = .debug
        copy.debug("copy")
        logger.debug("original")
        own.warning("hidden")
        level.value = .critical
        copy.error("hidden")
        own.error("own")
        #expect(record.lines.map(\.message) == ["copy", "original", "own"])
        for one in Logger.Level.allCases {
            level.value = one
            #expect(level.value == one && logger.logLevel == one)
        }
    }

    /// The service reads the file while a real node runs, and the node's own lines follow: those that it writes at
    /// `info` when it stops are there or are not.
    @Test(arguments: [("error", "info", true), ("info", "error", false)])
    func aRunningNodesOwnLinesFollow(first: String, second: String, areWritten: Bool) async throws {
        try await withFile("depot.json", "{\"log-level\": \"\(first)\"}".utf8) { path in
            let read = try configuration(of: Depot.self, ["--data", "x", "--config", path])
            let level = RunningLogLevel(try RunningLogLevel.read(first))
            let record = LogRecord()
            let logger = level.logger(label: "test", writingTo: record.handler)
            let reload = try #require(
                ConfigurationReload(read, level: level, logger: logger, interval: .milliseconds(5)))
            let node = try Node(.local(), logger: logger)
            _ = try node.store(Stock(), named: "stock")
            try await withThrowingTaskGroup { group in
                group.addTask { try await reload.run() }
                try await node.whileRunning {
                    try Data("{\"log-level\": \"\(second)\"}".utf8).write(to: URL(fileURLWithPath: path))
                    // A poll of the service, which says when it has read.
                    while level.value.rawValue != second { try await Task.sleep(for: .milliseconds(2)) }
                    _ = record.newLines()
                }
                group.cancelAll()
                // The service ends when it is cancelled.
                try await group.waitForAll()
            }
            #expect(record.lines.contains { $0.message == "stopped" } == areWritten, "\(record.lines)")
        }
    }
}
