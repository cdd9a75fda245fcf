import Foundation
import Lockstep
import LockstepCore
import Testing

/// Values of which every assignment counts.
@Suite struct PulseTests {
    private struct Page: Codable, Hashable, Sendable {
        @Pulse var alert: String?
        @Pulse var lines: [Int] = []
    }

    /// Every assignment counts, of an equal value too; a change in place counts once (SEMANTICS K32).
    @Test func everyAssignmentCounts() {
        var page = Page()
        #expect(page.$alert.count == 0 && page.$lines.count == 0)
        for count in 1...3 {
            page.alert = "saved"
            #expect(page.$alert.count == UInt64(count) && page.alert == "saved")
        }
        page.alert = nil
        #expect(page.$alert.count == 4)
        page.lines.append(7)
        page.lines[0] += 1
        page.lines.removeAll { $0 > 100 }
        #expect(page.$lines.count == 3 && page.lines == [8])
        let copy = page
        page.lines.append(1)
        #expect(copy.$lines.count == 3 && copy.lines == [8] && page.$lines.count == 4)
    }

    /// After the greatest count comes 0 (SEMANTICS K32).
    @Test func theCountGoesFromItsGreatestValueToZero() {
        var pulse = Pulse(wrappedValue: 1, count: .max)
        var baseline = PulseBaseline(pulse)
        pulse.wrappedValue = 2
        #expect(pulse.count == 0)
        #expect(baseline.event(of: pulse) == PulseEvent(value: 2, assignments: 1))
    }

    /// The count is a part of what is encoded, digested and compared (SEMANTICS K32).
    @Test func theCountIsAPartOfTheState() throws {
        var page = Page()
        page.alert = "a"
        let once = page
        page.alert = "a"
        #expect(once != page && StateDigest.digest(of: once) != StateDigest.digest(of: page))
        #expect(once.$alert.contentDigest != page.$alert.contentDigest)
        let back = try JSONDecoder().decode(Page.self, from: try JSONEncoder().encode(page))
        #expect(back == page && back.$alert.count == 2 && back.$lines.count == 0)
        #expect(StateDigest.digest(of: back) == StateDigest.digest(of: page))
        page.alert = nil
        let empty = try JSONDecoder().decode(Page.self, from: try JSONEncoder().encode(page))
        #expect(empty == page && empty.alert == nil && empty.$alert.count == 3)
        let coding = Coding<Pulse<String?>>.wire
        let bytes = try coding.encoded(once.$alert)
        #expect(try coding.decoded(bytes) == once.$alert)
        for end in bytes.indices { #expect(throws: WireError.self) { try coding.decoded(Array(bytes[..<end])) } }
    }

    /// Nothing that was before the subscription is reported; then one event for each state in which the pulse was
    /// assigned, which says how often (SEMANTICS K33).
    @Test func anObserverHearsOfAssignmentsSinceItBegan() {
        var page = Page()
        page.alert = "old"
        var baseline = PulseBaseline(page.$alert)
        #expect(baseline.event(of: page.$alert) == nil)
        page.lines.append(1)
        #expect(baseline.event(of: page.$alert) == nil, "another pulse")
        page.alert = "old"
        #expect(baseline.event(of: page.$alert) == PulseEvent(value: "old", assignments: 1))
        for text in ["a", "b", "c"] { page.alert = text }
        #expect(baseline.event(of: page.$alert) == PulseEvent(value: "c", assignments: 3))
        #expect(baseline.event(of: page.$alert) == nil)
    }

    /// One that asks for what is there hears of it once, whatever the count (SEMANTICS K33).
    @Test func anObserverMayAskForTheFirstValue() {
        var baseline = PulseBaseline()
        let pulse = Pulse(wrappedValue: "x", count: 9)
        #expect(baseline.event(of: pulse) == PulseEvent(value: "x", assignments: 1))
        #expect(baseline.event(of: pulse) == nil)
    }

    /// However far a snapshot jumps, forwards or back, there is one event, and the next one counts from there.
    @Test func aJumpIsOneEvent() {
        var baseline = PulseBaseline(Pulse(wrappedValue: 0, count: 1_000))
        #expect(baseline.event(of: Pulse(wrappedValue: 1, count: 51_000)) == PulseEvent(value: 1, assignments: 50_000))
        #expect(baseline.event(of: Pulse(wrappedValue: 2, count: 10)) == PulseEvent(value: 2, assignments: 1))
        #expect(baseline.event(of: Pulse(wrappedValue: 2, count: 10)) == nil)
        #expect(baseline.event(of: Pulse(wrappedValue: 3, count: 12)) == PulseEvent(value: 3, assignments: 2))
    }

    /// Random assignments seen at random states: the numbers reported add up to the number made.
    @Test(arguments: 1...4) func noAssignmentIsLostOrCountedTwice(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        // Near the end of the range, so that the count goes over it.
        var pulse = Pulse(wrappedValue: 0, count: .max - 100)
        var baseline = PulseBaseline(pulse)
        var (made, seen): (UInt64, UInt64) = (0, 0)
        for _ in 0..<1_000 {
            if random.next(below: 3) > 0 {
                pulse.wrappedValue = Int(random.next(below: 3))
                made += 1
            } else {
                seen += baseline.event(of: pulse)?.assignments ?? 0
                #expect(seen == made)
            }
        }
    }
}

/// Values with a version that a reducer sets (SEMANTICS F22).
@Suite struct VersionedTests {
    @Test func anEqualValueOfAnotherVersionIsAnother() throws {
        var search = Versioned("swift")
        let first = search
        search.set("swift")
        #expect(search != first && search.value == first.value && search.version == 1)
        search.renew()
        #expect(search.update { $0.removeLast() } == "t" && search.version == 3 && search.value == "swif")
        #expect(search.contentDigest != Versioned("swif", version: 4).contentDigest)
        #expect(search.contentDigest == Versioned("swif", version: 3).contentDigest)
        let last = SequenceNumber(rawValue: 9)
        #expect(Versioned("a", at: last) != Versioned("a", at: last.next))
        var greatest = Versioned(1, version: .max)
        greatest.renew()
        #expect(greatest.version == 0)
        #expect(try JSONDecoder().decode(Versioned<String>.self, from: try JSONEncoder().encode(search)) == search)
        let coding = Coding<Versioned<String>>.wire
        #expect(try coding.decoded(try coding.encoded(search)) == search)
    }
}
