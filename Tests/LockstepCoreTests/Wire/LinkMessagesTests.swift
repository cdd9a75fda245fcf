import LockstepCore
import Testing

/// Every kind of message belongs to one link and direction, which its number shows (PROTOCOL R-10).
@Suite struct LinkMessagesTests {
    /// The links and directions that take a message, by name.
    private static func links(of message: Message) -> [String] {
        var links: [String] = []
        if case .hello = message { links.append("hello") }
        if Greeting(message) != nil { links.append("greeting") }
        if IngressRequest(message) != nil { links.append("ingress request") }
        if IngressReply(message) != nil { links.append("ingress reply") }
        if BulkRequest(message) != nil { links.append("bulk request") }
        if BulkReply(message) != nil { links.append("bulk reply") }
        if BroadcastMessage(message) != nil { links.append("broadcast") }
        if AdministrationMessage(message) != nil { links.append("administration") }
        if ReplicationRequest(message) != nil { links.append("replication request") }
        if ReplicationReply(message) != nil { links.append("replication reply") }
        return links
    }

    /// Only RESYNC is a message of two links.
    @Test func everyMessageIsOfOneLink() {
        for message in GoldenVectors.messages {
            let expected = message == .resync ? ["greeting", "bulk reply"] : [Self.links(of: message)[0]]
            #expect(Self.links(of: message) == expected, "\(message.kind)")
        }
    }

    /// What a peer may ask is what a node answers by RESYNC if it cannot be served.
    @Test func requestsAreWhatTheirKindsSay() {
        for message in GoldenVectors.messages {
            let asks = ["hello", "ingress request", "bulk request"].contains(Self.links(of: message)[0])
            #expect(message.kind.isRequest == asks, "\(message.kind)")
        }
    }

    /// The ranges of the wire's numbers are the links'.
    @Test func theNumbersAreThoseOfTheLinks() {
        for message in GoldenVectors.messages {
            let expected: Set<String> =
                switch message.kind.rawValue {
                case ..<32: ["hello", "greeting", "ingress request", "ingress reply"]
                case ..<48: ["bulk request", "bulk reply"]
                case ..<64: ["broadcast"]
                case ..<80: ["administration"]
                default: ["replication request", "replication reply"]
                }
            #expect(expected.contains(Self.links(of: message)[0]), "\(message.kind)")
        }
    }

    /// Nothing of a message is lost on the way: the receiver gets what was decoded.
    @Test func theContentComesThrough() {
        let run = RunID(session: GoldenVectors.session, number: 7)
        #expect(IngressReply(.runGone(run)) == .runGone(run))
        #expect(IngressRequest(.open(GoldenVectors.open)) == .open(GoldenVectors.open))
        #expect(IngressRequest(.close(GoldenVectors.session)) == .close(GoldenVectors.session))
        #expect(IngressReply(.closed(GoldenVectors.session)) == .closed(GoldenVectors.session))
        #expect(
            IngressReply(.outOfOrder(GoldenVectors.session, expected: 3))
                == .outOfOrder(GoldenVectors.session, expected: 3))
        #expect(BroadcastMessage(.batch(1..<5, isHeadOnly: true)) == .batch(1..<5, isHeadOnly: true))
        #expect(AdministrationMessage(.adminRequest(1..<5)) == .request(1..<5))
        #expect(AdministrationMessage(.adminResponse(2..<5)) == .response(2..<5))
    }

    /// The session of a request is the one that it names; OPEN, READ and watches name none.
    @Test func requestsNameTheirSessions() {
        for message in GoldenVectors.messages {
            guard let request = IngressRequest(message) else { continue }
            switch request {
            case .open, .read, .watch, .unwatch: #expect(request.session == nil)
            case .resume, .submit, .keepAlive, .close, .query, .runRequest:
                #expect(request.session == GoldenVectors.session)
            }
        }
    }
}
