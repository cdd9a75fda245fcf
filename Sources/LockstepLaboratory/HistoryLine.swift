import Foundation
import Synchronization

/// One line of a history: an operation that begins, or what became of one.
///
/// A line is written before the operation is sent, and another when its outcome is known; a history therefore holds
/// every operation that may have taken effect, whenever its client died.
package struct HistoryLine: Codable, Sendable {
    /// Nanoseconds of the machine's monotonic clock, which all hosts of a laboratory share.
    package var at: Int64
    /// The operation; numbers are unique in a file.
    package var operation: Int
    /// The worker; of a line that begins an operation.
    package var worker: Int?
    /// What is asked; of a line that begins an operation.
    package var call: ObjectCall?
    /// What a read promises: `linearizable`, `session` or `local`.
    package var consistency: String?
    /// The node that was asked.
    package var node: String?
    /// Several equal calls on keys that end in 0 and upwards, sent as one.
    package var count: Int?
    /// What became of it; of a line that ends one.
    package var outcome: Outcome?
    package var output: ObjectOutput?
    package var epoch: UInt64?
    package var sequence: UInt64?
    /// `epoch:sequence` of the session that sent it.
    package var session: String?
    package var number: UInt64?
    /// Why it failed.
    package var reason: String?

    /// What became of an operation.
    package enum Outcome: String, Codable, Sendable {
        /// It was answered, by an output or a rejection.
        case answered
        /// It is certainly without effect.
        case failed
        /// Nobody knows, for now or for ever; a later line may tell.
        case unknown
    }

    /// Makes a line without content.
    package init(at: Int64, operation: Int) {
        self.at = at
        self.operation = operation
    }

    /// Nanoseconds of the clock that histories use.
    package static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Writes a history; each line is with the system before `write` returns, so it survives the process.
package final class HistoryWriter: Sendable {
    private let file: Mutex<FileHandle>
    private let next = Atomic<Int>(0)

    /// Makes the file; it must not be there.
    package init(path: String) throws {
        guard !FileManager.default.fileExists(atPath: path),
            FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else { throw HistoryError("\(path) cannot be made: choose a path that is not there, in a folder that is") }
        self.file = Mutex(file)
    }

    /// A number for an operation.
    package func begin() -> Int { next.wrappingAdd(1, ordering: .relaxed).oldValue }

    /// Appends a line.
    package func write(_ line: HistoryLine) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var data = try encoder.encode(line)
        data.append(UInt8(ascii: "\n"))
        try file.withLock { try $0.write(contentsOf: data) }
    }
}

/// Why a history or the journals beside it cannot be read.
package struct HistoryError: Error, CustomStringConvertible {
    package var description: String

    /// Makes an error of one line.
    package init(_ description: String) { self.description = description }
}
