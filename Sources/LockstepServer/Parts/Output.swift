import Foundation
import LockstepFolders
import LockstepNode
import LockstepSQLite
import Synchronization
import ZeroMQ

/// What a script can tell apart by the exit status; 0 is success.
public enum ExitStatus: Int32, Sendable {
    /// Refused, or failed.
    case failed = 1
    /// The command line makes no sense, or does not fit what is there; a repetition does not help.
    case usage = 64
    /// A journal, a backup or a node.json is damaged.
    case damaged = 65
    /// A node or etcd cannot be reached, or does not answer now.
    case unreachable = 69
    /// An action was accepted, and its effect failed or was cancelled; or it took effect, and its reply cannot be read.
    case effectFailed = 70
    /// Whether an action took effect is not known, or its effect goes on.
    case outcomeUnknown = 75

    /// All of them in words, for a program's help.
    public static let explanation = """
        Exit status: 0 done; 1 refused or failed; 64 wrong usage; 65 a journal, a backup or a node.json is damaged; \
        69 a node or etcd cannot be reached; 70 an action's effect failed or was cancelled, or its reply cannot be read; \
        75 outcome unknown, or the effect goes on.
        """
}

/// An error that ends the command: one line, one status.
public struct CommandFailure: Error, Sendable {
    /// One line: what is wrong, and what to do about it.
    public var message: String
    /// The status with which the command ends.
    public var status: ExitStatus

    /// Ends the command with this line and status when it is thrown.
    public init(_ message: String, status: ExitStatus = .failed) {
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
            case .outcomeUnknown, .sessionEnded, .unfinished: .outcomeUnknown
            case .failed, .cancelled, .unreadable: .effectFailed
            case .journalDamaged, .journalForeign: .damaged
            case .unavailable, .timeout: .unreachable
            // No restart makes it right: options of one role for a folder of the other, or a journal that is gone, or that
            // only a newer version can read.
            case .invalidConfiguration, .wrongRole, .journalMissing, .journalNewer: .usage
            default: .failed
            }
        self.init(error.message(inWordsOf: Output.programName), status: status)
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
public enum Output {
    private static let program = Mutex("lockstep")

    /// The program's name, with which each line on standard error begins.
    package static var programName: String { program.withLock(\.self) }

    /// Names the program, before anything is written.
    static func begin(as name: String) { program.withLock { $0 = name } }

    /// Whether standard output is a terminal.
    package static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Writes a line to standard output.
    public static func line(_ text: String) {
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }

    /// A text of others, such as a node's name, in one line and without what a terminal takes for commands.
    package static func printable(_ text: String) -> String {
        String(
            text.unicodeScalars.map { scalar in
                let isCommand = scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
                return isCommand ? " " : Character(scalar)
            })
    }

    /// Writes one line to standard error, after the program's name, whatever words of others are in the text.
    public static func error(_ text: String) {
        FileHandle.standardError.write(Data("\(programName): \(printable(text))\n".utf8))
    }

    /// A progress line on a terminal, written over by the next; nothing elsewhere.
    package static func progress(_ text: String) {
        guard isatty(STDERR_FILENO) == 1 else { return }
        FileHandle.standardError.write(Data("\r\u{1B}[2K\(text)".utf8))
    }

    /// Writes a value to standard output as one line of JSON, with sorted keys.
    ///
    /// - Throws: What the value's encoding throws.
    public static func json(_ value: some Encodable) throws { line(try jsonText(value)) }

    static func jsonText(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}

extension LockstepError {
    /// The message in the words of a program's command line: the library's own says "lockstep" and means this program.
    func message(inWordsOf program: String) -> String {
        let commands = [
            "init", "serve", "status", "recover", "promote", "demote", "cluster", "backup", "restore", "journal",
            "actions", "sessions", "clock", "keys", "help",
        ]
        return commands.reduce(programMessage) { message, command in
            message.replacing("lockstep \(command)", with: "\(program) \(command)")
        }
    }
}

/// The version of the package.
package enum Version {
    /// The number, also of the Debian packages, and of what a new package depends on.
    package static var number: String { LockstepVersion.text }

    /// What `lockstep --version` prints, and what results are noted with.
    package static let description = text(of: "lockstep")

    /// What a program prints for `--version`: also the libraries that its safety rests on.
    package static func text(of program: String) -> String {
        let sodium = ZMQ.sodiumVersion.map { ", libsodium \($0)" } ?? ""
        return "\(program) \(number), libzmq \(ZMQ.version)\(sodium), SQLite \(SQLiteLibrary.version)"
    }
}
