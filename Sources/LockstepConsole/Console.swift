internal import Foundation
internal import Lockstep
internal import LockstepHTTP
package import LockstepNode
internal import ServiceLifecycle
internal import Synchronization

/// A page of a node in a browser: what it knows of the cluster, its stores' entries as they come, states as they were.
///
///     let console = Console(node: node, stores: [ConsoleStore(counters)])
///     let server = try NodeHTTPServer(address: "127.0.0.1:7480", routes: console.routes, logger: logger)
///
/// It only reads. While nobody looks it does nothing and keeps nothing. Run it beside the node.
package final class Console: Service {
    let node: Node
    private let keys: NodeKeys?
    let stores: [ConsoleStore]
    let audience: ConsoleAudience
    let desk = ConsoleDesk()
    private let primary = Mutex<NodeStatus?>(nil)

    /// How often news are looked for; each fourth time the whole status is told.
    private static let step = Duration.milliseconds(250)
    /// The most lines of entries of a store in one event.
    private static let newsLimit = 20
    /// The most elements of each list of a status.
    private static let listLimit = 100

    /// Makes a console of a node.
    ///
    /// - Parameters:
    ///   - node: The node whose status is shown.
    ///   - stores: Those of its stores whose entries and states are shown; others are in the status only.
    ///   - keys: By which a primary is asked that takes nobody without.
    ///   - lingering: How long what was followed is kept after the last page was closed.
    package init(
        node: Node, stores: [ConsoleStore], keys: NodeKeys? = nil, lingering: Duration = .seconds(10)
    ) {
        self.node = node
        self.keys = keys
        self.stores = stores
        audience = ConsoleAudience(lingering: lingering)
    }

    /// Works while somebody looks, until the task is cancelled or graceful shutdown is asked for.
    package func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in self.audience.arrivals { await self.work() }
        }
        audience.end()
    }

    /// Follows the stores until nobody looks.
    private func work() async {
        await withTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { await store.follow() } }
            group.addTask { await self.followPrimary() }
            await tell()
            group.cancelAll()
        }
    }

    /// Asks the primary of a replica once a second what it says of itself and its replicas.
    ///
    /// While it does not answer, nothing is known; that it is away is what the replica itself sees.
    private func followPrimary() async {
        defer { primary.withLock { $0 = nil } }
        while !Task.isCancelled {
            guard let endpoint = await node.primaryEndpoint else { return }
            // A list that cannot be read now has no keys: nothing is known then.
            let dialing = keys.map { $0.dialing(endpoint, list: try? $0.access?.read()) }
            let bytes = try? await AdministrationClient.ask(at: endpoint, keys: dialing, timeout: .seconds(1))
            let status = bytes.flatMap { try? JSONDecoder().decode(NodeStatus.self, from: $0) }
            primary.withLock { $0 = status }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }

    // MARK: - Telling

    /// Tells all open pages what is new, until nobody looks.
    private func tell() async {
        var counted: [String: UInt64] = [:]
        var alarms: [String: [StoreStatus.Alarm]] = [:]
        var count = 0
        while audience.isThere(now: .now), !Task.isCancelled {
            tellNews(&counted)
            let raised = await raisedAlarms()
            let isNew = Self.names(raised) != Self.names(alarms)
            alarms = raised
            // An alarm does not wait for the second to be over.
            if isNew || count % 4 == 0 { await tellStatus() }
            count += 1
            do { try await Task.sleep(for: Self.step) } catch { return }
        }
    }

    private func tellNews(_ counted: inout [String: UInt64]) {
        for store in stores {
            let last = counted[store.name] ?? 0
            let news = store.news(last, Self.newsLimit)
            counted[store.name] = news.total
            if news.count > 0 { send("entries", news) }
        }
    }

    private func tellStatus() async {
        do { send("status", try await status()) } catch {
            send("stopped", ConsoleProblem(describing: error))
        }
    }

    private func send(_ event: String, _ value: some Encodable) {
        // What has a number that JSON has not is told with the next event.
        guard let json = try? value.jsonLine() else { return }
        audience.send("event: \(event)\ndata: \(json)")
    }

    private func raisedAlarms() async -> [String: [StoreStatus.Alarm]] { await node.alarms }

    private static func names(_ alarms: [String: [StoreStatus.Alarm]]) -> [String: [String]] {
        alarms.mapValues { $0.map(\.name) }
    }

    /// The node, and what is kept of its stores.
    func status() async throws -> StatusAnswer {
        let status = try await node.status(listing: Self.listLimit)
        var runs: [RunsAnswer] = []
        let own = Set(status.stores.filter { status.role(in: $0) == .primary }.map(\.name))
        if !own.isEmpty {
            for store in stores where own.contains(store.name) {
                // A data node may have lost the post meanwhile.
                guard let answer = try? await store.runs(Self.listLimit), answer.count > 0 else { continue }
                runs.append(answer)
            }
        }
        return StatusAnswer(
            at: Date().timeIntervalSince1970 * 1_000, node: status, primary: primary.withLock { $0 },
            kept: stores.map { $0.kept() }, runs: runs, readers: audience.readers)
    }
}
