import LockstepNode
package import Logging
import ServiceLifecycle
import UnixSignals

/// Reads a node's configuration file again when it has changed, and lets the running node have what it can take.
///
/// It looks at the file every few seconds, and at once at SIGHUP. It never ends the node: from a file that became wrong
/// nothing is taken, and one warning says why.
package actor ConfigurationReload: Service {
    /// What was last seen of the file, so that each change is looked at, and each mistake said, once.
    private enum Seen: Equatable {
        case text(ConfigurationText)
        case failure(String)
    }

    private let path: String
    /// What the node was started with, which keys that cannot change still have.
    private let started: ServeConfiguration
    private let level: RunningLogLevel
    private let logger: Logger
    private let interval: Duration
    private var current: ServeConfiguration
    private var seen: Seen
    private var found: Seen

    /// Begins with what the node was started with.
    ///
    /// - Parameters:
    ///   - configuration: What the node was started with; nil is returned if no file is a part of it.
    ///   - level: The level of the node's log.
    ///   - logger: Says what changed.
    ///   - interval: How often the file is looked at.
    package init?(
        _ configuration: ServeConfiguration, level: RunningLogLevel, logger: Logger, interval: Duration = .seconds(2)
    ) {
        guard let text = configuration.text else { return nil }
        path = text.path
        started = configuration
        self.level = level
        self.logger = logger
        self.interval = interval
        current = configuration
        seen = .text(text)
        found = seen
    }

    /// Looks at the file until the node stops.
    package func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await self.lookRepeatedly() }
                group.addTask {
                    for await _ in signals { await self.read() }
                }
            }
        }
    }

    private func lookRepeatedly() async {
        // The sleep ends early when the node stops, and only then.
        while (try? await Task.sleep(for: interval)) != nil { readIfSettled() }
    }

    /// Takes what the file says if it has changed and was the same at the last look, so no half of a file is taken.
    package func readIfSettled() {
        let now = look()
        defer { found = now }
        if now == found { take(now) }
    }

    /// Takes what the file says now.
    package func read() {
        found = look()
        take(found)
    }

    private nonisolated func look() -> Seen {
        do {
            return .text(try ConfigurationText(reading: path))
        } catch {
            return .failure(CommandFailure(describing: error)?.message ?? "\(error)")
        }
    }

    private func take(_ now: Seen) {
        guard now != seen else { return }
        seen = now
        switch now {
        case .failure(let reason): refuse(reason)
        case .text(let text):
            do {
                apply(try current.reread(text))
            } catch {
                refuse(CommandFailure(describing: error)?.message ?? "\(error)")
            }
        }
    }

    private func refuse(_ reason: String) {
        logger.warning("configuration refused, the last one holds", metadata: [LogKey.reason: "\(reason)"])
    }

    private func apply(_ next: ServeConfiguration) {
        let changed = zip(current.settings, next.settings).filter { $0.values != $1.values }
        let taken = changed.filter { $1.key.changesWhileRunning }.map { before, after in
            "\(after.key.name) is \(after.values.joined()), was \(before.values.joined())"
        }
        let old = level.value
        let new = next[ConfigurationKey.logLevel].flatMap { Logger.Level(rawValue: $0.values.joined()) } ?? old
        // At the level that shows more of the two.
        level.value = min(old, new)
        logger.info(
            "configuration read again",
            metadata: [LogKey.reason: "\(taken.isEmpty ? "nothing to change" : taken.joined(separator: ", "))"])
        for (_, after) in changed
        where !after.key.changesWhileRunning
            && !started.settings.contains(where: {
                $0.key == after.key && $0.values == after.values
            })
        {
            logger.warning(
                "a changed key takes effect at the next start",
                metadata: [LogKey.reason: "\(after.key.name) (\(after.source.text))"])
        }
        level.value = new
        current = next
    }
}

extension ServeConfiguration {
    /// What runs beside the node for its configuration; says which environment variables are no keys.
    func services(_ level: RunningLogLevel, _ logger: Logger) -> [any Service] {
        for stray in strayVariables {
            logger.warning("environment variable is no key", metadata: [LogKey.reason: "\(stray)"])
        }
        return ConfigurationReload(self, level: level, logger: logger).map { [$0] } ?? []
    }
}
