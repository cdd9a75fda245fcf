import Logging
import Synchronization

/// Keeps the lines that a log is given.
final class LogRecord: Sendable {
    struct Line: Sendable, Equatable {
        let level: Logger.Level
        let message: String
        /// What the line gives as its reason.
        let reason: String?
    }

    private let kept = Mutex<[Line]>([])

    var lines: [Line] { kept.withLock { $0 } }

    /// The lines since the last call.
    func newLines() -> [Line] {
        kept.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    /// What writes lines here.
    func handler(_ label: String) -> any LogHandler { Handler(record: self) }

    private struct Handler: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        let record: LogRecord

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let reason = event.metadata?["lockstep.reason"].map { "\($0)" }
            record.kept.withLock {
                $0.append(Line(level: event.level, message: "\(event.message)", reason: reason))
            }
        }
    }
}
