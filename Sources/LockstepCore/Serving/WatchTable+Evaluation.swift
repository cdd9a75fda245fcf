import DequeModule

// What watches are answered with (PROTOCOL, R-57, R-58).
extension WatchTable {
    /// Evaluates watches whose turn it is on what is shown; returns the answers that are others than those before.
    package mutating func evaluate(
        now: Tick, _ view: ViewPlace, _ refusal: ReadRefusal?, _ stamp: FrameStamp, _ state: any ShownState
    ) -> [ReaderSide.Answer] {
        guard !watches.isEmpty else { return [] }
        let current = Shown(view: view, refusal: refusal)
        if shown != current {
            shown = current
            generation += 1
        }
        wake(now: now)
        guard now >= resumeAt, mayTell(of: view, refusal) else { return [] }
        if refusal == nil { newest = view }
        var answers: [ReaderSide.Answer] = []
        var (evaluated, bytes, cost) = (0, 0, Int64(0))
        while evaluated < Self.turnEvaluations, bytes < Self.turnBytes, cost < Self.turnNanoseconds,
            let next = ready.popFirst()
        {
            guard var watch = watches[next.id], watch.ticket == next.ticket else { continue }
            guard shares[watch.connection]?.isHeld == false else {
                enqueue(watch, next.id, .held, due: now)
                continue
            }
            evaluated += 1
            let (status, answer) = Self.answer(watch.query, refusal, state)
            if refusal == nil { cost += state.answerCost }
            bytes += answer.count
            let fingerprint = withBytes(of: answer) { ReadResult.fingerprint(status, $0, 0..<$0.byteCount) }
            if fingerprint != watch.sent {
                let result = ReadResult(
                    id: next.id.number, status: status, epoch: view.epoch, sequence: view.sequence, time: view.time,
                    answer: 0..<answer.count)
                let frame = withBytes(of: answer) { stamp.frame(.watchResult(result), source: $0) }
                answers.append((frame, watch.connection))
                shares[watch.connection]?.unheard += frame.count
            }
            watch.sent = fingerprint
            watch.seen = generation
            enqueue(watch, next.id, .waiting, due: now.advanced(byMilliseconds: Self.intervals[watch.lane]))
        }
        // A fourth of the time at most, however dear the queries are.
        if cost > 0 { resumeAt = Tick(rawValue: now.rawValue + 4 * cost) }
        return answers
    }

    /// The log to which all places belonged is gone: the next may begin anywhere.
    mutating func forgetPlaces() { newest = nil }

    /// Whether the view is none before one of which somebody was told.
    func mayTell(of view: ViewPlace, _ refusal: ReadRefusal?) -> Bool {
        guard refusal == nil, let newest else { return true }
        return (view.epoch, view.sequence) >= (newest.epoch, newest.sequence)
    }

    /// What is shown is another than those that rest have seen: all of them are ready.
    private mutating func wake(now: Tick) {
        defer { restedAt = generation }
        guard restedAt != generation else { return }
        while let next = resting.popFirst() {
            guard let watch = watches[next.id], watch.ticket == next.ticket else { continue }
            enqueue(watch, next.id, .ready, due: now)
        }
    }

    /// What a query is answered with: by the state, or by why it may not be read.
    private static func answer(
        _ query: [UInt8], _ refusal: ReadRefusal?, _ state: any ShownState
    ) -> (ReadStatus, [UInt8]) {
        if let refusal { return (.unavailable, Array(refusal.text.utf8)) }
        do throws(QueryRefusal) {
            let answer = try withBytes(of: query) { (bytes) throws(QueryRefusal) in
                try state.answer(bytes, 0..<bytes.byteCount)
            }
            return ReadResult.fitting(.answered, answer)
        } catch {
            return ReadResult.fitting(.refused, Array(error.reason.utf8))
        }
    }
}
