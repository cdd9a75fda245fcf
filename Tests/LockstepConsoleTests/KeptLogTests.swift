import Counters
import Lockstep
import LockstepConsole
import Testing

/// What is kept of entries, and how fast they are followed.
@Suite struct KeptLogTests {
    private func entry(_ sequence: UInt64) -> LoggedEntry<Counters> {
        LoggedEntry(
            place: Place(epoch: .zero, sequence: SequenceNumber(rawValue: sequence)), time: LogTime(rawValue: 5),
            cause: .source("test"), mutations: [.added("a", Int64(sequence)), .removed("b")])
    }

    @Test func pagesGoFromTheNewestToTheOldest() {
        var log = KeptLog<Counters>(capacity: 4)
        for sequence in [2, 3, 7, 8, 9, 12] { log.append(entry(UInt64(sequence))) }
        let first = log.page(before: nil, limit: 2)
        #expect(first.entries.map(\.sequence) == [12, 9] && first.hasOlder)
        let second = log.page(before: 9, limit: 3)
        #expect(second.entries.map(\.sequence) == [8, 7, 3] && second.hasOlder)
        #expect(log.page(before: 3, limit: 3) == EntryPage(entries: [log.line(2)].compactMap(\.self), hasOlder: false))
        #expect(log.page(before: 2, limit: 3).entries == [])
        #expect(log.line(7)?.text.hasPrefix(#"{"added":"#) == true && log.line(7)?.mutations == 2)
        #expect(log.line(4) == nil && log.entry(4) == nil)
        #expect(log.entry(12)?.place.sequence.rawValue == 12 && log.entry(2) == nil, "few are kept in full")
    }

    @Test func moreThanTheBoundIsLetGo() {
        var log = KeptLog<Counters>(capacity: 16)
        for sequence in 1...10_000 {
            log.append(entry(UInt64(sequence)))
            #expect(log.count <= KeptLog<Counters>.mostLines)
        }
        #expect(log.total == 10_000 && log.count >= KeptLog<Counters>.mostLines * 7 / 8)
        #expect(log.page(before: nil, limit: 1).entries.first?.sequence == 10_000)
        #expect(log.entry(10_000) != nil && log.entry(9_900) == nil)
    }

    /// What was before the first is put before it, once, and a gap is told by the line after it.
    @Test func olderEntriesAndGapsHaveTheirPlaces() {
        var log = KeptLog<Counters>(capacity: 8)
        log.append(entry(10))
        for sequence in [7, 8, 8, 10, 9] { log.insert(entry(UInt64(sequence))) }
        log.passOver(5)
        log.passOver(1)
        log.append(entry(20))
        log.append(entry(21))
        let lines = log.page(before: nil, limit: 10).entries
        #expect(lines.map(\.sequence) == [21, 20, 10, 9, 8, 7])
        #expect(lines.map(\.missed) == [0, 6, 0, 0, 0, 0])
        #expect(log.total == 3, "what was there before is no news")
    }

    /// A second has its share; what is done before the second is over rests until then.
    @Test func thePaceHasABound() {
        let begin = ContinuousClock.now
        var pace = Pace(now: begin)
        for _ in 1..<Pace.most { #expect(pace.rest(now: begin + .milliseconds(200)) == nil) }
        #expect(pace.rest(now: begin + .milliseconds(200)) == .milliseconds(800))
        let later = begin + .seconds(1)
        for _ in 1..<Pace.most { #expect(pace.rest(now: later) == nil) }
        // One that comes after the second begins another.
        #expect(pace.rest(now: later + .seconds(3)) == nil)
    }
}
