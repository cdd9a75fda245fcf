import Logging
import Synchronization

/// The messages that a logger was given.
final class LineRecord: Sendable {
    private let kept = Mutex<[String]>([])

    var messages: [String] { kept.withLock { $0 } }

    /// What keeps the lines here.
    var handler: some LogHandler { Handler(record: self) }

    private struct Handler: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info
        let record: LineRecord

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { record.kept.withLock { $0.append("\(event.message)") } }
    }
}
