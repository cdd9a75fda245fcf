import Counters
import Dispatch
import Foundation
import Lockstep
import LockstepConsole
import LockstepHTTP
import Testing

/// The console of a node: what it answers, and that it costs nothing while nobody looks.
@Suite(.timeLimit(.minutes(5))) struct ConsoleTests {
    /// The state after each entry, the difference between two, and the entry itself, all as they were.
    @Test func statesAndDifferencesAreThoseOfTheLog() async throws {
        let site = try Site()
        try await site.whileRunning {
            let events = try await site.events()
            try await site.kept(0)
            var places: [UInt64] = []
            for amount in 1...5 {
                let receipt = try await site.store.send(.add("visits", by: Int64(amount)))
                places.append(receipt.place.sequence.rawValue)
            }
            try await site.kept(places[4])
            for (index, value) in [1, 3, 6, 10, 15].enumerated() {
                let state = try await site.json("/api/state", ["at": "\(places[index])"])
                #expect(state["json"] as? String == #"{"values":{"visits":\#(value)},"bounds":{},"buckets":{}}"#)
                #expect(state["sequence"] as? UInt64 == places[index])
            }
            let difference = try await site.json(
                "/api/difference", ["from": "\(places[1])", "to": "\(places[4])"])
            let changes = try #require(difference["changes"] as? [[String: String]])
            #expect(changes == [["path": "values[\"visits\"]", "before": "3", "after": "15"]])
            let back = try await site.json("/api/difference", ["from": "\(places[4])", "to": "\(places[0])"])
            #expect((back["changes"] as? [[String: String]])?.first?["after"] == "1")

            let entry = try await site.json("/api/entry", ["sequence": "\(places[2])"])
            #expect((entry["mutations"] as? [String])?.first?.contains("visits") == true)
            let line = try #require(entry["line"] as? [String: Any])
            #expect(line["kind"] as? String == "action" && line["sequence"] as? UInt64 == places[2])
            let own = (entry["difference"] as? [String: Any])?["changes"] as? [[String: String]]
            #expect(own == [["path": "values[\"visits\"]", "before": "3", "after": "6"]])
            withExtendedLifetime(events) {}
        }
    }

    /// Numbers over the entries: all that are kept, then those after the last one that was seen.
    @Test func valuesAreThoseOfTheKeptStates() async throws {
        let site = try Site()
        try await site.whileRunning {
            _ = try await site.json("/api/status")
            try await site.kept(0)
            var last: UInt64 = 0
            for _ in 1...4 { last = try await site.store.send(.add("a b", by: 2)).place.sequence.rawValue }
            try await site.kept(last)
            func values(_ after: UInt64) async throws -> [Int?] {
                let answer = try await site.json("/api/values", ["path": #"values["a b"]"#, "after": "\(after)"])
                return (answer["points"] as? [[String: Any]] ?? []).map { $0["value"] as? Int }
            }
            // A mark is an entry too, and changes nothing.
            let all = try await values(0)
            let changes = zip([nil] + all, all).filter { $0 != $1 }.map(\.1)
            #expect(changes.suffix(4) == [2, 4, 6, 8])
            let newest = try await values(last - 1)
            #expect(Set(newest) == [8])
            let later = try await values(last)
            #expect(Set(later).isSubset(of: [8]))
        }
    }

    /// A page gets the status each second, and entries as they come, with their count.
    @Test func anOpenPageIsToldWhatComes() async throws {
        let site = try Site()
        try await site.whileRunning {
            let events = try await site.events()
            try await site.kept(0)
            for _ in 1...3 { _ = try await site.store.send(.add("visits", by: 1)) }
            var (statuses, entries) = (0, 0)
            for await event in events {
                let lines = event.split(separator: "\n")
                try #require(lines.count == 2 && lines[1].hasPrefix("data: {"))
                let data = Data(lines[1].dropFirst(6).utf8)
                let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
                if lines[0] == "event: status" { statuses += 1 }
                if lines[0] == "event: entries" { entries += try #require(object["count"] as? Int) }
                if statuses >= 2, entries >= 3 { break }
            }
            #expect(entries == 3)
        }
    }

    /// Nothing is followed before somebody looks, and all is let go a while after the last one has left.
    @Test func nothingIsFollowedWhileNobodyLooks() async throws {
        let site = try Site(lingering: .milliseconds(50))
        try await site.whileRunning {
            let before = try await site.store.send(.add("visits", by: 1)).place.sequence.rawValue
            #expect(!site.shown.kept().isFollowed)
            var events: AsyncStream<String>? = try await site.events()
            try await site.kept(before)
            #expect(events != nil)
            events = nil
            while site.shown.kept().isFollowed { try await Task.sleep(for: .milliseconds(5)) }
            #expect(site.shown.kept().firstState == nil && site.shown.kept().lines == 0)
            // What was there before it looked is listed from the node's memory.
            events = try await site.events()
            try await site.kept(before)
            var sequences: [UInt64] = []
            while !sequences.contains(before) {
                let entries = try await site.json("/api/entries")["entries"] as? [[String: Any]] ?? []
                sequences = entries.compactMap { $0["sequence"] as? UInt64 }
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Ten thousand entries at once are passed over but for some, and it is said how many.
    @Test func whatIsTooFastIsPassedOverAndCounted() async throws {
        let site = try Site()
        try await site.whileRunning {
            let events = try await site.events()
            try await site.kept(0)
            let actions = (0..<20_000).map { Counters.Action.add("counter-\($0 % 100)", by: 1) }
            _ = try await site.store.send(contentsOf: actions, timeout: .seconds(240))
            let last = try await site.store.send(.add("last", by: 1)).place.sequence.rawValue
            try await site.kept(last)
            // A node that is busy answers later, and the page is told so meanwhile.
            var status: [String: Any] = [:]
            while status["kept"] == nil { status = try await site.json("/api/status") }
            let kept = try #require((status["kept"] as? [[String: Any]])?.first)
            let missed = try #require(kept["missed"] as? UInt64)
            #expect(missed > 0 && missed < 20_001, "\(missed)")
            // A state in the gap is not that of the entry before it.
            let first = try #require(kept["firstState"] as? UInt64)
            let inTheGap = try await site.text("/api/state", ["store": "counters", "at": "\(last - 10_000)"])
            #expect(first > last - 10_000 || inTheGap.contains("too many to follow"), "\(inTheGap)")
            withExtendedLifetime(events) {}
        }
    }

    @Test(arguments: [
        ("/api/state", [:], 400, "say which store"), ("/api/state", ["store": "x"], 404, "counters"),
        ("/api/state", ["store": "counters", "at": "-1"], 400, "at is a whole number"),
        ("/api/state", ["store": "counters", "at": "99999"], 404, "still to come"),
        ("/api/entries", ["store": "counters", "limit": "0"], 400, "limit is a whole number from 1 to 200"),
        ("/api/entry", ["store": "counters"], 400, "say sequence=NUMBER"),
        ("/api/entry", ["store": "counters", "sequence": "99999"], 404, "lockstep journal dump"),
        ("/api/difference", ["store": "counters", "from": "1"], 400, "say to=NUMBER"),
        ("/api/values", ["store": "counters", "path": "a..b"], 400, "values.visits"),
    ])
    func aWrongQuestionIsToldWhatToDo(
        path: String, parameters: [String: String], status: Int, words: String
    ) async throws {
        let site = try Site()
        try await site.whileRunning {
            _ = try await site.json("/api/status")
            try await site.kept(0)
            let answer = try await site.answer(path, parameters)
            #expect(answer.status == status)
            #expect(try await site.text(path, parameters).contains(words))
        }
    }

    /// The document loads nothing but its own style, script and icon, and has no script or style in its lines.
    @Test func thePageIsOfThisNodeAlone() async throws {
        let site = try Site()
        var whole = ""
        for path in ["/", "/console.css", "/console.js", "/console.svg"] { whole += try await site.text(path) }
        let addresses = whole.matches(of: /https?:\/\/[a-z0-9.\/]*/).map { String($0.0) }
        #expect(
            Set(addresses) == ["http://www.w3.org/2000/svg"], "the name of a kind of document, which is not fetched")
        let document = try await site.text("/")
        #expect(!document.contains(" style=") && !document.contains("onclick") && !document.contains("<style"))
        #expect(document.matches(of: /<script/).count == 1)
        let script = try await site.text("/console.js")
        #expect(!script.contains("innerHTML") && !script.contains("eval("))
        // Whatever the script looks for by its ID is in the document.
        for match in script.matches(of: /\$\('([a-z-]+)'\)/) { #expect(document.contains("id=\"\(match.1)\"")) }
    }

    /// A status while the node does not run is a problem in a line, not an end.
    @Test func withoutARunningNodeItSaysSo() async throws {
        let site = try Site()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await site.console.run() }
            // On a busy host it may first be told that the node's thread has not answered yet.
            while try await !site.text("/api/status").contains("does not run") {
                try await Task.sleep(for: .milliseconds(5))
            }
            #expect(try await site.answer("/api/status").status == 503)
            group.cancelAll()
        }
    }

    /// A node's thread that hangs keeps no request.
    ///
    /// More of them than the HTTP address has connections are answered, each with a problem, and none waits long; when
    /// the thread goes on the status is there again.
    @Test func aThreadThatHangsKeepsNoRequest() async throws {
        let site = try Site()
        try await site.whileRunning {
            let (begun, end) = (AsyncStream<Void>.makeStream(), DispatchSemaphore(value: 0))
            async let held: Void = Self.hold(site.node, begun.continuation, until: end)
            for await _ in begun.stream {}
            let start = ContinuousClock.now
            let first = await Self.statuses(of: 70, at: site)
            // The node has been silent for long enough: nobody waits any more.
            let later = await Self.statuses(of: 70, at: site)
            let waited = ContinuousClock.now - start
            end.signal()
            await held
            #expect(first == Array(repeating: 503, count: 70) && later == first)
            #expect(waited < .seconds(60))
            while try await site.answer("/api/status").status != 200 { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    /// Keeps the node's thread until `end`.
    private static func hold(
        _ node: isolated Node, _ begun: AsyncStream<Void>.Continuation, until end: DispatchSemaphore
    ) {
        begun.finish()
        end.wait()
    }

    private static func statuses(of count: Int, at site: Site) async -> [Int] {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<count {
                // What is not answered has no status; 0 is none.
                group.addTask { (try? await site.answer("/api/status").status) ?? 0 }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}
