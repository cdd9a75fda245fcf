import DequeModule

/// Reads that wait until the published view has reached what they ask for.
///
/// At most ``Limits/waitingReads`` wait, with 16 MiB of queries, and none longer than 5 s; what is above, and what ran
/// out of time, is answered `unavailable` by the host.
package struct ReadQueue: Hashable, Sendable {
    /// A read on its way: who asked, and what for.
    package struct Waiting: Hashable, Sendable {
        package var connection: Connection
        package var id: UInt64
        package var minimum: SequenceNumber
        /// Of confirmation; 0: none is needed.
        package var round: UInt64
        package var isIndexOnly: Bool
        package var query: [UInt8]
        package var deadline: Tick
    }

    /// In the order of coming, hence of their deadlines.
    private var waiting: Deque<Waiting> = []
    private var byteCount = 0
    /// No waiting read asks for less.
    private var lowest: SequenceNumber?

    private static let capacityBytes = 16 << 20
    private static let patienceMilliseconds: Int64 = 5_000

    package init() {}

    package var isEmpty: Bool { waiting.isEmpty }
    package var count: Int { waiting.count }
    /// When ``expire(now:)`` is due.
    package var nextDeadline: Tick { waiting.first?.deadline ?? .never }

    /// Adds a read whose query lies in `frame`; false if there is no room, and it is to be answered `unavailable`.
    ///
    /// `minimum` is what the published view must have reached: the reader's own, or the host's for a linearizable read.
    /// `round` is the round of confirmation that must have ended.
    package mutating func add(
        _ read: Read, frame: RawSpan, minimum: SequenceNumber, round: UInt64 = 0, from connection: Connection,
        now: Tick
    ) -> Bool {
        guard waiting.count < Limits.waitingReads, byteCount + read.query.count <= Self.capacityBytes else {
            return false
        }
        waiting.append(
            Waiting(
                connection: connection, id: read.id, minimum: minimum, round: round, isIndexOnly: read.isIndexOnly,
                query: copyBytes(of: frame, read.query),
                deadline: now.advanced(byMilliseconds: Self.patienceMilliseconds)))
        byteCount += read.query.count
        lowest = min(lowest ?? minimum, minimum)
        return true
    }

    /// Takes the reads that the view at `sequence` answers, in the order of coming.
    ///
    /// Cost: a walk over all that wait, if one of them is answered.
    package mutating func take(publishedThrough sequence: SequenceNumber, confirmed: UInt64 = .max) -> [Waiting] {
        guard let lowest, lowest <= sequence else { return [] }
        return remove { $0.minimum <= sequence && $0.round <= confirmed }
    }

    /// Takes the reads that waited too long.
    package mutating func expire(now: Tick) -> [Waiting] {
        guard nextDeadline <= now else { return [] }
        return remove { $0.deadline <= now }
    }

    /// Takes all: the node can no longer answer.
    package mutating func takeAll() -> [Waiting] { remove { _ in true } }

    private mutating func remove(where isTaken: (Waiting) -> Bool) -> [Waiting] {
        var taken: [Waiting] = []
        var rest: Deque<Waiting> = []
        for read in waiting { if isTaken(read) { taken.append(read) } else { rest.append(read) } }
        waiting = rest
        byteCount -= taken.reduce(0) { $0 + $1.query.count }
        lowest = rest.lazy.map(\.minimum).min()
        return taken
    }
}

/// The place of the published view, which every answer to a read names.
package struct ViewPlace: Hashable, Sendable {
    package var epoch: Epoch
    package var sequence: SequenceNumber
    package var time: LogTime

    package init(epoch: Epoch, sequence: SequenceNumber, time: LogTime) {
        self.epoch = epoch
        self.sequence = sequence
        self.time = time
    }
}

extension FrameStamp {
    /// READ_RESULT with what the published state answers to a query, which lies in `source`.
    package func readResult(
        id: UInt64, isIndexOnly: Bool, query: Range<Int>, in source: RawSpan, state: any ShownState,
        view: ViewPlace
    ) -> [UInt8] {
        guard !isIndexOnly else { return readResult(id: id, status: .answered, view: view, answer: []) }
        do throws(QueryRefusal) {
            return readResult(id: id, status: .answered, view: view, answer: try state.answer(source, query))
        } catch {
            return readResult(id: id, status: .refused, view: view, answer: Array(error.reason.utf8))
        }
    }

    /// READ_RESULT that says: the node cannot answer now, ask again; with the reason, if there is one to tell.
    package func readUnavailable(id: UInt64, view: ViewPlace, because refusal: ReadRefusal? = nil) -> [UInt8] {
        readResult(id: id, status: .unavailable, view: view, answer: Array((refusal?.text ?? "").utf8))
    }

    private func readResult(id: UInt64, status: ReadStatus, view: ViewPlace, answer: [UInt8]) -> [UInt8] {
        let (status, bytes) = ReadResult.fitting(status, answer)
        let result = ReadResult(
            id: id, status: status, epoch: view.epoch, sequence: view.sequence, time: view.time,
            answer: 0..<bytes.count)
        return withBytes(of: bytes) { frame(.readResult(result), source: $0) }
    }

    /// WATCH_RESULT that says why there is no room for a watch.
    package func watchRefused(_ id: WatchID, because full: String, view: ViewPlace) -> [UInt8] {
        let text = Array(full.utf8)
        let result = ReadResult(
            id: id.number, status: .unavailable, epoch: view.epoch, sequence: view.sequence, time: view.time,
            answer: 0..<text.count)
        return withBytes(of: text) { frame(.watchResult(result), source: $0) }
    }
}

extension ReadResult {
    /// The answer, or why it cannot be sent: one that no socket takes would be lost without a word.
    package static func fitting(_ status: ReadStatus, _ answer: [UInt8]) -> (ReadStatus, [UInt8]) {
        guard answer.count > Limits.actionBytes else { return (status, answer) }
        return (.refused, Array("the answer is larger than \(Limits.actionBytes) bytes".utf8))
    }
}
