import Foundation
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

extension BenchCluster {
    /// Makes and starts etcd and data nodes, waits until all of them are members, and ends and removes them after `body`.
    static func withDataNodes<Value>(
        _ setting: BenchSetting, nodes count: Int, minimum: Int, hosting: (program: String, stores: [String])? = nil,
        _ body: (DataProcesses) async throws -> Value
    ) async throws -> Value {
        let path = setting.folder + "/nodes"
        // What a case before left when it failed.
        try? FileManager.default.removeItem(atPath: path)
        let nodes = try await DataProcesses(
            folder: path, port: setting.port, nodes: count, minimum: minimum, program: setting.program,
            hosting: hosting)
        defer {
            nodes.endAll(signal: SIGKILL)
            try? FileManager.default.removeItem(atPath: path)  // A left-over is removed with the folder above it.
        }
        for store in hosting?.stores ?? [Hosted.counters, Hosted.search] {
            try await nodes.waitForPrimary(of: store) { $0.inSync.count == count }
        }
        return try await body(nodes)
    }
}

extension DataProcesses {
    /// Of all running nodes so far; etcd's is not in it.
    var processorSeconds: Double { names.indices.reduce(0) { $0 + (child($1)?.processorSeconds ?? 0) } }

    /// The primary of a store, and what it says of the store; nil while no node says that it is that.
    func primary(of store: String = Hosted.counters) async -> (index: Int, status: StoreStatus.DataNode)? {
        var found: (index: Int, status: StoreStatus.DataNode)?
        for index in names.indices {
            // One that starts, or stands still, does not answer.
            let stores = try? await node(index).decodedStatus(timeout: .milliseconds(200)).stores
            guard let status = stores?.first(where: { $0.name == store })?.dataNode, status.role == .primary,
                let epoch = status.epoch, epoch > found?.status.epoch ?? 0
            else { continue }
            found = (index, status)
        }
        return found
    }

    /// Waits until the primary of a store says what satisfies a condition; returns which node that is.
    @discardableResult func waitForPrimary(
        of store: String = Hosted.counters, seconds: Double = 120, until condition: (StoreStatus.DataNode) -> Bool
    ) async throws -> Int {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let found = await primary(of: store)
            if let found, condition(found.status) { return found.index }
            guard ContinuousClock.now < deadline else {
                let words = found.map { "\(names[$0.index]) has only \($0.status.inSync.joined(separator: ", "))" }
                throw CommandFailure(
                    "after \(seconds) s the data nodes are not all members of \(store): \(words ?? "none is primary")")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Waits until all nodes are members of all stores; returns the primary of the counters.
    @discardableResult func waitUntilWhole() async throws -> Int {
        let count = names.count
        try await waitForPrimary(of: Hosted.search) { $0.inSync.count == count }
        return try await waitForPrimary { $0.inSync.count == count }
    }
}
