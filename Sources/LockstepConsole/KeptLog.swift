package import Lockstep
internal import LockstepNode

/// The newest entries of a store: lines of many, and some in full.
///
/// A line is made when the entry comes, and is short however long the entry is.
package struct KeptLog<R: Reactor> {
    /// The most lines.
    package static var mostLines: Int { 2_000 }
    /// Characters of a line's text, about.
    private static var textBytes: Int { 160 }
    /// Entries in full: as many as states.
    private let capacity: Int
    private var lines: [EntryLine] = []
    private var entries: [LoggedEntry<R>] = []
    private var passedOver: UInt64 = 0
    /// How many were appended.
    package private(set) var total: UInt64 = 0

    package init(capacity: Int) { self.capacity = capacity }

    package var count: Int { lines.count }

    /// Takes note of the next entry.
    package mutating func append(_ entry: LoggedEntry<R>) {
        var line = Self.line(of: entry)
        line.missed = passedOver
        passedOver = 0
        lines.append(line)
        entries.append(entry)
        total += 1
        // Some at a time, so that the rest is not moved for each.
        if lines.count > Self.mostLines { lines.removeFirst(lines.count - Self.mostLines * 7 / 8) }
        if entries.count > capacity { entries.removeFirst(entries.count - capacity * 7 / 8) }
    }

    /// The next entry follows a gap of so many sequence numbers.
    package mutating func passOver(_ count: UInt64) { passedOver += count }

    /// Puts an entry that is older than those that were appended to its place, if there is room.
    package mutating func insert(_ older: LoggedEntry<R>) {
        let sequence = older.place.sequence.rawValue
        let place = lines.partition { $0.sequence >= sequence }
        guard lines.count < Self.mostLines, place == lines.count || lines[place].sequence > sequence else { return }
        lines.insert(Self.line(of: older), at: place)
        guard entries.count < capacity else { return }
        entries.insert(older, at: entries.partition { $0.place.sequence.rawValue >= sequence })
    }

    package mutating func removeAll() {
        lines = []
        entries = []
        passedOver = 0
    }

    /// The newest lines before a sequence number, the newest first.
    package func page(before: UInt64?, limit: Int) -> EntryPage {
        let end = before.map { before in lines.partition { $0.sequence >= before } } ?? lines.count
        let page = lines[..<end].suffix(limit)
        return EntryPage(entries: page.reversed(), hasOlder: page.startIndex > 0)
    }

    package func line(_ sequence: UInt64) -> EntryLine? {
        let place = lines.partition { $0.sequence >= sequence }
        return place < lines.count && lines[place].sequence == sequence ? lines[place] : nil
    }

    package func entry(_ sequence: UInt64) -> LoggedEntry<R>? {
        let place = entries.partition { $0.place.sequence.rawValue >= sequence }
        return place < entries.count && entries[place].place.sequence.rawValue == sequence ? entries[place] : nil
    }

    private static func line(of entry: LoggedEntry<R>) -> EntryLine {
        EntryLine(
            epoch: entry.place.epoch.rawValue, sequence: entry.place.sequence.rawValue, time: entry.time.rawValue,
            kind: kind(of: entry.cause), cause: entry.cause.description, mutations: entry.mutations.count,
            text: entry.mutations.first.map { BoundedJSON($0, limit: textBytes).text } ?? "",
            rejection: entry.rejection)
    }

    private static func kind(of cause: CommitCause) -> String {
        switch cause {
        case .action: "action"
        case .acceptance: "acceptance"
        case .effect: "effect"
        case .end: "end"
        case .source: "source"
        case .feedback: "feedback"
        case .time: "time"
        }
    }
}

extension Array {
    /// The first index from which on `isAfter` holds, of elements that are in that order.
    fileprivate func partition(_ isAfter: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
