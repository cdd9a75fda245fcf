import LockstepNode
import Testing

/// What a node leaves behind when it has ended.
@Suite(.timeLimit(.minutes(5))) struct PortsTests {
    /// When `run()` has returned the node's ports are free: another node can listen there at once.
    @Test func theNextNodeListensWhereTheLastOneDid() async throws {
        let endpoint = "tcp://127.0.0.1:\(FreePorts.next())"
        for _ in 0..<20 {
            let node = try Node(.primary(listen: endpoint, journal: .memory))
            _ = try node.attach(name: "sum") { SumState() }
            try await node.whileRunning {
                while await node.ingressEndpoint == nil { await Task.yield() }
            }
        }
    }
}
