public import Lockstep
import Synchronization

/// What a search brought.
public struct SearchAnswer: Codable, Hashable, Sendable {
    /// Where the answer came from.
    public enum Source: String, Codable, Hashable, Sendable {
        /// This node had it: no network was used.
        case memory
        /// The backend was asked because of this search.
        case backend
        /// The backend was asked because of somebody else's search, which this one waited for.
        case joined
        /// Nobody had to be asked: an empty query, or a page after the last.
        case nothing
    }

    /// The query as it is kept.
    public var query: String
    /// The number of the page.
    public var number: Int
    /// The page; with a failure it may be one of before, which is not fresh; nil if there is none.
    public var page: SearchPage?
    /// Why there is no newer page.
    public var failure: SearchFailure?
    /// How many hits all pages have, if it is known.
    public var total: Int?
    /// The number of the last page, if it is known.
    public var lastPage: Int?
    /// Where it came from.
    public var source: Source

    init(_ query: String, _ number: Int, _ look: SearchLook, _ source: Source) {
        self.query = query
        self.number = number
        page = look.page
        failure = look.isFresh ? nil : look.failure
        total = look.total
        lastPage = look.lastPage
        self.source = source
    }
}

/// A node's searches: answers from its memory, asks where nothing is there, and counts what it answers.
///
/// It is for many callers at once. ``run()`` has to run beside it, so that eviction learns what is used.
public final class CachedSearch: Sendable {
    /// The store that is searched.
    public let store: Store<SearchCache>
    private let reads = Mutex(Reads())

    /// What was not reported yet; bounded by what one report takes.
    private struct Reads {
        var queries: Set<String> = []
        var hits: UInt64 = 0
        var joined: UInt64 = 0
    }

    /// Searches in a store that its node keeps, primary or replica.
    public init(_ store: Store<SearchCache>) { self.store = store }

    /// The cache as this node has it.
    public var state: SearchCache.State { store.state }

    /// A page of a query: from memory if it is fresh, else as soon as the backend, which is asked once for all nodes,
    /// has answered.
    ///
    /// - Parameters:
    ///   - text: What to search for; see ``SearchCache/normalized(_:)``.
    ///   - page: From 1.
    ///   - timeout: How long to wait for the backend, all its attempts together.
    /// - Returns: The answer; where the backend failed, with the failure, and with what there was before.
    /// - Throws: ``LockstepError``: `rejected` for a wrong query or page, `timeout`, `unavailable` as soon as this node
    ///   knows that its primary is away, and what `send` throws.
    public func search(_ text: String, page: Int = 1, timeout: Duration = .seconds(30)) async throws -> SearchAnswer {
        let (key, remembered) = try look(text, page)
        if let remembered { return remembered }
        let store = store
        let answer = try await Self.within(timeout, of: store) { try await Self.ask(store, key, page) }
        note(key, isHit: false, isJoined: answer.source == .joined)
        return answer
    }

    /// A page of a query if this node has a fresh one, at once; nil if somebody would have to be asked.
    ///
    /// The beginning of ``search(_:page:timeout:)``, for a caller that has something else to do with what takes time.
    ///
    /// - Throws: ``LockstepError`` of code `rejected` for a query that is too long.
    public func remembered(_ text: String, page: Int = 1) throws -> SearchAnswer? { try look(text, page).answer }

    private func look(_ text: String, _ page: Int) throws -> (key: String, answer: SearchAnswer?) {
        let key: String
        do { key = try SearchCache.key(of: text) } catch let error as Rejection {
            throw LockstepError(.rejected, error.reason)
        }
        guard let entry = store.state.entries[key], let found = entry.page(page), found.isFresh else {
            return (key, nil)
        }
        note(key, isHit: true)
        let look = SearchLook(found, of: entry)
        return (key, SearchAnswer(key, page, look, .memory))
    }

    /// Sends an action, such as a refresh, and waits until it is committed.
    @discardableResult
    public func send(_ action: SearchCache.Action) async throws -> SearchCache.Reply {
        try await store.send(action).reply
    }

    // MARK: - Asking

    private static func ask(_ store: Store<SearchCache>, _ key: String, _ page: Int) async throws -> SearchAnswer {
        while true {
            let receipt = try await store.send(.search(key, page: page), timeout: nil)
            let source: SearchAnswer.Source
            switch receipt.reply {
            case .nothing: return SearchAnswer(key, page, store.state.look(key, page: page), .nothing)
            case .failed(let failure):
                var look = store.state.look(key, page: page)
                look.failure = failure
                return SearchAnswer(key, page, look, .memory)
            case .asked: source = .backend
            case .joined: source = .joined
            case .present, .done: source = .memory
            }
            for await snapshot in store.states where snapshot.place >= receipt.place {
                let look = snapshot.state.look(key, page: page)
                guard look.isSettled else { continue }
                if look.isFresh || look.failure != nil { return SearchAnswer(key, page, look, source) }
                if let last = look.lastPage, page > last { return SearchAnswer(key, page, look, .nothing) }
                // It was evicted, or given up, before this saw it: ask again.
                break
            }
            try Task.checkCancellation()
        }
    }

    private static func within<Value: Sendable>(
        _ limit: Duration, of store: Store<SearchCache>, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Self.waitForLoss(of: store)
                throw LockstepError(
                    .unavailable, "the primary is away, so only what is in memory is found; try again when it is back")
            }
            group.addTask {
                try await Task.sleep(for: limit)
                throw LockstepError(.timeout, "the backend did not answer within \(limit); it is still asked")
            }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    /// How long a node may be without its primary, as when it only joins anew, before a search that needs it ends.
    private static let grace = Duration.milliseconds(250)

    /// Returns when the node has no primary that takes actions, and has had none for the length of ``grace``.
    private static func waitForLoss(of store: Store<SearchCache>) async throws {
        while true {
            for await readiness in store.readinessChanges where Self.isAway(readiness) { break }
            try await Task.sleep(for: grace)
            if isAway(store.readiness) { return }
            // The end of the node is what the search itself meets.
            if store.readiness == .stopped { try await Task.sleep(for: .seconds(3_600)) }
        }
    }

    private static func isAway(_ readiness: StoreReadiness) -> Bool {
        switch readiness {
        case .connecting, .stale: true
        case .catchingUp, .live, .stopped: false
        }
    }

    // MARK: - Counting

    private func note(_ key: String, isHit: Bool, isJoined: Bool = false) {
        reads.withLock { reads in
            if isHit { reads.hits &+= 1 }
            if isJoined { reads.joined &+= 1 }
            // What is beyond is counted, and loses its place in the order of eviction only.
            if reads.queries.count < SearchCache.queriesPerReport { reads.queries.insert(key) }
        }
    }

    /// Reports what was read from memory to the primary, once a second at most, until the task is cancelled or the node
    /// stops.
    public func run() async throws {
        while true {
            try await Task.sleep(for: .seconds(1))
            try await report()
        }
    }

    /// Reports what was read since the last report; without effect if nothing was.
    public func report() async throws {
        let taken = reads.withLock { reads in
            defer { reads = Reads() }
            return reads
        }
        guard taken.hits > 0 || taken.joined > 0 else { return }
        let report = SearchCache.ReadReport(
            queries: taken.queries.sorted(), hits: taken.hits, joined: taken.joined)
        do {
            _ = try await store.send(.report(report), timeout: .seconds(30))
        } catch let error as LockstepError where error.code != .stopped {
            // The primary is away: that these reads count for nothing harms nobody.
        }
    }
}

extension ActionTarget where R == SearchCache {
    /// A page of a query, for a program without a replica; the same as ``CachedSearch/search(_:page:timeout:)``, over the
    /// network.
    ///
    /// It looks at the node that it is connected to, and every 20 to 250 ms again while the backend is asked. A primary
    /// that takes no action for 5 seconds is away: `unavailable`.
    public func search(_ text: String, page: Int = 1, timeout: Duration = .seconds(30)) async throws -> SearchAnswer {
        let start = ContinuousClock.now
        let key: String
        do { key = try SearchCache.key(of: text) } catch let error as Rejection {
            throw LockstepError(.rejected, error.reason)
        }
        var source = SearchAnswer.Source.memory
        var delay = Duration.milliseconds(20)
        var isAsked = false
        while true {
            let left = max(.milliseconds(1), timeout - start.duration(to: .now))
            let answer = try await ask(.look(key, page: page), isAsked ? .session : .local, timeout: left).answer
            guard case .look(let look) = answer else {
                throw LockstepError(.refused, "the node answered with something else than a page; update this program")
            }
            if look.isFresh { return SearchAnswer(key, page, look, source) }
            if !isAsked || look.isSettled {
                if isAsked, look.failure != nil { return SearchAnswer(key, page, look, source) }
                if source != .memory, let last = look.lastPage, page > last {
                    return SearchAnswer(key, page, look, .nothing)
                }
                switch try await request(key, page, within: left) {
                case .nothing: return SearchAnswer(key, page, look, .nothing)
                case .failed(let failure):
                    var look = look
                    look.failure = failure
                    return SearchAnswer(key, page, look, source)
                case .asked: source = .backend
                case .joined: source = .joined
                case .present, .done, nil: break
                }
                isAsked = true
            } else {
                guard start.duration(to: .now) < timeout else {
                    throw LockstepError(.timeout, "the backend did not answer within \(timeout); it is still asked")
                }
                try await Task.sleep(for: delay)
                delay = min(delay * 2, .milliseconds(250))
            }
        }
    }

    /// Sends the action that asks; nil if it is on its way and not answered yet.
    ///
    /// A primary that is there takes an action at once, so who has a long time for the backend need not wait as long for
    /// a primary that is away.
    private func request(_ key: String, _ page: Int, within left: Duration) async throws -> SearchCache.Reply? {
        let limit = Duration.seconds(5)
        do {
            return try await send(.search(key, page: page), timeout: min(left, limit)).reply
        } catch let error as LockstepError where error.code == .timeout && left > limit {
            throw LockstepError(
                .unavailable, "the primary is away, so only what is in memory is found: \(error.message)",
                underlying: error)
        } catch let error as LockstepError where error.code == .outcomeUnknown && left > limit {
            return nil
        }
    }
}
