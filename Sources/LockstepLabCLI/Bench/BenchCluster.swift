import Foundation
import LockstepCommands
import LockstepFolders
import LockstepHarness
import LockstepNode
import LockstepServer

/// The nodes of a case.
enum BenchCluster {
    /// Makes a primary and replicas, starts them unless told not to, and ends and removes them after `body`.
    static func with<Value>(
        _ setting: BenchSetting, replicas: Int, start: Bool = true, keys: Bool = false,
        _ body: (ProcessCluster) async throws -> Value
    ) async throws -> Value {
        let path = setting.folder + "/nodes"
        // What a case before left when it failed.
        try? FileManager.default.removeItem(atPath: path)
        let cluster = try ProcessCluster(
            folder: path, port: setting.port, replicas: replicas, program: setting.program, keys: keys)
        defer {
            cluster.endAll(signal: SIGKILL)
            try? FileManager.default.removeItem(atPath: path)  // A left-over is removed with the folder above it.
        }
        if start {
            try cluster.startAll()
            try await cluster.waitUntilReady()
        }
        return try await body(cluster)
    }
}

extension ProcessCluster {
    /// A client of the primary, with keys if the nodes have some; it may connect when the nodes have looked at their list.
    func client() async throws -> NodeConfiguration {
        guard hasKeys else { return .client(of: endpoint(0)) }
        let client = try KeyedClient("bench", "writer", of: self)
        // A node takes a changed list within a second.
        try await Task.sleep(for: .seconds(1))
        return try client.configuration(0)
    }

    /// Of each running node so far.
    var processorSeconds: [Double] { (0...replicas).map { child($0)?.processorSeconds ?? 0 } }

    func status(_ index: Int, of store: String = Hosted.counters) async throws -> StoreStatus {
        let stores = try await node(index).decodedStatus().stores
        guard let status = stores.first(where: { $0.name == store }) else {
            throw CommandFailure("\(ProcessCluster.name(index)) has no store \(store)")
        }
        return status
    }

    /// Waits, with a look every few milliseconds, until a node's status satisfies a condition.
    func wait(
        for index: Int, store: String = Hosted.counters, seconds: Double = 120,
        until condition: (StoreStatus) -> Bool
    ) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            // A node that starts does not answer yet.
            let stores = try? await node(index).decodedStatus(timeout: .milliseconds(200)).stores
            if let status = stores?.first(where: { $0.name == store }), condition(status) { return }
            guard ContinuousClock.now < deadline, child(index)?.isRunning == true else {
                throw CommandFailure("\(ProcessCluster.name(index)) did not get there; see \(folder)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

extension NodeCommand {
    /// A node as "serve" has none: a command of this program.
    static func benchNode(_ more: String...) -> NodeCommand {
        NodeCommand(["bench-node"] + more, of: ChildProcess.ownPath)
    }
}
