// Reads, and questions about numbers, which need no session.
extension ClientStateMachine {
    /// Sends a read, and again after 500 ms and on each new connection, until it is answered or cancelled.
    ///
    /// Returns false, and does nothing, if ``Limits/waitingReads`` reads and queries wait.
    package mutating func read(
        id: UInt64, level: ReadLevel, minimum: SequenceNumber, query: [UInt8], isIndexOnly: Bool, now: Tick,
        into directives: inout [ClientDirective]
    ) -> Bool {
        guard !requests.isFull, phase != .stopped else { return false }
        let read = PendingRequests.PendingRead(
            level: level, minimum: minimum, isIndexOnly: isIndexOnly, query: query)
        requests.add(
            read, id: id, at: buggify(.readsTwice) ? now : now.advanced(byMilliseconds: ClientTiming.request))
        if phase == .welcomed { ask(.read(id), into: &directives) }
        return true
    }

    /// The driver no longer wants an answer to this read.
    package mutating func cancelRead(_ id: UInt64) { _ = requests.remove(.read(id)) }

    /// Asks what became of a number of this session or of one before; false if too many requests wait.
    package mutating func query(
        _ session: SessionID, _ number: RequestNumber, now: Tick, into directives: inout [ClientDirective]
    ) -> Bool {
        guard !requests.isFull, phase != .stopped else { return false }
        let query = Query(session: session, number: number)
        requests.add(query, at: now.advanced(byMilliseconds: ClientTiming.request))
        if phase == .welcomed { ask(.query(query), into: &directives) }
        return true
    }

    /// The driver no longer wants an answer to this query.
    package mutating func cancelQuery(_ session: SessionID, _ number: RequestNumber) {
        _ = requests.remove(.query(Query(session: session, number: number)))
    }

    private func ask(_ key: PendingRequests.Key, into directives: inout [ClientDirective]) {
        switch key {
        case .query(let query): send(Message.query(query), into: &directives)
        case .read(let id):
            guard let read = requests.reads[id] else { return }
            withBytes(of: read.query) { bytes in
                let message = Read(
                    id: id, level: read.level, minimum: read.minimum, isIndexOnly: read.isIndexOnly,
                    query: 0..<bytes.byteCount)
                directives.append(.send(stamp.frame(.read(message), source: bytes)))
            }
        }
    }

    mutating func repeatRequests(now: Tick, into directives: inout [ClientDirective]) {
        let next = now.advanced(byMilliseconds: ClientTiming.request)
        for key in requests.takeDue(now: now, next: next) { ask(key, into: &directives) }
    }

    /// A connection is new to the peer: whatever was asked before is asked again.
    mutating func requestsAreDue(now: Tick, into directives: inout [ClientDirective]) {
        let next = now.advanced(byMilliseconds: ClientTiming.request)
        for key in requests.takeDue(now: .never, next: next) { ask(key, into: &directives) }
    }

    mutating func readResultReceived(_ result: ReadResult, into directives: inout [ClientDirective]) {
        // A node that cannot answer now is asked again when the read's time comes.
        guard result.status != .unavailable || requests.reads[result.id] == nil else {
            directives.append(.readDelayed(result))
            return
        }
        guard requests.remove(.read(result.id)) else { return directives.append(.count(.staleFrames)) }
        directives.append(.readAnswered(result))
    }

    mutating func queryResultReceived(_ result: QueryResult, into directives: inout [ClientDirective]) {
        guard requests.remove(.query(Query(session: result.session, number: result.number))) else {
            return directives.append(.count(.staleFrames))
        }
        directives.append(.queried(result))
    }

    /// Answers the queries for numbers that the series holds, in the order of the numbers.
    mutating func answerQueries(_ series: ResultSeries, _ frame: RawSpan, into directives: inout [ClientDirective]) {
        guard !requests.queries.isEmpty else { return }
        let last = series.first + UInt64(series.count) - 1
        let numbers = requests.queries.lazy.filter { $0.session == series.session }.map(\.number)
        for number in numbers.filter({ $0 >= series.first && $0 <= last }).sorted() {
            _ = requests.remove(.query(Query(session: series.session, number: number)))
            let place = Int(number - series.first)
            directives.append(.queryAnswered(series.session, part(of: series, frame, place..<place + 1)))
        }
    }
}
