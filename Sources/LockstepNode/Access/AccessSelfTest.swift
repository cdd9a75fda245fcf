internal import LockstepCore
package import ZeroMQ

extension AccessDesk {
    /// How long the test of a handshake may take on a busy host, in milliseconds; usually it takes a few.
    private static let patience: Int64 = 4_000

    /// Connects to a socket like the node's own with a key that nobody has, and with none: both must be refused.
    ///
    /// If libzmq let anybody in, which it does where one option is missing, the node would look as if it had keys.
    ///
    /// - Throws: ``LockstepError`` of code `unavailable` if the key is let in, or nothing comes of it.
    package func testSelf(in context: Context) throws {
        let anywhere = TCPEndpoint(host: "127.0.0.1", port: 0)
        let server = try Endpoints.ingress(context, at: anywhere, keys: keys.own)
        let endpoint = try server.lastEndpoint
        let stranger = DialKeys(own: try CurveKeyPair.generate(), server: keys.own.publicKey)
        var monitor: SocketMonitor?
        let link = try Endpoints.link(context, to: endpoint, keys: stranger) { monitor = try SocketMonitor($0) }
        let poller = Poller<LoopToken>()
        join(poller)
        if let monitor = monitor.take() {
            poller.add(monitor, as: .link(0))
            try awaitRefusal(monitor, poller)
        }
        link.close()
        server.close()
    }

    private func awaitRefusal(_ monitor: borrowing SocketMonitor, _ poller: Poller<LoopToken>) throws {
        let deadline = MonotonicClock.now.advanced(byMilliseconds: Self.patience)
        while MonotonicClock.now < deadline {
            try poller.wait(timeout: .milliseconds(50))
            // The stranger is no peer's doing: it is neither counted nor written down.
            _ = try answerStranger()
            while let event = try monitor.next() {
                switch event.kind {
                case .authenticationFailed: return
                case .handshakeSucceeded:
                    throw LockstepError(
                        .unavailable,
                        "the test of the access list let a key in that is not in it: the node does not serve")
                default: break
                }
            }
        }
        throw LockstepError(
            .unavailable, "the test of the access list had no end within \(Self.patience) ms: the node does not serve")
    }
}
