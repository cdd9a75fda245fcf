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
    private let looks: StatusDesk
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
        looks = StatusDesk { try await Console.look(at: node, stores) }
    }

    /// Works while somebody looks, until the task is cancelled or graceful shutdown is asked for.
    package func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.looks.run() }
                for await _ in self.audience.arrivals { await self.work() }
                group.cancelAll()
            }
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

    /// Asks whom the node follows once a second what it says of itself and its replicas.
    ///
    /// While it does not answer, nothing is known; that it is away is what the node itself sees. A data node that
    /// follows nobody now may follow somebody a second later.
    private func followPrimary() async {
        defer { primary.withLock { $0 = nil } }
        while !Task.isCancelled {
            let status = await primaryStatus()
            primary.withLock { $0 = status }
            do { try await Task.sleep(for: .seconds(1)) } catch { return }
        }
    }

    /// What the node that this one follows says; nil if there is none, or it does not answer.
    ///
    /// It has only the stores of which that node is the primary, since another data node may be the primary of others.
    private func primaryStatus() async -> NodeStatus? {
        guard let endpoint = await node.primaryEndpoint else { return nil }
        // A list that cannot be read now has no keys: nothing is known then.
        let dialing = keys.map { $0.dialing(endpoint, list: try? $0.access?.read()) }
        // Who does not answer, or not with a status, says nothing.
        guard let bytes = try? await AdministrationClient.ask(at: endpoint, keys: dialing, timeout: .seconds(1)),
            var status = try? JSONDecoder().decode(NodeStatus.self, from: bytes)
        else { return nil }
        let whole = status
        status.stores.removeAll { whole.role(in: $0) != .primary }
        return status
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
        do { send("status", answer(try await Self.look(at: node, stores))) } catch {
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

    /// The node, and what is kept of its stores; for a request, which does not wait for a thread that hangs.
    func status() async throws(ConsoleProblem) -> StatusAnswer { answer(try await looks.look()) }

    private func answer(_ look: NodeLook) -> StatusAnswer {
        StatusAnswer(
            at: Date().timeIntervalSince1970 * 1_000, node: look.status, primary: primary.withLock { $0 },
            kept: stores.map { $0.kept() }, runs: look.runs, readers: audience.readers)
    }

    /// What the node's thread says.
    private static func look(at node: Node, _ stores: [ConsoleStore]) async throws -> NodeLook {
        let status = try await node.status(listing: listLimit)
        var runs: [RunsAnswer] = []
        let own = Set(status.stores.filter { status.role(in: $0) == .primary }.map(\.name))
        if !own.isEmpty {
            for store in stores where own.contains(store.name) {
                // A data node may have lost the post meanwhile.
                guard let answer = try? await store.runs(listLimit), answer.count > 0 else { continue }
                runs.append(answer)
            }
        }
        return NodeLook(status: status, runs: runs)
    }
}
