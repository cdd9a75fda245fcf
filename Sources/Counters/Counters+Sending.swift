public import Lockstep

/// What the counters' actions are replied to with.
extension TypedAction where R == Counters, Reply == Int64 {
    fileprivate static func valued(_ action: Counters.Action) -> Self {
        Self(action) { if case .value(let value) = $0 { value } else { nil } }
    }
}

extension TypedQuery where R == Counters, Answer == Int64? {
    fileprivate static func value(of name: String) -> Self {
        Self(.get(name)) { if case .value(let value) = $0 { .some(value) } else { nil } }
    }
}

/// The counters by name, on a store or a remote store; each waits for the commit as `send` does.
extension ActionTarget where R == Counters {
    /// Adds to a counter, which begins at 0, and returns the sum.
    ///
    /// - Throws: ``LockstepError`` with code `rejected` for a wrong name, an overflow, or a value outside the counter's
    ///   bounds; and whatever `send` throws.
    @discardableResult
    public func add(_ name: String, by amount: Int64 = 1) async throws -> Int64 {
        try await send(.valued(.add(name, by: amount))).reply
    }

    /// Gives a counter a value.
    public func set(_ name: String, to value: Int64) async throws { _ = try await send(.set(name, to: value)) }

    /// Takes a counter away and returns its last value.
    @discardableResult
    public func reset(_ name: String) async throws -> Int64 { try await send(.valued(.reset(name))).reply }

    /// Takes tokens from a bucket, all or none; the reply says how many are left, or when there will be enough.
    public func take(_ count: Int64 = 1, from name: String) async throws -> Counters.Reply {
        try await send(.take(name, count)).reply
    }

    /// The value of a counter, `nil` if there is none; by default with everything that was acknowledged here.
    public func get(_ name: String, _ consistency: ReadConsistency = .session) async throws -> Int64? {
        try await ask(.value(of: name), consistency).answer
    }
}
