public import Lockstep

/// The counters by name, on a store or a remote store; each waits for the commit as `send` does.
extension ActionTarget where R == Counters {
    /// Adds to a counter, which begins at 0, and returns the sum.
    ///
    /// - Throws: ``LockstepError`` with code `rejected` for a wrong name, an overflow, or a value outside the counter's
    ///   bounds; and whatever `send` throws.
    @discardableResult
    public func add(_ name: String, by amount: Int64 = 1) async throws -> Int64 {
        try await value(of: send(.add(name, by: amount)).reply)
    }

    /// Gives a counter a value.
    public func set(_ name: String, to value: Int64) async throws { _ = try await send(.set(name, to: value)) }

    /// Takes a counter away and returns its last value.
    @discardableResult
    public func reset(_ name: String) async throws -> Int64 {
        try await value(of: send(.reset(name)).reply)
    }

    /// Takes tokens from a bucket, all or none; the reply says how many are left, or when there will be enough.
    public func take(_ count: Int64 = 1, from name: String) async throws -> Counters.Reply {
        try await send(.take(name, count)).reply
    }

    /// The value of a counter, `nil` if there is none; by default with everything that was acknowledged here.
    public func get(_ name: String, _ consistency: ReadConsistency = .session) async throws -> Int64? {
        guard case .value(let value) = try await ask(.get(name), consistency).answer else {
            throw LockstepError(.refused, "the node answered with a list; update this program")
        }
        return value
    }

    private func value(of reply: Counters.Reply) throws -> Int64 {
        guard case .value(let value) = reply else {
            throw LockstepError(.refused, "the node replied without a value; update this program")
        }
        return value
    }
}
