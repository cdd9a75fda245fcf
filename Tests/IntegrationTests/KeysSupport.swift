import Counters
import Foundation
import Lockstep
import LockstepHarness
import LockstepNode
import Synchronization

/// A value that one task tells another.
final class Told<Value: Sendable>: Sendable {
    private let kept: Mutex<Value>
    init(_ value: Value) { kept = Mutex(value) }
    var value: Value {
        get { kept.withLock { $0 } }
        set { kept.withLock { $0 = newValue } }
    }
}

/// A client with a key file of its own, and the file of the nodes.
struct KeyedClient {
    let key: String
    let nodes: String
    private let cluster: ProcessCluster

    /// Makes the keys, and lets the name in unless it has no role.
    init(_ name: String, _ role: String?, of cluster: ProcessCluster) throws {
        self.cluster = cluster
        key = cluster.folder + "/\(name).key"
        nodes = cluster.folder + "/nodes.json"
        _ = try ChildProcess.output(Bench.program, ["keys", "new", name, "--to", key])
        if let role {
            _ = try ChildProcess.output(
                Bench.program, ["keys", "allow", name, "--key", key, "--role", role, "--access", cluster.accessList])
        }
        try export(cluster)
    }

    /// Writes the file of the nodes anew.
    func export(_ cluster: ProcessCluster) throws {
        _ = try ChildProcess.output(Bench.program, ["keys", "export", "--access", cluster.accessList, "--to", nodes])
    }

    /// The options of a command.
    var words: [String] { ["--keys", key, "--nodes", nodes] }

    func run(at index: Int = 0, _ words: String...) throws -> (status: Int32, output: String, errors: String) {
        try run(at: index, words)
    }

    func run(at index: Int = 0, _ words: [String]) throws -> (status: Int32, output: String, errors: String) {
        try ChildProcess.run(Bench.program, words + ["--node", cluster.endpoint(index)] + self.words)
    }

    func configuration(_ index: Int) throws -> NodeConfiguration {
        var configuration = NodeConfiguration.client(of: cluster.endpoint(index))
        configuration.keys = NodeKeys(own: try KeyFile(reading: key).pair, access: AccessFile(path: nodes))
        return configuration
    }

    /// Counts as fast as it is answered, until it is told that it is over; every action must be acknowledged.
    ///
    /// - Parameters:
    ///   - configuration: The client's.
    ///   - begun: Told after the first acknowledgement.
    ///   - over: Tells that it is over.
    /// - Returns: How many actions were acknowledged.
    /// - Throws: What an action failed with.
    static func count(
        _ configuration: NodeConfiguration, begun: Told<Bool>, over: Told<Bool>
    ) async throws -> Int64 {
        let node = try Node(configuration, logger: Bench.quiet)
        let counters = try node.remote(Counters.self, named: "counters")
        return try await node.whileRunning {
            var count: Int64 = 0
            while !over.value {
                _ = try await counters.send(.add("load", by: 1), timeout: .seconds(40))
                count += 1
                begun.value = true
            }
            return count
        }
    }

    /// How many actions a second are answered, of a client that sends 64 at a time.
    func rate(for duration: Duration) async throws -> Double {
        let node = try Node(try configuration(0), logger: Bench.quiet)
        let counters = try node.remote(Counters.self, named: "counters")
        return try await node.whileRunning {
            try await Bench.add(64, to: counters, prefix: "rate/")
            let begin = ContinuousClock.now
            var count = 0
            repeat {
                try await Bench.add(64, to: counters, prefix: "rate/")
                count += 64
            } while ContinuousClock.now < begin + duration
            return Double(count) / (begin.duration(to: .now) / .seconds(1))
        }
    }
}
