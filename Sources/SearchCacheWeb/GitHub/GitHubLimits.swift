#if Web
    import Foundation
    package import NIOHTTP1
    import Synchronization

    /// The clocks that the backend looks at.
    package struct GitHubTime: Sendable {
        /// For how long a limit still holds.
        package var now: @Sendable () -> ContinuousClock.Instant
        /// Seconds since 1970, for answers without a date of their own.
        package var wallClock: @Sendable () -> Int64

        /// Clocks of a test's own.
        package init(
            now: @escaping @Sendable () -> ContinuousClock.Instant, wallClock: @escaping @Sendable () -> Int64
        ) {
            self.now = now
            self.wallClock = wallClock
        }

        /// The machine's.
        package static let system = GitHubTime(
            now: { ContinuousClock.now }, wallClock: { Int64(Date().timeIntervalSince1970) })
    }

    /// What an answer's header fields say about when to ask again.
    ///
    /// GitHub's documentation of its rate limits has the order: `Retry-After`, then the window's end if nothing remains of
    /// it, else a minute.
    package enum GitHubLimits {
        /// GitHub's windows last a minute or an hour; what says more than a day is wrong, and is asked again then.
        static let longest: Duration = .seconds(86_400)
        /// How long to wait where a limit is told of without a time.
        static let unsaid: Duration = .seconds(60)

        /// What `Retry-After` says: seconds, or a date; nil if it is not there or says neither.
        package static func retryAfter(_ headers: HTTPHeaders, wallClock: Int64) -> Duration? {
            guard let text = headers.first(name: "Retry-After") else { return nil }
            if let seconds = whole(text) { return bounded(seconds) }
            return HTTPDate.seconds(text).map { bounded($0 - now(headers, wallClock)) }
        }

        /// How long nothing remains of the window; nil if something does.
        package static func windowEnd(_ headers: HTTPHeaders, wallClock: Int64) -> Duration? {
            guard let remaining = headers.first(name: "X-RateLimit-Remaining"), whole(remaining) == 0 else {
                return nil
            }
            guard let reset = headers.first(name: "X-RateLimit-Reset").flatMap(whole) else { return unsaid }
            return bounded(reset - now(headers, wallClock))
        }

        /// How long a refusal (403 or 429), whose body has this message, asks for silence; nil if it is for no limit.
        package static func silence(
            status: UInt, _ headers: HTTPHeaders, message: String, wallClock: Int64
        ) -> Duration? {
            if let time = retryAfter(headers, wallClock: wallClock) ?? windowEnd(headers, wallClock: wallClock) {
                return time
            }
            // The secondary limits come without a header now and then, and with these words.
            let words = message.lowercased()
            return status == 429 || words.contains("rate limit") || words.contains("abuse detection") ? unsaid : nil
        }

        /// The answer's own time if it has one: the local clock may be wrong, and the other side counts by its own.
        private static func now(_ headers: HTTPHeaders, _ wallClock: Int64) -> Int64 {
            headers.first(name: "Date").flatMap(HTTPDate.seconds) ?? wallClock
        }

        /// Nobody is asked again within the same second, and nobody waits for ever.
        private static func bounded(_ seconds: Int64) -> Duration { min(max(.seconds(seconds), .seconds(1)), longest) }

        /// Digits and nothing else; short enough that differences of two do not overflow.
        private static func whole(_ text: String) -> Int64? {
            guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            return Int64(text)
        }
    }

    /// The limit that is in force, for all requests of a backend.
    final class GitHubSilence: Sendable {
        private let until = Mutex<ContinuousClock.Instant?>(nil)
        private let time: GitHubTime

        init(_ time: GitHubTime) { self.time = time }

        /// For how long nothing is sent; nil if something may be.
        var left: Duration? {
            let now = time.now()
            return until.withLock { until in
                guard let end = until, end > now else {
                    until = nil
                    return nil
                }
                return now.duration(to: end)
            }
        }

        /// Nothing is sent for so long; answers come in any order, so the longest counts.
        func keep(for duration: Duration) {
            let end = time.now().advanced(by: duration)
            until.withLock { $0 = max($0 ?? end, end) }
        }
    }
#endif
