import Lockstep
import Testing

/// What observers see: the current state first, then the newest, never a queue of old ones.
@Suite(.timeLimit(.minutes(5))) struct PublishedStateTests {
    private func snapshot(_ number: Int) -> Snapshot<Int> {
        Snapshot(
            state: number, place: Place(epoch: Epoch(rawValue: 1), sequence: SequenceNumber(rawValue: UInt64(number))),
            time: LogTime(rawValue: Int64(number)))
    }

    @Test func aLoopBeginsWithTheCurrentStateAndSkipsWhatItMissed() async {
        let published = PublishedState(snapshot(0))
        var states = States(published: published).makeAsyncIterator()
        #expect(await states.next()?.state == 0)
        published.publish(snapshot(1))
        published.publish(snapshot(2))
        #expect(await states.next()?.state == 2)
        var others = States(published: published).makeAsyncIterator()
        #expect(await others.next()?.place.sequence.rawValue == 2)
    }

    /// Values that did not change are left out, over any number of states.
    @Test func selectedValuesDiffer() async {
        let published = PublishedState(snapshot(0))
        var values = DistinctValues(states: States(published: published)) { $0 / 10 }.makeAsyncIterator()
        #expect(await values.next() == 0)
        let waiting = Task { () -> Int? in
            var values = values
            return await values.next()
        }
        for number in 1..<10 { published.publish(snapshot(number)) }
        await published.untilWanted()
        published.publish(snapshot(31))
        #expect(await waiting.value == 3)
    }

    /// A waiting loop asks for a state; one that is not read asks for nothing (PROTOCOL R-16).
    @Test func onlyReadersAskForStates() async {
        let published = PublishedState(snapshot(0))
        #expect(!published.isWanted)
        _ = published.current()
        #expect(published.isWanted)
        published.publish(snapshot(1))
        #expect(!published.isWanted)
        let waiting = Task { () -> Int? in
            var states = States(published: published).makeAsyncIterator()
            _ = await states.next()
            return await states.next()?.state
        }
        await published.untilWanted()
        published.publish(snapshot(2))
        #expect(await waiting.value == 2)
    }

    @Test func aCancelledLoopEnds() async {
        let published = PublishedState(snapshot(0))
        let waiting = Task { () -> Int in
            var count = 0
            for await _ in States(published: published) { count += 1 }
            return count
        }
        await published.untilWanted()
        waiting.cancel()
        #expect(await waiting.value == 1)
    }

    /// When the node's states are gone, loops end after the last state; new ones still get that.
    @Test func loopsEndWithTheNode() async {
        let published = PublishedState(snapshot(0))
        published.ownerBegan()
        published.ownerBegan()
        let loops = (0..<20).map { _ in
            Task { () -> Int? in
                var last: Int?
                for await snapshot in States(published: published) { last = snapshot.state }
                return last
            }
        }
        await published.untilWanted()
        published.ownerEnded()
        published.publish(snapshot(1))
        published.ownerEnded()
        for loop in loops { #expect(await loop.value == 1) }
    }
}

extension PublishedState {
    /// Lets others run until somebody has asked for a state.
    func untilWanted() async {
        while !isWanted { await Task.yield() }
    }
}
