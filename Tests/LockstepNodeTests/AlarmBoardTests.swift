import Foundation
import LockstepCore
import LockstepNode
import Logging
import Testing

/// Alarms: one place for the status and the log.
@Suite
struct AlarmBoardTests {
    private let record = LogRecord()

    private var board: AlarmBoard { AlarmBoard(logger: record.logger(), metrics: NodeMetrics(store: "sum")) }

    private func second(_ number: Int64) -> Tick { Tick.zero.advanced(byMilliseconds: 1_000 * number) }

    /// An alarm is one line when it comes, one when its text changes, and one when it ends; status has its name first.
    @Test
    func anAlarmHasALineForEachChange() throws {
        var board = board
        board.raise(.diskFull, "no room", now: second(1))
        board.raise(.diskFull, "no room", now: second(2))
        board.raise(.primaryBehind, "this log ends early", now: second(3))
        #expect(board.all.map(\.description) == ["PRIMARY_BEHIND: this log ends early", "DISK_FULL: no room"])
        board.raise(.diskFull, "still no room", now: second(4))
        #expect(board[.diskFull]?.text == "still no room")
        #expect(board[.diskFull]?.since == second(1))
        board.clear(.diskFull, now: second(5))
        board.clear(.diskFull, now: second(6))
        board.clear(.ahead, now: second(7))
        #expect(board[.diskFull] == nil)
        #expect(board.all.map(\.description) == ["PRIMARY_BEHIND: this log ends early"])
        #expect(
            record.short == [
                "warning alarm raised DISK_FULL", "error alarm raised PRIMARY_BEHIND",
                "warning alarm changed DISK_FULL", "notice alarm ended DISK_FULL",
            ])
        #expect(record.lines.first?.metadata["lockstep.reason"] == "no room")
    }

    /// What a peer brings about again and again is a bounded number of lines a minute, and the last line is true in
    /// the end.
    @Test
    func aFloodOfAlarmsIsAFewLines() throws {
        var board = board
        for round in 0..<10_000 {
            let now = Tick.zero.advanced(byMilliseconds: 1_000 + Int64(round))
            board.raise(.refused, "refusal \(round)", now: now)
            board.clear(.refused, now: now)
            board.raise(.refused, "again \(round)", now: now)
            board.tick(now: now)
        }
        #expect(record.lines.count == LineLimit.perMinute)
        #expect(board.all.map(\.description) == ["REFUSED: again 9999"])
        board.tick(now: second(59))
        #expect(record.lines.count == LineLimit.perMinute)
        board.tick(now: second(62))
        let last = try #require(record.lines.last)
        #expect(record.lines.count == LineLimit.perMinute + 1)
        #expect(last.metadata["lockstep.reason"] == "again 9999")
        #expect((last.metadata["lockstep.skipped"].flatMap { Int($0) } ?? 0) > 10_000)
        board.tick(now: second(63))
        #expect(record.lines.count == LineLimit.perMinute + 1)
    }

    /// An alarm that came and went while its lines were held back leaves none.
    @Test
    func whatHasPassedIsNotWrittenLater() {
        var board = board
        for round in 0..<LineLimit.perMinute { board.raise(.noPrimary, "\(round)", now: second(1)) }
        board.raise(.noPrimary, "held back", now: second(2))
        board.raise(.noPrimary, "\(LineLimit.perMinute - 1)", now: second(3))
        board.tick(now: second(70))
        #expect(record.lines.count == LineLimit.perMinute)
    }

    /// An arbiter is away when nothing was answered for 10 s, whatever failed meanwhile.
    @Test
    func anArbiterIsAwayAfterTenSeconds() {
        var watch = ArbiterWatch(began: second(1))
        watch.failed(because: "no answer")
        #expect(!watch.isAway(now: second(10)) && watch.isAway(now: second(11)) && watch.problem == "no answer")
        watch.answered(now: second(11))
        #expect(!watch.isAway(now: second(20)) && watch.isAway(now: second(21)) && watch.problem == nil)
    }

    /// The names that the page for operators explains.
    @Test
    func anAlarmHasOneName() {
        #expect(AlarmKind.allCases.allSatisfy { $0.rawValue.wholeMatch(of: /[A-Z]+(_[A-Z]+)*/) != nil })
        #expect(
            AlarmKind.allCases.filter { $0.level == .error } == [
                .primaryBehind, .ahead, .diverged, .insufficientMembers, .recordMissing, .arbiterSetBack,
            ])
    }
}

/// What `status --json` says of phases, roles and alarms: texts, also those of another version.
@Suite struct StatusKindTests {
    private func decoded<Value: Codable>(_ text: String) throws -> Value {
        try JSONDecoder().decode([Value].self, from: Data("[\"\(text)\"]".utf8))[0]
    }

    private func encoded(_ value: some Codable) throws -> String {
        String(decoding: try JSONEncoder().encode([value]), as: UTF8.self)
    }

    @Test func anAlarmIsItsNameAndItsText() throws {
        let alarm: StoreStatus.Alarm = try decoded("DISK_FULL: no room: free some")
        #expect(alarm.kind == .diskFull && alarm.text == "no room: free some")
        #expect(try encoded(alarm) == #"["DISK_FULL: no room: free some"]"#)
        let later: StoreStatus.Alarm = try decoded("FROM_LATER")
        #expect(later.kind == nil && later.name == "FROM_LATER" && later.text.isEmpty)
    }

    @Test func aPhaseIsItsName() throws {
        let phase: StoreStatus.Phase = try decoded("catching-up")
        #expect(phase == .catchingUp)
        #expect(try encoded(phase) == #"["catching-up"]"#)
        let later: StoreStatus.Phase = try decoded("electing")
        #expect("\(later)" == "electing")
    }

    @Test func aRoleIsItsName() throws {
        let role: NodeStatus.Role = try decoded("replica")
        #expect(role == .replica)
        #expect(try encoded(role) == #"["replica"]"#)
        let later: NodeStatus.Role = try decoded("witness")
        #expect("\(later)" == "witness")
        #expect(try encoded(later) == #"["witness"]"#)
    }
}
