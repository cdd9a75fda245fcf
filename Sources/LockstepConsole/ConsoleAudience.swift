internal import Lockstep
internal import Synchronization

/// Who looks at the console: open pages, which get events, and whoever has asked for something lately.
///
/// A page that does not read loses the oldest events; each status is whole, and entries are counted, so it notices.
package final class ConsoleAudience: Sendable {
    /// The most pages that are open at once; one more is told to come later.
    package static let mostReaders = 32
    /// Events that wait for a page that does not read.
    private static let waitingEvents = 32
    /// How long the console works on after the last page was closed, or after a question without a page.
    let lingering: Duration

    private let contents = Mutex(Contents())
    /// Somebody came.
    let arrivals: AsyncStream<Void>
    private let arrival: AsyncStream<Void>.Continuation

    private struct Contents {
        var readers: [UInt64: AsyncStream<String>.Continuation] = [:]
        var lastID: UInt64 = 0
        var lastSeen: ContinuousClock.Instant?
        var hasEnded = false
    }

    package init(lingering: Duration) {
        self.lingering = lingering
        (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// How many pages are open.
    package var readers: Int { contents.withLock { $0.readers.count } }

    /// Opens a page's stream of events; nil if there are too many, or the console has ended.
    package func join() -> AsyncStream<String>? {
        let (stream, continuation) = AsyncStream.makeStream(
            of: String.self, bufferingPolicy: .bufferingNewest(Self.waitingEvents))
        let id: UInt64? = contents.withLock { contents in
            guard !contents.hasEnded, contents.readers.count < Self.mostReaders else { return nil }
            contents.lastID += 1
            contents.readers[contents.lastID] = continuation
            contents.lastSeen = .now
            return contents.lastID
        }
        guard let id else { return nil }
        continuation.onTermination = { _ in self.leave(id) }
        arrival.yield()
        return stream
    }

    private func leave(_ id: UInt64) {
        contents.withLock { contents in
            contents.readers[id] = nil
            contents.lastSeen = .now
        }
    }

    /// Somebody asked for something, who may have no page open.
    package func asked() {
        contents.withLock { $0.lastSeen = .now }
        arrival.yield()
    }

    /// Whether somebody looks, or did a moment ago.
    package func isThere(now: ContinuousClock.Instant) -> Bool {
        contents.withLock { contents in
            !contents.readers.isEmpty || contents.lastSeen.map { now - $0 < lingering } ?? false
        }
    }

    /// Sends an event to all open pages.
    package func send(_ event: String) {
        let readers = contents.withLock { Array($0.readers.values) }
        for reader in readers { reader.yield(event) }
    }

    /// Ends all streams; nobody can join from here on.
    package func end() {
        let readers = contents.withLock { contents in
            contents.hasEnded = true
            return Array(contents.readers.values)
        }
        for reader in readers { reader.finish() }
    }
}
