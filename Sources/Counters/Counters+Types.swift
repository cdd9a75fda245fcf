public import Lockstep

extension Counters {
    /// What a client asks for.
    public enum Action: Codable, Hashable, Sendable {
        /// Adds to a counter, which begins at 0; the reply is the sum.
        case add(String, by: Int64)
        /// Gives a counter a value; the reply is the value.
        case set(String, to: Int64)
        /// Takes a counter away; the reply is its last value. Its bounds stay.
        case reset(String)
        /// Gives a counter bounds, which its value must be within already; the reply is the value.
        case bound(String, Bounds)
        /// Takes a counter's bounds away.
        case unbound(String)
        /// Makes a bucket, or makes it anew: it is full.
        case defineBucket(String, TokenBucket.Rate)
        /// Takes a bucket away.
        case removeBucket(String)
        /// Takes tokens from a bucket, all or none.
        case take(String, Int64)
    }

    /// What happened.
    public enum Mutation: Codable, Hashable, Sendable {
        /// A counter grew by an amount, or shrank.
        case added(String, Int64)
        /// A counter was given a value.
        case set(String, Int64)
        /// A counter was taken away.
        case removed(String)
        /// A counter's bounds were set, or taken away.
        case bounded(String, Bounds?)
        /// A bucket was made, or taken away.
        case bucket(String, TokenBucket?)
        /// Tokens were taken; the bucket's level at the entry's time is this.
        case taken(String, level: Int64)
    }

    /// What the sender of an action learns.
    public enum Reply: Codable, Hashable, Sendable {
        /// The counter's value.
        case value(Int64)
        /// The tokens were taken, and so many whole ones are left.
        case granted(remaining: Int64)
        /// There are too few tokens; from this time on there will be enough, if nobody else takes any.
        case denied(until: LogTime)
        /// It is done.
        case done
    }

    /// What may be asked about the counters.
    public enum Query: Codable, Hashable, Sendable {
        /// The value of one counter.
        case get(String)
        /// The counters whose names begin with a text, byte for byte, in the order of their names.
        case list(prefix: String, limit: Int)
        /// The counters with the greatest values, the greatest first; equal ones in the order of their names.
        case top(Int)
        /// The sum of the counters whose names begin with a text.
        case sum(prefix: String)
    }

    /// The answer to a query.
    public enum Answer: Codable, Hashable, Sendable {
        /// The value; nothing if there is no such counter, or the sum does not fit into 64 bits.
        case value(Int64?)
        /// The counters that were asked for.
        case list([Counter])
    }

    /// A counter's name and value.
    public struct Counter: Codable, Hashable, Sendable {
        /// The name.
        public var name: String
        /// The value.
        public var value: Int64
        /// Makes a pair.
        public init(name: String, value: Int64) {
            self.name = name
            self.value = value
        }
    }

    /// The least and the greatest value that a counter may have.
    public struct Bounds: Codable, Hashable, Sendable, Digestible {
        /// The least value.
        public var lowest: Int64
        /// The greatest value.
        public var highest: Int64
        /// Makes bounds; the default is no bound on that side.
        public init(lowest: Int64 = .min, highest: Int64 = .max) {
            self.lowest = lowest
            self.highest = highest
        }
        /// Whether a value is within the bounds.
        public func contains(_ value: Int64) -> Bool { lowest <= value && value <= highest }
        /// The two numbers, paired.
        public var contentDigest: Digest { .pair(lowest.contentDigest, highest.contentDigest) }
    }

    /// All counters, bounds and buckets.
    public struct State: Codable, Equatable, Sendable {
        /// The counters that were added to or set, and not reset since.
        public var values: ReplicatedMap<String, Int64> = [:]
        /// The bounds, also of counters that have no value yet.
        public var bounds: ReplicatedMap<String, Bounds> = [:]
        /// The buckets.
        public var buckets: ReplicatedMap<String, TokenBucket> = [:]
        /// Makes an empty state.
        public init() {}
    }
}
