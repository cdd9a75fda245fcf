#if Macros
    import Lockstep

    /// The types of `Counters`, whose codings there are written by hand, with the macro instead.
    enum DerivedCounters {
        @WireCodable enum Action: Codable, Hashable {
            case add(String, by: Int64)
            case set(String, to: Int64)
            case reset(String)
            case bound(String, Bounds)
            case unbound(String)
            case defineBucket(String, Rate)
            case removeBucket(String)
            case take(String, Int64)
        }

        @WireCodable enum Mutation: Codable, Hashable {
            case added(String, Int64)
            case set(String, Int64)
            case removed(String)
            case bounded(String, Bounds?)
            case bucket(String, Bucket?)
            case taken(String, level: Int64)
        }

        /// In another order than there.
        @WireCodable enum Reply: Codable, Hashable {
            @WireCase(4) case done
            @WireCase(1) case value(Int64)
            case granted(remaining: Int64)
            case denied(until: LogTime)
        }

        @WireCodable enum Query: Codable, Hashable {
            case get(String)
            case list(prefix: String, limit: Int)
            case top(Int)
            case sum(prefix: String)
        }

        @WireCodable enum Answer: Codable, Hashable {
            case value(Int64?)
            case list([Counter])
        }

        @WireCodable(frozen: true) struct Counter: Codable, Hashable {
            var name: String
            var value: Int64
        }

        @WireCodable(frozen: true) struct Bounds: Codable, Hashable, Digestible {
            var lowest: Int64 = .min
            var highest: Int64 = .max
            var contentDigest: Digest { .pair(lowest.contentDigest, highest.contentDigest) }
        }

        @WireCodable(frozen: true) struct Rate: Codable, Hashable {
            var capacity: Int64
            var refill: Int64
            var period: Int64
        }

        @WireCodable(frozen: true) struct Bucket: Codable, Hashable, Digestible {
            let rate: Rate
            private(set) var level: Int64
            private(set) var updated: LogTime
            init(rate: Rate, level: Int64, updated: LogTime) {
                self.rate = rate
                self.level = level
                self.updated = updated
            }
            var contentDigest: Digest { .pair(level.contentDigest, updated.rawValue.contentDigest) }
        }

        @WireCodable(frozen: true) struct State: Codable, Equatable {
            var values: ReplicatedMap<String, Int64> = [:]
            var bounds: ReplicatedMap<String, Bounds> = [:]
            var buckets: ReplicatedMap<String, Bucket> = [:]
        }
    }
#endif
