import SearchCache
import Synchronization

/// A backend that answers what a test says, when the test says it.
final class ScriptedBackend: SearchBackend {
    private let contents = Mutex(Contents())

    private struct Contents: Sendable {
        var asked: [SearchRequest] = []
        var waiting: [UInt64: (request: SearchRequest, continuation: CheckedContinuation<SearchResult, any Error>)] =
            [:]
        var lastNumber: UInt64 = 0
        var isHolding = false
        var answer: @Sendable (SearchRequest) throws -> SearchResult = { request in
            .page(
                [SearchHit(title: "\(request.query) \(request.page)", url: "u")], hasNext: request.page < 3, total: 3)
        }
        var observers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    var name: String { "script" }

    /// All requests so far, in the order in which they came.
    var asked: [SearchRequest] { contents.withLock { $0.asked } }

    /// Answers in another way from now on.
    func answer(_ answer: @escaping @Sendable (SearchRequest) throws -> SearchResult) {
        contents.withLock { $0.answer = answer }
    }

    /// Requests wait for ``release(_:)`` from now on.
    func hold() { contents.withLock { $0.isHolding = true } }

    /// Answers those that wait and are meant, and holds no more if `isOver`.
    func release(isOver: Bool = true, _ isMeant: (SearchRequest) -> Bool = { _ in true }) {
        let (released, answer) = contents.withLock { contents in
            if isOver { contents.isHolding = false }
            let released = contents.waiting.filter { isMeant($0.value.request) }
            for number in released.keys { contents.waiting[number] = nil }
            return (released.sorted { $0.key < $1.key }.map(\.value), contents.answer)
        }
        for (request, continuation) in released { continuation.resume(with: Result { try answer(request) }) }
    }

    /// Waits until so many requests have come.
    func wasAsked(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = contents.withLock { contents in
                if contents.asked.count >= count { return true }
                contents.observers.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func search(_ request: SearchRequest) async throws -> SearchResult {
        let (number, isHolding, answer, ready) = contents.withLock { contents in
            contents.asked.append(request)
            contents.lastNumber += 1
            let count = contents.asked.count
            let ready = contents.observers.filter { $0.count <= count }
            contents.observers.removeAll { $0.count <= count }
            return (contents.lastNumber, contents.isHolding, contents.answer, ready)
        }
        for observer in ready { observer.continuation.resume() }
        guard isHolding else { return try answer(request) }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<SearchResult, any Error>? = contents.withLock { contents in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard contents.isHolding else { return Result { try contents.answer(request) } }
                    contents.waiting[number] = (request, continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiting = contents.withLock { $0.waiting.removeValue(forKey: number) }
            waiting?.continuation.resume(throwing: CancellationError())
        }
    }
}
