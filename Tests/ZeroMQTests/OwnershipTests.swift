import Testing
import ZeroMQ

/// Sockets live in actors, come and go there, and are still there for one owner only.
@Suite(.timeLimit(.minutes(5)))
struct OwnershipTests {
    /// An owner as a program would have it: one socket that is always there, and one that is replaced.
    private actor Owner {
        enum Link: Hashable { case ingress, upstream }

        private let context: Context
        private var ingress: Socket<Router>
        private var upstream: Socket<Dealer>?
        private let poller = Poller<Link>()
        private var message = Message()

        init(context: Context) throws {
            self.context = context
            ingress = try Socket<Router>(in: context)
            poller.add(ingress, as: .ingress)
        }

        func listen() throws -> String {
            try ingress.bindAnywhere(.tcp)
        }

        /// The first connection closes when the second takes its place, and leaves the poller by itself.
        func connect(to endpoint: String) throws {
            var socket = try Socket<Dealer>(in: context)
            try socket.connect(to: endpoint)
            upstream = nil
            poller.add(socket, as: .upstream)
            upstream = consume socket
        }

        func send(_ bytes: [UInt8]) throws -> Bool {
            try upstream?.send(bytes) ?? false
        }

        /// Answers every request with its own bytes.
        func turn() throws {
            try poller.wait(timeout: .seconds(30))
            for link in poller.ready where link == .ingress {
                while case .message(let peer) = try ingress.receive(into: &message) {
                    _ = try message.withBytes { bytes throws(ZMQError) in try ingress.send(bytes, to: peer) }
                }
            }
        }

        func answer() throws -> [UInt8]? {
            guard upstream != nil, try upstream?.receive(into: &message) == .message else { return nil }
            return message.bytes
        }
    }

    @Test func anActorOwnsItsSocketsAndReplacesThem() async throws {
        let context = try Context()
        let (server, client) = (try Owner(context: context), try Owner(context: context))
        let endpoint = try await server.listen()
        for round in UInt8(0)..<3 {
            try await client.connect(to: endpoint)
            let isSent = try await client.send([round])
            #expect(isSent)
            try await server.turn()
            try await client.turn()
            let answer = try await client.answer()
            #expect(answer == [round])
        }
    }

    @Test func aSocketCanBeHandedToAnotherThreadWhole() async throws {
        let context = try Context()
        var router = try Socket<Router>(in: context)
        var dealer = try Socket<Dealer>(in: context)
        try dealer.connect(to: router.bindAnywhere())
        try dealer.deliver([1])
        let received = try await Task.detached { [router = consume router] in try router.next().bytes }.value
        #expect(received == [1])
    }
}
