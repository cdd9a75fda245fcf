import LockstepCore
import Synchronization

// What one life of a feedback's effect shares between the node's thread, the loop that compares what the state asks for
// with what runs, and the task of the effect.

/// The entry by which an effect of a feedback took its own request out of the state.
///
/// From there on the life is over, even if the state asks for the same again and nothing but that is ever shown:
///
/// 1. The effect emits what fulfils its request; the entry takes the request away.
/// 2. Before the same hand-over an action asks for it again.
/// 3. One state is shown for both: it looks as if nothing had happened.
final class Fulfilment: Sendable {
    private let sequence = Mutex<SequenceNumber?>(nil)

    /// Whether it is known to the node's thread; it need not have committed.
    var isNoted: Bool { sequence.withLock { $0 != nil } }

    func note(_ entry: SequenceNumber) {
        sequence.withLock { noted in
            if noted == nil { noted = entry }
        }
    }

    /// Whether a state that is shown includes it: an older one asks for what is on its way.
    func isIncluded(in place: Place) -> Bool {
        sequence.withLock { noted in
            guard let noted else { return false }
            return noted <= place.sequence
        }
    }
}

/// The newest payload of a request, and where the effect hears of newer ones.
final class Payloads<Request: Sendable>: Sendable {
    private let contents: Mutex<Contents>

    private struct Contents: Sendable {
        var newest: Request
        var updates: AsyncStream<Request>.Continuation?
        var isFinished = false
    }

    init(_ first: Request) { contents = Mutex(Contents(newest: first)) }

    /// What the effect begins with, and those that follow; again for each time that it is run.
    func begin() -> (first: Request, updates: AsyncStream<Request>) {
        let (stream, updates) = AsyncStream.makeStream(of: Request.self, bufferingPolicy: .bufferingNewest(1))
        let (first, before, isFinished) = contents.withLock { contents in
            let before = contents.updates
            contents.updates = updates
            return (contents.newest, before, contents.isFinished)
        }
        before?.finish()
        if isFinished { updates.finish() }
        return (first, stream)
    }

    func replace(with request: Request) {
        let updates = contents.withLock { contents in
            contents.newest = request
            return contents.updates
        }
        updates?.yield(request)
    }

    func finish() {
        let updates = contents.withLock { contents in
            contents.isFinished = true
            return contents.updates
        }
        updates?.finish()
    }
}
