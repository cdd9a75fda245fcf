/// Readers and what they see: the view that is shown, those that wait for their commit, the reads that wait, and the
/// queries that are watched.
///
/// A view is captured at the end of what is sequenced, and shown when that has committed. A primary and a
/// replica have one each; a replica captures only what has committed, and shows it at once.
package struct ReaderSide: Hashable, Sendable {
    /// What readers see.
    package private(set) var view: ViewPlace
    /// Captured and not yet shown, oldest first.
    private var waiting: [ViewPlace] = []
    private var schedule = ViewSchedule()
    package private(set) var queue = ReadQueue()
    package private(set) var watches = WatchTable()

    package init(at view: ViewPlace) {
        self.view = view
    }

    /// What was captured last.
    package var captured: ViewPlace { waiting.last ?? view }

    /// The log is gone, and the state with it: what is read next belongs to another.
    package mutating func forget() {
        view = ViewPlace(epoch: .zero, sequence: .zero, time: .zero)
        waiting = []
        watches.forgetPlaces()
    }

    // MARK: - Views

    /// When a view that is missing may be captured next.
    package var viewDue: Tick { schedule.due }

    /// Looks whether somebody wants a view, and says whether one is due.
    package mutating func isViewDue(now: Tick, _ state: any ShownState) -> Bool {
        let isRead = state.isViewWanted || !queue.isEmpty
        return schedule.isDue(now: now, wantedAge: isRead ? 10 : watches.wantedViewAge)
    }

    /// Takes a view of the state, which is where `log` ends.
    package mutating func capture(_ log: LogState, now: Tick, _ state: any ShownState) {
        let place = ViewPlace(epoch: log.position.epoch, sequence: log.position.sequence, time: log.time)
        waiting.append(place)
        state.capture(at: place.sequence, epoch: place.epoch, time: place.time)
        schedule.taken(now: now)
    }

    /// Shows the newest that was captured up to `committed`; what is newer waits for its own commit.
    package mutating func show(through committed: SequenceNumber, _ state: any ShownState) {
        state.publish(through: committed)
        guard let shown = waiting.last(where: { $0.sequence <= committed }) else { return }
        view = shown
        waiting.removeAll { $0.sequence <= committed }
    }

    // MARK: - Watches

    /// A WATCH came; returns what tells its sender that there is no room, if so.
    package mutating func watch(
        _ request: WatchRequest, frame: RawSpan, from connection: Connection, now: Tick, _ stamp: FrameStamp
    ) -> [UInt8]? {
        watches.add(request, frame: frame, from: connection, now: now).map {
            stamp.watchRefused(request.id, because: $0, view: view)
        }
    }

    /// The client no longer wants it.
    package mutating func unwatch(_ id: WatchID) { watches.remove(id) }

    /// Lets time pass for the watches, before a view is taken; some then want a newer one.
    package mutating func advanceWatches(now: Tick) { watches.advance(now: now) }

    /// Evaluates watches whose turn it is; returns the answers that are new.
    package mutating func takeWatched(
        now: Tick, because refusal: ReadRefusal?, _ stamp: FrameStamp, _ state: any ShownState
    ) -> [Answer] {
        watches.evaluate(now: now, view, refusal, stamp, state)
    }

    /// When watches have something to do; `isBehind` says that there is, or will be, more to show.
    package func watchDeadline(because refusal: ReadRefusal?, isBehind: Bool) -> Tick {
        watches.nextDeadline(view: view, refusal: refusal, isBehind: isBehind)
    }

    // MARK: - Reads

    /// When ``takeExpired(now:_:)`` is due.
    package var nextDeadline: Tick { queue.nextDeadline }

    /// Keeps a read until the view has reached `minimum` and the round is confirmed; false if there is no room for it.
    package mutating func add(
        _ read: Read, frame: RawSpan, minimum: SequenceNumber, round: UInt64 = 0, from connection: Connection,
        now: Tick
    ) -> Bool {
        queue.add(read, frame: frame, minimum: minimum, round: round, from: connection, now: now)
    }

    /// An answer on its way out.
    package typealias Answer = (frame: [UInt8], connection: Connection)

    /// Takes the reads that the view has reached; returns their answers.
    package mutating func takeAnswered(
        confirmed: UInt64 = .max, _ stamp: FrameStamp, _ state: any ShownState
    ) -> [Answer] {
        guard !queue.isEmpty else { return [] }
        return queue.take(publishedThrough: view.sequence, confirmed: confirmed).map { read in
            let frame = withBytes(of: read.query) { query in
                stamp.readResult(
                    id: read.id, isIndexOnly: read.isIndexOnly, query: 0..<query.byteCount, in: query, state: state,
                    view: view)
            }
            return (frame, read.connection)
        }
    }

    /// Takes the reads that waited too long; returns what tells them.
    package mutating func takeExpired(now: Tick, _ stamp: FrameStamp) -> [Answer] {
        queue.expire(now: now).map { (stamp.readUnavailable(id: $0.id, view: view), $0.connection) }
    }

    /// Takes all that wait, since nothing more is answered; returns what tells them.
    package mutating func takeAll(because refusal: ReadRefusal?, _ stamp: FrameStamp) -> [Answer] {
        queue.takeAll().map { (stamp.readUnavailable(id: $0.id, view: view, because: refusal), $0.connection) }
    }
}
