import LockstepCore
import LockstepNode
import Logging
import Testing
import ZeroMQ

/// What a configuration with keys must have, and what one without them says of itself (PROTOCOL R-67).
@Suite(.timeLimit(.minutes(5))) struct AccessConfigurationTests {
    private static func problem(_ configuration: NodeConfiguration) -> String? {
        do {
            _ = try Node(configuration)
            return nil
        } catch {
            return (error as? LockstepError)?.message ?? "another error: \(error)"
        }
    }

    /// With keys other hosts may be talked to; without, only if that is allowed in so many words.
    @Test func keysOpenTheNetwork() throws {
        let ring = try Keyring()
        var primary = NodeConfiguration.primary(listen: "tcp://10.1.2.3:7400", journal: .memory)
        #expect(Self.problem(primary)?.contains("keys") == true)
        primary.keys = NodeKeys(own: ring.primary)
        #expect(Self.problem(primary)?.contains("access list") == true)
        primary.keys = NodeKeys(own: ring.primary, access: ring.file)
        #expect(Self.problem(primary) == nil)

        var client = NodeConfiguration.client(of: "tcp://10.1.2.3:7400")
        #expect(Self.problem(client)?.contains("keys") == true)
        client.keys = NodeKeys(own: ring.writer)
        #expect(Self.problem(client)?.contains("no public key of tcp://10.1.2.3:7400") == true)
        client.keys = NodeKeys(own: ring.writer, nodes: ["tcp://10.1.2.3:7400": [ring.primary.publicKey]])
        #expect(Self.problem(client) == nil)
        // Of several nodes each must be known.
        var both = NodeConfiguration.client(of: ["tcp://10.1.2.3:7400", "tcp://10.1.2.4:7400"])
        both.keys = client.keys
        #expect(Self.problem(both)?.contains("no public key of tcp://10.1.2.4:7400") == true)
        both.keys?.nodes["tcp://10.1.2.4:7400"] = [ring.replica.publicKey]
        #expect(Self.problem(both) == nil)
    }

    /// A node that others take only under the name of its keys is given one.
    @Test func whoIsGreetedByNameHasOne() throws {
        let ring = try Keyring()
        let endpoint = "tcp://10.1.2.3:7400"
        var replica = NodeConfiguration.replica(of: endpoint)
        replica.keys = NodeKeys(own: ring.replica, nodes: [endpoint: [ring.primary.publicKey]])
        #expect(Self.problem(replica)?.contains("set node to the name of its keys") == true)
        replica.node = try #require(NodeID("replica-1"))
        #expect(Self.problem(replica) == nil)
    }

    /// A key of a node that cannot be meant is refused.
    @Test func keysOfNodesAreChecked() throws {
        let ring = try Keyring()
        let zero = try #require(CurvePublicKey(z85: String(repeating: "0", count: 40)))
        let (one, two) = (ring.primary.publicKey, ring.replica.publicKey)
        let endpoint = "tcp://10.1.2.3:7400"
        let wrong: [[String: [CurvePublicKey]]] = [
            [endpoint: []], [endpoint: [one, one]], [endpoint: [one, two, ring.reader.publicKey]], [endpoint: [zero]],
            [endpoint: [one], "10.1.2.4": [two]], [endpoint: [one], "tcp://*:7400": [two]],
        ]
        for nodes in wrong {
            var client = NodeConfiguration.client(of: endpoint)
            client.keys = NodeKeys(own: ring.writer, nodes: nodes)
            #expect(Self.problem(client) != nil, "\(nodes)")
        }
        // An address is the same however it is written.
        let keys = NodeKeys(own: ring.writer, nodes: ["tcp://localhost:7400": [one]])
        #expect(keys.dialing("tcp://127.0.0.1:7400") == [DialKeys(own: ring.writer, server: one)])
        #expect(keys.dialing("tcp://127.0.0.1:7401") == [])
    }

    /// The access list tells the keys of nodes by their addresses, where nothing else does.
    @Test func theListTellsKeysByAddress() throws {
        let ring = try Keyring()
        var entries = ring.entries
        entries[0].address = "tcp://10.1.2.3:7400"
        let list = try AccessList(entries)
        let keys = NodeKeys(own: ring.replica, access: ring.file)
        #expect(keys.dialing("tcp://10.1.2.3:7400", list: list).map(\.server) == [ring.primary.publicKey])
        #expect(keys.dialing("tcp://10.1.2.4:7400", list: list).isEmpty)
    }

    /// A node that talks to other hosts in plain text says so, in its log and in its status.
    @Test func plaintextIsSaid() async throws {
        let record = LogRecord()
        var configuration = NodeConfiguration.primary(
            listen: "tcp://*:\(FreePorts.next())", journal: .memory)
        configuration.allowsPlaintext = true
        let node = try Node(configuration, logger: record.logger())
        _ = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            _ = try await node.listening()
            let status = try await node.status()
            #expect(status.isPlaintext == true && status.access == nil)
        }
        #expect(record.lines.contains { $0.level == .warning && $0.message.hasPrefix("no keys:") })

        let local = LogRecord()
        let quiet = try Node(.primary(listen: "tcp://127.0.0.1:0", journal: .memory), logger: local.logger())
        _ = try quiet.attach(name: "sum") { SumState() }
        try await withRunning(quiet) {
            _ = try await quiet.listening()
            let status = try await quiet.status()
            #expect(status.isPlaintext == false)
        }
        #expect(!local.lines.contains { $0.level == .warning })
    }

    /// The status over the network is told to everybody in the list and to nobody else.
    @Test func theStatusIsToldToWhoIsInTheList() async throws {
        let ring = try Keyring()
        let node = try Node(ring.primaryNode())
        _ = try node.attach(name: "sum") { SumState() }
        try await withRunning(node) {
            let endpoint = try await node.listening()
            for keys in [ring.admin, ring.reader] {
                let wrong = DialKeys(own: keys, server: ring.stranger.publicKey)
                let json = try await AdministrationClient.ask(
                    at: endpoint, keys: [wrong, ring.dial(keys)], timeout: .seconds(20))
                #expect(!json.isEmpty)
            }
            for keys in [[ring.dial(ring.stranger)], nil] as [[DialKeys]?] {
                await #expect(throws: LockstepError.self) {
                    _ = try await AdministrationClient.ask(
                        at: endpoint, keys: keys, timeout: .milliseconds(700))
                }
            }
        }
    }
}
