import LockstepCore
import Testing

/// The client's part of the second answer.
@Suite struct ClientRunTests {
    private static func id(_ number: RequestNumber) -> RunID {
        RunID(session: ClientScript.session, number: number)
    }

    /// Two actions, of which the first was accepted.
    private func accepted(count: Int = 1) throws -> ClientScript {
        var script = try ClientSubmissionTests.opened()
        script.submit(count)
        script.accept(1...UInt64(count))
        return script
    }

    /// Goal: the end of an accepted action is asked for once a second until it comes, and given to the driver once
    /// (PROTOCOL R-64).
    @Test func anEndIsAskedForUntilItComes() throws {
        var script = try accepted()
        #expect(script.answers.count == 1)
        script.wait(990)
        #expect(script.wishes.isEmpty)
        script.wait(20)
        #expect(script.wishes == [[1: .await]])
        for _ in 0..<3 {
            script.keepAlive(1_000)
            #expect(script.wishes == [[1: .await]])
        }
        script.end(1)
        #expect(script.ends == [Self.id(1)])
        script.end(1)
        #expect(script.ends.isEmpty, "a repetition")
    }

    /// Goal: an end is acknowledged until the primary says that it keeps it no more, and then nothing is said of it
    /// (PROTOCOL R-64).
    @Test func anEndIsAcknowledgedUntilItIsGone() throws {
        var script = try accepted()
        script.end(1)
        script.keepAlive(510)
        #expect(script.wishes == [[1: .acknowledge]])
        script.keepAlive(1_000)
        #expect(script.wishes == [[1: .acknowledge]])
        script.receive(.runGone(Self.id(1)))
        #expect(script.directives.isEmpty)
        script.end(1)
        #expect(script.ends.isEmpty)
        script.keepAlive(5_000)
        #expect(script.wishes.isEmpty)
    }

    /// Goal: an end that comes before the first answer is ignored; the primary is asked when the answer has come
    /// (PROTOCOL R-64).
    @Test func anEndBeforeTheAnswerIsIgnored() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(1)
        script.end(1)
        #expect(script.ends.isEmpty)
        script.accept(1...1)
        script.keepAlive(1_010)
        #expect(script.wishes == [[1: .await]])
        script.end(1)
        #expect(script.ends == [Self.id(1)])
    }

    /// Goal: an end that cannot be read, or is another session's, is none (PROTOCOL ).
    @Test func aBrokenEndIsRefused() throws {
        var script = try accepted()
        script.end(1, item: [8, 1])
        #expect(script.ends.isEmpty)
        script.end(1, item: [4, 1, 1])
        #expect(script.ends.isEmpty)
        script.end(1, sequence: .max)
        #expect(script.ends.isEmpty)
        let other = SessionID(epoch: Epoch(rawValue: 5), sequence: SequenceNumber(rawValue: 3))
        script.receive(
            .runEnded(
                RunEnded(
                    id: RunID(session: other, number: 1), epoch: Epoch(rawValue: 5),
                    sequence: SequenceNumber(rawValue: 200), emissions: 0, item: 0..<1)), source: [0])
        #expect(script.ends.isEmpty)
        script.end(1)
        #expect(script.ends == [Self.id(1)])
        #expect(script.client.known.position.sequence == SequenceNumber(rawValue: 200))
    }

    /// Goal: cancelling asks at once and again until the end comes (PROTOCOL ).
    @Test func aRunIsCancelled() throws {
        var script = try accepted(count: 2)
        script.cancel(2)
        script.wait(0)
        #expect(script.wishes == [[1: .await, 2: .cancel]])
        script.keepAlive(1_000)
        #expect(script.wishes == [[1: .await, 2: .cancel]])
        script.end(2)
        script.cancel(2)
        script.cancel(9)
        script.keepAlive(1_000)
        #expect(script.wishes.allSatisfy { $0[1] == .await && $0[2] == .acknowledge })
    }

    /// Goal: what is cancelled before its answer came is cancelled when it turns out accepted; another answer ends that
    /// (PROTOCOL ).
    @Test func anActionIsCancelledBeforeItsAnswer() throws {
        var script = try ClientSubmissionTests.opened()
        script.submit(2)
        script.cancel(1)
        script.cancel(2)
        script.answer(1...1)
        script.keepAlive(3_000)
        #expect(script.wishes.isEmpty)
        script.accept(2...2)
        script.wait(0)
        #expect(script.wishes == [[2: .cancel]])
    }

    /// Goal: an awaited end that the primary does not keep is lost, and so is every awaited end of a lost session
    /// (PROTOCOL ).
    @Test func endsAreLost() throws {
        var script = try accepted(count: 4)
        script.receive(.runGone(Self.id(2)))
        #expect(script.lostEnds == [Self.id(2)])
        script.end(3)
        script.receive(.sessionExpired(ClientScript.session))
        #expect(script.lostEnds == [Self.id(1), Self.id(4)])
        script.keepAlive(3_000)
        #expect(script.wishes.isEmpty)
    }

    /// Goal: a client that is closed learns no more ends (PROTOCOL ).
    @Test func closingLosesEnds() throws {
        var script = try accepted()
        script.event { client, now, directives in client.close(now: now, into: &directives) }
        script.receive(.closed(ClientScript.session))
        #expect(script.lostEnds == [Self.id(1)])
    }

    /// Goal: on a new connection everything awaited is asked for as soon as the session is bound, not before
    /// (PROTOCOL ).
    @Test func aNewConnectionIsAskedAtOnce() throws {
        var script = try accepted(count: 3)
        script.end(2)
        script.cancel(3)
        script.receive(.resync)
        #expect(script.wishes.isEmpty)
        try script.welcome()
        #expect(script.wishes.isEmpty)
        let nonce = script.client.welcome?.nonce ?? 0
        script.receive(.resumed(Resumed(session: ClientScript.session, connectionNonce: nonce, expected: 4)))
        script.wait(0)
        #expect(script.wishes == [[1: .await, 2: .acknowledge, 3: .cancel]])
    }

    /// Goal: many wishes take several messages, in order, each number once (PROTOCOL R-64).
    @Test func manyWishesAreSplit() throws {
        let count = Limits.runWishes + 3
        var script = try ClientSubmissionTests.opened()
        for first in stride(from: 0, to: count, by: 200) {
            script.submit(min(200, count - first))
            script.accept(UInt64(first) + 1...UInt64(min(first + 200, count)), sequence: UInt64(first) + 100)
        }
        script.wait(1_010)
        #expect(script.wishes.map(\.count) == [Limits.runWishes, 3])
        #expect(Set(script.wishes.flatMap(\.keys)).count == count)
    }

    /// Goal: many ends are acknowledged at once, few after half a second (PROTOCOL R-64).
    @Test func manyEndsAreAcknowledgedAtOnce() throws {
        var script = try accepted(count: 200)
        script.submit(100)
        script.accept(201...300, sequence: 300)
        for number in 1...255 as ClosedRange<UInt64> { script.end(number) }
        script.wait(0)
        #expect(script.wishes.isEmpty)
        script.end(256)
        script.wait(0)
        #expect(script.wishes.first?.values.count { $0 == .acknowledge } == 256)
    }
}

extension ClientScript {
    /// The answers to `numbers`: accepted.
    mutating func accept(_ numbers: ClosedRange<RequestNumber>, sequence: UInt64 = 100) {
        let items = [UInt8](repeating: 3, count: numbers.count)
        let run = ResultSeries(
            session: Self.session, first: numbers.lowerBound, count: numbers.count, epoch: Epoch(rawValue: 5),
            firstSequence: SequenceNumber(rawValue: sequence), items: 0..<items.count)
        receive(.result(run), source: items)
    }

    mutating func end(_ number: RequestNumber, sequence: UInt64 = 200, item: [UInt8] = [4, 7]) {
        let ended = RunEnded(
            id: RunID(session: Self.session, number: number), epoch: Epoch(rawValue: 5),
            sequence: SequenceNumber(rawValue: sequence), emissions: 0, item: 0..<item.count)
        receive(.runEnded(ended), source: item)
    }

    mutating func cancel(_ number: RequestNumber) {
        event { client, now, _ in client.cancelRun(RunID(session: Self.session, number: number), now: now) }
    }

    /// Lets time pass while the primary gives signs of life.
    mutating func keepAlive(_ milliseconds: Int64) {
        var all: [ClientDirective] = []
        var left = milliseconds
        while left > 0 {
            let step = min(left, 400)
            all += wait(step)
            left -= step
            if let nonce = client.welcome?.nonce { receive(.welcome(primary.welcome(nonce: nonce))) }
            all += directives
        }
        directives = all
    }

    /// The wishes of each RUN_REQUEST of the last event.
    var wishes: [[RequestNumber: RunWish]] {
        sent.compactMap { message in
            guard case .runRequest(let request) = message else { return nil }
            return Dictionary(uniqueKeysWithValues: request.wishes.map { ($0.number, $0.kind) })
        }
    }

    var ends: [RunID] { directives.compactMap { if case .ended(let ended) = $0 { ended.id } else { nil } } }
    var lostEnds: [RunID] { directives.compactMap { if case .endLost(let id) = $0 { id } else { nil } } }
}
