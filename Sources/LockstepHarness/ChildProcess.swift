import Foundation
import LockstepNode

/// A process that a command starts and ends: a node, or a peer of the benchmark.
package final class ChildProcess {
    private let process = Process()
    package let name: String

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
            try process.run()
        } catch {
            throw LockstepError(.unavailable, "\(path) cannot be started: \(error.localizedDescription)")
        }
    }

    package var identifier: Int32 { process.processIdentifier }
    package var isRunning: Bool { process.isRunning }

    /// Sends a signal and waits until the process has ended.
    package func end(_ signal: Int32) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
    }

    /// User and system time that the process has used so far, in seconds; `nil` once it has ended.
    package var processorSeconds: Double? {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8),  // Ended: no time.
            let behindName = text.lastIndex(of: ")")
        else { return nil }
        let fields = text[behindName...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return nil }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    /// Runs a program to its end and returns what it printed; throws if it fails.
    package static func output(_ path: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [path] + arguments
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        try process.run()
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
        let output = Pipe()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = errors
        try process.run()
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
