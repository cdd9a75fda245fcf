import Foundation
import LockstepConsole
import LockstepNode
import Testing

/// What `top` shows, apart from a terminal.
@Suite struct TopTests {
    private struct Peer: Encodable {
        var node = "replica-1"
        var role = "replica"
        var applied: UInt64 = 0
        var lag: UInt64 = 0
        var silentSeconds = 0.2
        var mark: Mark?
    }

    private struct Mark: Encodable {
        var sequence: UInt64
        var digest: String
    }

    /// A look at a node; its status is read as one that a node sent.
    private func look(
        _ node: String, role: String = "replica", commit: UInt64, lag: UInt64? = 0, phase: String = "live",
        mark: Mark? = nil, alarms: [String] = [], stores: [String] = ["counters"], peers: [Peer] = []
    ) throws -> TopModel.Look {
        let encoder = JSONEncoder()
        func text(_ value: some Encodable) throws -> String {
            String(decoding: try encoder.encode(value), as: UTF8.self)
        }
        let parts = try stores.map { name in
            """
            {"name":"\(name)","phase":"\(phase)","isVolatile":false,"epoch":1,"sequence":\(commit),"commit":\(commit),
            "hash":"","time":0,"sessions":[],"sessionCount":0,"peers":\(try text(peers)),"peerCount":0,
            "lostReplicas":[],"lag":\(try text(lag)),"unanswered":0,"counters":{},"mark":\(try text(mark)),
            "alarms":\(try text(alarms))}
            """
        }
        let json = """
            {"node":"\(node)","role":"\(role)","boot":"b","process":1,"uptimeSeconds":1,
            "stores":[\(parts.joined(separator: ","))]}
            """
        return TopModel.Look(
            path: "data/\(node)", status: try JSONDecoder().decode(NodeStatus.self, from: Data(json.utf8)))
    }

    private func lines(_ model: TopModel, columns: Int = 80, rows: Int = 24) -> [String] {
        model.frame(columns: columns, rows: rows).text
    }

    @Test func ratesAndLagsAreThoseBetweenTheLooks() throws {
        var model = TopModel()
        for second in 0...5 {
            model.take(
                [
                    try look(
                        "primary", role: "primary", commit: UInt64(second) * 120, phase: "admitting",
                        peers: [Peer(lag: 7), Peer(node: "c", role: "client", lag: 99)]),
                    try look("replica-1", commit: UInt64(second) * 120, lag: 7),
                ], at: Double(second))
        }
        let text = lines(model)
        #expect(
            text.contains { $0.hasPrefix("primary            primary  admitting            600       7      120 ") })
        #expect(
            text.contains { $0.hasPrefix("replica-1          replica  live                 600       7      120 ") })
        #expect(text[0].contains("2 of 2 nodes answer"))
    }

    /// Replicas that nobody asked are shown as their primary hears them, and their digests are compared.
    @Test func replicasThatOnlyThePrimaryHearsAreShown() throws {
        func frame(_ digest: String) throws -> [String] {
            var model = TopModel()
            for second in 0...1 {
                let commit = UInt64(second) * 50
                model.take(
                    [
                        try look("replica-1", commit: commit),
                        try look(
                            "primary", role: "primary", commit: commit, phase: "admitting",
                            mark: Mark(sequence: 40, digest: "aa"),
                            peers: [
                                Peer(applied: commit), Peer(node: "c", role: "client"),
                                Peer(
                                    node: "replica-2", applied: commit, lag: 3, silentSeconds: 4.4,
                                    mark: Mark(sequence: 40, digest: digest)),
                            ]),
                    ], at: Double(second))
            }
            return lines(model)
        }
        let text = try frame("aa")
        #expect(text.count { $0.hasPrefix("replica-1 ") } == 1, "a node that answers is shown once")
        let expected = "replica-2          replica  4 s ago               50       3       50 "
        #expect(text.contains { $0.hasPrefix(expected) }, "\(text)")
        #expect(!text.contains { $0.hasPrefix("c ") })
        #expect(text.contains { $0.contains("digests equal at 40") })
        #expect(try frame("bb").contains { $0.contains("digests DIFFER at 40") })
    }

    /// A node that went back has no rate over that, least of all a huge one.
    @Test func aNodeThatWentBackHasNoRate() throws {
        var model = TopModel()
        model.take([try look("a", commit: 500)], at: 0)
        model.take([try look("a", commit: 3)], at: 1)
        #expect(lines(model).contains { $0.hasPrefix("a ") && $0.contains(" 3       0        -") })
    }

    @Test func whatDoesNotAnswerAndWhatIsWrongIsSaid() throws {
        var model = TopModel()
        let missing = TopModel.Look(path: "data/b", status: nil, word: "not running", reason: "no node runs in data/b")
        model.take([try look("a", commit: 1, lag: nil, alarms: ["NO_PRIMARY: nothing answers"]), missing], at: 0)
        let text = lines(model)
        #expect(
            text.contains("! a, counters: NO_PRIMARY: nothing answers") && text.contains("! no node runs in data/b"))
        #expect(text.contains { $0.hasPrefix("data/b") && $0.contains("not running") })
        #expect(text.contains { $0.hasPrefix("a ") && $0.contains(" ? ") })
        let alarms = model.frame(columns: 80, rows: 24).lines.filter { $0.contains { $0.style == .alarm } }
        #expect(alarms.count >= 3)
    }

    /// Marks at one place are compared; one difference is what is said.
    @Test func digestsThatDifferAreSaid() throws {
        var model = TopModel()
        func take(_ digests: [String]) throws {
            model.take(
                try digests.enumerated().map { try look("n\($0)", commit: 9, mark: Mark(sequence: 8, digest: $1)) },
                at: 0)
        }
        try take(["aa", "aa", "aa"])
        #expect(lines(model).contains { $0.contains("digests equal at 8") })
        try take(["aa", "aa", "ab"])
        #expect(lines(model).contains { $0.contains("digests DIFFER at 8") })
        try take(["aa"])
        #expect(!lines(model).contains { $0.contains("digests") }, "one mark says nothing")
    }

    @Test func keysChooseSortPauseAndEnd() throws {
        var model = TopModel()
        func take(_ time: Double) throws {
            let stores = ["counters", "search"]
            model.take(
                [
                    try look("a", commit: 10, lag: 1, stores: stores),
                    try look("b", commit: UInt64(time) * 50, lag: 30, stores: stores),
                ], at: time)
        }
        try take(1)
        try take(2)
        #expect(model.store == "counters")
        model.press(.right)
        #expect(model.store == "search")
        model.press(.right)
        #expect(model.store == "counters")
        model.press(.up)
        #expect(model.store == "search")
        func first() -> String? { lines(model).first { $0.hasPrefix("a ") || $0.hasPrefix("b ") } }
        #expect(first()?.hasPrefix("a") == true)
        model.press(.sort)
        #expect(model.order == .lag && first()?.hasPrefix("b") == true)
        model.press(.pause)
        let before = lines(model).dropFirst()
        try take(3)
        #expect(lines(model).dropFirst() == before && lines(model)[0].contains("PAUSED"))
        model.press(.help)
        #expect(lines(model).contains { $0.contains("sort by lag") })
        model.press(.sort)
        #expect(!model.isHelpShown && model.order == .lag, "a key that leaves the help does nothing else")
        model.press(.quit)
        #expect(!model.isRunning)
    }

    @Test func bytesOfATerminalAreKeys() {
        #expect(TopKey.keys(in: Array("q".utf8)) == [.quit])
        #expect(TopKey.keys(in: Array("\u{1B}[A\u{1B}[B\u{1B}OC\u{1B}[1;5D".utf8)) == [.up, .down, .right, .left])
        #expect(TopKey.keys(in: Array("s?p x".utf8)) == [.sort, .help, .pause, .pause, .other])
        #expect(TopKey.keys(in: [0x1B]) == [.escape])
        #expect(TopKey.keys(in: [0x1B, 0x5B]) == [.other])
        #expect(TopKey.keys(in: [0x1B, UInt8(ascii: "q")]) == [.escape, .quit])
        for byte in UInt8.min...UInt8.max { #expect(TopKey.keys(in: [0x1B, 0x5B, byte]).count <= 2) }
    }

    /// Whatever the terminal's size is, no line is longer and there are no more lines.
    @Test(arguments: [(80, 24), (79, 5), (40, 10), (1, 1), (200, 60), (120, 3), (0, 0)])
    func aFrameFits(columns: Int, rows: Int) throws {
        var model = TopModel()
        let alarm = "DIVERGED: \u{1B}[2J own digest \(String(repeating: "x", count: 300))"
        let looks = try (0..<40).map { try look("replica-\($0)", commit: 123_456_789_012, lag: 5, alarms: [alarm]) }
        for second in 0..<3 { model.take(looks, at: Double(second)) }
        let text = lines(model, columns: columns, rows: rows)
        #expect(text.count <= max(rows, 0) || rows == 0)
        #expect(text.allSatisfy { $0.count <= columns })
        #expect(!text.contains { $0.contains("\u{1B}") }, "what nodes say moves no cursor")
        if rows == 24 { #expect(text.last?.contains("lines more") == true) }
    }

    /// Colours can be left out; weight stays.
    @Test func withoutColoursNoneIsSent() throws {
        var model = TopModel()
        model.take([try look("a", commit: 1, alarms: ["AHEAD: x"])], at: 0)
        let frame = model.frame(columns: 80, rows: 24)
        let codes = frame.coded(colours: false).joined().matches(of: /\u{1B}\[([0-9;]*)m/).map { String($0.1) }
        #expect(!codes.isEmpty && Set(codes).isSubset(of: ["", "0", "1", "1;7"]))
        #expect(frame.coded(colours: true).joined().contains("\u{1B}[1;31m"))
    }

    @Test func aSparklineIsTheLastMinute() {
        let points = [(at: -5.0, value: 9.0), (at: 1, value: 0), (at: 30, value: 1), (at: 59, value: 100)]
        let text = Sparkline().text(points.map { ($0.0, $0.1) }, now: 60, span: 60, width: 6)
        #expect(text == "▁  ▂ █")
        #expect(Sparkline(isPlain: true).text([(60, 5)], now: 60, span: 60, width: 2) == " #")
        #expect(Sparkline().text([], now: 60, span: 60, width: 0) == "")
    }
}
