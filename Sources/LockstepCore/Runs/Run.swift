/// Names a run: the accepted action whose effect it is (PROTOCOL, R-60).
///
/// It outlives its session, and it is the stable key under which an effect may ask other systems to do something once.
public struct RunID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The session that sent the action.
    public let session: SessionID
    /// The action's number in it.
    public let number: RequestNumber

    /// Names the run of this action.
    public init(session: SessionID, number: RequestNumber) {
        self.session = session
        self.number = number
    }

    /// `epoch:sequence#number`.
    public var description: String { "\(session)#\(number)" }

    /// Reads ``description``; nil for anything else.
    public init?(_ text: String) {
        let parts = text.split(separator: "#", omittingEmptySubsequences: false)
        let place = parts[0].split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, place.count == 2, let epoch = UInt64(place[0]), let sequence = UInt64(place[1]),
            let number = UInt64(parts[1])
        else { return nil }
        self.init(
            session: SessionID(epoch: Epoch(rawValue: epoch), sequence: SequenceNumber(rawValue: sequence)),
            number: number)
    }

    /// By session, then by number.
    public static func < (left: RunID, right: RunID) -> Bool {
        (left.session, left.number) < (right.session, right.number)
    }
}

/// An accepted action as the log tells it, equal on every node at the same sequence number (PROTOCOL, R-61).
package struct Run: Hashable, Sendable {
    package let id: RunID
    /// Of the `accepted` entry; runs begin in this order.
    package let sequence: SequenceNumber
    /// The action's bytes, for a primary that has to run it again; empty once it has ended.
    package fileprivate(set) var action: [UInt8]
    /// In how many epochs it could run.
    package fileprivate(set) var attempts: UInt64
    /// How many of its emissions are in the log, of all attempts.
    package fileprivate(set) var emissions: UInt64 = 0
    package fileprivate(set) var end: End?

    /// The end of a run: the second answer to its action.
    package struct End: Hashable, Sendable {
        package var epoch: Epoch
        package var sequence: SequenceNumber
        /// A ``ReplyItem``.
        package var item: [UInt8]

        package init(epoch: Epoch, sequence: SequenceNumber, item: [UInt8]) {
            self.epoch = epoch
            self.sequence = sequence
            self.item = item
        }
    }

    /// What it keeps: its action, then its end.
    fileprivate var byteCount: Int { action.count + (end?.item.count ?? 0) }

    package init(id: RunID, sequence: SequenceNumber, action: [UInt8], attempts: UInt64 = 1) {
        self.id = id
        self.sequence = sequence
        self.action = action
        self.attempts = attempts
    }
}

/// The accepted actions of a store that have not ended, or whose end its sender may still ask for (PROTOCOL, R-61).
///
/// Unlike replies they outlive their session until they end: what was accepted is never forgotten.
package struct RunTable: Hashable, Sendable {
    private var bySession: [SessionID: [RequestNumber: Run]] = [:]
    package private(set) var count = 0
    package private(set) var unfinishedCount = 0
    /// Of actions and ends, without what it takes to find them.
    package private(set) var byteCount = 0

    package init() {}

    package subscript(id: RunID) -> Run? { bySession[id.session]?[id.number] }
    package func isUnfinished(_ id: RunID) -> Bool { self[id].map { $0.end == nil } ?? false }
    package func count(of session: SessionID) -> Int { bySession[session]?.count ?? 0 }

    /// How many of a session have not ended, and how many of those are not among the others.
    ///
    /// Cost: a walk over the session's runs.
    func unfinishedCounts(of session: SessionID, without others: Set<RunID>) -> (all: Int, left: Int) {
        let unfinished = bySession[session]?.values.filter { $0.end == nil } ?? []
        return (unfinished.count, unfinished.count { !others.contains($0.id) })
    }

    /// All runs in the order of acceptance.
    ///
    /// Cost: a sort.
    package var sorted: [Run] { bySession.values.flatMap(\.values).sorted { $0.sequence < $1.sequence } }

    mutating func insert(_ run: Run) -> Bool {
        guard self[run.id] == nil else { return false }
        bySession[run.id.session, default: [:]][run.id.number] = run
        count += 1
        byteCount += run.byteCount
        if run.end == nil { unfinishedCount += 1 }
        return true
    }

    /// Counts an emission; false if there is no such run, or it has ended.
    mutating func emitted(_ id: RunID) -> Bool {
        guard isUnfinished(id) else { return false }
        bySession[id.session]?[id.number]?.emissions += 1
        return true
    }

    /// Ends a run, whose answer is kept only while its session lives; false if it has ended, or never was.
    mutating func finish(_ id: RunID, _ end: Run.End, keepingAnswer isKept: Bool) -> Bool {
        guard var run = self[id], run.end == nil else { return false }
        unfinishedCount -= 1
        guard isKept else {
            remove(id)
            return true
        }
        byteCount -= run.byteCount
        run.end = end
        run.action = []
        byteCount += run.byteCount
        bySession[id.session]?[id.number] = run
        return true
    }

    /// The sender has the end; one that has not ended stays.
    mutating func acknowledge(_ id: RunID) {
        if self[id]?.end != nil { remove(id) }
    }

    /// The session is gone: nobody will ask for its ends; what runs goes on (R-61).
    mutating func sessionEnded(_ session: SessionID) {
        guard let runs = bySession[session] else { return }
        for run in runs.values where run.end != nil { remove(run.id) }
    }

    private mutating func remove(_ id: RunID) {
        guard let run = bySession[id.session]?.removeValue(forKey: id.number) else { return }
        byteCount -= run.byteCount
        if bySession[id.session]?.isEmpty == true { bySession[id.session] = nil }
        count -= 1
    }

    /// A primary began: whatever has not ended is tried once more.
    mutating func epochOpened() {
        guard unfinishedCount > 0 else { return }
        for (session, runs) in bySession {
            for (number, run) in runs where run.end == nil { bySession[session]?[number]?.attempts = run.attempts + 1 }
        }
    }

    /// The digest of what the log says of runs; their bytes are covered by the chain (R-52).
    ///
    /// Cost: a walk.
    package var digest: Digest {
        var sum: UInt128 = 0
        for run in bySession.values.lazy.flatMap(\.values) {
            var hash = FieldHash()
            hash.combine(run.id.session.epoch.rawValue)
            hash.combine(run.id.session.sequence.rawValue)
            hash.combine(run.id.number)
            hash.combine(run.sequence.rawValue)
            hash.combine(run.attempts)
            hash.combine(run.emissions)
            hash.combine(run.end?.sequence.rawValue ?? 0)
            sum &+= hash.value
        }
        return Digest(rawValue: sum)
    }
}

extension RunTable {
    package func write(to writer: inout ByteWriter) {
        writer.writeVarint(UInt64(count))
        for run in sorted {
            writer.writeSession(run.id.session)
            writer.writeVarint(run.id.number)
            writer.writeVarint(run.sequence.rawValue)
            writer.writeVarint(run.attempts)
            writer.writeVarint(run.emissions)
            writer.writeBool(run.end != nil)
            if let end = run.end {
                writer.writeVarint(end.epoch.rawValue)
                writer.writeVarint(end.sequence.rawValue)
                writer.writeBytes(end.item)
            } else {
                writer.writeBytes(run.action)
            }
        }
    }

    package init(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) {
        let count = try reader.readVarint(from: bytes)
        var before = SequenceNumber.zero
        for _ in 0..<count {
            let start = reader.offset
            let id = RunID(session: try reader.readSession(from: bytes), number: try reader.readVarint(from: bytes))
            let sequence = SequenceNumber(rawValue: try reader.readVarint(from: bytes))
            var run = Run(id: id, sequence: sequence, action: [])
            run.attempts = try reader.readVarint(from: bytes)
            run.emissions = try reader.readVarint(from: bytes)
            if try reader.readBool(from: bytes) {
                run.end = Run.End(
                    epoch: Epoch(rawValue: try reader.readVarint(from: bytes)),
                    sequence: SequenceNumber(rawValue: try reader.readVarint(from: bytes)),
                    item: try Self.readItem(from: bytes, &reader))
            } else {
                run.action = try reader.readBytes(from: bytes)
            }
            // In the order of acceptance, so that a table has one form.
            guard sequence > before, id.number > 0, id.number < UInt64(Int64.max), id.session.sequence < sequence,
                run.attempts > 0, run.attempts < UInt64(Int64.max), run.emissions < UInt64(Int64.max),
                run.end.map({ $0.sequence > sequence && $0.epoch >= id.session.epoch }) ?? true, insert(run)
            else { throw WireError(.outOfRange, at: start) }
            before = sequence
        }
    }

    private static func readItem(from bytes: RawSpan, _ reader: inout ByteReader) throws(WireError) -> [UInt8] {
        let range = try reader.readRange(from: bytes)
        var item = ByteReader(offset: range.lowerBound, end: range.upperBound)
        _ = try ReplyItem(from: bytes, &item)
        try item.finish()
        return copyBytes(of: bytes, range)
    }

    /// Whether the runs could be those of a log with these sessions that ends here: a live session has given the
    /// numbers, and only it keeps ends.
    ///
    /// Cost: a walk.
    func isPossible(with sessions: SessionTable, at position: Position) -> Bool {
        bySession.allSatisfy { session, runs in
            let last = sessions.standing(of: session)?.last
            return runs.values.allSatisfy { run in
                guard run.sequence <= position.sequence, session.epoch <= position.epoch else { return false }
                guard let end = run.end else { return run.id.number <= last ?? .max }
                return end.sequence <= position.sequence && end.epoch <= position.epoch
                    && last.map { run.id.number <= $0 } ?? false
            }
        }
    }

    /// Checks the counts.
    package func checkInvariants() {
        let runs = bySession.values.flatMap(\.values)
        precondition(runs.count == count, "runs are counted")
        precondition(runs.count { $0.end == nil } == unfinishedCount, "unfinished runs are counted")
        precondition(runs.reduce(0) { $0 + $1.byteCount } == byteCount, "bytes are counted")
        precondition(!bySession.values.contains { $0.isEmpty }, "a session without runs is not in the table")
    }
}
