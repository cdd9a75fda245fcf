package import LockstepCore

/// Reads the entries of effects in the committed log: a second opinion on runs, and on what the scripted effects do.
package struct RunChecker {
    /// Whether actions and mutations may be those of ``EffectScript``s.
    package let readsScripts: Bool
    package private(set) var runs: [RunID: RunNote] = [:]
    package private(set) var unfinished: Set<RunID> = []
    package private(set) var fired: [EffectEvent: Int] = [:]
    private var emissions: [SequenceNumber: EffectCause] = [:]
    private var groups: [String: [Member]] = [:]
    private var effects = EffectTables()
    /// When each timer was set, by the log's time.
    private var timersSet: [UInt64: LogTime] = [:]
    private var epochTime = LogTime.zero
    /// Since when, by the log's time, timers are to fire without delay; zero: not yet.
    private var calmSince = LogTime.zero
    /// The emissions of this epoch: of runs, and of sources.
    private var indices: [RunID: Set<UInt64>] = [:]
    private var sourceIndices: [UInt64: UInt64] = [:]

    /// How late a timer may fire in a cluster at rest, in microseconds of log time.
    package static let largestDelay: Int64 = 3_000_000

    /// A run of a group, and where it was under way.
    private struct Member {
        var id: RunID
        var from: SequenceNumber
        var to = SequenceNumber(rawValue: .max)
    }

    package init(readsScripts: Bool) { self.readsScripts = readsScripts }

    package func isEmission(_ cause: EffectCause, at sequence: SequenceNumber) -> Bool { emissions[sequence] == cause }

    /// Whether an action that would have been accepted had to be rejected at this place.
    package func isRejectionRight(_ plan: RunPlan, at sequence: SequenceNumber) -> Bool {
        func members(_ group: String) -> Set<RunID> {
            Set(groups[group, default: []].lazy.filter { $0.from < sequence && $0.to > sequence }.map(\.id))
        }
        // What it would have superseded is in nobody's way.
        let superseded = plan.limits.filter { $0.policy == .latest }.map { members($0.group) }
        return plan.limits.contains { limit in
            let others = superseded.reduce(members(limit.group)) { $0.subtracting($1) }.count
            return switch limit.policy {
            case .first: others > 0
            case .serial(let waiting): others > waiting
            case .merge, .latest: false
            }
        }
    }

    /// Everything is healed since a while.
    package mutating func isCalm(at time: LogTime) { if calmSince == .zero { calmSince = time } }

    // MARK: - The log

    /// The next entry of the log; what it breaks, if it does.
    package mutating func saw(
        _ entry: Entry, _ bytes: RawSpan, _ batch: SealedBatch, at sequence: SequenceNumber, told: Set<RunID>
    ) -> Violation? {
        switch entry {
        case .epochOpen:
            for id in unfinished { runs[id]?.attempts += 1 }
            epochTime = batch.head.time
            indices = [:]
            sourceIndices = [:]
            return nil
        case .actions(let run):
            guard readsScripts else { return nil }
            var reader = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
            for place in 0..<run.count {
                guard let item = try? Item(from: bytes, &reader) else { return nil }
                let mutations = mutations(bytes, item.mutations, item.mutationCount)
                for mutation in mutations { reduce(mutation, batch.head, sequence.advanced(by: place)) }
            }
            return nil
        case .accepted(let session, let number, _, let action):
            let id = RunID(session: session, number: number)
            return accepted(id, copyBytes(of: bytes, action), at: sequence)
        case .emitted(let cause, let range): return emitted(cause, bytes, range, batch.head, sequence)
        case .finished(let session, let number, let range):
            return finished(RunID(session: session, number: number), bytes, range, batch, sequence)
        case .runAck(let acknowledged):
            fired[.acknowledged, default: 0] += acknowledged.count
            for id in acknowledged where !told.contains(id) {
                return Violation(.runEnd, "the end of \(id) is acknowledged at \(sequence), and nobody was told of it")
            }
            return nil
        case .sessionOpen, .sessionClose, .sessionExpire, .sessionAck, .digestMark, .clockJump: return nil
        }
    }

    private mutating func accepted(_ id: RunID, _ action: [UInt8], at sequence: SequenceNumber) -> Violation? {
        guard runs[id] == nil else { return Violation(.exactlyOnce, "\(id) is accepted again at \(sequence)") }
        runs[id] = RunNote(sequence: sequence, action: action)
        unfinished.insert(id)
        fired[.accepted, default: 0] += 1
        guard readsScripts, case .start(let script)? = EffectAction(action) else { return nil }
        var problem: Violation?
        for limit in script.plan.limits {
            let others = groups[limit.group, default: []].count { $0.to.rawValue == .max }
            groups[limit.group, default: []].append(Member(id: id, from: sequence))
            let most: Int =
                switch limit.policy {
                case .merge: .max
                case .serial(let waiting): waiting
                case .latest, .first: 0
                }
            guard others > most, problem == nil else { continue }
            problem = Violation(
                .effects, "\(id) is accepted at \(sequence) beside \(others) of its group \(limit.group)")
        }
        return problem
    }

    private mutating func finished(
        _ id: RunID, _ bytes: RawSpan, _ range: Range<Int>, _ batch: SealedBatch, _ sequence: SequenceNumber
    ) -> Violation? {
        guard let run = runs[id] else { return Violation(.runEnd, "\(id) ends at \(sequence), and never began") }
        if let end = run.end {
            return Violation(.runEnd, "\(id) ends at \(sequence), and ended at \(end.sequence)")
        }
        var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
        guard let item = try? Item(from: bytes, &reader) else {
            return Violation(.runEnd, "the end of \(id) at \(sequence) cannot be read")
        }
        runs[id]?.end = RunNote.End(
            epoch: batch.head.epoch, sequence: sequence, status: item.status, bytes: copyBytes(of: bytes, item.reply),
            batch: batch.hash)
        // What has ended is not run again.
        runs[id]?.action = []
        unfinished.remove(id)
        let event: EffectEvent =
            switch item.status {
            case .committed, .accepted: item.reply.count == 1 ? .endedWhenResumed : .ended
            case .rejected: .failed
            case .void: .cancelled
            }
        fired[event, default: 0] += 1
        guard readsScripts else { return nil }
        if case .start(let script)? = EffectAction(run.action) {
            for group in script.plan.limits.map(\.group) {
                if let index = groups[group]?.firstIndex(where: { $0.id == id }) { groups[group]?[index].to = sequence }
            }
        }
        for mutation in mutations(bytes, item.mutations, item.mutationCount) {
            guard mutation == .lastWord(id, epoch: batch.head.epoch, attempt: run.attempts) else {
                return Violation(.effects, "\(id) ends at \(sequence) in attempt \(run.attempts) with \(mutation)")
            }
            reduce(mutation, batch.head, sequence)
        }
        return nil
    }

    // MARK: - Emissions

    private mutating func emitted(
        _ cause: EffectCause, _ bytes: RawSpan, _ range: Range<Int>, _ head: BatchHead, _ sequence: SequenceNumber
    ) -> Violation? {
        emissions[sequence] = cause
        if case .action(let session, let number) = cause {
            let id = RunID(session: session, number: number)
            guard let run = runs[id] else {
                return Violation(.effects, "\(id) emits at \(sequence), and was never accepted")
            }
            if let end = run.end {
                return Violation(.runEnd, "\(id) emits at \(sequence), and ended at \(end.sequence) as \(end.status)")
            }
            runs[id]?.emissions += 1
        }
        guard readsScripts else { return nil }
        var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
        guard let count = try? reader.readVarint(from: bytes) else { return nil }
        let mutations = mutations(bytes, reader.offset..<range.upperBound, Int(count))
        if cause == .time, mutations.isEmpty { return Violation(.timers, "time brings nothing at \(sequence)") }
        for mutation in mutations {
            if let problem = problem(mutation, of: cause, head, sequence) { return problem }
            reduce(mutation, head, sequence)
        }
        return nil
    }

    private mutating func problem(
        _ mutation: EffectMutation, of cause: EffectCause, _ head: BatchHead, _ sequence: SequenceNumber
    ) -> Violation? {
        switch (mutation, cause) {
        case (.emission(let id, let epoch, let attempt, let index), .action(let session, let number)):
            guard id == RunID(session: session, number: number), epoch == head.epoch, attempt == runs[id]?.attempts,
                indices[id, default: []].insert(index).inserted
            else {
                return Violation(
                    .effects,
                    "attempt \(attempt) of \(id) in epoch \(epoch) emits its \(index). at \(sequence), in attempt "
                        + "\(runs[id]?.attempts ?? 0) of epoch \(head.epoch)")
            }
            return nil
        case (.source(let source, let index), .source):
            fired[.source, default: 0] += 1
            guard sourceIndices[source, default: 0] == index else {
                return Violation(.effects, "source \(source) emits its \(index). at \(sequence), out of order")
            }
            sourceIndices[source] = index + 1
            return nil
        case (.feedback(let name, let ticket, _), .feedback):
            fired[.feedback, default: 0] += 1
            guard effects.requests[name] == ticket else {
                return Violation(
                    .effects, "feedback \(name) of \(ticket) emits at \(sequence), and the state does not ask for it")
            }
            return nil
        case (.withdrawn, .feedback): return nil
        case (.timerFired(let timer, let deadline), .time): return fires(timer, deadline, head, sequence)
        default: return Violation(.effects, "\(cause) brings \(mutation) at \(sequence)")
        }
    }

    private mutating func fires(
        _ timer: UInt64, _ deadline: LogTime, _ head: BatchHead, _ sequence: SequenceNumber
    ) -> Violation? {
        fired[.timerFired, default: 0] += 1
        guard effects.timers[timer] == deadline else {
            return Violation(.timers, "timer \(timer) fires at \(sequence), and is not set to \(deadline)")
        }
        guard deadline <= head.time else {
            return Violation(.timers, "timer \(timer) of \(deadline) fires at \(sequence), at \(head.time)")
        }
        if let next = effects.due(at: head.time).first, next.timer != timer {
            return Violation(.timers, "timer \(timer) of \(deadline) fires at \(sequence), before \(next)")
        }
        let since = max(max(deadline, timersSet[timer] ?? .zero), epochTime)
        if head.time.rawValue - since.rawValue > Self.largestDelay { fired[.lateTimer, default: 0] += 1 }
        guard calmSince > .zero, head.time.rawValue - max(since, calmSince).rawValue > Self.largestDelay else {
            return nil
        }
        return Violation(.timers, "timer \(timer) of \(deadline) fires at \(sequence), late, at \(head.time)")
    }

    // MARK: - Scripts

    private func mutations(_ bytes: RawSpan, _ range: Range<Int>, _ count: Int) -> [EffectMutation] {
        guard count > 0 else { return [] }
        var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
        var found: [EffectMutation] = []
        for _ in 0..<count {
            guard let range = try? reader.readRange(from: bytes), EffectBytes.areOurs(bytes, range),
                let mutation = try? EffectMutation(bytes, range)
            else { return found }
            found.append(mutation)
        }
        return found
    }

    private mutating func reduce(_ mutation: EffectMutation, _ head: BatchHead, _ sequence: SequenceNumber) {
        effects.reduce(mutation, at: head.epoch, sequence, head.time)
        if case .timerSet(let timer, _) = mutation { timersSet[timer] = head.time }
    }
}
