import ArgumentParser
import Foundation
import Lockstep
import LockstepFolders
import LockstepNode
import Synchronization
import ZeroMQ

/// What a script can tell apart by the exit status.
package enum ExitStatus: Int32 {
    case failed = 1
    case usage = 64
    case damaged = 65
    case unreachable = 69
    case outcomeUnknown = 75
}

/// An error that ends the command: one line, one status.
package struct CommandFailure: Error {
    package var message: String
    package var status: ExitStatus

    package init(_ message: String, status: ExitStatus = .failed) {
        self.message = message
        self.status = status
    }

    /// The failure that an error of the library is; nil for one of the argument parser.
    package init?(describing error: any Error) {
        guard let error = error as? LockstepError else {
            if let failure = error as? CommandFailure {
                self = failure
                return
            }
            if error is CleanExit || error is ValidationError || error is ExitCode { return nil }
            if "\(type(of: error))" == "CommandError" { return nil }
            self.init(Self.plainText(error))
            return
        }
        let status: ExitStatus =
            switch error.code {
            case .outcomeUnknown, .sessionEnded: .outcomeUnknown
            case .journalDamaged, .journalForeign: .damaged
            case .unavailable, .timeout: .unreachable
            case .invalidConfiguration: .usage
            default: .failed
            }
        self.init(error.programMessage, status: status)
    }

    /// An error of the system in one line, without the names of types.
    private static func plainText(_ error: any Error) -> String {
        if let error = error as? DecodingError { return "what was read is not what it should be: \(error.plainText)" }
        // Errors of this package say what happened; those of Foundation's files hide it in a dictionary.
        guard let known = error as? CocoaError else {
            return "\(error)".split(whereSeparator: \.isNewline).joined(separator: " ")
        }
        let path = known.userInfo[NSFilePathErrorKey] as? String
        guard let cause = known.underlying as? POSIXError else { return known.localizedDescription }
        return (path.map { "\($0): " } ?? "") + String(cString: strerror(cause.code.rawValue))
    }
}

/// Standard output and standard error.
package enum Output {
    /// The program's name, with which each line on standard error begins.
    private static let program = Mutex("lockstep")

    /// Names the program, before anything is written.
    static func begin(as name: String) { program.withLock { $0 = name } }

    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    package static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    package static func error(_ text: String) {
        FileHandle.standardError.write(Data("\(program.withLock(\.self)): \(text)\n".utf8))
    }

    /// A progress line on a terminal, written over by the next; nothing elsewhere.
    package static func progress(_ text: String) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[2K\(text)".utf8))
    }

    package static func json(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        line(String(decoding: try encoder.encode(value), as: UTF8.self))
    }
}

/// The version of the package.
package enum Version {
    /// What `lockstep --version` prints, and what results are noted with.
    package static let description = text(of: "lockstep")

    /// What a program prints for `--version`.
    package static func text(of program: String) -> String {
        "\(program) \(LockstepVersion.text), libzmq \(ZMQ.version)"
    }
}
