package import LockstepCore

/// The counters' state with effects beside it, as bytes: what a reactor with effects is to the machines.
package final class EffectState: ReplicatedState {
    let base: any ReplicatedState
    private(set) var tables = EffectTables()
    /// The effects of accepted actions that have not ended, on a primary.
    private(set) var effects: [RunID: EffectScript] = [:]
    private var request: RunRequest?
    /// The effect of the action that is to be accepted.
    private var script: EffectScript?

    package init(_ base: any ReplicatedState) { self.base = base }

    // MARK: - Performing

    package func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        var done = 0
        while done < count, request == nil {
            let others = leadingOthers(actions, reader, atMost: count - done)
            if others > 0 {
                done += base.perform(
                    actions, &reader, count: others, context: context.advanced(by: done), into: &batch)
            } else {
                guard let range = try? reader.readRange(from: actions) else {
                    preconditionFailure("the actions were measured")
                }
                done += perform(actions, range, context.advanced(by: done), into: &batch)
            }
            if batch.isSeriesOver { break }
        }
        return done
    }

    /// How many of the next actions are the counters'.
    private func leadingOthers(_ actions: RawSpan, _ reader: ByteReader, atMost most: Int) -> Int {
        var reader = reader
        var count = 0
        while count < most, let range = try? reader.readRange(from: actions), !EffectBytes.areOurs(actions, range) {
            count += 1
        }
        return count
    }

    /// Performs one action; 0 if it is to be accepted.
    private func perform(
        _ actions: RawSpan, _ range: Range<Int>, _ context: PerformContext, into batch: inout BatchBuilder
    ) -> Int {
        let action: EffectAction
        do {
            action = try EffectAction(actions, range)
        } catch {
            batch.appendItem(.rejected, reason: "the action cannot be decoded")
            return 1
        }
        var mutations: [EffectMutation] = []
        switch action {
        case .start(let script):
            self.script = script
            request = RunRequest(
                plan: script.plan, action: range, cancelledNames: script.cancels == 0 ? [] : ["n\(script.cancels)"])
            return 0
        case .cancelName(let name): request = RunRequest(cancelledNames: ["n\(name)"])
        case .cancelRun(let id): request = RunRequest(cancelledRuns: [id])
        case .setTimer(let timer, let after):
            mutations = [.timerSet(timer, deadline: context.time.advanced(by: .microseconds(Int64(clamping: after))))]
        case .cancelTimer(let timer):
            guard tables.timers[timer] != nil else {
                batch.appendItem(.rejected, reason: "no such timer")
                return 1
            }
            mutations = [.timerCancelled(timer)]
        case .ask(let name): mutations = [.asked(name, ticket: context.firstSequence.rawValue)]
        case .withdraw(let name):
            guard tables.requests[name] != nil else {
                batch.appendItem(.rejected, reason: "nothing was asked for")
                return 1
            }
            mutations = [.withdrawn(name)]
        }
        let start = batch.beginItem(mutationCount: mutations.count)
        for mutation in mutations {
            batch.writer.writeBytes(mutation.bytes)
            tables.reduce(mutation, at: context.epoch, context.firstSequence, context.time)
        }
        let reply = batch.writer.writeMeasured { $0.write(EffectBytes.marker) }
        precondition(batch.endItem(start, replyStart: reply), "a few bytes are below every limit")
        return 1
    }

    package func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        var first = reader
        guard EffectBytes.areOurs(bytes, try first.readRange(from: bytes)) else {
            return try base.apply(bytes, mutations: mutations, count: count, at: position, time: time)
        }
        for _ in 0..<count {
            let mutation = try EffectMutation(bytes, try reader.readRange(from: bytes))
            tables.reduce(mutation, at: position.0, position.1, time)
        }
    }

    /// Runs of the counters' items go to their state as they came; what is ours stands between them.
    package func apply(
        _ bytes: RawSpan, items: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime,
        replies: inout ByteWriter
    ) throws(WireError) {
        var reader = ByteReader(offset: items.lowerBound, end: items.upperBound)
        var others = (start: items.lowerBound, first: 0)
        for index in 0...count {
            let start = reader.offset
            var own: Item?
            if index < count {
                let item = try Item(from: bytes, &reader)
                guard try isOurs(item, bytes) else { continue }
                own = item
            }
            if others.first < index {
                try base.apply(
                    bytes, items: others.start..<start, count: index - others.first,
                    at: (position.0, position.1.advanced(by: others.first)), time: time, replies: &replies)
            }
            others = (reader.offset, index + 1)
            guard let own else { continue }
            try apply(
                bytes, mutations: own.mutations, count: own.mutationCount,
                at: (position.0, position.1.advanced(by: index)), time: time)
            ReplyItem.write(own.status, bytes, own.reply, to: &replies)
        }
        try reader.finish()
    }

    private func isOurs(_ item: Item, _ bytes: RawSpan) throws(WireError) -> Bool {
        guard item.mutationCount > 0 else { return false }
        var first = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
        return EffectBytes.areOurs(bytes, try first.readRange(from: bytes))
    }

    // MARK: - Runs

    package func takeRequest() -> RunRequest? { request.take() }

    package func runAccepted(_ id: RunID) {
        effects[id] = script
        script = nil
    }

    package func resume(
        _ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter
    ) -> RunResumption {
        guard case .start(let script)? = EffectAction(action) else {
            item.writeItem(.rejected, reply: "the action cannot be decoded")
            return .ended
        }
        guard script.endsWhenResumed else {
            effects[run.id] = script
            return .planned(script.plan)
        }
        let last = EffectMutation.lastWord(run.id, epoch: context.epoch, attempt: run.attempt)
        item.writeRaw(EffectMutation.item(.committed, [last], reply: [EffectBytes.marker]))
        tables.reduce(last, at: context.epoch, context.firstSequence, context.time)
        return .ended
    }

    package func runEnded(_ id: RunID) { effects[id] = nil }

    package var nextDue: LogTime? { tables.nextDue }

    package func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int {
        let fired = tables.due(at: time).prefix(Limits.dueMutations).map {
            EffectMutation.timerFired($0.timer, deadline: $0.deadline)
        }
        mutations.writeRaw(EffectMutation.list(fired))
        for mutation in fired { tables.reduce(mutation, at: context.epoch, context.sequence, context.time) }
        return fired.count
    }

    /// A feedback's ticket begins with the ticket of what is asked for.
    package func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool {
        guard case .feedback(let name) = cause else { return true }
        return UInt64(name.dropFirst()).map { tables.requests[$0] == ticket >> 24 } ?? false
    }

    // MARK: - The rest

    package var digest: Digest { base.digest + tables.digest }

    package func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        base.capture(at: sequence, epoch: epoch, time: time)
    }

    package var isViewWanted: Bool { base.isViewWanted }
    package func publish(through sequence: SequenceNumber) { base.publish(through: sequence) }

    package func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        try base.answer(query, range)
    }

    package func image() -> any StateImage { Image(base: base.image(), tables: tables) }

    package nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState {
        let (tables, start) = try withBytes(of: bytes) { span in
            var reader = ByteReader(span)
            return (try EffectTables(from: span, &reader), reader.offset)
        }
        return Prepared(base: try base.prepare(Array(bytes[start...])), tables: tables)
    }

    package func install(_ prepared: any PreparedState) {
        guard let prepared = prepared as? Prepared else { preconditionFailure("another kind of state") }
        base.install(prepared.base)
        tables = prepared.tables
    }

    package func reset() {
        base.reset()
        tables = EffectTables()
    }

    private struct Image: StateImage {
        let base: any StateImage
        let tables: EffectTables

        func encoded() throws -> [UInt8] {
            var writer = ByteWriter()
            tables.write(to: &writer)
            writer.writeRaw(try base.encoded())
            return writer.bytes
        }

        var digest: Digest { base.digest + tables.digest }
    }

    private struct Prepared: PreparedState {
        let base: any PreparedState
        let tables: EffectTables
        var digest: Digest { base.digest + tables.digest }
    }
}

extension PerformContext {
    fileprivate func advanced(by count: Int) -> PerformContext {
        var context = self
        context.firstNumber += UInt64(count)
        context.firstSequence = firstSequence.advanced(by: count)
        return context
    }
}
