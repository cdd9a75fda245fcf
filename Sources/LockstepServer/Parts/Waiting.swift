import Foundation
import Synchronization

/// Says on standard error what a command waits for, once, if it waits longer than a second.
///
/// Also where standard error is no terminal: whoever reads a log must see why nothing happens.
package final class WaitNotice: Sendable {
    /// What waits less is not worth a line.
    static let patience: Duration = .seconds(1)

    private let began = ContinuousClock.now
    private let isSaid = Mutex(false)

    package init() {}

    /// Says it if it is time and nothing was said yet.
    package func waiting(for what: @autoclosure () -> String) {
        guard ContinuousClock.now - began >= Self.patience else { return }
        say(what())
    }

    /// What was waited for is here: nothing is said any more.
    package func end() { isSaid.withLock { $0 = true } }

    private func say(_ what: String) {
        let isFirst = isSaid.withLock { isSaid in
            defer { isSaid = true }
            return !isSaid
        }
        if isFirst { Output.error("waiting for \(what)") }
    }

    /// Runs `body`, and says what it waits for if it takes longer than a second.
    package nonisolated(nonsending) static func during<Value>(
        _ what: String, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await until(what) { _ in try await body() }
    }

    /// Runs `body`, and says what it waits for unless it calls ``end()`` within a second.
    package nonisolated(nonsending) static func until<Value>(
        _ what: String, _ body: nonisolated(nonsending) (WaitNotice) async throws -> Value
    ) async throws -> Value {
        let notice = WaitNotice()
        return try await notice.during(what) { try await body(notice) }
    }

    /// Runs `body`, and says what it waits for if it takes longer than a second and nothing was said yet.
    nonisolated(nonsending) func during<Value>(
        _ what: String, _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Task.sleep(for: Self.patience)
                self.say(what)
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }
}
