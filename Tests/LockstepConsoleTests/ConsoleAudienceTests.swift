import LockstepConsole
import Testing

/// Who looks, and what becomes of who does not read.
@Suite(.timeLimit(.minutes(5))) struct ConsoleAudienceTests {
    @Test func nobodyIsThereBeforeAndAWhileAfterSomebodyIs() {
        let audience = ConsoleAudience(lingering: .seconds(10))
        #expect(!audience.isThere(now: .now))
        var events = audience.join()
        #expect(audience.readers == 1 && audience.isThere(now: .now + .seconds(1_000)))
        #expect(events != nil)
        events = nil
        #expect(audience.readers == 0)
        #expect(audience.isThere(now: .now) && !audience.isThere(now: .now + .seconds(11)))
        audience.asked()
        #expect(audience.isThere(now: .now + .seconds(9)))
    }

    @Test func oneTooManyIsToldSo() {
        let audience = ConsoleAudience(lingering: .zero)
        var open = (0..<ConsoleAudience.mostReaders).compactMap { _ in audience.join() }
        #expect(open.count == ConsoleAudience.mostReaders && audience.join() == nil)
        open.removeLast()
        #expect(audience.join() != nil)
    }

    /// A page that does not read costs a bounded number of events, and gets the newest.
    @Test func whoDoesNotReadLosesTheOldest() async throws {
        let audience = ConsoleAudience(lingering: .zero)
        let events = try #require(audience.join())
        for number in 0..<1_000 { audience.send("\(number)") }
        audience.end()
        var seen: [String] = []
        for await event in events { seen.append(event) }
        #expect((1...64).contains(seen.count) && seen.last == "999")
        #expect(audience.join() == nil, "nobody joins what has ended")
    }
}
