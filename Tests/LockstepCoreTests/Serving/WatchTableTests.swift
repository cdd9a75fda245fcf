import LockstepCore
import Testing

/// Queries that are watched at a node (PROTOCOL ).
@Suite struct WatchTableTests {
    /// Goal: an answer is sent when it is another than the last, with its place, and not before.
    @Test func anAnswerIsSentWhenItIsAnother() {
        var script = WatchScript()
        script.watch(1, 7)
        #expect(script.turn().map(\.text) == ["0"])
        script.set(7, 5)
        #expect(script.pass(200).map { "\($0.text)@\($0.sequence)" } == ["5@2"])
        // Something else changes: it is looked at, and not told.
        let before = script.state.asked.count
        script.set(8, 1)
        #expect(script.pass(200).isEmpty)
        #expect(script.state.asked.count == before + 1)
    }

    /// Goal: what changes inside an interval is told when that is over: the newest, and once.
    @Test func theLastChangeInsideAnIntervalArrives() {
        var script = WatchScript()
        script.watch(1, 7)
        _ = script.turn()
        for value in 1...9 as ClosedRange<UInt64> {
            script.set(7, value)
            #expect(script.pass(10).isEmpty)
        }
        #expect(script.pass(10).map(\.text) == ["9"])
        #expect(script.state.asked.count == 2)
        #expect(script.pass(1_000).isEmpty)
    }

    /// Goal: while nothing changes nothing is evaluated, and the node is woken once a second.
    @Test func nothingIsEvaluatedWhileNothingChanges() {
        var script = WatchScript()
        for number in 1...50 as ClosedRange<UInt64> { script.watch(number, UInt8(number), milliseconds: 10) }
        _ = script.pass(500)
        #expect(script.state.asked.count == 50)
        var wakes = 0
        let end = script.now.advanced(byMilliseconds: 10_000)
        while script.deadline <= end {
            script.now = max(script.now, script.deadline)
            _ = script.turn()
            wakes += 1
        }
        #expect(script.state.asked.count == 50)
        #expect((9...11).contains(wakes), "\(wakes) turns in 10 s")
    }

    /// Goal: an answer that was lost comes again when the client says what it has, and not when it has it.
    @Test func aLostAnswerIsSentAgain() {
        var script = WatchScript()
        script.watch(1, 7)
        _ = script.turn()
        script.set(7, 5)
        #expect(script.pass(500).count == 1)
        script.watch(1, 7, has: WatchScript.fingerprint("5"))
        #expect(script.pass(500).isEmpty)
        script.watch(1, 7, has: WatchScript.fingerprint("0"))
        #expect(script.pass(500).map(\.text) == ["5"])
        // While its interval is not over it waits for that.
        script.set(7, 6)
        #expect(script.turn().count == 1)
        script.watch(1, 7, has: WatchScript.fingerprint("5"))
        #expect(script.pass(99).isEmpty)
        #expect(script.pass(2).map(\.text) == ["6"])
    }

    /// Goal: a client that comes with what it has is told only what is another; the watch goes to its new connection.
    @Test func aWatchMovesWithItsClient() {
        var script = WatchScript()
        script.watch(1, 7)
        _ = script.turn()
        let other = Connection(rawValue: 6)
        script.watch(1, 7, has: WatchScript.fingerprint("0"), from: other)
        #expect(script.pass(500).isEmpty && script.table.count == 1)
        script.set(7, 1)
        #expect(script.pass(500).map(\.connection) == [other])
        // The same number of another client is another watch.
        script.watch(1, 8, client: 2)
        #expect(script.pass(500).count == 1 && script.table.count == 2)
        script.table.remove(WatchScript.id(1, client: 2))
        script.set(8, 1)
        #expect(script.pass(500).isEmpty && script.table.count == 1)
    }

    /// Goal: a watch may become another: of another query, or with another interval.
    @Test func aWatchMayAskSomethingElse() {
        var script = WatchScript()
        script.watch(1, 7, milliseconds: 1_000)
        _ = script.turn()
        script.set(8, 3)
        script.watch(1, 8, milliseconds: 10)
        #expect(script.turn().map(\.text) == ["3"])
        script.set(8, 4)
        #expect(script.pass(10).map(\.text) == ["4"])
        #expect(script.table.count == 1)
    }

    /// Goal: watches and the bytes of their queries are bounded, of a connection and of all (PROTOCOL R-58).
    @Test func watchesAreBounded() {
        var script = WatchScript()
        for number in 0..<UInt64(Limits.watches) {
            let connection = Connection(rawValue: 1 + number / UInt64(Limits.watchesOfConnection))
            #expect(script.watch(number, 1, from: connection) == nil)
        }
        let last = Connection(rawValue: 1 + UInt64(Limits.watches / Limits.watchesOfConnection))
        let full = script.watch(20_000, 1, from: last) ?? ""
        #expect(full.contains("this node has its most watches (10000)"))
        // The first connection has its own bound, which comes first.
        let own = script.watch(20_000, 1, from: Connection(rawValue: 1)) ?? ""
        #expect(own.contains("this connection has its most watches (1024)"))
        // What is there goes on, and what ends makes room.
        #expect(script.watch(0, 1, from: Connection(rawValue: 1)) == nil)
        script.table.remove(WatchScript.id(0))
        #expect(script.watch(20_000, 1, from: last) == nil)
        script.table.checkInvariants()
    }

    /// Goal: a few long queries reach a bound too.
    @Test func theBytesOfQueriesAreBounded() {
        var script = WatchScript()
        for number in 0..<16 as Range<UInt64> {
            #expect(script.watch(number, 1, from: Connection(rawValue: 1 + number / 4), length: 1 << 20) == nil)
        }
        let own = script.watch(16, 1, from: Connection(rawValue: 1)) ?? ""
        #expect(own.contains("this connection watches have more than 4194304 bytes"))
        let all = script.watch(16, 1, from: Connection(rawValue: 9)) ?? ""
        #expect(all.contains("watched at this node have more than 16777216 bytes"))
    }

    /// Goal: a turn evaluates so many and no more, in turn, so that all get theirs.
    @Test func aTurnEvaluatesSomeAndAllGetTheirTurn() {
        var script = WatchScript()
        for number in 0..<200 as Range<UInt64> { script.watch(number, UInt8(number), milliseconds: 10) }
        var counts: [Int] = []
        while script.deadline <= script.now {
            let before = script.state.asked.count
            _ = script.turn()
            counts.append(script.state.asked.count - before)
        }
        #expect(counts == [64, 64, 64, 8])
        #expect(script.state.asked == Array(0..<200))
        // They are due again all the time, and still each gets its turn.
        script.state.asked = []
        for round in 1...16 as ClosedRange<UInt64> {
            script.set(1, round)
            script.now = script.now.advanced(byMilliseconds: 10)
            _ = script.turn()
        }
        let seen = Dictionary(script.state.asked.map { ($0, 1) }, uniquingKeysWith: +)
        #expect(seen.count == 200 && seen.values.allSatisfy { (4...6).contains($0) })
    }

    /// Goal: queries that are dear take a fourth of the time, and a turn ends after a millisecond of them.
    @Test func dearQueriesTakeAPartOfTheTime() {
        var script = WatchScript()
        script.state.answerCost = 600_000
        for number in 0..<100 as Range<UInt64> { script.watch(number, UInt8(number), milliseconds: 10) }
        _ = script.turn()
        #expect(script.state.asked.count == 2)
        #expect(script.deadline == Tick(rawValue: script.now.rawValue + 4 * 1_200_000))
        _ = script.pass(96)
        #expect((40...42).contains(script.state.asked.count), "\(script.state.asked.count)")
    }

    /// Goal: a watch that its client no longer repeats is forgotten after 30 s, and not before (PROTOCOL R-56).
    @Test func aWatchThatIsNotRepeatedIsForgotten() {
        var script = WatchScript()
        script.watch(1, 7)
        script.watch(2, 8)
        _ = script.pass(20_000)
        script.watch(1, 7, has: WatchScript.fingerprint("0"))
        _ = script.pass(9_000)
        #expect(script.table.count == 2)
        _ = script.pass(2_000)
        #expect(script.table.count == 1)
        script.set(7, 1)
        #expect(script.pass(200).count == 1)
        _ = script.pass(20_000)
        #expect(script.table.isEmpty && script.deadline == .never)
    }

    /// Goal: time in which the process itself did not run is nobody's silence.
    @Test func aPauseOfTheNodeIsNoSilence() {
        var script = WatchScript()
        script.watch(1, 7)
        _ = script.pass(5_000)
        script.now = script.now.advanced(byMilliseconds: 60_000)
        _ = script.pass(5_000)
        #expect(script.table.count == 1)
        _ = script.pass(21_000)
        #expect(script.table.isEmpty)
    }

    /// Goal: who watches is told that the node cannot answer, once, and answered again when it can.
    @Test func whoWatchesLearnsThatNothingCanBeAnswered() {
        var script = WatchScript()
        script.watch(1, 7)
        _ = script.pass(200)
        script.refusal = .quarantined
        let told = script.pass(1_000)
        #expect(told.map(\.status) == [.unavailable] && told[0].text == ReadRefusal.quarantined.text)
        #expect(script.state.asked.count == 1)
        script.refusal = nil
        #expect(script.pass(200).map { "\($0.status) \($0.text)" } == ["answered 0"])
    }

    /// Goal: a query that the reactor refuses is told so, like any answer.
    @Test func aRefusedQueryIsTold() {
        var script = WatchScript()
        script.watch(1, 250)
        let told = script.pass(500)
        #expect(told.map(\.status) == [.refused] && told[0].text == "there is no such value")
    }

    /// Goal: after a newer place no older one is told, also where a wrong state was replaced by one from before it.
    @Test func placesDoNotGoBack() {
        var script = WatchScript()
        script.view.sequence = SequenceNumber(rawValue: 10)
        script.watch(1, 7)
        _ = script.pass(200)
        script.state.values[7] = 3
        script.view.sequence = SequenceNumber(rawValue: 8)
        #expect(script.pass(2_000).isEmpty)
        script.view.sequence = SequenceNumber(rawValue: 10)
        #expect(script.pass(200).map { "\($0.text)@\($0.sequence)" } == ["3@10"])
        // Another history begins with a higher epoch.
        script.view = ViewPlace(epoch: Epoch(rawValue: 2), sequence: SequenceNumber(rawValue: 1), time: .zero)
        script.state.values[7] = 4
        #expect(script.pass(200).map { "\($0.text)@\($0.sequence)" } == ["4@1"])
    }

    /// Goal: who watches much and says nothing gets so many bytes and no more, until it says WATCH; others go on (PROTOCOL
    ///
    @Test func whoDoesNotListenIsWaitedFor() {
        var script = WatchScript()
        script.state.padding = 1 << 20
        let deaf = Connection(rawValue: 1)
        for number in 1...20 as ClosedRange<UInt64> { script.watch(number, UInt8(number), from: deaf) }
        script.watch(30, 30, client: 2)
        var told = script.pass(1_000)
        #expect(told.count { $0.connection == deaf } == 8)
        #expect(told.count { $0.number == 30 } == 1)
        script.set(30, 1)
        #expect(script.pass(1_000).map(\.number) == [30])
        // It says one of them again: then the others get their first answers.
        script.watch(1, 1, has: 0, from: deaf)
        told = script.pass(1_000)
        #expect(told.count { $0.connection == deaf } == 8)
        script.table.remove(WatchScript.id(30, client: 2))
        for number in 1...20 as ClosedRange<UInt64> { script.table.remove(WatchScript.id(number)) }
        #expect(script.table.isEmpty && script.deadline == .never)
        script.table.checkInvariants()
    }

    /// Goal: an answer that no frame takes is refused instead of lost.
    @Test func anAnswerThatIsTooLargeIsRefused() {
        let (status, bytes) = ReadResult.fitting(.answered, Array(repeating: 0, count: Limits.actionBytes + 1))
        #expect(
            status == .refused && String(decoding: bytes, as: UTF8.self) == "the answer is larger than 1048576 bytes")
    }

    /// Goal: whatever clients and the state do, each watcher is told the newest in the end, never twice within its
    /// interval, and never the same twice, unless it said that it lacks it.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func everyWatcherIsToldTheNewest(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var script = WatchScript()
        var watchers: [UInt64: Watcher] = [:]
        var next: UInt64 = 1
        func deliver(_ told: [WatchScript.Told], at time: Tick, isLossy: Bool) {
            for answer in told {
                guard var watcher = watchers[answer.number] else { continue }
                if let last = watcher.lastTold {
                    #expect(time - last >= Tick.milliseconds(Int64(watcher.interval)), "too soon")
                }
                #expect(watcher.sentLast != answer.text || watcher.mayRepeat, "the same twice: \(answer)")
                watcher.lastTold = time
                watcher.sentLast = answer.text
                watcher.mayRepeat = false
                if !isLossy || random.next(below: 5) > 0 { watcher.has = answer.text }
                watchers[answer.number] = watcher
            }
        }
        for _ in 0..<400 {
            switch random.next(below: 10) {
            case 0:
                let interval: UInt32 = [10, 50, 200, 1_000][Int(random.next(below: 4))]
                watchers[next] = Watcher(value: UInt8(random.next(below: 5)), interval: interval)
                if let watcher = watchers[next] { script.watch(next, watcher.value, milliseconds: watcher.interval) }
                next += 1
            case 1:
                guard let number = watchers.keys.sorted().first, random.next(below: 2) == 0 else { break }
                watchers[number] = nil
                script.table.remove(WatchScript.id(number))
            case 2:
                for (number, watcher) in watchers.sorted(by: { $0.key < $1.key }) {
                    let has = watcher.has.map { WatchScript.fingerprint($0) } ?? 0
                    script.watch(number, watcher.value, milliseconds: watcher.interval, has: has)
                    watchers[number]?.mayRepeat = watcher.has != watcher.sentLast
                }
            default: script.set(UInt8(random.next(below: 5)), random.next(below: 4))
            }
            script.now = script.now.advanced(byMilliseconds: Int64(random.next(below: 60)))
            deliver(script.turn(), at: script.now, isLossy: true)
        }
        for (number, watcher) in watchers {
            let has = watcher.has.map { WatchScript.fingerprint($0) } ?? 0
            script.watch(number, watcher.value, milliseconds: watcher.interval, has: has)
            watchers[number]?.mayRepeat = watcher.has != watcher.sentLast
        }
        let end = script.now.advanced(byMilliseconds: 3_000)
        while script.deadline <= end {
            script.now = max(script.now, script.deadline)
            deliver(script.turn(), at: script.now, isLossy: false)
        }
        #expect(!watchers.isEmpty)
        for (number, watcher) in watchers {
            #expect(watcher.has == "\(script.state.values[watcher.value, default: 0])", "watch \(number)")
        }
    }

    private struct Watcher {
        var value: UInt8
        var interval: UInt32
        /// What came to the client.
        var has: String?
        var sentLast: String?
        var mayRepeat = false
        var lastTold: Tick?
    }
}
