internal import LockstepCore

/// Queries that callers watch at the node to which this store is connected.
extension StoreHost {
    /// So long a node that never answered may say that it cannot, in milliseconds.
    private static let patience: Int64 = 30_000

    package func watch(
        _ id: UInt64, _ query: [UInt8], interval: UInt32, tell: @escaping (Result<WatchUpdate, any Error>) -> Void
    ) {
        let now = MonotonicClock.now
        let isTaken = client.watch(id, query: query, interval: interval, now: now, into: &directives)
        guard isTaken else { return tell(.failure(WatchDesk.full)) }
        watchDesk.add(id, deadline: now.advanced(byMilliseconds: Self.patience), tell: tell)
    }

    /// A caller no longer watches.
    package func endWatch(_ id: UInt64) {
        if watchDesk.remove(id) { client.unwatch(id, into: &directives) }
    }

    func watchAnswered(_ result: ReadResult, in frame: ReplyFrame) {
        guard !watchDesk.answered(result, Array(frame.bytes[result.answer])) else { return }
        client.unwatch(result.id, into: &directives)
    }
}

extension StorePort {
    /// Watches a query at the node to which this one is connected: its answer, and then each that is another.
    ///
    /// Only the newest waits for a slow consumer. The watch ends with the stream: when that is dropped, or its task is
    /// cancelled. The stream ends when the node stops, and throws ``LockstepError`` with code `refused` or `unavailable`.
    ///
    /// - Parameters:
    ///   - query: The reactor's query.
    ///   - interval: The least time between two answers, in microseconds.
    /// - Returns: The answers, and why there is none.
    package func watch(_ query: [UInt8], interval: UInt32) -> AsyncThrowingStream<WatchUpdate, any Error> {
        let id = makeID()
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let inbox = inbox
            // It comes after the errand that begins the watch, which is left below.
            continuation.onTermination = { reason in
                if case .cancelled = reason { inbox.ask(Errand(run: { $0.endWatch(id) })) }
            }
            inbox.ask(
                Errand(
                    run: { host in
                        host.watch(id, query, interval: interval) { outcome in
                            switch outcome {
                            case .success(let update): continuation.yield(update)
                            case .failure(let error): continuation.end(because: error)
                            }
                        }
                    }, refuse: { continuation.end(because: $0) }))
        }
    }
}

extension AsyncThrowingStream.Continuation where Failure == any Error {
    /// Ends the stream: without an error when the node has stopped in good order.
    fileprivate func end(because error: any Error) {
        if (error as? LockstepError)?.code == .stopped { finish() } else { finish(throwing: error) }
    }
}
