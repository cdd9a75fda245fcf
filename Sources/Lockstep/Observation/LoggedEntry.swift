package import LockstepCore

/// What brought an entry into the log.
public enum CommitCause: Hashable, Sendable, CustomStringConvertible {
    /// An action that ended at once, or was rejected.
    case action(SessionID, RequestNumber)
    /// The acceptance of an action whose effect goes on.
    case acceptance(RunID)
    /// An emission of an accepted action's effect.
    case effect(RunID)
    /// The end of an accepted action, with what its effect kept for it.
    case end(RunID, EffectEnd)
    /// An external source, by its name.
    case source(String)
    /// An effect that the state asked for, by the name of its feedback.
    case feedback(String)
    /// Log time reached what the state waited for.
    case time

    /// How an accepted action ended.
    public enum EffectEnd: String, Hashable, Sendable {
        /// By itself.
        case finished
        /// With an error; ``LoggedEntry/rejection`` has the reason.
        case failed
        /// It was cancelled or superseded.
        case cancelled
    }

    /// The accepted action that it belongs to, if it does.
    public var run: RunID? {
        switch self {
        case .acceptance(let run), .effect(let run), .end(let run, _): run
        case .action, .source, .feedback, .time: nil
        }
    }

    /// A few words.
    public var description: String {
        switch self {
        case .action(let session, let number): "action \(session)#\(number)"
        case .acceptance(let run): "acceptance of \(run)"
        case .effect(let run): "effect of \(run)"
        case .end(let run, let end): "\(run) \(end.rawValue)"
        case .source(let name): "source \(name)"
        case .feedback(let name): "feedback \(name)"
        case .time: "time"
        }
    }
}

/// An entry of the log that concerns the reactor: an action, or what an effect, a source, a feedback or time brought.
public struct LoggedEntry<R: Reactor>: Sendable {
    /// Its place in the log.
    public let place: Place
    /// Its time.
    public let time: LogTime
    /// What brought it.
    public let cause: CommitCause
    /// What it did, in order: nothing if it was rejected, or had no effect.
    public let mutations: [R.Mutation]
    /// Why it was rejected or denied, or why its effect failed; nil if none of it.
    public let rejection: String?
    /// Who sent the action that it belongs to: the name that the access list has for its key.
    ///
    /// Nil if there is none, or there are no keys, or the session had ended before the reader of the log began.
    public let sender: String?

    /// Makes an entry, to try an observer in a test.
    public init(
        place: Place, time: LogTime, cause: CommitCause, mutations: [R.Mutation], rejection: String? = nil,
        sender: String? = nil
    ) {
        self.sender = sender
        self.place = place
        self.time = time
        self.cause = cause
        self.mutations = mutations
        self.rejection = rejection
    }

    /// The session of the action that it belongs to, if it does.
    public var session: SessionID? {
        if case .action(let session, _) = cause { session } else { cause.run?.session }
    }

    /// The number of that action in its session.
    public var number: RequestNumber? {
        if case .action(_, let number) = cause { number } else { cause.run?.number }
    }

    /// What ``Reactor/reduce(into:_:_:)`` gets with its mutations.
    public var context: ReduceContext { ReduceContext(time: time, epoch: place.epoch, sequence: place.sequence) }
}

extension LoggedEntry {
    /// The reactor's entries of a batch after a sequence number.
    package static func entries(
        of batch: SealedBatch, after: SequenceNumber, _ coding: Coding<R.Mutation>, _ names: inout SenderNames
    ) throws(WireError) -> [LoggedEntry] {
        try withBytes(of: batch.bytes) { (bytes) throws(WireError) in
            var entries: [LoggedEntry] = []
            var reader = ByteReader(offset: BatchHead.byteCount, end: bytes.byteCount)
            var sequence = batch.head.first
            while reader.remaining > 0 {
                let entry = try Entry(from: bytes, &reader)
                names.note(entry, at: Place(epoch: batch.head.epoch, sequence: sequence))
                let decoding = EntryDecoding<R>(
                    head: batch.head, sequence: sequence, after: after, coding: coding, names: names)
                try decoding.decode(entry, bytes, into: &entries)
                sequence = sequence.advanced(by: entry.sequenceCount)
            }
            return entries
        }
    }
}

/// Reads one record of a batch.
private struct EntryDecoding<R: Reactor> {
    let head: BatchHead
    let sequence: SequenceNumber
    let after: SequenceNumber
    let coding: Coding<R.Mutation>
    let names: SenderNames

    func decode(_ entry: Entry, _ bytes: RawSpan, into entries: inout [LoggedEntry<R>]) throws(WireError) {
        switch entry {
        case .actions(let run): try decode(run, bytes, into: &entries)
        case .accepted(let session, let number, _, _):
            append(.acceptance(RunID(session: session, number: number)), [], into: &entries)
        case .emitted(let cause, let range):
            guard sequence > after else { return }
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let count = try reader.readVarint(from: bytes)
            guard count <= UInt64(reader.remaining) else { throw WireError(.outOfRange, at: range.lowerBound) }
            append(commitCause(cause), try mutations(Int(count), bytes, &reader), into: &entries)
        case .finished(let session, let number, let range):
            guard sequence > after else { return }
            var reader = ByteReader(offset: range.lowerBound, end: range.upperBound)
            let item = try Item(from: bytes, &reader)
            let end: CommitCause.EffectEnd =
                switch item.status {
                case .committed, .accepted: .finished
                case .rejected: .failed
                case .void: .cancelled
                }
            append(
                .end(RunID(session: session, number: number), end), try mutations(of: item, bytes),
                rejection: reason(of: item, bytes), into: &entries)
        // The node's own: sessions, epochs, marks.
        case .epochOpen, .sessionOpen, .sessionClose, .sessionExpire, .sessionAck, .digestMark, .clockJump, .runAck:
            break
        }
    }

    private func decode(_ run: ActionSeries, _ bytes: RawSpan, into entries: inout [LoggedEntry<R>]) throws(WireError) {
        var items = ByteReader(offset: run.items.lowerBound, end: run.items.upperBound)
        for index in 0..<run.count {
            let item = try Item(from: bytes, &items)
            let place = Place(epoch: head.epoch, sequence: sequence.advanced(by: index))
            guard place.sequence > after else { continue }
            entries.append(
                LoggedEntry(
                    place: place, time: head.time,
                    cause: .action(run.session, run.first + RequestNumber(index)),
                    mutations: try mutations(of: item, bytes), rejection: reason(of: item, bytes),
                    sender: names[run.session]))
        }
    }

    private func append(
        _ cause: CommitCause, _ mutations: [R.Mutation], rejection: String? = nil, into entries: inout [LoggedEntry<R>]
    ) {
        guard sequence > after else { return }
        entries.append(
            LoggedEntry(
                place: Place(epoch: head.epoch, sequence: sequence), time: head.time, cause: cause,
                mutations: mutations, rejection: rejection, sender: cause.run.flatMap { names[$0.session] }))
    }

    private func commitCause(_ cause: EffectCause) -> CommitCause {
        switch cause {
        case .action(let session, let number): .effect(RunID(session: session, number: number))
        case .source(let name): .source(name)
        case .time: .time
        case .feedback(let name): .feedback(name)
        }
    }

    private func mutations(of item: Item, _ bytes: RawSpan) throws(WireError) -> [R.Mutation] {
        var reader = ByteReader(offset: item.mutations.lowerBound, end: item.mutations.upperBound)
        return try mutations(item.mutationCount, bytes, &reader)
    }

    private func mutations(
        _ count: Int, _ bytes: RawSpan, _ reader: inout ByteReader
    ) throws(WireError) -> [R.Mutation] {
        var mutations: [R.Mutation] = []
        for _ in 0..<count {
            mutations.append(try coding.decodeChecked(bytes, try reader.readRange(from: bytes)))
        }
        return mutations
    }

    private func reason(of item: Item, _ bytes: RawSpan) -> String? {
        guard item.status == .rejected || item.status == .void, !item.reply.isEmpty else { return nil }
        return String(decoding: copyBytes(of: bytes, item.reply), as: UTF8.self)
    }
}
