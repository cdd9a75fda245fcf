package import Logging
internal import ServiceLifecycle

/// The pauses between attempts to listen at an address that this host does not have yet, such as a tunnel's.
package struct AddressWait {
    private let logger: Logger
    private var attempts = 0

    package init(logger: Logger) { self.logger = logger }

    /// Lets a second pass before the next attempt; it says why in the log, at once and then once a minute.
    ///
    /// - Throws: `CancellationError` if the task was cancelled, or graceful shutdown was asked for.
    package mutating func pause(because reason: String) async throws {
        if attempts % 60 == 0 {
            logger.info("waiting for the address to listen at", metadata: [LogKey.reason: "\(reason)"])
        }
        attempts += 1
        try await cancelWhenGracefulShutdown { try await Task.sleep(for: .seconds(1)) }
    }
}
