import Counters
import Lockstep
import LockstepConsole
import Testing

/// Ways to the numbers of a state.
@Suite struct StatePathTests {
    private struct Garden: Encodable {
        var beds = [Bed(plants: ["tomato": 3]), Bed(plants: ["a.b]\"": 4, "é": 5])]
        var water: Double? = 1.5
        var gate = Gate.open(since: 7)
        var depth = Depth(rawValue: 9)
        var name = "north"
        var level: Float = 0.25
        struct Bed: Encodable { var plants: [String: Int] }
        enum Gate: Encodable { case open(since: Int) }
        struct Depth: RawRepresentable, Encodable { var rawValue: Int16 }
    }

    @Test(arguments: [
        ("beds[0].plants.tomato", 3.0), (#"beds[1].plants["a.b]\""]"#, 4), (#"beds[1].plants["é"]"#, 5),
        ("beds[1].plants.é", 5), ("water", 1.5), ("gate.open.since", 7), ("depth", 9), ("level", 0.25),
        (#"["water"]"#, 1.5), (#"beds[0].plants["\u0074omato"]"#, 3), (#"beds[0].plants["\u{74}omato"]"#, 3),
    ])
    func theNumberAtAPathIsFound(path: String, number: Double) throws {
        #expect(try #require(StatePath(path)).number(in: Garden()) == number)
    }

    @Test(arguments: ["beds", "beds[2].plants.tomato", "beds[0].plants.pear", "name", "name.x", "water.x", "gate", ""])
    func whereThereIsNoNumberNoneIsFound(path: String) throws {
        #expect(try #require(StatePath(path)).number(in: Garden()) == nil)
    }

    @Test(arguments: [
        "a..b", ".a", "a.", "a[", "a[]", "a[x]", "a[\"", "a[\"b\"", "a[\"\\", "a[\"\\q\"]", "a b", "a[\"\\u{110000}\"]",
        String(repeating: "a", count: 1_025),
    ])
    func whatIsNoPathIsRefused(text: String) { #expect(StatePath(text) == nil) }

    /// The paths of a difference are paths here.
    @Test func thePathsOfADifferenceAreRead() throws {
        var (before, after) = (Counters.State(), Counters.State())
        before.values["page \"views\""] = 1
        after.values["page \"views\""] = 2
        before.values["visits"] = 1
        after.values["visits"] = 3
        let changes = StateChanges(from: before, to: after).changes
        #expect(changes.count == 2)
        for change in changes {
            let path = try #require(StatePath(change.path))
            #expect(path.number(in: after).map { "\(Int64($0))" } == change.after)
        }
    }

    /// In a map of a hundred thousand the others are not looked at: the whole takes less than one walk would.
    @Test func aCounterAmongManyIsFoundByItsName() throws {
        var state = Counters.State()
        for number in 0..<100_000 { state.values["counter-\(number)"] = Int64(number) }
        let path = try #require(StatePath(#"values["counter-77"]"#))
        let time = ContinuousClock().measure {
            for _ in 0..<100 { #expect(path.number(in: state) == 77) }
        }
        // 100 walks over 100,000 pairs take tens of seconds.
        #expect(time < .seconds(10))
    }
}
