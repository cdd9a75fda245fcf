import Foundation
package import LockstepFolders
import LockstepNode

/// What runs a node: a command, with what it takes beside the node's folder and addresses.
package struct NodeCommand: Sendable {
    /// The program; `nil`: that of the cluster.
    package let program: String?
    package let words: [String]

    package static let serve = NodeCommand(["serve"])

    package init(_ words: [String], of program: String? = nil) {
        self.program = program
        self.words = words
    }
}

/// A cluster of processes in a folder of its own: a primary and replicas, for the demonstration and the benchmark.
package final class ProcessCluster {
    package let folder: String
    package let port: Int
    package let replicas: Int
    /// The program `lockstep`, which makes the folders, and runs the nodes unless a command names another.
    package let program: String
    /// Whether the nodes have keys, and one access list.
    package let hasKeys: Bool
    package private(set) var cluster = ""
    private var children: [String: ChildProcess] = [:]

    /// Makes the folders of the nodes; `port` and the ports after it are used, ten for each node.
    package init(folder: String, port: Int, replicas: Int, program: String, keys: Bool = false) throws {
        self.program = program
        hasKeys = keys
        self.folder = folder
        self.port = port
        self.replicas = replicas
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try makeNode(0)
        cluster = try node(0).identity().cluster
        for index in 0..<replicas { try makeNode(index + 1) }
    }

    package static func name(_ index: Int) -> String { index == 0 ? "primary" : "replica-\(index)" }
    package var names: [String] { (0...replicas).map(Self.name) }
    package func node(_ index: Int) -> NodeFolder { NodeFolder(folder + "/" + Self.name(index)) }
    /// The access list of all nodes.
    package var accessList: String { folder + "/access.json" }
    package func endpoint(_ index: Int) -> String { "tcp://127.0.0.1:\(port + 10 * index)" }
    package func child(_ index: Int) -> ChildProcess? { children[Self.name(index)] }

    private func makeNode(_ index: Int) throws {
        var arguments = ["init", "--data", node(index).path, "--node", Self.name(index), "--json"]
        if !cluster.isEmpty { arguments += ["--cluster", cluster] }
        if hasKeys { arguments += ["--access", accessList, "--address", endpoint(index)] }
        _ = try ChildProcess.output(program, arguments)
    }

    /// As the systemd units set it: a state of many small nodes lies in huge pages, where look-ups miss less.
    static let environment = ["GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"]

    /// Starts a node.
    package func start(_ index: Int, _ command: NodeCommand = .serve) throws {
        var arguments = command.words + ["--data", node(index).path, "--listen", endpoint(index)]
        if index > 0 { arguments += ["--replica-of", endpoint(0)] }
        children[Self.name(index)] = try ChildProcess(
            Self.name(index), command.program ?? program, arguments, environment: Self.environment,
            log: folder + "/\(Self.name(index)).log")
    }

    package func startAll(_ command: NodeCommand = .serve) throws {
        for index in 0...replicas { try start(index, command) }
    }

    /// Kills a node as a crash would (SIGKILL), or asks it to stop (SIGTERM), and waits for its end.
    package func end(_ index: Int, signal: Int32) { children.removeValue(forKey: Self.name(index))?.end(signal) }

    package func endAll(signal: Int32) { for index in (0...replicas).reversed() { end(index, signal: signal) } }

    /// Waits until every node admits or is live.
    package func waitUntilReady(seconds: Double = 30) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        for index in 0...replicas {
            while !(await node(index).isReady()) {
                if let child = child(index), !child.isRunning {
                    throw LockstepError(
                        .unavailable, "\(Self.name(index)) ended; see \(folder)/\(Self.name(index)).log")
                }
                guard ContinuousClock.now < deadline else {
                    throw LockstepError(.unavailable, "\(Self.name(index)) is not ready after \(seconds) s")
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Waits until all nodes stand at one sequence number with one digest in each of their stores, and returns those of
    /// one store.
    package func waitUntilEqual(
        _ store: String = "counters", seconds: Double = 30
    ) async throws -> (sequence: UInt64, digest: String) {
        try await NodeFolder.waitUntilEqual((0...replicas).map(node), store, seconds: seconds)
    }
}
