import Counters
import Foundation
import Lockstep
import LockstepConsole
import LockstepHTTP

/// A node with counters and its console, asked as a browser asks, without a network.
struct Site: Sendable {
    let node: Node
    let store: Store<Counters>
    /// What the console keeps of it, to be looked at without asking.
    let shown: ConsoleStore
    let console: Console

    init(_ configuration: NodeConfiguration = .local(), lingering: Duration = .seconds(3_600)) throws {
        node = try Node(configuration)
        store = try node.store(Counters(), named: "counters")
        shown = ConsoleStore(store)
        console = Console(node: node, stores: [shown], lingering: lingering)
    }

    /// Runs both for as long as `body` takes, which begins when the store is live.
    func whileRunning(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await whileStarted {
            try await store.whenLive()
            try await body()
        }
    }

    /// Runs both for as long as `body` takes, also while a replica has no primary yet.
    func whileStarted(_ body: @escaping @Sendable () async throws -> Void) async throws {
        try await node.whileRunning {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await console.run() }
                try await body()
                group.cancelAll()
            }
        }
    }

    func answer(_ path: String, _ parameters: [String: String] = [:]) async throws -> HTTPAnswer {
        guard let route = console.routes.first(where: { $0.path == path }) else { throw Missing(path: path) }
        return await route.answer(HTTPQuery(parameters: parameters))
    }

    /// The answer's bytes as a text.
    func text(_ path: String, _ parameters: [String: String] = [:]) async throws -> String {
        guard case .bytes(let bytes) = try await answer(path, parameters).body else { throw Missing(path: path) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The answer's JSON; the store is named if it is not.
    func json(_ path: String, _ parameters: [String: String] = [:]) async throws -> [String: Any] {
        let text = try await text(path, parameters.merging(["store": "counters"]) { given, _ in given })
        guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            throw Missing(path: path)
        }
        return object
    }

    /// The stream of events of a page that is opened.
    func events() async throws -> AsyncStream<String> {
        guard case .events(let events) = try await answer("/api/events").body else { throw Missing(path: "events") }
        return events
    }

    /// Waits until the store is followed and the state after an entry is kept.
    func kept(_ sequence: UInt64) async throws {
        while true {
            if let last = shown.kept().lastState, last >= sequence { return }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    struct Missing: Error {
        var path: String
    }
}
