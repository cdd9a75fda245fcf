#if Etcd
    import Foundation
    import LockstepFolders
    import LockstepHarness
    import LockstepNode

    /// An etcd of one member and data nodes, made by the program's commands, in a folder of their own.
    final class DataNodeProcesses {
        let folder: String
        private let port: Int
        private let count: Int
        private var etcdPort: Int
        private var etcd: ChildProcess
        private var nodes: [Int: ChildProcess] = [:]

        /// Starts etcd, and makes the folders of the nodes and the records of their stores.
        init(nodes count: Int, minimum: Int = 2) async throws {
            folder = try Bench.folder()
            port = Bench.ports()
            (self.count, etcdPort) = (count, port)
            etcd = try Self.etcd(folder, port)
            for index in 0..<count { try make(index) }
            try await waitForEtcd()
            _ = try done("cluster", "create", "--data", data(0), "--minimum", "\(minimum)")
        }

        private static func etcd(_ folder: String, _ port: Int) throws -> ChildProcess {
            let (client, peer) = ("http://127.0.0.1:\(port)", "http://127.0.0.1:\(port + 1)")
            return try ChildProcess(
                "etcd", "/usr/bin/env",
                [
                    "etcd", "--data-dir", folder + "/etcd", "--listen-client-urls", client, "--advertise-client-urls",
                    client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster",
                    "default=\(peer)",
                ], log: folder + "/etcd.log")
        }

        private func waitForEtcd() async throws {
            try await Bench.wait("etcd") { try Bench.lockstep("cluster", "members", "--data", data(0)).status == 0 }
        }

        /// Ends etcd, keeps a copy of what it has, and starts it again.
        func copyEtcd() async throws {
            try await withoutEtcd {
                try FileManager.default.copyItem(atPath: folder + "/etcd", toPath: folder + "/etcd.copy")
            }
        }

        /// Ends etcd, and starts it again after `body`.
        func withoutEtcd(_ body: () async throws -> Void) async throws {
            etcd.end(SIGTERM)
            try await body()
            etcd = try Self.etcd(folder, etcdPort)
            try await waitForEtcd()
        }

        /// Ends etcd, and starts it with the copy, or with nothing, and then at another address, which the folders note.
        func setBackEtcd(hasCopy: Bool) async throws {
            etcd.end(SIGKILL)
            try FileManager.default.removeItem(atPath: folder + "/etcd")
            if hasCopy {
                try FileManager.default.moveItem(atPath: folder + "/etcd.copy", toPath: folder + "/etcd")
            } else {
                etcdPort += 2
                for index in 0..<count {
                    _ = try done("cluster", "etcd", "--data", data(index), "--etcd", etcdEndpoint)
                }
            }
            etcd = try Self.etcd(folder, etcdPort)
            try await waitForEtcd()
        }

        var etcdEndpoint: String { "http://127.0.0.1:\(etcdPort)" }
        func data(_ index: Int) -> String { folder + "/node-\(index)" }
        func endpoint(_ index: Int) -> String { "tcp://127.0.0.1:\(port + 10 + 4 * index)" }

        /// Makes the folder of a node.
        private func make(_ index: Int) throws {
            var words = ["init", "--data", data(index), "--etcd", etcdEndpoint]
            if index > 0 { words += ["--cluster", try NodeFolder(data(0)).identity().cluster] }
            _ = try done(words)
        }

        func start(_ index: Int) throws {
            nodes[index] = try ChildProcess(
                "node-\(index)", Bench.program, ["serve", "--data", data(index), "--listen", endpoint(index)],
                log: folder + "/node-\(index).log")
        }

        /// Kills a node as a crash would (SIGKILL), or asks it to stop (SIGTERM), and waits for its end.
        func end(_ index: Int, _ signal: Int32) { nodes.removeValue(forKey: index)?.end(signal) }

        /// Waits until the cluster is well, and every node that was started is a member of every store.
        ///
        /// The command knows of nodes that are listed, and one that begins is not yet.
        func waitUntilWell() async throws {
            _ = try done("cluster", "status", "--data", data(0), "--wait", "60")
            let started = Set(nodes.keys.map { "node-\($0)" })
            try await Bench.wait("all nodes to be members", seconds: 60) {
                try records().allSatisfy { started.isSubset(of: $0.inSync.map(\.node)) }
            }
        }

        /// Which node the record of a store names as primary.
        func primary(of store: String = "counters") throws -> Int? {
            try records(store).first?.primary.flatMap { Int($0.dropFirst("node-".count)) }
        }

        /// The records of these stores, or of all.
        private func records(_ stores: String...) throws -> [Record] {
            let text = try done(["cluster", "status", "--data", data(0), "--json"] + stores)
            return try text.split(separator: "\n").map { try JSONDecoder().decode(Record.self, from: Data($0.utf8)) }
        }

        private struct Record: Decodable {
            struct Member: Decodable { var node: String }
            var primary: String?
            var inSync: [Member]
        }

        /// What a command prints that succeeds.
        func done(_ words: String...) throws -> String { try done(words) }

        private func done(_ words: [String]) throws -> String {
            let run = try ChildProcess.run(Bench.program, words)
            guard run.status == 0 else { throw LockstepError(.unavailable, "\(words): \(run)") }
            return run.output
        }

        /// Ends all of them, and removes the folder.
        func remove() {
            for index in nodes.keys { end(index, SIGKILL) }
            etcd.end(SIGKILL)
            try? FileManager.default.removeItem(atPath: folder)  // What is left lies in the temporary folder.
        }
    }
#endif
