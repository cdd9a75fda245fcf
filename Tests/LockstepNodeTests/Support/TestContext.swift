import LockstepNode
import ZeroMQ

/// Sockets of a test that are not a node's.
struct TestContext {
    let context: Context

    init() throws { context = try Context() }

    func ingress(at endpoint: TCPEndpoint) throws -> String {
        let socket = try Endpoints.ingress(context, at: endpoint, keys: nil)
        return try socket.lastEndpoint
    }
}
