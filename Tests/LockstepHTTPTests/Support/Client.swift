import Foundation
import Synchronization

/// A program of the system that a test runs as a client.
enum Client {
    /// How it ended, and all that it wrote.
    struct Outcome: Sendable {
        var status: Int32
        var output: String
    }

    /// Runs a program to its end.
    static func run(_ program: String, _ arguments: [String], input: String? = nil) async throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("lockstep-http-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let output = try FileHandle(forWritingTo: file)
        process.standardOutput = output
        process.standardError = output
        let source = file.appendingPathExtension("input")
        defer { try? FileManager.default.removeItem(at: source) }
        try Data((input ?? "").utf8).write(to: source)
        process.standardInput = try FileHandle(forReadingFrom: source)
        let status: Int32 = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return Outcome(status: status, output: try String(contentsOf: file, encoding: .utf8))
    }

    /// Runs a case of `http_client.py`.
    static func python(_ name: String, at address: String) async throws -> Outcome {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("http_client.py")
        return try await run("python3", [script.path, name, address])
    }

    /// Runs a case of `http_client.py` against Python's own server of a folder.
    static func python(_ name: String, in folder: String) async throws -> Outcome {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("http_client.py")
        return try await run("python3", [script.path, name, "folder:\(folder)"])
    }

    static func exists(_ program: String) -> Bool {
        ["/usr/bin", "/usr/local/bin", "/bin"].contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }
}
