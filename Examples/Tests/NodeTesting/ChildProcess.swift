import Foundation

/// A program of this package that runs beside a test; it is killed when it is let go of.
public final class ChildProcess {
    private let process = Process()

    /// Starts a program that was built together with the tests.
    public convenience init(_ program: String, _ arguments: String...) throws {
        try self.init(program, arguments: arguments)
    }

    /// Starts a program that was built together with the tests, or one by its whole path; what it writes goes to files,
    /// if they are named.
    public init(_ program: String, arguments: [String], output: String? = nil, errors: String? = nil) throws {
        // The test program lies where all products lie.
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        process.executableURL =
            program.hasPrefix("/") ? URL(fileURLWithPath: program) : products.appendingPathComponent(program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        if let output { process.standardOutput = try Self.file(output) }
        if let errors { process.standardError = try Self.file(errors) }
        try process.run()
    }

    private static func file(_ path: String) throws -> FileHandle {
        try Data().write(to: URL(fileURLWithPath: path))
        return try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    deinit { kill() }

    /// Kills it as a crash would, and waits until it has ended.
    public func kill() {
        guard process.isRunning else { return }
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Asks it to end, waits until it has, and returns its exit status.
    public func terminate() -> Int32 {
        process.terminate()
        return exitStatus()
    }

    /// Waits until it has ended by itself, and returns its exit status.
    public func exitStatus() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }
}
