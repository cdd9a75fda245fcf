import Foundation
import LockstepFolders
import LockstepHarness
import LockstepNode
import Testing

/// What a kind of hostile_keys.py counted.
private struct Attack: Decodable {
    var tried = 0
    var delivered = 0
    var refused: Int?
}

extension IntegrationTests {
    /// Peers without a key, with a wrong one, with a recording, or with a role that does not allow what they ask, at nodes
    /// with keys (PROTOCOL ).
    @Suite(.serialized, .timeLimit(.minutes(8))) struct HostileKeysTests {
        private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "hostile_keys.py"
        ).path

        private static func words(
            _ kind: String, of client: KeyedClient, at port: Int, _ more: [String]
        ) -> [String] {
            ["python3", script, kind, "--keys", client.key, "--nodes", client.nodes, "--port", "\(port)"] + more
        }

        private static func attack(
            _ kind: String, by client: KeyedClient, at port: Int, _ more: String...
        ) throws -> Attack {
            let output = try ChildProcess.output("/usr/bin/env", words(kind, of: client, at: port, more))
            return try JSONDecoder().decode(Attack.self, from: Data(output.utf8))
        }

        /// The primary with its metrics at a port, and the replica.
        private static func withWatchedCluster(
            _ body: (ProcessCluster, KeyedClient) async throws -> Void
        ) async throws {
            try await Bench.withCluster(replicas: 1, start: false, keys: true) { cluster in
                try cluster.start(0, NodeCommand(["serve", "--http", "127.0.0.1:\(cluster.port + 5)"]))
                try cluster.start(1)
                try await cluster.waitUntilReady()
                let writer = try KeyedClient("web-0", "writer", of: cluster)
                let reader = try KeyedClient("page-1", "reader", of: cluster)
                try await Bench.wait("the list with the writer") {
                    try writer.run("counter", "add", "visits").status == 0
                }
                try await Bench.wait("the list with the reader") {
                    try reader.run("counter", "get", "visits").status == 0
                }
                try await body(cluster, reader)
            }
        }

        /// What all nodes have when nothing is written any more: the log ends with the mark of a digest, and stays so.
        private static func atRest(_ cluster: ProcessCluster) async throws -> (sequence: UInt64, digest: String) {
            var last = try await cluster.waitUntilEqual()
            while true {
                try await Task.sleep(for: .seconds(2))
                let next = try await cluster.waitUntilEqual()
                let stores = try await cluster.node(0).decodedStatus().stores
                let mark = stores.first { $0.name == "counters" }?.mark?.sequence
                if next.sequence == last.sequence, next.sequence == mark { return (next.sequence, next.digest) }
                last = next
            }
        }

        /// A counter of the primary's metrics: a line begins with `name`.
        private static func metric(_ name: String, of cluster: ProcessCluster) throws -> Int {
            let read =
                "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:"
                + "\(cluster.port + 5)/metrics').read().decode())"
            let text = try ChildProcess.output("/usr/bin/env", ["python3", "-c", read])
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(name + " ") }, "\(name)")
            return Int(try #require(Double(line.split(separator: " ")[1])))
        }

        /// Without a proof of a key in the list nobody is told anything but the greeting, at any port of either node:
        /// mechanisms without keys, old versions of ZMTP, unknown keys, and a recorded connection of a good peer (S1, S4,
        /// S11).
        @Test(arguments: [
            ("plain", "lockstep_handshakes_failed_total"), ("replayed", "lockstep_handshakes_failed_total"),
            ("strangers", "lockstep_denials_total{reason=\"key\"}"),
        ])
        func whoProvesNoKeyIsToldNothing(kind: String, counted: String) async throws {
            try await Self.withWatchedCluster { cluster, reader in
                let before = try await Self.atRest(cluster)
                for index in 0...1 {
                    let attack = try Self.attack(kind, by: reader, at: cluster.port + 10 * index)
                    #expect(attack.tried >= 48 && attack.delivered == 0, "\(kind) at node \(index): \(attack)")
                }
                #expect(try Self.metric(counted, of: cluster) >= 48)
                let after = try await Self.atRest(cluster)
                #expect(before.sequence == after.sequence && before.digest == after.digest, "nothing was sequenced")
                #expect(try reader.run("counter", "get", "visits").status == 0)
            }
        }

        /// The judge of ``whoProvesNoKeyIsToldNothing(kind:counted:)`` finds a node that lets anybody in.
        @Test func aNodeWithoutKeysIsFoundOut() async throws {
            try await Bench.withCluster(replicas: 0) { cluster in
                try await Bench.withCluster(replicas: 0, start: false, keys: true) { other in
                    let reader = try KeyedClient("page-1", "reader", of: other)
                    let list = try String(contentsOfFile: reader.nodes, encoding: .utf8)
                    try list.replacingOccurrences(of: ":\(other.port)", with: ":\(cluster.port)").write(
                        toFile: reader.nodes, atomically: true, encoding: .utf8)
                    let attack = try Self.attack("plain", by: reader, at: cluster.port)
                    #expect(attack.delivered > 0, "\(attack)")
                }
            }
        }

        /// A peer that takes another for the node, since its file names a wrong key, gets nothing and says nothing (S1).
        @Test func aWrongKeyOfTheNodeIsRefused() async throws {
            try await Self.withWatchedCluster { cluster, reader in
                let right = try String(contentsOfFile: reader.nodes, encoding: .utf8)
                let node = try KeyFile(reading: cluster.node(0).path + "/node.key").pair.publicKey
                let other = try KeyFile(reading: reader.key).pair.publicKey
                func write(_ text: String) throws {
                    try text.write(toFile: reader.nodes, atomically: true, encoding: .utf8)
                }
                #expect(right.contains(node.z85))
                try write(right.replacingOccurrences(of: node.z85, with: other.z85))
                let refused = try reader.run("counter", "get", "visits", "--timeout", "2")
                #expect(refused.status == 69, "\(refused)")
                try write(right)
                #expect(try reader.run("counter", "get", "visits").status == 0)
            }
        }

        /// A reader that says what writers, replicas and nodes say, that takes names of others, that has epochs which there
        /// are not, and that asks for all it may, changes nothing and is counted; its bytes come to the log escaped (S2,
        /// S3, S4, S10).
        @Test func aReaderGoesNotBeyondItsRole() async throws {
            try await Self.withWatchedCluster { cluster, reader in
                let before = try await Self.atRest(cluster)
                for (kind, reason) in [("roles", "role"), ("names", "name")] {
                    let attack = try Self.attack(kind, by: reader, at: cluster.port, "--seconds", "3")
                    #expect(attack.tried > 10 && attack.delivered == 0, "\(kind): \(attack)")
                    #expect((attack.refused ?? 0) > 0, "\(kind): \(attack)")
                    #expect(try Self.metric("lockstep_denials_total{reason=\"\(reason)\"}", of: cluster) > 10)
                }
                let after = try await Self.atRest(cluster)
                #expect(before.sequence == after.sequence && before.digest == after.digest, "nothing was sequenced")
                let status = try await cluster.node(0).decodedStatus()
                #expect(status.stores.allSatisfy { $0.phase == .admitting && $0.alarms.isEmpty }, "\(status)")
                let log = try String(contentsOfFile: cluster.folder + "/primary.log", encoding: .utf8)
                #expect(log.contains("page-1"))
                #expect(!log.contains("\u{1B}") && !log.split(separator: "\n").contains { $0.hasPrefix("forged") })
            }
        }

        /// Connections that say nothing, or half a handshake, four times as many as the node has descriptors, from one other
        /// address, subscriptions by the hundred thousand and messages without end, all without a key: a new client is
        /// served within 5 s, and the node's memory stays (S6, S7).
        @Test(arguments: [("idle", 8.0), ("subscriptions", 4.0), ("endless", 3.0), ("frames", 3.0)])
        func whoProvesNoKeyTakesNothing(kind: String, seconds: Double) async throws {
            try await undisturbed(tries: 2) { try await Self.serve(beside: kind, seconds) }
        }

        private static func serve(beside kind: String, _ seconds: Double) async throws {
            try await Bench.withCluster(replicas: 0, start: false, keys: true) { cluster in
                let wrapper = cluster.folder + "/few-descriptors"
                try "#!/bin/sh\nulimit -n 1024\nexec \"\(Bench.program)\" \"$@\"\n".write(
                    toFile: wrapper, atomically: true, encoding: .utf8)
                #expect(chmod(wrapper, 0o755) == 0)
                try cluster.start(0, NodeCommand(["serve"], of: wrapper))
                try await cluster.waitUntilReady()
                let writer = try KeyedClient("web-1", "writer", of: cluster)
                try await Bench.wait("the list with the writer") {
                    try writer.run("counter", "add", "visits").status == 0
                }
                let node = try #require(cluster.child(0))
                let before = try #require(node.residentBytes)
                let log = cluster.folder + "/hostile.log"
                let script = Self.script.replacingOccurrences(of: "hostile_keys.py", with: "hostile_peers.py")
                let hostile = try ChildProcess(
                    kind, "/usr/bin/env",
                    [
                        "python3", script, kind, "--port", "\(cluster.port)", "--seconds", "\(seconds)",
                        "--connections", "1366", "--source", "127.0.0.2",
                    ], log: log)
                defer { hostile.end(SIGKILL) }
                var (longest, growth, served) = (Duration.zero, 0, 0)
                repeat {
                    let begin = ContinuousClock.now
                    let added = try writer.run("counter", "add", "visits", "--timeout", "10")
                    longest = max(longest, begin.duration(to: .now))
                    #expect(added.status == 0, "\(added)")
                    served += 1
                    growth = max(growth, try #require(node.residentBytes) - before)
                } while hostile.isRunning
                let said = try String(contentsOfFile: log, encoding: .utf8)
                print("\(kind): \(served) served, the longest in \(longest), memory +\(growth >> 20) MiB, \(said)")
                #expect(said.contains(/ended [1-9]/), "\(said)")
                #expect(growth < 64 << 20, "memory grew by \(growth >> 20) MiB")
                #expect(node.isRunning)
                try Disturbed.unless(longest < .seconds(5), "a new client was served after \(longest)")
            }
        }

        /// The most memory that a node may have taken beyond what it had, in bytes.
        private static let largestGrowth = 96 << 20

        /// Thousands of connections that are almost good ones, and a bounded flood of whole handshakes, at every port of
        /// the primary, leave an honest client most of its rate, and the node its memory (S6, S7).
        @Test(arguments: [
            ("mutated", ["--count", "20000", "--rate", "400"]), ("strangers", ["--seconds", "10", "--rate", "100"]),
            ("plain", ["--count", "4000", "--rate", "400"]),
        ])
        func aFloodWithoutKeysHarmsNobody(kind: String, words: [String]) async throws {
            try await undisturbed(tries: 2) { try await Self.endure(kind, words) }
        }

        private static func endure(_ kind: String, _ words: [String]) async throws {
            try await Self.withWatchedCluster { cluster, reader in
                let writer = try KeyedClient("web-1", "writer", of: cluster)
                // Twice, since the first time warms caches and connections up.
                _ = try await writer.rate(for: .seconds(2))
                let alone = try await writer.rate(for: .seconds(5))
                let node = try #require(cluster.child(0))
                let before = try #require(node.residentBytes)
                let log = cluster.folder + "/hostile.log"
                let hostile = try ChildProcess(
                    kind, "/usr/bin/env", Self.words(kind, of: reader, at: cluster.port, words), log: log)
                defer { hostile.end(SIGKILL) }
                var (rates, growth) = ([Double](), 0)
                while hostile.isRunning {
                    rates.append(try await writer.rate(for: .seconds(3)))
                    growth = max(growth, try #require(node.residentBytes) - before)
                }
                let during = rates.reduce(0, +) / Double(max(1, rates.count))
                // What else this machine does is not the flood's.
                let least = max(alone / 2, min(alone, try await writer.rate(for: .seconds(5))))
                let said = try String(contentsOfFile: log, encoding: .utf8)
                print("\(kind): \(Int(during))/s of \(Int(alone)) and \(Int(least)), +\(growth >> 20) MiB, \(said)")
                let attack = try JSONDecoder().decode(Attack.self, from: Data(said.utf8))
                #expect(attack.delivered == 0 && attack.tried > 100, "\(said)")
                #expect(growth < Self.largestGrowth, "memory grew by \(growth >> 20) MiB")
                #expect(node.isRunning)
                _ = try await cluster.waitUntilEqual()
                try Disturbed.unless(during > 0.5 * least, "\(Int(during))/s of \(Int(least))/s are left")
            }
        }
    }
}
