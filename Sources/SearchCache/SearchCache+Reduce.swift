public import Lockstep

extension SearchCache {
    /// Applies a mutation; one that names a request that is wanted no more changes nothing.
    public static func reduce(into state: inout State, _ mutation: Mutation, _ context: ReduceContext) {
        let now = context.time
        switch mutation {
        case .wanted(let key, let page, let isAnew): state.want(key, page, isAnew: isAnew, at: now)
        case .answered(let key, let request, let content, let bounds):
            state.answered(key, request, content, bounds, at: now)
        case .failed(let key, let request, let kind, let message, let silence, let isRetried, let bounds):
            let until = now.advanced(by: .microseconds(max(0, silence)))
            let failure = SearchFailure(kind: kind, message: message, until: until, isRetried: isRetried)
            state.failed(key, request, failure, bounds, at: now)
        case .due(let id, let deadline): state.due(id, deadline, at: now)
        case .evicted(let key):
            state.giveUp(key)
            state.remove(key)
        case .cleared:
            let former = state
            state = State()
            (state.statistics, state.lastRequest, state.limit) = (former.statistics, former.lastRequest, former.limit)
        case .read(let report): state.read(report, at: now)
        }
    }
}

extension SearchCache.State {
    private typealias TimerID = SearchCache.TimerID

    // MARK: - Requests

    fileprivate mutating func want(_ key: String, _ page: Int, isAnew: Bool, at now: LogTime) {
        if isAnew {
            giveUp(key)
        } else if var request = wanted[key] {
            guard request.page != page, !request.next.contains(page) else { return }
            request.next.append(page)
            wanted[key] = request
            statistics.misses &+= 1
            return
        }
        statistics.misses &+= 1
        // Who asks now waits for this request's answer, and must not take the failure of one before for it.
        if entries[key]?.failure != nil { change(key) { entry, _ in entry.failure = nil } }
        begin(key, page, attempt: 1, next: [], at: now)
    }

    /// The request may run from now on.
    private mutating func begin(_ key: String, _ page: Int, attempt: Int, next: [Int], at now: LogTime) {
        lastRequest &+= 1
        wanted[key] = WantedPage(number: lastRequest, page: page, attempt: attempt, next: next)
        queue.schedule(lastRequest, at: now, key)
    }

    /// Takes a query's request away, whether it runs or waits.
    fileprivate mutating func giveUp(_ key: String) {
        guard let request = wanted.removeValue(forKey: key) else { return }
        queue.cancel(request.number)
        timers.cancel(TimerID(key: key, kind: .retry))
    }

    /// Takes the request that an answer is to; nil if that is wanted no more.
    private mutating func take(_ key: String, _ number: UInt64) -> WantedPage? {
        guard let request = wanted[key], request.number == number else { return nil }
        giveUp(key)
        statistics.requests &+= 1
        return request
    }

    // MARK: - Answers

    fileprivate mutating func answered(
        _ key: String, _ number: UInt64, _ content: SearchCache.SearchContent, _ bounds: SearchCache.Bounds,
        at now: LogTime
    ) {
        guard let request = take(key, number) else { return }
        change(key) { entry, state in
            entry.failure = nil
            entry.version = number
            switch content {
            case .unchanged:
                entry.change(request.page) { page in
                    page.fetchedAt = now
                    page.isFresh = true
                }
            case .page(let hits, let hasNext, let total, let etag):
                state.put(
                    SearchPage(number: request.page, hits: hits, fetchedAt: now, isFresh: true, etag: etag),
                    hasNext: hasNext, total: total, into: &entry, key)
            }
        }
        if entries[key]?.page(request.page) != nil {
            timers.schedule(
                TimerID(key: key, kind: .stale, page: request.page), at: now.advanced(by: .microseconds(bounds.fresh)),
                true)
        }
        timers.schedule(TimerID(key: key, kind: .expire), at: now.advanced(by: .microseconds(bounds.live)), true)
        uses.schedule(key, at: now, true)
        makeRoom(bounds.bytes, for: key, request.page)
        let known = entries[key]?.lastPage ?? .max
        let next = request.next.filter { $0 <= known }
        if let page = next.first { begin(key, page, attempt: 1, next: Array(next.dropFirst()), at: now) }
    }

    /// Puts a page that is new into an entry, and takes out what it makes wrong.
    private mutating func put(
        _ page: SearchPage, hasNext: Bool, total: Int?, into entry: inout SearchEntry, _ key: String
    ) {
        // Another first page: what stood after the former one has moved.
        if page.number == 1, let before = entry.page(1), before.hits != page.hits { drop(from: 2, of: &entry, key) }
        entry.total = total ?? (page.number == 1 ? nil : entry.total)
        if page.hits.isEmpty, page.number > 1 {
            // There is no such page, and none after it; the ones before it are not known to be there.
            entry.lastPage = min(entry.lastPage ?? .max, page.number - 1)
            drop(from: page.number, of: &entry, key)
            return
        }
        entry.put(page)
        if !hasNext {
            entry.lastPage = page.number
            drop(from: page.number + 1, of: &entry, key)
        } else if let last = entry.lastPage, last <= page.number {
            entry.lastPage = nil
        }
    }

    private mutating func drop(from number: Int, of entry: inout SearchEntry, _ key: String) {
        for page in entry.pages where page.number >= number {
            timers.cancel(TimerID(key: key, kind: .stale, page: page.number))
        }
        entry.pages.removeAll { $0.number >= number }
    }

    fileprivate mutating func failed(
        _ key: String, _ number: UInt64, _ failure: SearchFailure, _ bounds: SearchCache.Bounds, at now: LogTime
    ) {
        guard let request = take(key, number) else { return }
        statistics.failures &+= 1
        change(key) { entry, _ in entry.failure = failure }
        if failure.isRetried {
            lastRequest &+= 1
            wanted[key] = WantedPage(
                number: lastRequest, page: request.page, attempt: request.attempt + 1, next: request.next)
            timers.schedule(TimerID(key: key, kind: .retry), at: failure.until, true)
        }
        if failure.kind == .rateLimited, failure.until > limit?.until ?? .zero { limit = failure }
        // Where nothing but the failure is there it is kept for as long as it holds, and so long that those who wait for
        // it see it, who look at the newest state only.
        let expire = TimerID(key: key, kind: .expire)
        let end = max(failure.until, now.advanced(by: .seconds(1)))
        if entries[key]?.pages.isEmpty ?? true, timers[expire]?.deadline ?? .zero < end {
            timers.schedule(expire, at: end, true)
        }
        uses.schedule(key, at: now, true)
        makeRoom(bounds.bytes, for: key, request.page)
    }

    // MARK: - Entries

    /// Changes an entry, or makes one, and counts its bytes.
    private mutating func change(_ key: String, _ change: (inout SearchEntry, inout Self) -> Void) {
        let before = entries[key]
        var entry = before ?? SearchEntry()
        change(&entry, &self)
        bytes += entry.byteCount(of: key) - (before?.byteCount(of: key) ?? 0)
        entries[key] = entry
    }

    /// Forgets an entry; what is wanted stays wanted.
    fileprivate mutating func remove(_ key: String) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        bytes -= entry.byteCount(of: key)
        for page in entry.pages { timers.cancel(TimerID(key: key, kind: .stale, page: page.number)) }
        timers.cancel(TimerID(key: key, kind: .expire))
        uses.cancel(key)
    }

    /// Forgets what was used least recently until the bound holds: other queries, then other pages of the newest one.
    ///
    /// One page is always smaller than the smallest bound.
    private mutating func makeRoom(_ limit: Int, for newest: String, _ page: Int) {
        while bytes > limit {
            let oldest = uses.due(at: LogTime(rawValue: .max), limit: 2).map(\.id)
            guard let victim = oldest.first(where: { $0 != newest }) else { break }
            remove(victim)
            statistics.evictions &+= 1
        }
        guard bytes > limit else { return }
        statistics.evictions &+= 1
        change(newest) { entry, state in
            for other in entry.pages where other.number != page {
                state.timers.cancel(TimerID(key: newest, kind: .stale, page: other.number))
            }
            entry.pages.removeAll { $0.number != page }
        }
    }

    fileprivate mutating func due(_ id: SearchCache.TimerID, _ deadline: LogTime, at now: LogTime) {
        guard timers.fired(id, deadline: deadline) else { return }
        switch id.kind {
        case .stale:
            guard entries[id.key] != nil else { return }
            change(id.key) { entry, _ in entry.change(id.page) { $0.isFresh = false } }
        case .expire:
            remove(id.key)
            statistics.expirations &+= 1
        case .retry:
            if let request = wanted[id.key] { queue.schedule(request.number, at: now, id.key) }
        }
    }

    fileprivate mutating func read(_ report: SearchCache.ReadReport, at now: LogTime) {
        statistics.hits &+= report.hits
        statistics.joined &+= report.joined
        for key in report.queries where entries[key] != nil { uses.schedule(key, at: now, true) }
    }
}
