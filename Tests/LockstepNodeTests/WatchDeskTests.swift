import LockstepCore
import LockstepNode
import Testing

/// What callers who watch a query at another node are told (PROTOCOL R-56).
@Suite struct WatchDeskTests {
    /// What one caller was told, as texts.
    private final class Told {
        var texts: [String] = []

        func tell(_ outcome: Result<WatchUpdate, any Error>) {
            switch outcome {
            case .success(let update):
                let answer = update.answer.map { String(decoding: $0.bytes, as: UTF8.self) } ?? "none"
                texts.append(update.unavailable.map { "\(answer), \($0)" } ?? answer)
            case .failure(let error): texts.append("\(error)")
            }
        }
    }

    private static let late = Tick(rawValue: 30_000_000_000)

    private func result(_ status: ReadStatus, id: UInt64 = 1) -> ReadResult {
        ReadResult(
            id: id, status: status, epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: 5), time: .zero,
            answer: 0..<0)
    }

    /// Goal: while the node cannot answer the last answer is told with the reason; the next answer comes without one.
    @Test func theLastAnswerStaysWhileTheNodeCannotAnswer() {
        var desk = WatchDesk()
        let told = Told()
        desk.add(1, deadline: Self.late) { told.tell($0) }
        let goesOn = [
            desk.answered(result(.answered), Array("5".utf8)),
            desk.answered(result(.unavailable), Array("behind".utf8)),
            desk.answered(result(.answered), Array("6".utf8)),
        ]
        #expect(goesOn == [true, true, true])
        #expect(told.texts == ["5", "5, behind", "6"])
        // It was answered, so it waits for as long as it takes.
        let ended = desk.ticked(Self.late)
        #expect(ended.isEmpty && told.texts.count == 3)
    }

    /// Goal: who was never answered learns after a while why; who has reached no node goes on waiting.
    @Test func whoWasNeverAnsweredLearnsWhy() {
        var desk = WatchDesk()
        let (told, waiting) = (Told(), Told())
        desk.add(1, deadline: Self.late) { told.tell($0) }
        desk.add(2, deadline: Self.late) { waiting.tell($0) }
        _ = desk.answered(result(.unavailable), Array("full".utf8))
        #expect(desk.ticked(Tick(rawValue: 29_000_000_000)).isEmpty)
        let ended = desk.ticked(Self.late)
        #expect(ended == [1])
        #expect(told.texts == ["none, full", "unavailable: the node that was asked cannot answer: full"])
        let wasThere = desk.remove(2)
        #expect(waiting.texts.isEmpty && wasThere)
        #expect(desk.ticked(Tick(rawValue: 60_000_000_000)).isEmpty)
        #expect(desk.nextDeadline == .never)
    }

    /// Goal: a refused query ends its watch; the end of the node ends all.
    @Test func aRefusalAndTheEndOfTheNodeEndWatches() {
        var desk = WatchDesk()
        let (told, other) = (Told(), Told())
        desk.add(1, deadline: Self.late) { told.tell($0) }
        desk.add(2, deadline: Self.late) { other.tell($0) }
        let goesOn = desk.answered(result(.refused), Array("no".utf8))
        let isThere = desk.remove(1)
        #expect(told.texts == ["refused: the query was refused: no"] && !goesOn && !isThere)
        desk.failAll(LockstepError(.stopped, "over"))
        #expect(other.texts == ["stopped: over"])
    }
}
