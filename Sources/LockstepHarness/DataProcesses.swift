import Foundation
package import LockstepFolders
import LockstepNode

/// Data nodes as processes, and their etcd, in a folder of their own: what a demonstration and a benchmark of failover run.
///
/// They are made by the operator's commands, as deploy/README.md makes them.
package final class DataProcesses {
    package let folder: String
    package let names: [String]
    package let etcd: LocalEtcd
    private let program: String
    private let nodeProgram: String
    private let port: Int
    private var children: [Int: ChildProcess] = [:]

    /// Starts etcd, makes the folders and the records of the stores, starts the nodes, and waits until all are members.
    ///
    /// - Parameters:
    ///   - folder: Where all of it is kept; made if it is missing.
    ///   - port: The first of ten for each node and two for etcd.
    ///   - nodes: How many data nodes.
    ///   - minimum: How many of them must have what is acknowledged.
    ///   - program: The operator's program, which the nodes run, too.
    ///   - hosting: Another program for the nodes, and the stores that they host; nil: all that `program` has.
    /// - Throws: ``LockstepError`` of code `unavailable` without etcd, or if a command fails.
    package init(
        folder: String, port: Int, nodes: Int, minimum: Int, program: String,
        hosting: (program: String, stores: [String])? = nil
    ) async throws {
        nodeProgram = hosting?.program ?? program
        (self.folder, self.program, self.port) = (folder, program, port)
        names = (1...nodes).map { "node-\($0)" }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        etcd = LocalEtcd(folder: folder + "/etcd", port: port + 10 * nodes)
        try etcd.start()
        var cluster: String?
        for (index, name) in names.enumerated() {
            var arguments = ["init", "--data", node(index).path, "--node", name, "--etcd", etcd.endpoint, "--json"]
            arguments += hosting?.stores.flatMap { ["--store", $0] } ?? []
            if let cluster { arguments += ["--cluster", cluster] }
            let outcome = try ChildProcess.run(nodeProgram, arguments)
            guard outcome.status == 0 else { throw LockstepError(.unavailable, outcome.errors) }
            cluster = try node(index).identity().cluster
        }
        try await createRecords(minimum: minimum)
        for index in names.indices { try start(index) }
        // A busy disk may let etcd's writes wait for seconds, and each store has some.
        let outcome = try ChildProcess.run(
            program, ["cluster", "status", "--data", node(0).path, "--wait", "240"])
        guard outcome.status == 0 else { throw LockstepError(.unavailable, outcome.errors) }
        // The command knows of nodes that are listed, and one that begins is not yet.
        for store in try node(0).identity().stores {
            try await wait(for: store, seconds: 240) { Set(names).isSubset(of: $0.inSync.map(\.node)) }
        }
    }

    /// Also if they did not come to be whole: what runs on would keep the ports.
    deinit { endAll(signal: SIGKILL) }

    /// etcd answers a moment after its start.
    private func createRecords(minimum: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            let arguments = ["cluster", "create", "--data", node(0).path, "--minimum", "\(minimum)"]
            let outcome = try ChildProcess.run(program, arguments)
            if outcome.status == 0 { return }
            guard ContinuousClock.now < deadline else {
                throw LockstepError(.unavailable, "the records were not made: \(outcome.errors)")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    package func node(_ index: Int) -> NodeFolder { NodeFolder(folder + "/" + names[index]) }
    package func endpoint(_ index: Int) -> String { "tcp://127.0.0.1:\(port + 10 * index)" }
    package var folders: [NodeFolder] { names.indices.map(node) }
    package var endpoints: [String] { names.indices.map(endpoint) }

    package func child(_ index: Int) -> ChildProcess? { children[index] }

    package func start(_ index: Int) throws {
        children[index] = try ChildProcess(
            names[index], nodeProgram, ["serve", "--data", node(index).path, "--listen", endpoint(index)],
            environment: ProcessCluster.environment, log: folder + "/\(names[index]).log")
    }

    /// Ends a node, and waits for its end.
    package func end(_ index: Int, signal: Int32) { children.removeValue(forKey: index)?.end(signal) }

    /// Stops a node as a machine does that stands still (SIGSTOP), or lets it go on (SIGCONT).
    package func send(_ signal: Int32, to index: Int) { children[index]?.send(signal) }

    /// Ends the nodes and etcd.
    package func endAll(signal: Int32) {
        for index in names.indices { end(index, signal: signal) }
        etcd.end(signal: SIGTERM)
    }

    /// The record of a store, asked by the operator's command.
    package func record(of store: String) throws -> Record {
        let output = try ChildProcess.output(program, ["cluster", "status", "--data", node(0).path, "--json", store])
        return try JSONDecoder().decode(Record.self, from: Data(output.utf8))
    }

    /// Waits until a store's record satisfies a condition.
    package func wait(for store: String, seconds: Double = 60, until condition: (Record) -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let record = try record(of: store)
            if condition(record) { return }
            guard ContinuousClock.now < deadline else {
                throw LockstepError(.unavailable, "after \(seconds) s the record of \(store) is still \(record)")
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// A part of what `cluster status --json` prints of a store.
    package struct Record: Decodable, Sendable {
        package let primary: String
        package let inSync: [Member]

        package struct Member: Decodable, Sendable {
            package let node: String
        }
    }
}
