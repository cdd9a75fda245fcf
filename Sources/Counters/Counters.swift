public import Lockstep

/// Named 64-bit counters, counters with bounds, and token buckets.
///
/// Everything is decided on the primary, one action after the other: two clients that add to a counter which stands
/// one below its bound cannot both pass, and a bucket's clock is the entry's time, the same on every node.
///
/// A name is a text of 1 to 256 bytes of UTF-8; counters and buckets have separate names.
public struct Counters: Reactor {
    /// The most bytes of UTF-8 in a name.
    public static let nameBytes = 256
    /// The most counters that one answer lists.
    public static let listLimit = 1_000

    /// Makes the reactor; it has no settings.
    public init() {}

    /// No counters.
    public var initialState: State { State() }

    /// Decides an action; refuses wrong names, overflow, and what does not exist.
    public func mutate(_ action: Action, _ context: Context) throws -> Effect<Self> {
        switch action {
        case .add(let name, let amount):
            return try add(name, amount, context)
        case .set(let name, let value):
            try Self.check(name)
            try Self.checkBounds(of: name, value, context)
            return .emit(.set(name, value), reply: .value(value))
        case .reset(let name):
            guard let value = context.state.values[name] else { throw Rejection("there is no counter \(name)") }
            try Self.checkBounds(of: name, 0, context)
            return .emit(.removed(name), reply: .value(value))
        case .bound(let name, let bounds):
            return try bound(name, bounds, context)
        case .unbound(let name):
            guard context.state.bounds[name] != nil else { throw Rejection("\(name) has no bounds") }
            return .emit(.bounded(name, nil), reply: .done)
        case .defineBucket(let name, let rate):
            try Self.check(name)
            let bucket = try TokenBucket(rate, at: context.time)
            return .emit(.bucket(name, bucket), reply: .granted(remaining: rate.capacity))
        case .removeBucket(let name):
            guard context.state.buckets[name] != nil else { throw Rejection("there is no bucket \(name)") }
            return .emit(.bucket(name, nil), reply: .done)
        case .take(let name, let count):
            return try take(count, from: name, context)
        }
    }

    private func add(_ name: String, _ amount: Int64, _ context: Context) throws -> Effect<Self> {
        try Self.check(name)
        let (sum, overflow) = context.state.values[name, default: 0].addingReportingOverflow(amount)
        guard !overflow else { throw Rejection("\(name) would overflow 64 bits") }
        try Self.checkBounds(of: name, sum, context)
        return .emit(.added(name, amount), reply: .value(sum))
    }

    private func bound(_ name: String, _ bounds: Bounds, _ context: Context) throws -> Effect<Self> {
        try Self.check(name)
        guard bounds.lowest <= bounds.highest else {
            throw Rejection("the lowest value \(bounds.lowest) is above the highest, \(bounds.highest)")
        }
        let value = context.state.values[name, default: 0]
        guard bounds.contains(value) else {
            throw Rejection("\(name) is \(value), outside \(bounds.lowest) to \(bounds.highest)")
        }
        return .emit(.bounded(name, bounds), reply: .value(value))
    }

    private func take(_ count: Int64, from name: String, _ context: Context) throws -> Effect<Self> {
        guard let bucket = context.state.buckets[name] else { throw Rejection("there is no bucket \(name)") }
        guard count >= 1, count <= bucket.rate.capacity else {
            throw Rejection("\(count) tokens cannot be taken from \(name), which holds at most \(bucket.rate.capacity)")
        }
        switch bucket.taking(count, at: context.time) {
        case .granted(let level):
            return .emit(.taken(name, level: level), reply: .granted(remaining: level / bucket.rate.period))
        case .denied(let until):
            return .none(reply: .denied(until: until))
        }
    }

    private static func check(_ name: String) throws {
        let count = name.utf8.count
        guard count > 0 else { throw Rejection("the name is empty") }
        guard count <= nameBytes else { throw Rejection("the name has \(count) bytes; \(nameBytes) are the most") }
    }

    private static func checkBounds(of name: String, _ value: Int64, _ context: Context) throws {
        // Most programs have no bounds, and a look-up costs a quarter of the whole action.
        guard !context.state.bounds.isEmpty, let bounds = context.state.bounds[name] else { return }
        guard bounds.contains(value) else {
            throw Rejection("\(name) would be \(value), outside \(bounds.lowest) to \(bounds.highest)")
        }
    }

    /// Applies a mutation.
    ///
    /// It cannot fail: additions wrap, which ``mutate(_:_:)`` never lets happen.
    public static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        switch mutation {
        case .added(let name, let amount):
            state.values.updateValue(forKey: name, default: 0) { $0 &+= amount }
        case .set(let name, let value):
            state.values[name] = value
        case .removed(let name):
            state.values[name] = nil
        case .bounded(let name, let bounds):
            state.bounds[name] = bounds
        case .bucket(let name, let bucket):
            state.buckets[name] = bucket
        case .taken(let name, let level):
            state.buckets[name]?.set(level: level, at: context.time)
        }
    }

    /// Fetches the counters that are added to.
    public static func prefetch(actions: [Action], in state: State) {
        state.values.prefetch(actions.lazy.compactMap { if case .add(let name, _) = $0 { name } else { nil } })
    }

    /// Fetches the counters that were added to.
    public static func prefetch(mutations: [Mutation], in state: State) {
        state.values.prefetch(mutations.lazy.compactMap { if case .added(let name, _) = $0 { name } else { nil } })
    }

    /// Answers from the published state; refuses a limit below 1 or above ``listLimit``.
    public static func answer(_ query: Query, in state: State) throws -> Answer {
        switch query {
        case .get(let name):
            return .value(state.values[name])
        case .list(let prefix, let limit):
            try check(limit: limit)
            return .list(state.values.prefix(prefix, limit: limit).map { Counter(name: $0.key, value: $0.value) })
        case .top(let limit):
            try check(limit: limit)
            return .list(state.values.greatest(limit).map { Counter(name: $0.key, value: $0.value) })
        case .sum(let prefix):
            let prefix = Array(prefix.utf8)
            let total = state.values.total { name, value in name.utf8.starts(with: prefix) ? value : 0 }
            return .value(Int64(exactly: total))
        }
    }

    private static func check(limit: Int) throws {
        guard (1...listLimit).contains(limit) else { throw Rejection("the limit must be 1 to \(listLimit)") }
    }
}
