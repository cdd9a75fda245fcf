import Foundation
import LockstepHarness
import LockstepNode
import Testing

extension IntegrationTests {
    /// A node's folder gets one more store, as the next version of a program needs it.
    @Suite struct AddedStoreTests {
        /// What was there stays, the new store is served after the next start, and a replica follows both.
        @Test func aFolderGetsOneMoreStore() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let (primary, replica, port) = (folder + "/primary", folder + "/replica", Bench.ports())
            let made = try Bench.lockstep("init", "--data", primary, "--store", "counters")
            let cluster = made.output.split(separator: "\n")[0].split(separator: " ")[1]
            let joined = try Bench.lockstep(
                "init", "--data", replica, "--node", "r", "--cluster", String(cluster), "--store", "counters")
            #expect(made.status == 0 && joined.status == 0)
            let address = "tcp://127.0.0.1:\(port)"
            func serve(_ body: () async throws -> Void) async throws {
                let nodes = [
                    try ChildProcess(
                        "primary", Bench.program, ["serve", "--data", primary, "--listen", address],
                        log: folder + "/p.log"),
                    try ChildProcess(
                        "replica", Bench.program,
                        [
                            "serve", "--data", replica, "--replica-of", address, "--listen",
                            "tcp://127.0.0.1:\(Bench.ports(10))",
                        ], log: folder + "/r.log"),
                ]
                defer { for node in nodes { node.end(SIGTERM) } }
                let ready = try Bench.lockstep("status", "--data", primary, "--data", replica, "--wait", "30")
                #expect(ready.status == 0, "\(ready.errors)")
                try await body()
            }
            try await serve {
                let added = try Bench.lockstep("counter", "add", "a", "--node", address)
                #expect(added.output == "1\n", "\(added.errors)")
            }
            for data in [primary, replica] {
                let added = try Bench.lockstep("init", "--data", data, "--add")
                #expect(added.status == 0 && added.output.hasPrefix("added search to \(data);"), "\(added.errors)")
            }
            try await serve {
                let added = try Bench.lockstep("counter", "add", "a", "--node", address)
                #expect(added.output == "2\n", "\(added.errors)")
                for data in [primary, replica] {
                    let json = try Bench.lockstep("status", "--data", data, "--json").output
                    let status = try JSONDecoder().decode(NodeStatus.self, from: Data(json.utf8))
                    #expect(status.stores.map(\.name) == ["counters", "search"])
                }
            }
        }

        @Test func whatCannotBeAddedIsOneLine() throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }  // What is left lies in the temporary folder.
            let data = folder + "/primary"
            let missing = try Bench.lockstep("init", "--data", data, "--add")
            #expect(missing.status != 0 && missing.errors.split(separator: "\n").count == 1, "\(missing.errors)")
            #expect(try Bench.lockstep("init", "--data", data).status == 0)
            let twice = try Bench.lockstep("init", "--data", data, "--add")
            #expect(twice.status == 1 && twice.errors == "lockstep: \(data) has the store counters, search already\n")
            let named = try Bench.lockstep("init", "--data", data, "--add", "--node", "x")
            #expect(named.status == 64 && named.errors.contains("leave --node, --cluster, --keys, --access and"))
        }
    }
}
