import DequeModule

/// Queries that clients watch at this node: who is told what, and when each is evaluated next (PROTOCOL, R-56 to R-58).
///
/// A watch that was evaluated waits in the lane of its interval. When the interval is over it rests, for nothing, until
/// what is shown is another, or it is ready at once if it is another already. Those that are ready are evaluated in the
/// order of coming, so many a turn.
///
/// ```
///  WATCH --> ready --evaluated--> waiting --interval over, something new--> ready
///              ^                     `----interval over, nothing new-----> resting
///              `------------------------ something new --------------------------'
/// ```
/// Of an answer it keeps the fingerprint that was sent last, not the bytes. All of it costs constant time for each
/// watch that moves; a watch of which nothing changes costs a look once a second.
package struct WatchTable: Hashable, Sendable {
    struct Watch: Hashable, Sendable {
        var connection: Connection
        var query: [UInt8]
        var lane: Int
        /// The fingerprint of what was sent last, or of what the client says that it has; 0: nothing.
        var sent: UInt128
        /// What was shown when it was evaluated last; 0: it is to be evaluated, whatever is shown.
        var seen: UInt64 = 0
        /// When its client last said WATCH, without the time that is excused.
        var asked: Tick
        var stage = Stage.ready
        /// Its place in the line of its stage; what stands there with another number is no longer there.
        var ticket: UInt64
    }

    enum Stage: Hashable, Sendable {
        case ready
        case waiting
        case resting
        /// Its connection has to say WATCH first.
        case held
    }

    struct Place: Hashable, Sendable {
        var id: WatchID
        var ticket: UInt64
        /// When its interval is over.
        var due: Tick
    }

    /// What one connection has of the bounds.
    struct Share: Hashable, Sendable {
        var count = 0
        var bytes = 0
        /// Bytes of answers since it last said WATCH: a peer that does not listen gets no more than so many.
        var unheard = 0

        var isHeld: Bool { unheard >= Limits.watchAnswerBytes }
    }

    /// What a watch is evaluated on.
    struct Shown: Hashable, Sendable {
        var view: ViewPlace
        var refusal: ReadRefusal?
    }

    var watches: [WatchID: Watch] = [:]
    var shares: [Connection: Share] = [:]
    private var queryBytes = 0
    var ready: Deque<Place> = []
    var resting: Deque<Place> = []
    private var held: Deque<Place> = []
    /// In each lane the intervals are equal, so that they are over in the order of coming.
    private var lanes = [Deque<Place>](repeating: [], count: WatchTable.intervals.count)
    /// How many watches there are of each lane.
    private var laneCounts = [Int](repeating: 0, count: WatchTable.intervals.count)
    var shown: Shown?
    /// The newest place of which anybody was told: after a state was found wrong, the next may begin before it.
    var newest: ViewPlace?
    /// Counts what was shown.
    var generation: UInt64 = 1
    /// The generation that those that rest have seen.
    var restedAt: UInt64 = 1
    /// How many of those that wait are to be evaluated whatever is shown then.
    private var markedCount = 0
    private var lastTicket: UInt64 = 0
    /// Nothing is evaluated before: evaluations take a part of the time only.
    var resumeAt = Tick.zero
    private var nextSweep = Tick.never
    /// Nanoseconds in which this process itself did not run: they are nobody's silence.
    private var excused: Int64 = 0

    /// The intervals that are granted, in milliseconds: the first that is no shorter than what was asked for.
    package static let intervals: [Int64] = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000]
    /// A watch that was not repeated for so long is forgotten, in milliseconds.
    package static let patience = PeerTable.patienceMilliseconds
    /// What one turn does at most: evaluations, bytes of answers, and nanoseconds where the state measures them.
    static let turnEvaluations = 64
    static let turnBytes = 1 << 20
    static let turnNanoseconds: Int64 = 1_000_000

    package init() {}

    package var isEmpty: Bool { watches.isEmpty }
    package var count: Int { watches.count }

    // MARK: - What clients ask for

    /// A WATCH came, whose query lies in `frame`: it begins, or it goes on with what the client has.
    ///
    /// Returns why there is no room for it, for a person; nil if it was taken.
    package mutating func add(
        _ request: WatchRequest, frame: RawSpan, from connection: Connection, now: Tick
    ) -> String? {
        heard(connection, now: now)
        let query = copyBytes(of: frame, request.query)
        let lane = Self.lane(microseconds: request.interval)
        if let watch = watches[request.id], watch.connection == connection, watch.query == query, watch.lane == lane {
            goOn(request.id, with: request.has, now: now)
            return nil
        }
        // Another query, or the same on another connection: what was known of it does not count.
        remove(request.id)
        if let full = fullness(for: connection, query.count) { return full }
        if watches.isEmpty { nextSweep = now.advanced(byMilliseconds: 1_000) }
        let watch = Watch(
            connection: connection, query: query, lane: lane, sent: request.has, asked: unexcused(now), ticket: 0)
        enqueue(watch, request.id, .ready, due: now)
        laneCounts[lane] += 1
        shares[connection, default: Share()].count += 1
        shares[connection, default: Share()].bytes += query.count
        queryBytes += query.count
        return nil
    }

    /// The client has this answer, and still wants to know of the next.
    private mutating func goOn(_ id: WatchID, with has: UInt128, now: Tick) {
        guard var watch = watches[id] else { return }
        watch.asked = unexcused(now)
        let isRight = watch.sent == has
        watch.sent = has
        if !isRight, watch.seen != 0 {
            watch.seen = 0
            if watch.stage == .waiting { markedCount += 1 }
        }
        watches[id] = watch
        guard !isRight, watch.stage == .resting else { return }
        enqueue(watch, id, .ready, due: now)
        dropOldPlaces()
    }

    /// The client no longer wants it.
    package mutating func remove(_ id: WatchID) {
        guard let watch = watches.removeValue(forKey: id) else { return }
        laneCounts[watch.lane] -= 1
        if watch.stage == .waiting, watch.seen == 0 { markedCount -= 1 }
        queryBytes -= watch.query.count
        guard var share = shares[watch.connection] else { preconditionFailure("a watch has its share") }
        share.count -= 1
        share.bytes -= watch.query.count
        shares[watch.connection] = share.count > 0 ? share : nil
        if watches.isEmpty { nextSweep = .never }
        dropOldPlaces()
    }

    /// A connection said WATCH: it listens, and what was held for it goes on.
    private mutating func heard(_ connection: Connection, now: Tick) {
        guard var share = shares[connection], share.unheard > 0 else { return }
        let wasHeld = share.isHeld
        share.unheard = 0
        shares[connection] = share
        guard wasHeld else { return }
        let places = held
        held = []
        for place in places {
            guard let watch = watches[place.id], watch.ticket == place.ticket else { continue }
            enqueue(watch, place.id, watch.connection == connection ? .ready : .held, due: now)
        }
    }

    private func fullness(for connection: Connection, _ bytes: Int) -> String? {
        let share = shares[connection] ?? Share()
        if share.count >= Limits.watchesOfConnection {
            return "this connection has its most watches (\(Limits.watchesOfConnection)): end some, or use another"
        }
        if share.bytes + bytes > Limits.watchBytesOfConnection {
            return "the queries that this connection watches have more than \(Limits.watchBytesOfConnection) bytes: "
                + "watch fewer or shorter ones"
        }
        if watches.count >= Limits.watches {
            return "this node has its most watches (\(Limits.watches)): watch at another node, or end some"
        }
        if queryBytes + bytes > Limits.watchBytes {
            return "the queries that are watched at this node have more than \(Limits.watchBytes) bytes: "
                + "watch at another node, or fewer or shorter ones"
        }
        return nil
    }

    private static func lane(microseconds: UInt32) -> Int {
        intervals.firstIndex { $0 * 1_000 >= Int64(microseconds) } ?? intervals.count - 1
    }

    // MARK: - Time

    /// When ``advance(now:)`` and ``evaluate(now:_:_:_:_:)`` have something to do.
    ///
    /// `isBehind` says that there is, or will be, more to show than `view`.
    package func nextDeadline(view: ViewPlace, refusal: ReadRefusal?, isBehind: Bool) -> Tick {
        guard !watches.isEmpty else { return .never }
        let isNew = shown != Shown(view: view, refusal: refusal)
        var deadline = nextSweep
        guard mayTell(of: view, refusal) else { return deadline }
        if !ready.isEmpty || (!resting.isEmpty && (isNew || restedAt != generation)) {
            deadline = min(deadline, resumeAt)
        }
        for lane in lanes {
            guard let first = lane.first else { continue }
            let isClean = watches[first.id].map { $0.ticket == first.ticket && $0.seen == generation } ?? false
            if isNew || isBehind || markedCount > 0 || !isClean { deadline = min(deadline, first.due) }
        }
        return deadline
    }

    /// Moves on those whose interval is over, and forgets those that nobody has asked for in a long time.
    package mutating func advance(now: Tick) {
        guard !watches.isEmpty else { return }
        for lane in lanes.indices {
            while let first = lanes[lane].first {
                guard let watch = watches[first.id], watch.ticket == first.ticket else {
                    lanes[lane].removeFirst()
                    continue
                }
                guard first.due <= now else { break }
                lanes[lane].removeFirst()
                if watch.seen == 0 { markedCount -= 1 }
                enqueue(watch, first.id, watch.seen == generation ? .resting : .ready, due: now)
            }
        }
        if now >= nextSweep { sweep(now: now) }
    }

    private func unexcused(_ now: Tick) -> Tick { Tick(rawValue: now.rawValue - excused) }

    /// Once a second; one that comes late tells that the process did not run.
    private mutating func sweep(now: Tick) {
        let lateness = now - nextSweep
        if lateness > Tick.milliseconds(1_000) { excused += lateness }
        let silent = watches.filter { now - $0.value.asked - excused >= Tick.milliseconds(Self.patience) }
        for id in silent.keys { remove(id) }
        if !watches.isEmpty { nextSweep = now.advanced(byMilliseconds: 1_000) }
    }

    // MARK: - Views

    /// So many milliseconds old may the view be, under load, when somebody waits for a newer; nil if nobody does.
    package var wantedViewAge: Int64? {
        guard !resting.isEmpty, let shortest = laneCounts.firstIndex(where: { $0 > 0 }) else { return nil }
        return max(10, Self.intervals[shortest] / 4)
    }

    // MARK: - Lines

    /// Keeps the watch, in the line of this stage.
    mutating func enqueue(_ watch: Watch, _ id: WatchID, _ stage: Stage, due: Tick) {
        lastTicket += 1
        var watch = watch
        watch.stage = stage
        watch.ticket = lastTicket
        watches[id] = watch
        let place = Place(id: id, ticket: lastTicket, due: due)
        switch stage {
        case .ready: ready.append(place)
        case .resting: resting.append(place)
        case .held: held.append(place)
        case .waiting: lanes[watch.lane].append(place)
        }
    }

    /// Places of watches that have gone stay until they come to the front; there are never many more than watches.
    private mutating func dropOldPlaces() {
        let count = ready.count + resting.count + held.count + lanes.reduce(0) { $0 + $1.count }
        guard count > 2 * watches.count + 64 else { return }
        let watches = watches
        func isThere(_ place: Place) -> Bool { watches[place.id]?.ticket == place.ticket }
        ready = ready.filter(isThere)
        resting = resting.filter(isThere)
        held = held.filter(isThere)
        for lane in lanes.indices { lanes[lane] = lanes[lane].filter(isThere) }
    }

    /// Checks the relations between the lines and the watches, with a walk over all: for tests and the simulator.
    package func checkInvariants() {
        func count(_ places: Deque<Place>, at stage: Stage) -> Int {
            places.count { watches[$0.id]?.ticket == $0.ticket && watches[$0.id]?.stage == stage }
        }
        let placed =
            count(ready, at: .ready) + count(resting, at: .resting) + count(held, at: .held)
            + lanes.reduce(0) { $0 + count($1, at: .waiting) }
        precondition(placed == watches.count, "each watch has one place")
        precondition(watches.count <= Limits.watches && queryBytes <= Limits.watchBytes, "watches have their bounds")
        precondition(shares.values.reduce(0) { $0 + $1.count } == watches.count, "each watch is some connection's")
        precondition(shares.values.reduce(0) { $0 + $1.bytes } == queryBytes, "each query is some connection's")
        precondition(
            watches.values.filter { $0.stage == .waiting && $0.seen == 0 }.count == markedCount,
            "those that wait to be evaluated are counted")
        precondition(watches.isEmpty == (nextSweep == .never), "there is a look at watches while there are some")
    }
}
