import Foundation
import LockstepNode
import Synchronization

/// A process that a command starts and ends: a node, or a peer of the benchmark.
package final class ChildProcess {
    private let process = Process()
    package let name: String
    /// Those that run, of this whole process: what must end when it is told to stop.
    private static let running = Mutex<(identifiers: Set<Int32>, isOver: Bool)>(([], false))
    /// Held while pipes are made and a process is started: one that another thread starts then would keep them open.
    private static let starting = NSLock()

    /// Starts `path` with these arguments; output and errors go to the end of `log`.
    package init(
        _ name: String, _ path: String, _ arguments: [String], environment: [String: String] = [:], log: String
    ) throws {
        self.name = name
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        guard let output = FileHandle(forWritingAtPath: log) else {
            throw LockstepError(.unavailable, "\(log) cannot be written")
        }
        output.seekToEndOfFile()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        do {
            try Self.starting.withLock { try process.run() }
        } catch {
            throw LockstepError(.unavailable, "\(path) cannot be started: \(error.localizedDescription)")
        }
        Self.began(process)
    }

    deinit { Self.ended(process) }

    private static func began(_ process: Process) {
        let identifier = process.processIdentifier
        let isOver = running.withLock { running in
            running.identifiers.insert(identifier)
            return running.isOver
        }
        if isOver { kill(identifier, SIGKILL) }
    }

    private static func ended(_ process: Process) {
        let identifier = process.processIdentifier
        running.withLock { _ = $0.identifiers.remove(identifier) }
    }

    /// Kills all that run, and those that another thread still starts; for a command that is about to exit.
    package static func killAll() {
        let identifiers = running.withLock { running in
            running.isOver = true
            return running.identifiers
        }
        for identifier in identifiers { kill(identifier, SIGKILL) }
    }

    package var identifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }
    /// With which status it ended; nil while it runs.
    package var exitStatus: Int32? { process.isRunning ? nil : process.terminationStatus }

    /// Sends a signal and waits until the process has ended.
    package func end(_ signal: Int32) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        Self.ended(process)
    }

    /// Sends a signal and does not wait for an end: SIGSTOP and SIGCONT.
    package func send(_ signal: Int32) { Self.send(signal, to: identifier) }

    /// Sends a signal to a process; after SIGSTOP none of its threads runs any more, so it takes nothing that is sent from
    /// then on.
    package static func send(_ signal: Int32, to identifier: Int32) {
        guard kill(identifier, signal) == 0, signal == SIGSTOP else { return }
        // The kernel stops threads one after the other.
        for _ in 0..<10_000 {
            if isStopped(identifier) { return }
            usleep(1_000)
        }
    }

    private static func isStopped(_ identifier: Int32) -> Bool {
        let tasks = "/proc/\(identifier)/task"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []  // Ended: none.
        return names.allSatisfy { name in
            // A thread that has ended has no state.
            guard let stat = try? String(contentsOfFile: "\(tasks)/\(name)/stat", encoding: .utf8) else { return true }
            return stat.split(separator: ")").last?.hasPrefix(" T") == true
        }
    }

    /// The memory that the process has in use, in bytes; `nil` once it has ended.
    package var residentBytes: Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/statm", encoding: .utf8),  // Ended: none.
            let pages = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }

    /// User and system time that the process has used so far, in seconds; `nil` once it has ended.
    package var processorSeconds: Double? {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8),  // Ended: no time.
            let endOfName = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[endOfName...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Runs a program to its end and returns what it printed; throws if it fails.
    package static func output(_ path: String, _ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [path] + arguments
        process.standardError = FileHandle.nullDevice
        let pipe = try starting.withLock {
            let pipe = Pipe()
            process.standardOutput = pipe
            try process.run()
            return pipe
        }
        began(process)
        defer { ended(process) }
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw LockstepError(.unavailable, "\(path) failed with status \(process.terminationStatus)")
        }
        return String(decoding: data, as: UTF8.self)
    }

    /// Runs a program to its end; returns its status and what it printed, also if it failed.
    package static func run(_ path: String, _ arguments: [String]) throws -> (
        status: Int32, output: String, errors: String
    ) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let (output, errors) = try starting.withLock {
            let (output, errors) = (Pipe(), Pipe())
            process.standardOutput = output
            process.standardError = errors
            try process.run()
            return (output, errors)
        }
        // Both are a few lines, far below what a pipe holds, so one may be read to its end before the other.
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        let complaints = errors.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (
            process.terminationStatus, String(decoding: printed, as: UTF8.self),
            String(decoding: complaints, as: UTF8.self)
        )
    }

    /// The path of this program.
    package static var ownPath: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
    }
}
