import DequeModule

extension ClientStateMachine {
    /// Gives the next `count` numbers to `actions`, which are so many, each after its length; returns the first.
    ///
    /// Returns nil if there is no session, or the credit or the window is full: the driver keeps the chunk and tries
    /// again after the next answers. A chunk larger than the credit is taken when nothing else is pending. Nothing is
    /// sent before ``turnEnded(now:into:)``.
    package mutating func submit(
        _ actions: [UInt8], count: Int, now: Tick, into directives: inout [ClientDirective]
    ) -> RequestNumber? {
        precondition(count > 0 && count <= Limits.submitActions, "a chunk has 1 to \(Limits.submitActions) actions")
        precondition(
            actions.count >= count && actions.count <= Limits.actionBytes + Limits.frameTargetBytes,
            "a chunk of \(actions.count) bytes does not hold \(count) actions, or does not fit a frame")
        guard let session, closeEnds == .never, pending.next < UInt64(Int64.max) - UInt64(count) else { return nil }
        let numbers = min(Int(welcome?.creditActions ?? UInt32(Limits.creditActions)), Int(session.windowNumbers))
        let bytes = Int(welcome?.creditBytes ?? UInt32(Limits.creditBytes))
        let fits = Int(pending.count) + count <= numbers && pending.byteCount + actions.count <= bytes
        guard fits || pending.isEmpty else { return nil }
        if pending.isEmpty { pace.progressed(now: now) }
        return pending.append(actions, count: count)
    }

    /// Opens a session now and whenever there is none: the driver has actions and the machine was made without one.
    ///
    /// A client that only reads opens none, and so may stay with a replica.
    package mutating func openSession(now: Tick, into directives: inout [ClientDirective]) {
        guard !wantsSession else { return }
        wantsSession = true
        guard let welcome else { return }
        if welcome.role == .replica {
            follow(welcome.primaryEndpoint, now: now, into: &directives)
        } else {
            bind(now: now, into: &directives)
        }
    }

    /// Their callers gave these numbers up: when they have to be submitted again they go as void (PROTOCOL, R-28).
    package mutating func giveUp(_ numbers: ClosedRange<RequestNumber>) { pending.giveUp(numbers) }

    /// The driver handled all events of its turn: makes SUBMIT frames of what was staged.
    ///
    /// A few small chunks are held back while enough frames are unanswered; the answers to those let them go.
    package mutating func turnEnded(now: Tick, into directives: inout [ClientDirective]) {
        link.owes(isOwed, now: now)
        guard isBound, !isBusy, let session else { return }
        while pending.hasUnsent {
            let isLittle = pending.unsentBytes < ClientTiming.heldBytes
            if isLittle, pending.frames.count >= heldFrames() { return }
            if !pending.hasSent { pace.progressed(now: now) }
            guard let range = pending.takeFrame(ofOneAction: buggify(.oneActionFrame)) else { return }
            directives.append(.send(submitFrame(session.id, range)))
            keepAlives.acknowledged(through: pending.answered)
            spokeForSession(now: now)
        }
    }

    /// How many frames may be unanswered while small chunks still leave.
    private mutating func heldFrames() -> Int {
        guard buggify.isOn else { return ClientTiming.heldFrames }
        if buggify(.holdsNothing) { return .max }
        return buggify(.holdsAfterOne) ? 1 : ClientTiming.heldFrames
    }

    private func submitFrame(_ session: SessionID, _ range: Range<Int>) -> [UInt8] {
        let stamp = stamp
        let header = FrameHeader(
            channel: stamp.channel, kind: .submit, clusterHash: stamp.clusterHash, epoch: stamp.epoch)
        let chunks = pending.chunks[range]
        let (count, bytes) = chunks.reduce((0, 0)) { ($0.0 + $1.count, $0.1 + $1.bytes.count) }
        let first = pending.chunks[range.lowerBound]
        return header.frame(capacity: bytes + 64) { writer in
            writer.writeSession(session)
            writer.writeVarint(first.first)
            writer.writeVarint(pending.answered)
            writer.writeBool(first.isVoid)
            writer.writeVarint(UInt64(count))
            for chunk in chunks { writer.writeRaw(chunk.bytes) }
        }
    }

    /// Nothing was answered for long: what was sent may be lost, and is sent again when the turn ends.
    mutating func submitAgain(now: Tick) {
        pace.progressed(now: now)
        pending.goBack(to: pending.answered + 1)
    }

    mutating func outOfOrderReceived(expected: RequestNumber, into directives: inout [ClientDirective]) {
        directives.append(.count(.outOfOrder))
        // While BUSY lasts the frames after the refused one are out of order too; the machine went back already.
        guard !isBusy, expected > pending.answered, expected < pending.next else { return }
        pending.goBack(to: expected)
    }

    mutating func busyReceived(_ busy: Busy, now: Tick, into directives: inout [ClientDirective]) {
        guard isBound(busy.session), busy.expected <= pending.next else {
            return directives.append(.count(.staleFrames))
        }
        directives.append(.count(.busyAnswers))
        let wait = min(max(Int64(busy.retryAfter), 1_000), ClientTiming.longestBusy * 1_000)
        let added = buggify(.waitsLonger) ? ClientTiming.addedBusy : 0
        pace.hold(until: now.advanced(byMicroseconds: wait).advanced(byMilliseconds: added))
        // What is below is in the log: if its answer was lost, only asking again brings it, however busy the primary is.
        if busy.expected <= pending.answered + 1 { pace.progressed(now: now) }
        pending.goBack(to: max(busy.expected, pending.answered + 1))
    }

    mutating func resultReceived(
        _ series: ResultSeries, _ frame: RawSpan, now: Tick, into directives: inout [ClientDirective]
    ) {
        guard let hasAccepted = walk(series, frame) else { return directives.append(.count(.framesRefused)) }
        answerQueries(series, frame, into: &directives)
        let last = series.first + UInt64(series.count) - 1
        guard isBound(series.session), last > pending.answered, last < pending.next else {
            return directives.append(.count(.staleFrames))
        }
        let wanted = pending.answered + 1
        guard series.first <= wanted else {
            // Answers before these are lost; the kept ones come when their numbers are submitted again.
            guard pace.isNewHole(at: wanted) else { return }
            directives.append(.count(.gaps))
            pending.goBack(to: wanted)
            return
        }
        let known = Int(wanted - series.first)
        let answers = part(of: series, frame, known..<series.count)
        if hasAccepted || runs.hasEarlyCancels { noteAccepted(answers, frame, now: now) }
        pending.answer(through: last)
        pace.progressed(now: now)
        binding.answered()
        if !keepAlives.owesAcknowledgement {
            keepAlives.acknowledge(by: now.advanced(byMilliseconds: acknowledgementDelay()))
        }
        knowledge.noteAnswered(epoch: series.epoch, sequence: series.firstSequence.advanced(by: series.count - 1))
        directives.append(.answered(answers))
        if pending.hasSent, buggify(.submitsAgain) { pending.goBack(to: pending.answered + 1) }
    }

    /// How long an answer waits for a SUBMIT to acknowledge it, in milliseconds.
    private mutating func acknowledgementDelay() -> Int64 {
        if buggify(.keepAliveAtOnce) { return 0 }
        return buggify(.keepAliveLate) ? ClientTiming.lateAcknowledgement : ClientTiming.acknowledgement
    }

    /// Walks the items, so that what a driver gets can be read; nil if they are not as many as the series says, or do not
    /// fill the frame, else whether any says "accepted".
    private func walk(_ series: ResultSeries, _ frame: RawSpan) -> Bool? {
        guard series.firstSequence.rawValue <= UInt64(Int64.max) else { return nil }
        var hasAccepted = false
        var reader = ByteReader(offset: series.items.lowerBound, end: series.items.upperBound)
        do throws(WireError) {
            for _ in 0..<series.count {
                hasAccepted = try ReplyItem(from: frame, &reader).status == .accepted || hasAccepted
            }
            try reader.finish()
            return hasAccepted
        } catch {
            return nil
        }
    }

    /// The answers to the numbers at these places of a series that is whole.
    func part(of series: ResultSeries, _ frame: RawSpan, _ places: Range<Int>) -> ClientDirective.Answers {
        var reader = ByteReader(offset: series.items.lowerBound, end: series.items.upperBound)
        func skip(_ count: Int) -> Int {
            for _ in 0..<count {
                do { _ = try ReplyItem(from: frame, &reader) } catch {
                    preconditionFailure("the items were walked before: \(error)")
                }
            }
            return reader.offset
        }
        let start = skip(places.lowerBound)
        let end = places.upperBound == series.count ? series.items.upperBound : skip(places.count)
        return ClientDirective.Answers(
            first: series.first + UInt64(places.lowerBound), count: places.count, epoch: series.epoch,
            firstSequence: series.firstSequence.advanced(by: places.lowerBound), items: start..<end)
    }
}
