import LockstepHTTP
import Logging
import ServiceLifecycle
import Synchronization

/// Runs services for as long as `body` takes.
func withRunning(
    _ services: [any Service], _ body: @escaping @Sendable () async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
        for service in services {
            group.addTask {
                try await service.run()
                return false
            }
        }
        group.addTask {
            try await body()
            return true
        }
        let isBody = try await group.next()
        group.cancelAll()
        try await group.waitForAll()
        guard isBody == true else { throw ServiceEndedEarly() }
    }
}

struct ServiceEndedEarly: Error {}

/// What the tests of clients ask for.
enum TestRoutes {
    /// Streams of `/flood` that have ended.
    static func all(flooded: FloodCount = FloodCount()) -> [HTTPRoute] {
        [
            HTTPRoute("/hello") { _ in .text("hello\n") },
            HTTPRoute("/echo") { query in
                let parameters = query.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                return .text("\(parameters.joined(separator: " ")) last=\(query.lastEventID ?? "none")\n")
            },
            HTTPRoute("/events") { _ in
                HTTPAnswer(contentType: "text/event-stream", body: .events(ticking()))
            },
            HTTPRoute("/flood") { _ in
                let line = "data: " + String(repeating: "x", count: 64 << 10)
                let stream = AsyncStream<String>(unfolding: { line })
                return HTTPAnswer(contentType: "text/event-stream", body: .events(flooded.counting(stream)))
            },
            HTTPRoute("/flooded") { _ in .text("begun=\(flooded.begun) ended=\(flooded.ended)\n") },
        ]
    }

    /// `hello` with a number, every 50 ms.
    private static func ticking() -> AsyncStream<String> {
        let number = Mutex(0)
        let count: @Sendable () -> Int = {
            number.withLock { number in
                number += 1
                return number
            }
        }
        return AsyncStream(unfolding: {
            let number = count()
            if number > 1 {
                guard (try? await Task.sleep(for: .milliseconds(number == 2 ? 700 : 50))) != nil else { return nil }
            }
            return "event: hello\ndata: \(number)"
        })
    }
}

/// Counts streams that begin and end.
final class FloodCount: Sendable {
    private let counts = Mutex((begun: 0, ended: 0))

    var begun: Int { counts.withLock { $0.begun } }
    var ended: Int { counts.withLock { $0.ended } }

    func counting(_ stream: AsyncStream<String>) -> AsyncStream<String> {
        counts.withLock { $0.begun += 1 }
        let end = EndMark { self.counts.withLock { $0.ended += 1 } }
        let source = SourceBox(stream)
        return AsyncStream(unfolding: {
            _ = end
            return await source.next()
        })
    }
}

/// Calls back when the last holder lets go of it.
private final class EndMark: Sendable {
    private let ended: @Sendable () -> Void
    init(_ ended: @escaping @Sendable () -> Void) { self.ended = ended }
    deinit { ended() }
}

private actor SourceBox {
    private let stream: AsyncStream<String>
    init(_ stream: AsyncStream<String>) { self.stream = stream }
    func next() async -> String? {
        var iterator = stream.makeAsyncIterator()
        return await iterator.next(isolation: self)
    }
}

extension Logger {
    static let silent = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}
