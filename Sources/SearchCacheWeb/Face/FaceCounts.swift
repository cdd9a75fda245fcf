#if Web
    internal import Lockstep
    internal import SearchCache
    internal import Synchronization

    /// What a face counts, and what it has under way.
    final class FaceCounts: Sendable {
        /// Upper bounds in seconds, from a hit's to a backend's time limit.
        static let bounds: [Double] = [
            0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
            30,
        ]

        private struct Requests {
            var byStatus: [Int: UInt64] = [:]
            /// One more than there are bounds: what took longer than all.
            var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
            var seconds = 0.0
        }

        private let requests = Mutex(Requests())
        private let open = Atomic<Int>(0)
        private let waiting = Atomic<Int>(0)

        /// Counts an answer.
        func answered(_ status: Int, after duration: Duration) {
            let seconds = duration / .seconds(1)
            let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
            requests.withLock { requests in
                requests.byStatus[status, default: 0] &+= 1
                requests.buckets[bucket] &+= 1
                requests.seconds += seconds
            }
        }

        /// Takes note of a connection; returns how many are open with it.
        func connectionOpened() -> Int { open.wrappingAdd(1, ordering: .relaxed).newValue }

        /// Takes note of a connection's end.
        func connectionClosed() { open.wrappingSubtract(1, ordering: .relaxed) }

        /// Takes one of so many places of searches that wait for the backend; false if all are taken.
        func beginWaiting(limit: Int) -> Bool {
            if waiting.wrappingAdd(1, ordering: .relaxed).newValue <= limit { return true }
            endWaiting()
            return false
        }

        /// Gives the place back.
        func endWaiting() { waiting.wrappingSubtract(1, ordering: .relaxed) }

        /// All figures in the text format of Prometheus.
        func exposition(_ state: SearchCache.State, encodedBytes: Int) -> String {
            var page = Exposition()
            let statistics = state.statistics
            page.counter("lockstep_search_hits", "Answers from memory that nodes reported.", statistics.hits)
            page.counter("lockstep_search_misses", "Pages that were asked for.", statistics.misses)
            page.counter(
                "lockstep_search_joined", "Answers that waited for somebody else's request.", statistics.joined)
            page.counter("lockstep_search_requests", "Requests that the backend answered.", statistics.requests)
            page.counter("lockstep_search_failures", "Requests that failed.", statistics.failures)
            page.counter("lockstep_search_evictions", "Queries forgotten for want of room.", statistics.evictions)
            page.counter("lockstep_search_expirations", "Queries forgotten for their age.", statistics.expirations)
            page.counter("lockstep_search_saved", "Requests that were not made.", statistics.saved)
            page.gauge("lockstep_search_queries", "Queries that are kept.", state.entries.count)
            page.gauge("lockstep_search_bytes", "What they count of the cache's bound.", state.bytes)
            page.gauge("lockstep_search_wanted", "Queries that wait for the backend.", state.wanted.count)
            page.gauge("lockstep_face_connections", "Connections that are open.", open.load(ordering: .relaxed))
            page.gauge("lockstep_face_waiting", "Searches here that wait.", waiting.load(ordering: .relaxed))
            page.gauge("lockstep_face_encoded_bytes", "What pages that are kept as JSON count.", encodedBytes)
            let requests = requests.withLock { $0 }
            page.head("lockstep_face_requests_total", "Requests of this face by status.", "counter")
            for (status, count) in requests.byStatus.sorted(by: { $0.key < $1.key }) {
                page.line("lockstep_face_requests_total{status=\"\(status)\"} \(count)")
            }
            page.head("lockstep_face_duration_seconds", "Time from a request's head to its answer.", "histogram")
            var sum: UInt64 = 0
            for (index, count) in requests.buckets.enumerated() {
                sum &+= count
                let bound = index < Self.bounds.count ? Self.plain(Self.bounds[index]) : "+Inf"
                page.line("lockstep_face_duration_seconds_bucket{le=\"\(bound)\"} \(sum)")
            }
            page.line("lockstep_face_duration_seconds_sum \(requests.seconds)")
            page.line("lockstep_face_duration_seconds_count \(sum)")
            return page.text
        }

        /// `0.00005` and not `5e-05`, and `1` and not `1.0`.
        private static func plain(_ bound: Double) -> String {
            guard bound < 0.001 else { return bound.rounded() == bound ? String(Int(bound)) : String(bound) }
            var digits = String(Int((bound * 100_000).rounded()))
            digits = String(repeating: "0", count: 5 - digits.count) + digits
            while digits.last == "0" { digits.removeLast() }
            return "0." + digits
        }
    }

    /// Lines of the text format, version 0.0.4.
    private struct Exposition {
        var text = ""

        mutating func line(_ line: String) { text += line + "\n" }

        mutating func head(_ name: String, _ help: String, _ kind: String) {
            line("# HELP \(name) \(help)")
            line("# TYPE \(name) \(kind)")
        }

        mutating func counter(_ name: String, _ help: String, _ value: UInt64) {
            head(name + "_total", help, "counter")
            line("\(name)_total \(value)")
        }

        mutating func gauge(_ name: String, _ help: String, _ value: Int) {
            head(name, help, "gauge")
            line("\(name) \(value)")
        }
    }
#endif
