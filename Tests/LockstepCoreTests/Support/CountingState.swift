import LockstepCore

/// A state for tests: a sum of bytes.
///
/// An action is one byte that is added; 0 is refused; 255 adds nothing.
///
/// The mutation is the byte, the reply the new sum as a varint. The kind of an action is its byte in decimal. Setting ``skew`` makes `apply` wrong on purpose.
/// With ``hasEffects`` some bytes mean more: see ``EffectAction``.
final class CountingState: ReplicatedState {
    struct View: Equatable {
        var sum: UInt64
        var sequence: SequenceNumber
    }

    var sum: UInt64 = 0
    var skew: UInt64 = 0
    var captured: [View] = []
    var published = View(sum: 0, sequence: .zero)
    var isViewWanted = false

    /// Whether the bytes of ``EffectAction`` mean what they say there.
    var hasEffects = false
    /// Timers that are set, in the order of their times.
    var timers: [LogTime] = []
    /// Whether the reducer leaves a timer that was due in place.
    var leavesTimers = false
    /// How often it was asked for what is due.
    private(set) var dueQuestions = 0
    /// How many timers one entry brings.
    var dueLimit = Limits.dueMutations
    /// Runs that end at once when they are run again.
    var endsOnResume: Set<RequestNumber> = []
    /// Emissions of causes other than actions that may no longer be made.
    var deadTickets: Set<UInt64> = []
    private(set) var accepted: [RunID] = []
    private(set) var ended: [RunID] = []
    private(set) var resumed: [RunStart] = []
    private var request: RunRequest?
    /// Who sent what was performed last.
    private(set) var sender: String?

    func perform(
        _ actions: RawSpan, _ reader: inout ByteReader, count: Int, context: PerformContext,
        into batch: inout BatchBuilder
    ) -> Int {
        var done = 0
        sender = context.sender
        request = nil
        while done < count {
            let start = reader
            if hasEffects, let range = try? reader.readRange(from: actions),
                let action = EffectAction(copyBytes(of: actions, range))
            {
                if perform(action, range, context, into: &batch) { return done }
                done += 1
                if request != nil { break }
                if batch.isSeriesOver { break }
                continue
            }
            reader = start
            done += 1
            if let range = try? reader.readRange(from: actions), range.count >= 1 {
                let byte = copyBytes(of: actions, range)[0]
                if let kinds = context.kinds, !kinds.contains("\(byte)") {
                    batch.appendDenied("no \(byte) of \(context.sender ?? "nobody")")
                } else if byte == 0 {
                    batch.appendItem(.rejected, reason: "zero")
                } else {
                    let start = batch.beginItem(mutationCount: byte == 255 ? 0 : 1)
                    if byte != 255 {
                        batch.writer.writeMeasured { $0.write(byte) }
                        sum += UInt64(byte)
                    }
                    let reply = batch.writer.writeMeasured { $0.writeVarint(sum) }
                    _ = batch.endItem(start, replyStart: reply)
                }
            } else {
                batch.appendItem(.rejected, reason: "cannot be decoded")
            }
            if batch.isSeriesOver { break }
        }
        return done
    }

    func apply(
        _ bytes: RawSpan, mutations: Range<Int>, count: Int, at position: (Epoch, SequenceNumber), time: LogTime
    ) throws(WireError) {
        var reader = ByteReader(offset: mutations.lowerBound, end: mutations.upperBound)
        for _ in 0..<count {
            let range = try reader.readRange(from: bytes)
            if range.count == 9 {
                try applyTimer(copyBytes(of: bytes, range))
                continue
            }
            guard range.count == 1 else { throw WireError(.payload, at: range.lowerBound) }
            sum += UInt64(copyBytes(of: bytes, range)[0]) + skew
        }
    }

    var digest: Digest { Prepared(sum: sum, timers: timers).digest }

    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {
        captured.append(View(sum: sum, sequence: sequence))
    }

    func publish(through sequence: SequenceNumber) {
        guard let view = captured.last(where: { $0.sequence <= sequence }) else { return }
        published = view
        captured.removeAll { $0.sequence <= sequence }
        isViewWanted = false
    }

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        guard range.isEmpty else { throw QueryRefusal(reason: "no such query") }
        var writer = ByteWriter()
        writer.writeVarint(published.sum)
        return writer.bytes
    }

    struct Image: StateImage {
        var sum: UInt64
        var timers: [LogTime] = []
        func encoded() throws -> [UInt8] {
            var writer = ByteWriter()
            writer.write(sum)
            for timer in timers { writer.write(timer.rawValue) }
            return writer.bytes
        }

        var digest: Digest { Prepared(sum: sum, timers: timers).digest }
    }

    struct Prepared: PreparedState {
        var sum: UInt64
        var timers: [LogTime] = []
        var digest: Digest {
            Digest(rawValue: timers.reduce(UInt128(sum)) { $0 &+ UInt128(UInt64(bitPattern: $1.rawValue)) << 64 })
        }
    }

    func image() -> any StateImage { Image(sum: sum, timers: timers) }

    nonisolated func prepare(_ bytes: [UInt8]) throws -> any PreparedState {
        try withBytes(of: bytes) { span in
            var reader = ByteReader(span)
            let sum = try reader.read(UInt64.self, from: span)
            var timers: [LogTime] = []
            while reader.remaining > 0 { timers.append(LogTime(rawValue: try reader.read(from: span))) }
            return Prepared(sum: sum, timers: timers)
        }
    }

    func install(_ prepared: any PreparedState) {
        guard let prepared = prepared as? Prepared else { preconditionFailure("another state's snapshot") }
        sum = prepared.sum
        timers = prepared.timers
        captured = []
    }

    func reset() {
        sum = 0
        timers = []
        captured = []
    }

    // MARK: - Effects

    /// Performs an action with an effect, a cancellation or a timer; true: it is to be accepted.
    private func perform(
        _ action: EffectAction, _ range: Range<Int>, _ context: PerformContext, into batch: inout BatchBuilder
    ) -> Bool {
        var mutations: [[UInt8]] = []
        switch action {
        case .run(let plan, let cancelling):
            request = RunRequest(plan: plan, action: range, cancelledNames: cancelling)
            return true
        case .cancelName(let name): request = RunRequest(cancelledNames: [name])
        case .cancelNumber(let number):
            request = RunRequest(cancelledRuns: [RunID(session: context.session, number: number)])
        case .timer(let time): mutations = [EffectAction.mutation(setting: time)]
        case .large(let count): mutations = Array(repeating: [1], count: count)
        }
        let start = batch.beginItem(mutationCount: mutations.count)
        for mutation in mutations {
            batch.writer.writeMeasured { $0.writeRaw(mutation) }
            if mutation.count == 1 { sum += UInt64(mutation[0]) } else { setTimer(mutation) }
        }
        let reply = batch.writer.writeMeasured { $0.writeVarint(sum) }
        _ = batch.endItem(start, replyStart: reply)
        return false
    }

    func takeRequest() -> RunRequest? {
        defer { request = nil }
        return request
    }

    func runAccepted(_ id: RunID) { accepted.append(id) }
    func runEnded(_ id: RunID) { ended.append(id) }

    func resume(
        _ run: RunStart, action: [UInt8], context: PerformContext, into item: inout ByteWriter
    ) -> RunResumption {
        resumed.append(run)
        guard case .run(let plan, _) = EffectAction(action), !endsOnResume.contains(run.id.number) else {
            item.writeVarint(1 << 2)
            item.writeMeasured { $0.write(UInt8(7)) }
            sum += 7
            item.writeMeasured { $0.writeVarint(sum) }
            return .ended
        }
        return .planned(plan)
    }

    func isLive(_ cause: EffectCause, ticket: UInt64) -> Bool { !deadTickets.contains(ticket) }

    // MARK: - Timers

    var nextDue: LogTime? { timers.first }

    func performDue(at time: LogTime, context: ReduceStamp, into mutations: inout ByteWriter) -> Int {
        dueQuestions += 1
        let due = timers.prefix { $0 <= time }.prefix(dueLimit)
        mutations.writeVarint(UInt64(due.count))
        for timer in due {
            let mutation = EffectAction.mutation(firing: timer, leaving: leavesTimers)
            mutations.writeBytes(mutation)
            setTimer(mutation)
        }
        return due.count
    }

    private func applyTimer(_ mutation: [UInt8]) throws(WireError) {
        guard mutation[0] <= 3, mutation[0] > 0 else { throw WireError(.payload, at: 0) }
        setTimer(mutation)
    }

    private func setTimer(_ mutation: [UInt8]) {
        let time = withBytes(of: mutation) { bytes in
            var reader = ByteReader(offset: 1, end: 9)
            return (try? reader.read(Int64.self, from: bytes)).map { LogTime(rawValue: $0) } ?? .zero
        }
        switch mutation[0] {
        case 1:
            timers.append(time)
            timers.sort()
        case 2:
            sum += 1
            if let index = timers.firstIndex(of: time) { timers.remove(at: index) }
        default: sum += 1
        }
    }
}
