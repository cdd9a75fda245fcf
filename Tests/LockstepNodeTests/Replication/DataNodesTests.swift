import LockstepCore
import LockstepHarness
import LockstepNode
import Testing
import ZeroMQ

/// Nodes that take over from each other, each with its own thread, sockets and journal (PROTOCOL, R-75 to R-89).
@Suite(.serialized, .timeLimit(.minutes(3))) struct DataNodesTests {
    /// PROTOCOL: the node that the record names takes its post, and the others become members.
    @Test func theNamedNodeReignsAndOthersJoin() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        try await cluster.running([0, 1, 2]) { lives in
            let primary = try await cluster.primary(with: 3)
            #expect(primary == 0)
            #expect(try await lives[0].port.add([1, 2]) == [1, 3])
            #expect(try await lives[1].port.add([4]) == [7])
            #expect(try await lives[2].port.add([8]) == [15])
        }
    }

    /// PROTOCOL: when the primary is gone another one goes on where it ended, for callers on any node; who comes
    /// back follows, and becomes a member again.
    @Test func anotherNodeTakesOver() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        try await cluster.running([1, 2]) { lives in
            try await cluster.running([0]) { first in
                let primary = try await cluster.primary(with: 3)
                #expect(primary == 0)
                #expect(try await lives[0].port.add([1, 2]) == [1, 3])
                #expect(try await first[0].port.add([4]) == [7])
            }
            #expect(try await lives[0].port.add([8]) == [15])
            let second = try await cluster.record
            #expect(second.primary.member.node != cluster.names[0])
            #expect(try await lives[1].port.add([16]) == [31])
            try await cluster.running([0]) { again in
                _ = try await cluster.primary(with: 3)
                #expect(try await again[0].port.add([32]) == [63])
            }
        }
    }

    /// The status of a standby says where the primary is, also that of the node that was the primary before; that of the
    /// primary names nobody.
    @Test func aStandbySaysWhereThePrimaryIs() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        try await cluster.running([0, 1, 2]) { lives in
            _ = try await cluster.primary(with: 3)
            try await until { try await lives[1].node.status().primary == cluster.endpoints[0] }
            #expect(try await lives[0].node.status().primary == nil)
            try await cluster.giveAway(lives[0], to: 2)
            for index in 0...1 {
                try await until { try await lives[index].node.status().primary == cluster.endpoints[2] }
            }
            try await until { try await lives[2].node.status().primary == nil }
        }
    }

    /// PROTOCOL: a primary whose disk is stuck loses its post.
    ///
    /// When the disk works again it finds itself deposed, cuts off what was not committed, and follows; what its callers
    /// had asked for is done once.
    @Test func aPrimaryWithAStuckDiskIsDeposedAndFollows() async throws {
        let cluster = try await DataNodes(3, minimum: 2)
        try await cluster.running([0, 1, 2]) { lives in
            _ = try await cluster.primary(with: 3)
            #expect(try await lives[0].port.add([1]) == [1])
            let epoch = try await cluster.record.epoch
            async let asked = lives[0].port.add([2])
            try await cluster.whileStuck(0) {
                let other = try await cluster.primary(with: 2, after: epoch)
                #expect(other != 0)
            }
            #expect(try await asked == [3])
            #expect(try await lives[1].port.add([4]) == [7])
            _ = try await cluster.primary(with: 3, after: epoch)
            #expect(try await lives[0].port.add([8]) == [15])
            try await until { try await lives[0].port.status().phase == .live }
        }
    }

    /// PROTOCOL R-90: a primary that stops in order gives its post away, without a silence in between.
    @Test func aStopInOrderGivesThePostAway() async throws {
        try await undisturbed {
            let cluster = try await DataNodes(3, minimum: 1)
            try await cluster.running([1, 2]) { lives in
                try await cluster.running([0]) { first in
                    let primary = try await cluster.primary(with: 3)
                    try Disturbed.unless(primary == 0, "another node reigns")
                    #expect(try await first[0].port.add([1]) == [1])
                }
                // The node has ended, and another one reigns already: each that is asked has 500 ms for it.
                let record = try await cluster.record
                try Disturbed.unless(
                    record.primary.member.node != cluster.names[0] && record.inSync.count == 2, "there is \(record)")
                #expect(try await lives[0].port.add([2]) == [3])
            }
        }
    }

    /// PROTOCOL: at the port for data nodes who has their role is answered while the list says so;
    /// nobody else is let in.
    @Test(.enabled(if: ZMQ.has("curve"), "libzmq was built without CURVE"))
    func onlyDataNodesAreLetInAtTheirPort() async throws {
        let ring = try Keyring()
        let nodes = [("node-0", ring.primary), ("node-1", ring.stranger)].map { name, keys in
            AccessList.Entry(name: name, keys: [keys.publicKey], roles: [.node])
        }
        try ring.write(nodes + ring.entries.dropFirst())
        let cluster = try await DataNodes(1, minimum: 1, keys: NodeKeys(own: ring.primary, access: ring.file))
        try await cluster.running([0]) { _ in
            _ = try await cluster.primary(with: 1)
            let endpoint = try TCPEndpoint(cluster.endpoints[0], use: "a test")
                .advanced(by: NodeServices.replicationOffset).description
            let stamp = FrameStamp(
                channel: Channel(rawValue: 7), clusterHash: cluster.cluster.hash, epoch: .zero)
            let node = try RawPeer(endpoint, isDataNode: true, keys: ring.dial(ring.stranger))
            let answer = try node.ask(stamp.frame(.replicationRequest(.recordRequest(nonce: 5))))
            guard case .replicationReply(.record(let report))? = answer else {
                return #expect(Bool(false), "a RECORD")
            }
            #expect(report.nonce == 5 && report.record?.record.inSync.map(\.node) == cluster.names)
            let others = [ring.replica, ring.writer, ring.reader, ring.admin, nil]
            let peers = try others.map { try RawPeer(endpoint, isDataNode: true, keys: $0.map(ring.dial)) }
            try await until {
                let lines = cluster.lines.lines
                let denied = lines.filter { $0.message == "denied" }.map(\.metadata)
                let names = Set(denied.compactMap { $0["lockstep.peer"] })
                return names == ["node-b", "web-1", "page-1", "ops"]
                    && denied.allSatisfy { $0["lockstep.kind"] == AccessDoor.connection }
                    && lines.contains { $0.message.hasPrefix("handshakes failed") }
            }
            try ring.write(Array(nodes.prefix(1)) + ring.entries.dropFirst())
            try await until {
                cluster.lines.lines.contains { $0.message == "connections were ended: the access list has changed" }
            }
            withExtendedLifetime((node, peers)) {}
        }
    }

    /// PROTOCOL: all nodes end and begin again, and go on with everything that was acknowledged.
    @Test func allNodesBeginAgain() async throws {
        let cluster = try await DataNodes(3, minimum: 1)
        for round in 1...3 as ClosedRange<UInt64> {
            let epoch = try await cluster.record.epoch
            try await cluster.running([2, 1, 0]) { lives in
                _ = try await cluster.primary(with: 3, after: epoch)
                #expect(try await lives[Int(round) % 3].port.add([5]) == [5 * round])
            }
        }
    }
}
