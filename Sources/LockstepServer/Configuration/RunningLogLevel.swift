package import Logging
import Synchronization

/// The level of a log, which can change while copies of its logger are in use.
///
/// A `Logger` is a value: who keeps a copy keeps its level. The handlers made here ask this one instead, so all copies
/// follow a change at once. A copy whose level is set by hand keeps that. Reading it costs one relaxed atomic load.
package final class RunningLogLevel: Sendable {
    private let place: Atomic<Int>

    /// Begins with a level.
    package init(_ level: Logger.Level) { place = Atomic(Self.place(of: level)) }

    /// The level now; any thread may set it.
    package var value: Logger.Level {
        get { Self.levels[place.load(ordering: .relaxed)] }
        set { place.store(Self.place(of: newValue), ordering: .relaxed) }
    }

    private static let levels = Logger.Level.allCases

    private static func place(of level: Logger.Level) -> Int { levels.firstIndex(of: level) ?? 0 }

    /// A logger with this level.
    ///
    /// - Parameters:
    ///   - label: Who logs.
    ///   - handler: Makes what writes the lines, for the label.
    /// - Returns: The logger; copies of it have this level too.
    package func logger(label: String, writingTo handler: (String) -> any LogHandler) -> Logger {
        var base = handler(label)
        // It is asked only for lines that are to be written.
        base.logLevel = .trace
        return Logger(label: label) { _ in Handler(level: self, base: base) }
    }

    /// Reads a level from the command line, or from a configuration.
    ///
    /// - Throws: `ValidationError` with the levels that there are.
    package static func read(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            throw ValidationError("one of \(named.map(\.rawValue).joined(separator: ", "))")
        }
        return level
    }

    /// The levels at which a node logs; `critical` is read too, and hides all of them.
    private static let named = levels.filter { $0 != .critical }

    private struct Handler: LogHandler {
        let level: RunningLogLevel
        var base: any LogHandler
        /// What somebody set for one copy of the logger.
        private var own: Logger.Level?

        init(level: RunningLogLevel, base: any LogHandler) {
            self.level = level
            self.base = base
        }

        var logLevel: Logger.Level {
            get { own ?? level.value }
            set { own = newValue }
        }
        var metadata: Logger.Metadata {
            get { base.metadata }
            set { base.metadata = newValue }
        }
        var metadataProvider: Logger.MetadataProvider? {
            get { base.metadataProvider }
            set { base.metadataProvider = newValue }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { base[metadataKey: key] }
            set { base[metadataKey: key] = newValue }
        }

        func log(event: LogEvent) { base.log(event: event) }
    }
}
