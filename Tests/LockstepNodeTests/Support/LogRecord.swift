import Logging
import Synchronization

/// The lines that a logger was given.
final class LogRecord: Sendable {
    struct Line: Hashable, Sendable {
        var level: Logger.Level
        var message: String
        var metadata: [String: String]

        /// `level message`, with the store and the alarm if it has them.
        var short: String {
            let names = ["lockstep.store", "lockstep.alarm"].compactMap { metadata[$0] }
            return ([level.rawValue, message] + names).joined(separator: " ")
        }
    }

    private let kept = Mutex<[Line]>([])

    var lines: [Line] { kept.withLock { $0 } }
    var short: [String] { lines.map(\.short) }

    /// A logger whose lines from `level` on come here.
    func logger(level: Logger.Level = .info) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(record: self) }
        logger.logLevel = level
        return logger
    }

    private struct Handler: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        let record: LogRecord

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }.mapValues { "\($0)" }
            let line = Line(level: event.level, message: "\(event.message)", metadata: all)
            record.kept.withLock { $0.append(line) }
        }
    }
}
