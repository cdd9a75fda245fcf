import LockstepCore

/// A state of numbered values; the query is the number of one.
final class ValuesState: ShownState {
    var values: [UInt8: UInt64] = [:]
    /// Which were asked for, in order.
    var asked: [UInt8] = []
    var answerCost: Int64 = 0
    /// Bytes after each answer.
    var padding = 0
    var isViewWanted: Bool { false }

    func capture(at sequence: SequenceNumber, epoch: Epoch, time: LogTime) {}
    func publish(through sequence: SequenceNumber) {}

    func answer(_ query: RawSpan, _ range: Range<Int>) throws(QueryRefusal) -> [UInt8] {
        let number = copyBytes(of: query, range).first ?? 0
        asked.append(number)
        guard number < 250 else { throw QueryRefusal(reason: "there is no such value") }
        return Array("\(values[number, default: 0])".utf8) + Array(repeating: 0, count: max(0, padding - 1))
    }
}

/// A table of watches with a state and a clock.
struct WatchScript {
    struct Told: Hashable {
        var number: UInt64
        var text: String
        var status: ReadStatus
        var sequence: UInt64
        var connection: Connection
    }

    static let peer = Connection(rawValue: 5)
    private static let stamp = FrameStamp(channel: Channel(rawValue: 1), clusterHash: 1, epoch: .zero)

    var table = WatchTable()
    let state = ValuesState()
    var now = Tick(rawValue: 1_000_000_000)
    var view = ViewPlace(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 1), time: .zero)
    var refusal: ReadRefusal?

    static func id(_ number: UInt64, client: UInt128 = 1) -> WatchID {
        WatchID(client: ClientKey(rawValue: client), number: number)
    }

    /// What the client has after such an answer.
    static func fingerprint(_ text: String, _ status: ReadStatus = .answered) -> UInt128 {
        withBytes(of: Array(text.utf8)) { ReadResult.fingerprint(status, $0, 0..<$0.byteCount) }
    }

    /// A WATCH comes; the query is a byte, and more where it is to be long.
    ///
    /// Returns why it was not taken.
    @discardableResult
    mutating func watch(
        _ number: UInt64, _ value: UInt8, milliseconds: UInt32 = 100, has: UInt128 = 0, client: UInt128 = 1,
        from connection: Connection = WatchScript.peer, length: Int = 1
    ) -> String? {
        let query = [value] + Array(repeating: 0, count: length - 1)
        return withBytes(of: query) { frame in
            table.add(
                WatchRequest(
                    id: Self.id(number, client: client), interval: milliseconds * 1_000, has: has,
                    query: 0..<frame.byteCount), frame: frame, from: connection, now: now)
        }
    }

    /// A value becomes another, and that is shown.
    mutating func set(_ number: UInt8, _ value: UInt64) {
        state.values[number] = value
        view.sequence = view.sequence.next
    }

    /// One turn: what is due, if something is.
    mutating func turn() -> [Told] {
        guard now >= deadline else { return [] }
        table.advance(now: now)
        let answers = table.evaluate(now: now, view, refusal, Self.stamp, state)
        table.checkInvariants()
        return answers.compactMap { answer in
            withBytes(of: answer.frame) { bytes in
                guard case .watchResult(let result)? = try? Message.decode(bytes, rule: .any).message else {
                    return nil
                }
                return Told(
                    number: result.id, text: String(decoding: answer.frame[result.answer], as: UTF8.self),
                    status: result.status, sequence: result.sequence.rawValue, connection: answer.connection)
            }
        }
    }

    var deadline: Tick { table.nextDeadline(view: view, refusal: refusal, isBehind: false) }

    /// Lets time pass, with a turn whenever one is due; returns all that was told.
    mutating func pass(_ milliseconds: Int64) -> [Told] {
        let end = now.advanced(byMilliseconds: milliseconds)
        var told = turn()
        while deadline <= end {
            now = max(now, deadline)
            told += turn()
        }
        now = end
        return told
    }
}
